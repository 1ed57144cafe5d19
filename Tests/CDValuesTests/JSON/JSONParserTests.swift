import CDValues
import SeededRandom
import Testing

@Suite("JSON parser")
struct JSONParserTests {
  @Test(arguments: [
    ("null", JSONValue.null), (" true\n", .bool(true)), ("false", .bool(false)),
    ("0", .int(0)), ("-0", .int(0)), ("9223372036854775807", .int(.max)),
    ("-9223372036854775808", .int(.min)), ("1.0", .double(1)), ("1e2", .double(100)),
    ("-2.5E-1", .double(-0.25)), ("1e-400", .double(0)), ("9007199254740993", .int(9_007_199_254_740_993)),
    (#""""#, .string("")),
    (#""a\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00é😀""#, .string("a\"\\/\u{8}\u{c}\n\r\tAé😀é😀")),
    (#""\u0000""#, .string("\0")),
    ("[]", .array([])), ("[1,[ ],{}]", .array([.int(1), .array([]), .object([])])),
    (
      #"{"b":1,"a":{"b":null}}"#,
      .object([.init("b", .int(1)), .init("a", .object([.init("b", .null)]))])
    ),
  ])
  func `Valid texts`(text: String, value: JSONValue) throws {
    #expect(try JSONValue(parsing: text) == value)
  }

  @Test(arguments: [
    ("", JSONParsingError.Reason.unexpectedEnd, 0), ("  ", .unexpectedEnd, 2), ("[1", .unexpectedEnd, 2),
    ("{\"a\"", .unexpectedEnd, 4), ("\"a", .unexpectedEnd, 2), ("tru", .unexpectedEnd, 3),
    ("-", .unexpectedEnd, 1), ("1.", .unexpectedEnd, 2), ("\"\\", .unexpectedEnd, 2),
    ("\"\\u12", .unexpectedEnd, 5),
    ("nul1", .expected("a value"), 0), ("[1,]", .expected("a value"), 3), ("+1", .expected("a value"), 0),
    (".5", .expected("a value"), 0), ("NaN", .expected("a value"), 0), ("'a'", .expected("a value"), 0),
    ("\u{FEFF}1", .expected("a value"), 0), ("// x\n1", .expected("a value"), 0),
    ("{a:1}", .expected("a key in quotes"), 1), ("{\"a\":1,}", .expected("a key in quotes"), 7),
    ("{\"a\" 1}", .expected("':'"), 5), ("{\"a\":1 \"b\":2}", .expected("',' or '}'"), 7),
    ("[1 2]", .expected("',' or ']'"), 3), ("[1}", .expected("',' or ']'"), 2),
    ("01", .expected("a number without leading zeros"), 0),
    ("-012", .expected("a number without leading zeros"), 1),
    ("1.x", .expected("a digit"), 2), ("1e+ ", .expected("a digit"), 3), ("-a", .expected("a digit"), 1),
    ("1 2", .trailingText, 2), ("{}}", .trailingText, 2), ("0x10", .trailingText, 1),
    ("9223372036854775808", .numberOutOfRange, 0), ("[-1e400]", .numberOutOfRange, 1),
    ("\"a\nb\"", .controlCharacter, 2), ("\"\\x\"", .invalidEscape, 1), ("\"\\u12g4\"", .invalidEscape, 1),
    ("\"\\u+123\"", .invalidEscape, 1),
    ("\"\\ud83d\"", .loneSurrogate, 1), ("\"\\ud83dxx\"", .loneSurrogate, 1),
    ("\"\\ud83d\\u0041\"", .loneSurrogate, 1), ("\"a\\ude00\"", .loneSurrogate, 2),
    ("{\"a\":1,\"a\":2}", .duplicateKey("a"), 7), ("{\"\\u0061\":1, \"a\":2}", .duplicateKey("a"), 13),
  ])
  func `Invalid texts are refused, with the place`(
    text: String, reason: JSONParsingError.Reason, offset: Int
  ) {
    #expect(throws: JSONParsingError(reason, offset: offset)) { try JSONValue(parsing: text) }
  }

  @Test func `Integers beyond Int64 are rounded if the caller allows it`() throws {
    let text = "[18446744073709551615,9223372036854775807]"
    #expect(
      try JSONValue(parsing: Array(text.utf8), roundsIntegers: true)
        == .array([.double(0x1p64), .int(.max)]))
  }

  @Test func `A repeated key is found among many`() throws {
    let members = (0..<50).map { #""k\#($0)":0"# }.joined(separator: ",")
    #expect(try JSONValue(parsing: "{\(members)}")["k49"] == .int(0))
    let text = "{\(members),\"k30\":1}"
    #expect(throws: JSONParsingError(.duplicateKey("k30"), offset: members.utf8.count + 2)) {
      try JSONValue(parsing: text)
    }
  }

  @Test(
    arguments: [
      [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC3], [0x5C, 0x6E, 0x80],
    ] as [[UInt8]])
  func `A string that is not UTF-8 is refused`(bytes: [UInt8]) {
    #expect(throws: JSONParsingError(.invalidUTF8, offset: 1)) {
      try JSONValue(parsing: [0x5B, 0x22] + bytes + [0x22, 0x5D])
    }
  }

  @Test func `Nesting has a limit`() throws {
    let limit = JSONValue.depthLimit
    let deepest = String(repeating: "[", count: limit) + String(repeating: "]", count: limit)
    #expect(try JSONValue(parsing: deepest).canonicalText == deepest)
    #expect(throws: JSONParsingError(.tooDeep(limit: limit), offset: limit)) {
      try JSONValue(parsing: String(repeating: "[", count: 1_000_000))
    }
    #expect(throws: JSONParsingError(.tooDeep(limit: limit), offset: limit * 5)) {
      try JSONValue(parsing: String(repeating: "{\"a\":", count: 1_000_000))
    }
  }

  @Test func `No bytes make it trap`() {
    var random = SplitMix(seed: 7)
    let alphabet = Array("{}[]\",:\\ue+-.0123456789tfnalsr \u{1}é".utf8) + [0xFF, 0xC3]
    var accepted = 0
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
        alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
      }
      guard let value = try? JSONValue(parsing: bytes) else { continue }
      accepted += 1
      // What was accepted is written so that it reads as the same.
      #expect((try? JSONValue(parsing: value.canonicalBytes)) == value)
    }
    #expect(accepted > 100)
  }

  @Test func `Errors say what is wrong`() {
    #expect(
      JSONParsingError(.duplicateKey("a"), offset: 7).description == "byte 7: the key 'a' comes twice")
    #expect(JSONParsingError(.expected("':'"), offset: 5).description == "byte 5: expected ':'")
    #expect(JSONParsingError(.unexpectedEnd, offset: 0).description == "byte 0: the text ends too early")
  }
}

@Suite("JSON writer")
struct JSONWriterTests {
  @Test(arguments: [
    (JSONValue.null, "null"), (.bool(true), "true"), (.bool(false), "false"),
    (.int(.min), "-9223372036854775808"),
    (.double(1), "1.0"), (.double(0.1), "0.1"), (.double(-0.0), "-0.0"), (.double(1e16), "1e+16"),
    (.double(.leastNonzeroMagnitude), "5e-324"), (.double(.infinity), "null"), (.double(.nan), "null"),
    (.string("é😀/\u{7f}\u{2028}"), "\"é😀/\u{7f}\u{2028}\""),
    (.string("\"\\\u{8}\t\n\u{c}\r\u{0}\u{1f}"), #""\"\\\b\t\n\f\r\u0000\u001f""#),
    (.array([]), "[]"), (.array([.int(1), .null]), "[1,null]"), (.object([]), "{}"),
    (.object([.init("b", .int(1)), .init("a\n", .array([]))]), #"{"b":1,"a\n":[]}"#),
  ])
  func `The text is canonical`(value: JSONValue, text: String) {
    #expect(value.canonicalText == text)
    #expect(value.canonicalBytes == Array(text.utf8))
  }

  @Test func `A member is found by its key`() {
    let value = JSONValue.object([.init("a", .int(1)), .init("b", .null)])
    #expect(value["a"] == .int(1))
    #expect(value["b"] == .null)
    #expect(value["c"] == nil)
    #expect(JSONValue.array([])["a"] == nil)
  }
}
