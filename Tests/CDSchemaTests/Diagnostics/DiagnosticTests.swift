import CDSchema
import Foundation
import Testing

@Suite("Diagnostics")
struct DiagnosticTests {
  private let error = Diagnostic(
    .error, at: SourceLocation(path: "A/1.yaml", line: 12, column: 3), "unknown type 'Boolean'",
    suggestion: "Bool")
  private let warning = Diagnostic(
    .warning, at: SourceLocation(path: "A/1.yaml", line: 2, column: 30), "no inverse")

  @Test func descriptions() {
    #expect(error.description == "A/1.yaml:12:3: error: unknown type 'Boolean'; did you mean 'Bool'?")
    #expect(warning.description == "A/1.yaml:2:30: warning: no inverse")
  }

  @Test("order is by path, line and column, as numbers")
  func order() {
    var later = error
    later.location.column = 20
    var otherFile = error
    otherFile.location.path = "A/10.yaml"
    var note = error
    note.severity = .note
    #expect([later, otherFile, note, error, warning].sorted() == [warning, error, note, later, otherFile])
  }

  @Test func json() throws {
    let text = Diagnostic.json([error, warning])
    #expect(
      text == """
        [
          {
            "column" : 3,
            "line" : 12,
            "message" : "unknown type 'Boolean'",
            "path" : "A/1.yaml",
            "severity" : "error",
            "suggestion" : "Bool"
          },
          {
            "column" : 30,
            "line" : 2,
            "message" : "no inverse",
            "path" : "A/1.yaml",
            "severity" : "warning"
          }
        ]
        """)
    #expect(try JSONDecoder().decode([Diagnostic].self, from: Data(text.utf8)) == [error, warning])
  }
}
