import CDValues
import Foundation
import Testing

@Suite struct AttributeTraitsTests {
  @Test func eachTypeHasItsOwnRow() {
    for traits in AttributeTraits.all { #expect(traits.type.traits === traits) }
    #expect(Set(AttributeTraits.all.map(\.name)).count == AttributeTraits.all.count)
    #expect(Set(AttributeTraits.all.map(\.xcodeName)).count == AttributeTraits.all.count)
    #expect(AttributeType.enumeration("Kind").traits == nil)
  }

  @Test func emptyValuesAreOfTheirTypes() {
    for traits in AttributeTraits.all {
      let type = traits.empty.type
      switch traits.type {
      case .int16, .int32: #expect(type == .int64)
      case .float: #expect(type == .double)
      default: #expect(type == traits.type)
      }
    }
  }

  @Test func plainTextIsReadAsTheSameValue() {
    let values: [AttributeValue] = [
      .string("a"), .data(Data([1, 2])), .uuid(UUID()), .url(URL(filePath: "/a")),
    ]
    for value in values {
      let type = value.type ?? .bool
      #expect(value.plainText.flatMap { AttributeValue(text: $0, of: type) } == value)
    }
    #expect(AttributeValue(text: "1", of: .int16) == nil)
    #expect(AttributeValue(text: "!", of: .data) == nil)
  }

  @Test func eachTypeHasItsStorageType() {
    for traits in AttributeTraits.all { #expect(traits.storageType.traits === traits) }
    #expect(StorageType.codable.traits == nil)
    #expect(AttributeTraits.integers.map(\.type) == [.int16, .int32, .int64])
  }

  @Test func storedFormsAreOfTheStorageClass() {
    for traits in AttributeTraits.all {
      switch (traits.empty.stored, traits.storageClass) {
      case (.int, .integer), (.double, .real), (.string, .text), (.data, .bytes): break
      default: Issue.record("\(traits.name) is stored as \(traits.empty.stored)")
      }
    }
  }

  @Test func storedFormsOfURLsAreReadAsTheSameURLs() {
    let empty = AttributeTraits.all.map(\.empty).filter { $0.storageType == .url }
    for value in [AttributeValue.url(URL(filePath: "/a"))] + empty {
      #expect(AttributeValue(stored: value.stored, of: .url) == value)
    }
    for wrong: AttributeValue in [.int(1), .null, .composite([:])] {
      #expect(AttributeValue(stored: wrong, of: .url) == nil)
    }
  }

  @Test func eachTagIsThatOfOneType() {
    for traits in AttributeTraits.all {
      let json = traits.empty.jsonValue(dates: .since1970)
      guard case .object(let members) = json else { continue }
      #expect(AttributeTraits.tagged(members[0].key)?.type == traits.empty.type)
    }
    #expect(AttributeTraits.tagged("$int16") == nil && AttributeTraits.tagged("$string") == nil)
  }
}
