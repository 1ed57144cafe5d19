import CDGenerator
import Testing

/// What comes of each construct of the language, to the byte. `CDGEN_RECORD=1` writes the expected files anew.
@Suite struct ReferenceTests {
  @Test func thereAreCases() {
    #expect(ReferenceCase.all.count >= 20)
  }

  @Test(arguments: ReferenceCase.all)
  func generatedSwift(_ each: ReferenceCase) throws {
    let files = try each.generate()
    if ReferenceCase.records { try each.record(files) }
    let expected = try each.expected()
    #expect(Set(files.map(\.name)) == Set(expected.keys), "CDGEN_RECORD=1 writes what is missing")
    for file in files {
      guard let text = expected[file.name] else { continue }
      if file.contents != text { Issue.record("\(file.name): \(firstDifference(file.contents, text))") }
    }
  }

  @Test(arguments: ReferenceCase.all)
  func theSameModelGivesTheSameBytes(_ each: ReferenceCase) throws {
    #expect(try each.generate() == each.generate())
  }

  private func firstDifference(_ actual: String, _ expected: String) -> String {
    let actual = actual.split(separator: "\n", omittingEmptySubsequences: false)
    let expected = expected.split(separator: "\n", omittingEmptySubsequences: false)
    let line = zip(actual, expected).prefix { $0 == $1 }.count
    func text(_ lines: [Substring]) -> String { line < lines.count ? String(lines[line]) : "(end)" }
    return "line \(line + 1) is\n\(text(actual))\nand not\n\(text(expected))"
  }
}
