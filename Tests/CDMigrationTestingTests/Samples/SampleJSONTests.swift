import Foundation
import Testing

@testable import CDMigrationTesting

@Suite struct SampleJSONTests {
  private func sample<Value: Decodable>(_ type: String, as _: Value.Type) throws -> Value {
    try JSONDecoder().decode(Value.self, from: Data(SampleJSON.text(of: type, 7).utf8))
  }

  @Test func aTypeDecodesItsSample() throws {
    #expect(try sample("String", as: String.self) == "text 7")
    #expect(try sample("Swift.Int8?", as: Int8.self) == 7)
    #expect(try sample("Foundation.Date", as: Date.self) == Date(timeIntervalSinceReferenceDate: 7.5))
    #expect(try sample("URL?", as: URL.self).absoluteString == "https://example.org/7")
    #expect(try sample("Data", as: Data.self) == Data([0, 255]))
  }

  @Test func aCollectionDecodesItsSample() throws {
    #expect(try sample("[[String: Int]]", as: [[String: Int]].self) == [["key": 7]])
    #expect(try sample("[[Int]: [String: Bool]]", as: [[Int]: [String: Bool]].self) == [[7]: ["key": true]])
    let nested = try sample("[String: [String: [Int]]]", as: [String: [String: [Int]]].self)
    #expect(nested == ["key": ["key": [7]]])
    #expect(try sample("Set<String>", as: Set<String>.self) == ["text 7"])
    #expect(try sample("Swift.Array<Set<Int>>?", as: [Set<Int>].self) == [[7]])
    #expect(try sample("Optional<[Double?]>", as: [Double?].self) == [7.5])
    #expect(try sample("Dictionary<String, [Int]>", as: [String: [Int]].self) == ["key": [7]])
    #expect(try sample("[Int: String]", as: [Int: String].self) == [7: "text 7"])
    #expect(try sample("[UUID: Int]", as: [UUID: Int].self).values.sorted() == [7])
  }

  /// Nothing is known about the type, but an empty collection of its values decodes.
  @Test func anUnknownTypeIsAnEmptyObjectAndACollectionOfItIsEmpty() {
    #expect(SampleJSON.text(of: "MyApp.Settings", 7) == "{}")
    #expect(SampleJSON.text(of: "[Settings]", 7) == "[]")
    #expect(SampleJSON.text(of: "[String: Settings?]", 7) == "{}")
    #expect(SampleJSON.text(of: "[Kind: Int]", 7) == "[]")
    #expect(SampleJSON.text(of: "Range<Int>", 7) == "{}")
  }
}
