import CDModel
import Foundation
import Testing

/// The tables of the article "Expressions".
@Suite struct FunctionTableTests {
  private let root: URL

  init() {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    self.root = root
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// The names in a column of the table below a heading, in alphabetical order.
  private func names(_ heading: String, column: Int) throws -> [String] {
    let article = try text("Sources/CDModel/CDModel.docc/Expressions.md")
    let start = try #require(article.range(of: "\n\(heading)\n"))
    let rest = article[start.upperBound...]
    let end = rest.range(of: "\n#")?.lowerBound ?? rest.endIndex
    var names: [String] = []
    for line in rest[..<end].split(separator: "\n") where line.hasPrefix("| ") {
      let cells = line.components(separatedBy: " | ")
      guard cells.count > column else { continue }
      names += cells[column].matches(of: #/`([A-Za-z0-9:]+)`/#).map { String($0.1) }
    }
    return names.sorted()
  }

  @Test func theTableHasAllFunctions() throws {
    #expect(
      try names("## Functions", column: 0) == ExpressionFunction.allCases.map(\.rawValue).sorted())
  }

  /// The methods stand in the source of the runtime as the cases of a switch.
  @Test func theTableHasAllMethodsOfFunctionCalls() throws {
    let source = try text("Sources/CDRuntime/Evaluation/Invocation.swift")
    var methods: [String] = []
    for line in source.split(separator: "\n") {
      let line = line.trimmingCharacters(in: .whitespaces)
      guard line.hasPrefix("case \"") else { continue }
      methods += line.matches(of: #/"([A-Za-z:]+)"/#).map { String($0.1) }
    }
    #expect(methods.count > 20)
    let keys = try keysOfValues()
    #expect(keys.count > 30)
    #expect(try names("### Methods that FUNCTION calls", column: 1) == (methods + keys).sorted())
  }

  /// The keys of values are methods without arguments. They stand in the source as the cases of switches, and in
  /// comparisons with a key.
  private func keysOfValues() throws -> [String] {
    let source = try text("Sources/CDRuntime/Evaluation/ValueOrder.swift")
    let start = try #require(source.range(of: "enum ValueKeys {"))
    var keys: [String] = []
    for line in source[start.upperBound...].split(separator: "\n") {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.hasPrefix("case \"") {
        let names = line.prefix { $0 != ":" }
        keys += names.matches(of: #/"([A-Za-z0-9]+)"/#).map { String($0.1) }
      } else {
        keys += line.matches(of: #/key == "([A-Za-z0-9]+)"/#).map { String($0.1) }
      }
    }
    return keys
  }
}
