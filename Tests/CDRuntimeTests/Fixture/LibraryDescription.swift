import CDRuntime
import Foundation

/// The fixture's model, as values.
enum LibraryDescription {
  static let model = ManagedObjectModel(
    name: "Library", id: UUID(uuidString: "6B1F0C5E-4E2A-4B0B-8E52-0B6F2F0D7A11") ?? UUID(),
    versions: [version], currentVersionNumber: 1)

  static let version = ModelVersion(
    number: 1, enums: [priority], composites: [address],
    entities: [publication, book, magazine, author, review, tag, shelf])

  static let priority = EnumDescription(
    name: "Priority", rawType: .int16,
    cases: [
      .init(name: "low", rawValue: .int(0)), .init(name: "normal", rawValue: .int(1)),
      .init(name: "high", rawValue: .int(2)),
    ])

  static let address = CompositeDescription(
    name: "Address",
    fields: [
      AttributeDescription(name: "street", type: .string),
      AttributeDescription(name: "city", type: .string, isOptional: true),
    ])

  static let publication = EntityDescription(
    name: "Publication", isAbstract: true,
    attributes: [
      AttributeDescription(name: "title", type: .string),
      AttributeDescription(name: "uuid", type: .uuid, defaultValue: .uuid),
    ],
    relationships: [
      RelationshipDescription(
        name: "author", destination: "Author", isOptional: false, inverse: "publications")
    ],
    indexes: [IndexDescription(elements: [SortKey("title")])])

  static let book = EntityDescription(
    name: "Book", parent: "Publication",
    attributes: [
      AttributeDescription(name: "isbn", type: .string, pattern: "[0-9-]{1,17}"),
      AttributeDescription(name: "salesRank", type: .int64, isOptional: true),
      AttributeDescription(
        name: "priority", type: .enumeration("Priority"), defaultValue: .value(.int(1))),
      AttributeDescription(
        name: "settings", type: .codable(type: "BookSettings", codec: 1), isOptional: true),
      AttributeDescription(name: "added", type: .date, defaultValue: .now),
      AttributeDescription(name: "shippedTo", type: .composite("Address"), isOptional: true),
      AttributeDescription(
        name: "price", type: .decimal, defaultValue: .value(.decimal(Decimal(string: "9.99") ?? 0)),
        minimum: .decimal(0)),
      AttributeDescription(
        name: "draft", type: .bool, defaultValue: .value(.bool(false)), isTransient: true),
      AttributeDescription(
        name: "reviewCount", type: .int64, isOptional: true,
        derivation: .path(.object, [.key("reviews"), .collectionOperator("count")])),
    ],
    relationships: [
      RelationshipDescription(
        name: "reviews", destination: "Review", isToMany: true, inverse: "book", deleteRule: .cascade,
        isOrdered: true, maximumCount: 500),
      RelationshipDescription(name: "sequel", destination: "Book", inverse: "prequel"),
      RelationshipDescription(name: "prequel", destination: "Book", inverse: "sequel"),
      RelationshipDescription(name: "tags", destination: "Tag", isToMany: true, inverse: "books"),
    ],
    fetchedProperties: [
      FetchedPropertyDescription(
        name: "others", entity: "Book",
        predicate: try? FetchPredicate(format: "title == $FETCH_SOURCE.title"), sort: [SortKey("isbn")])
    ],
    fetchTemplates: [
      FetchTemplate(
        name: "bestsellers", predicate: try? FetchPredicate(format: "salesRank <= $atMost"),
        sort: [SortKey("salesRank")])
    ],
    indexes: [IndexDescription(elements: [SortKey("priority"), SortKey("salesRank", ascending: false)])],
    uniquenessConstraints: [["isbn"]])

  static let magazine = EntityDescription(
    name: "Magazine", parent: "Publication",
    attributes: [AttributeDescription(name: "issue", type: .int32)])

  static let author = EntityDescription(
    name: "Author", attributes: [AttributeDescription(name: "name", type: .string)],
    relationships: [
      RelationshipDescription(
        name: "publications", destination: "Publication", isToMany: true, inverse: "author", deleteRule: .deny),
      RelationshipDescription(
        name: "friends", destination: "Author", isToMany: true, inverse: "friends"),
      RelationshipDescription(name: "spouse", destination: "Author", inverse: "spouse"),
    ])

  static let review = EntityDescription(
    name: "Review",
    attributes: [
      AttributeDescription(name: "stars", type: .int16, minimum: .int(1), maximum: .int(5)),
      AttributeDescription(name: "text", type: .string, isOptional: true, maximumLength: 100),
    ],
    relationships: [RelationshipDescription(name: "book", destination: "Book", inverse: "reviews")])

  static let tag = EntityDescription(
    name: "Tag", attributes: [AttributeDescription(name: "name", type: .string)],
    relationships: [
      RelationshipDescription(
        name: "books", destination: "Book", isToMany: true, inverse: "tags", isOrdered: true)
    ],
    uniquenessConstraints: [["name"]])

  static let shelf = EntityDescription(
    name: "Shelf", attributes: [AttributeDescription(name: "label", type: .string, isOptional: true)],
    relationships: [
      RelationshipDescription(name: "favourite", destination: "Book"),
      RelationshipDescription(name: "books", destination: "Book", isToMany: true, isOrdered: true),
    ])
}
