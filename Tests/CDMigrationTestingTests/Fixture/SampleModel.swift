import CDRuntime
import Foundation

/// A model of three versions whose steps take no code: a rename, a conversion, a new attribute, a filter.
enum SampleModel {
  static let model = ManagedObjectModel(
    name: "Sample", id: UUID(), versions: [first, second, third], currentVersionNumber: 3,
    mappings: [
      MappingRules(
        source: 2, destination: 3,
        entities: [
          EntityRule(
            destination: "Book",
            filter: FetchPredicate(.keyPath("pages"), .greaterThan, .constant(.int(0))))
        ])
    ])

  private static func shelf(_ books: String) -> EntityDescription {
    EntityDescription(
      name: "Shelf", attributes: [AttributeDescription(name: "label", type: .string)],
      relationships: [
        RelationshipDescription(name: "books", destination: books, isToMany: true, inverse: "shelf")
      ])
  }

  private static func volume(
    _ name: String, renamedFrom: String? = nil, pages: AttributeType, further: [AttributeDescription] = []
  ) -> EntityDescription {
    EntityDescription(
      name: name, renamedFrom: renamedFrom,
      attributes: [
        AttributeDescription(name: "title", type: .string),
        AttributeDescription(name: "pages", type: pages),
        AttributeDescription(
          name: "isbn", type: .string, pattern: "[0-9]{1,3}-(97|98)[0-9-]{4,}", renamedFrom: nil),
      ] + further,
      relationships: [RelationshipDescription(name: "shelf", destination: "Shelf", inverse: "books")])
  }

  private static let first = ModelVersion(
    number: 1, entities: [volume("Volume", pages: .int16), shelf("Volume")])
  private static let second = ModelVersion(
    number: 2, basedOn: [1],
    entities: [
      volume(
        "Book", renamedFrom: "Volume", pages: .int64,
        further: [AttributeDescription(name: "rating", type: .double, defaultValue: .value(.double(1)))]),
      shelf("Book"),
    ])
  private static let third = ModelVersion(
    number: 3, basedOn: [2],
    entities: [
      volume(
        "Book", pages: .int64,
        further: [AttributeDescription(name: "rating", type: .double, defaultValue: .value(.double(1)))]),
      shelf("Book"),
    ])
}
