import Testing

@testable import CDSchema

/// Places within a scalar's value, for every way in which YAML can write one.
@Suite("Positions in scalars")
struct ScalarPositionsTests {
  /// Where each character of the value of `key` stands, as `character@line:column`.
  private func places(_ yaml: String) throws -> [String] {
    let (source, node) = try scalar(yaml)
    let positions = try #require(ScalarPositions(node, in: source), "the source does not give the value")
    let text = try #require(node.text)
    var offset = 0
    var result: [String] = []
    for scalar in text.unicodeScalars {
      let place = source.location(at: positions.sourceOffset(utf8Offset: offset))
      result.append("\(scalar == "\n" ? "⏎" : String(scalar))@\(place.line):\(place.column)")
      offset += UTF8.width(scalar)
    }
    let end = source.location(at: positions.sourceOffset(utf8Offset: offset))
    return result + ["@\(end.line):\(end.column)"]
  }

  private func scalar(_ yaml: String) throws -> (SourceText, MarkedNode) {
    let diagnostics = DiagnosticCollector()
    let parsed = YAMLParser.parse(path: "a", bytes: Array(yaml.utf8), diagnostics: diagnostics)
    #expect(diagnostics.sorted == [])
    return (try #require(parsed.source), try #require(parsed.root?["key"]))
  }

  @Test func plain() throws {
    #expect(try places("key: aé😀b") == ["a@1:6", "é@1:7", "😀@1:8", "b@1:9", "@1:10"])
  }

  @Test func plainOverLines() throws {
    #expect(
      try places("key: a  \n  b\n\n\n  c\n") == [
        "a@1:6", " @1:9", "b@2:3", "⏎@3:1", "⏎@4:1", "c@5:3", "@5:4",
      ])
  }

  @Test func plainInFlow() throws {
    #expect(try places("{ other: x, key: a b }") == ["a@1:18", " @1:19", "b@1:20", "@1:21"])
  }

  @Test func singleQuoted() throws {
    #expect(
      try places("key: 'a''b\n   c'  # comment\n") == [
        "a@1:7", "'@1:8", "b@1:10", " @1:11", "c@2:4", "@2:5",
      ])
  }

  @Test func doubleQuotedEscapes() throws {
    #expect(
      try places(#"key: "\x41\u00e9\U0001F600\n\"\\\/\t\_x""#) == [
        "A@1:7", "é@1:11", "😀@1:17", "⏎@1:27", "\"@1:29", "\\@1:31", "/@1:33", "\t@1:35", "\u{A0}@1:37",
        "x@1:39", "@1:40",
      ])
  }

  @Test func doubleQuotedBreaks() throws {
    #expect(
      try places("key: \"a \\\n   b \n  c\n\n  d\"") == [
        "a@1:7", " @1:8", "b@2:4", " @2:6", "c@3:3", "⏎@4:1", "d@5:3", "@5:4",
      ])
  }

  @Test func literal() throws {
    #expect(
      try places("key: |\n  ab\n\n    c\n") == [
        "a@2:3", "b@2:4", "⏎@2:5", "⏎@3:1", " @4:3", " @4:4", "c@4:5", "⏎@4:6", "@4:6",
      ])
  }

  @Test func literalWithIndicators() throws {
    #expect(try places("key: |1- # why\n  a\n b\n") == [" @2:2", "a@2:3", "⏎@2:4", "b@3:2", "@3:3"])
  }

  @Test func folded() throws {
    #expect(
      try places("key: >-\n    a\n    b\n\n    c\n      d\n    e\n\n") == [
        "a@2:5", " @2:6", "b@3:5", "⏎@4:1", "c@5:5", "⏎@5:6", " @6:5", " @6:6", "d@6:7", "⏎@6:8", "e@7:5",
        "@7:6",
      ])
  }

  @Test func foldedKept() throws {
    #expect(try places("key: >+\n a\n\n\nnext: b\n") == ["a@2:2", "⏎@2:3", "⏎@3:1", "⏎@4:1", "@2:3"])
  }

  @Test func carriageReturns() throws {
    #expect(try places("key: >-\r\n  a\r\n  b\r\n") == ["a@2:3", " @2:4", "b@3:3", "@3:4"])
  }

  @Test func emptyTexts() throws {
    #expect(try places("key: ''") == ["@1:7"])
    #expect(try places("key:") == ["@1:5"])
  }

  /// Texts made of everything that folding and escaping treat in its own way. Whatever libyaml reads, the
  /// scanner must read too.
  @Test("every generated scalar reads back", arguments: 0..<4000)
  func generated(_ seed: Int) throws {
    var random = Splitmix(state: UInt64(seed))
    let style = ["plain", "'", "\"", "|", ">"][Int(random.next() % 5)]
    let yaml = GeneratedScalar.yaml(style: style, &random)
    let diagnostics = DiagnosticCollector()
    let parsed = YAMLParser.parse(path: "a", bytes: Array(yaml.utf8), diagnostics: diagnostics)
    // What is no YAML has no scalars.
    guard let source = parsed.source, let root = parsed.root else { return }
    for node in [root["key"], root["next"]].compactMap(\.self) {
      guard let text = node.text else { continue }
      let positions = try #require(ScalarPositions(node, in: source), "\(yaml.debugDescription)")
      #expect(positions.offsets.count == text.unicodeScalars.count + 1)
      #expect(zip(positions.offsets, positions.offsets.dropFirst().dropLast()).allSatisfy { $0 <= $1 })
    }
  }
}

/// A generator whose sequence is the same in every run.
struct Splitmix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

enum GeneratedScalar {
  static func yaml(style: String, _ random: inout Splitmix) -> String {
    let pieces: [String]
    var text = "key: "
    var end = "\nnext: z\n"
    switch style {
    case "'":
      pieces = ["a", "b c", " ", "''", "\n  ", "\n\n  ", "é", "😀", "\t", "#", "\"", "\\", "\r\n  "]
      text += "'"
      end = "'\n"
    case "\"":
      pieces = [
        "a", "b c", " ", "\\n", "\n  ", "\n\n  ", "é", "\\x41", "\\u00e9", "\\U0001F600", "\\\n  ", "\\\\",
        "\\\"", "\t", "'", "\\t", "\\_", "\\N", "\\ ", "\\\n\n  ",
      ]
      text += "\""
      end = "\"\n"
    case "|", ">":
      pieces = [
        "a", "b c", " ", "\n  ", "\n\n  ", "\n    ", "\n   ", "é", "😀", "\t", "#", "\r\n  ", "\n \n  ",
      ]
      let indicators = ["", "-", "+", "1", "2-", "+2", " # why"]
      text += style + indicators[Int(random.next() % 7)] + "\n  "
    default:
      pieces = ["a", "b c", " ", "\n  ", "\n\n  ", "é", "😀", "-", "'", "\"", "\r\n  ", "=", "a"]
    }
    for _ in 0...(random.next() % 9) { text += pieces[Int(random.next() % UInt64(pieces.count))] }
    return text + end
  }
}
