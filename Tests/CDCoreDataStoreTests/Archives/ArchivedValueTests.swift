import CDPropertyList
import Foundation
import Testing

@testable import CDCoreDataStore

/// What transformers archive, as the JSON of codables.
@Suite("Archived values") struct ArchivedValueTests {
  private func json(_ value: Any, _ type: String) throws -> String? {
    let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: false)
    return ArchivedValue.json([UInt8](data), type: type)
  }

  /// That the JSON is what Swift reads as the type.
  private func decoded<T: Decodable & Equatable>(_ text: String?, as type: T.Type) throws -> T {
    try JSONDecoder().decode(T.self, from: Data(try #require(text).utf8))
  }

  @Test func listsSetsAndDictionariesAreReadAsTheirTypes() throws {
    #expect(try json(["a", "é"] as NSArray, "[String]") == #"["a","é"]"#)
    #expect(try json([1, -2] as NSArray, "[Int64]") == "[1,-2]")
    #expect(
      try decoded(json(["x": 0.5] as NSDictionary, "[String: Double]"), as: [String: Double].self) == [
        "x": 0.5
      ])
    #expect(try decoded(json(NSSet(array: ["a", "b"]), "Set<String>"), as: Set<String>.self) == ["a", "b"])
    #expect(
      try decoded(json(["k": ["a"]] as NSDictionary, "[String: [String]]"), as: [String: [String]].self)
        == ["k": ["a"]])
    let dates = [Date(timeIntervalSinceReferenceDate: 1000.5)]
    #expect(try decoded(json(dates as NSArray, "[Date]"), as: [Date].self) == dates)
    let data = [Data([1, 2, 255])]
    #expect(try decoded(json(data as NSArray, "[Data]"), as: [Data].self) == data)
    let ids = [UUID()]
    #expect(try decoded(json(ids.map { $0 as NSUUID } as NSArray, "[UUID]"), as: [UUID].self) == ids)
  }

  @Test func aURLKeepsItsBase() throws {
    let base = try #require(URL(string: "https://example.com/dir/"))
    let page = try #require(NSURL(string: "page?x=1", relativeTo: base))
    let whole = try #require(NSURL(string: "https://example.com/other"))
    #expect(
      try decoded(json([page, whole] as NSArray, "[URL]"), as: [String].self)
        == ["https://example.com/dir/page?x=1", "https://example.com/other"])
  }

  @Test func whatIsOfAnotherTypeIsNone() throws {
    #expect(try json([1] as NSArray, "[String]") == nil)
    #expect(try json(["a"] as NSArray, "[Int64]") == nil)
    #expect(try json([300] as NSArray, "[UInt8]") == nil)
    #expect(try json([-1] as NSArray, "[UInt32]") == nil)
    #expect(try json(["a"] as NSArray, "[String: String]") == nil)
    #expect(try json(["a": "b"] as NSDictionary, "[String]") == nil)
    #expect(try json(["a": "b"] as NSDictionary, "Set<String>") == nil)
    #expect(try json("a" as NSString, "[String]") == nil)
    #expect(try json(["a"] as NSArray, "My.Settings") == nil)
    #expect(ArchivedValue.json([1, 2, 3], type: "[String]") == nil)
    #expect(ArchivedValue.json([], type: "[String]") == nil)
  }

  /// An archive of a list that has one text of a size as often as the text has bytes.
  private func repeated(_ size: Int) -> [UInt8] {
    func text(_ text: String) -> [UInt8] { [0x5F, 0x10, UInt8(text.utf8.count)] + Array(text.utf8) }
    func repetition(of byte: UInt8, _ mark: UInt8) -> [UInt8] {
      let head: [UInt8] = [mark, 0x11, UInt8(size >> 8), UInt8(size & 0xFF)]
      return head + [UInt8](repeating: byte, count: size)
    }
    let objects: [[UInt8]] = [
      [0xD2, 1, 2, 3, 4], text("$objects"), text("$top"), [0xA3, 5, 6, 7], [0xD1, 8, 9], text("$null"),
      [0xD1, 10, 11], repetition(of: 0x61, 0x5F), text("root"), [0x80, 1], text("NS.objects"),
      repetition(of: 12, 0xAF), [0x80, 2],
    ]
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
      bytes += object
    }
    let table = bytes.count
    bytes += offsets
    bytes += [0, 0, 0, 0, 0, 0, 2, 1]
    for number in [objects.count, 0, table] {
      bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
    return bytes
  }

  @Test func aTextThatIsReferredToOftenIsNotReadWithoutEnd() {
    #expect(ArchivedValue.json(repeated(300), type: "[String]")?.utf8.count == 300 * 303 + 1)
    #expect(ArchivedValue.json(repeated(2000), type: "[String]") == nil)
  }

  @Test func jsonIsTakenAsItIs() {
    #expect(ArchivedValue.json(Array(#"{ "a": [1] }"#.utf8), type: "My.Settings") == #"{"a":[1]}"#)
  }

  @Test(
    arguments: [
      (
        #"{"price":12345678901234567.89, "name" : "a \" b\\" }"#, "My.Settings",
        #"{"price":12345678901234567.89,"name":"a \" b\\"}"#
      ),
      ("[18446744073709551615]", "[UInt64]", "[18446744073709551615]"),
      ("[18446744073709551615]", "[Int64]", nil), ("[300]", "[UInt8]", nil), ("[1.5]", "[Int]", nil),
      (#"["a"]"#, "[String]", #"["a"]"#), ("12", "[String]", nil), (#"{"a":1}"#, "[String]", nil),
      ("null", "[String]", nil), ("[null]", "[String]", nil), ("[1, 0.5]", "[Decimal]", "[1,0.5]"),
      (#"{"a":[true]}"#, "[String: [Bool]]", #"{"a":[true]}"#), (#"{"a":1}"#, "[Int: Int]", nil),
      ("[0.5,1]", "[Double: Int]", "[0.5,1]"), ("[0.5]", "[Double: Int]", nil),
      (#"{"1":"a"}"#, "[Int64: String]", nil), (#"{"a":1}"#, "[Double: Int]", nil),
      (#"{"1":"a"}"#, "[Int: String]", #"{"1":"a"}"#), (#"{"a":1}"#, "[Kind: Int]", #"{"a":1}"#),
      ("{}", "[[String]: Int]", nil), ("[1.5]", "[UInt64]", nil), ("[1.5]", "[UInt]", nil),
      (#"["a"]"#, "[URL]", #"["a"]"#), (#"["a"]"#, "[UUID]", nil), (#"[{"a":1}]"#, "[Note]", #"[{"a":1}]"#),
    ] as [(String, String, String?)])
  func jsonKeepsItsDigitsAndIsOfItsType(text: String, type: String, json: String?) {
    #expect(ArchivedValue.json(Array(text.utf8), type: type) == json)
  }

  @Test(arguments: [
    "[", "[]", "[:]", "[String", "String]", "Set<", "Set<String", "[String:]", "[[String]", "",
  ])
  func aTextThatIsNoTypeHasNoShape(text: String) { #expect(CodableShape(text) == nil) }

  /// Any bytes give a value or none.
  @Test func noArchiveEndsTheProgram() throws {
    let whole = [UInt8](
      try NSKeyedArchiver.archivedData(
        withRootObject: [["a": [1.5]]] as NSArray, requiringSecureCoding: false))
    for place in whole.indices {
      for byte: UInt8 in [0, 1, 0x7F, 0x80, 0xFF, whole[place] ^ 1] {
        var bytes = whole
        bytes[place] = byte
        _ = ArchivedValue.json(bytes, type: "[[String: [Double]]]")
        _ = BinaryPropertyList.read(bytes)
      }
      _ = ArchivedValue.json(Array(whole.prefix(place)), type: "[[String: [Double]]]")
    }
  }
}
