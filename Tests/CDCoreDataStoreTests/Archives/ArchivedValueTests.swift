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

  @Test func whatIsOfAnotherTypeIsNone() throws {
    #expect(try json([1] as NSArray, "[String]") == nil)
    #expect(try json(["a"] as NSArray, "[Int64]") == nil)
    #expect(try json([300] as NSArray, "[UInt8]") == nil)
    #expect(try json([-1] as NSArray, "[UInt32]") == nil)
    #expect(try json(["a"] as NSArray, "[String: String]") == nil)
    #expect(try json("a" as NSString, "[String]") == nil)
    #expect(try json(["a"] as NSArray, "My.Settings") == nil)
    #expect(ArchivedValue.json([1, 2, 3], type: "[String]") == nil)
    #expect(ArchivedValue.json([], type: "[String]") == nil)
  }

  @Test func jsonIsTakenAsItIs() {
    #expect(ArchivedValue.json(Array(#"{ "a": [1] }"#.utf8), type: "My.Settings") == #"{"a":[1]}"#)
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
