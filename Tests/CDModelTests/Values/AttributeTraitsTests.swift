import CDModel
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
}
