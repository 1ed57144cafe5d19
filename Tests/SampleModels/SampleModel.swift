package import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A model with every construct that the schema language has.
package enum SampleModel {
  package static func model() throws -> ManagedObjectModel {
    ManagedObjectModel(
      name: "Library", id: UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)),
      imports: ["MyApp"],
      versions: [
        ModelVersion(number: 1, entities: [EntityDescription(name: "Volume")]), try version(),
      ],
      currentVersionNumber: 2)
  }

  package static func version() throws -> ModelVersion {
    ModelVersion(
      number: 2, label: "Spring", basedOn: [1],
      enums: [
        EnumDescription(
          name: "Priority", rawType: .int16,
          cases: [
            .init(name: "low", rawValue: .int(0)), .init(name: "normal", rawValue: .int(1)),
            .init(name: "high", rawValue: .int(2)),
          ], doc: "How soon."),
        EnumDescription(
          name: "Country", rawType: .string, cases: [.init(name: "chile", rawValue: .string("CL"))]),
        EnumDescription(
          name: "Unused", rawType: .int64, cases: [.init(name: "only", rawValue: .int(1))]),
      ],
      composites: [
        CompositeDescription(
          name: "Address",
          fields: [
            AttributeDescription(name: "street", type: .string),
            AttributeDescription(name: "city", type: .string, isOptional: true, doc: "Or village."),
            AttributeDescription(
              name: "country", type: .enumeration("Country"), defaultValue: .value(.string("CL"))),
          ], doc: "Where post goes."),
        CompositeDescription(name: "Spare", fields: [AttributeDescription(name: "x", type: .double)]),
      ],
      entities: [publication(), try book(), review(), publisher()],
      configurations: [
        ConfigurationDescription(name: "Books", entities: ["Publication", "Book"]),
        ConfigurationDescription(name: "All", entities: ["Publication", "Book", "Review", "Publisher"]),
      ])
  }

  private static func publication() -> EntityDescription {
    EntityDescription(
      name: "Publication", isAbstract: true,
      attributes: [
        AttributeDescription(name: "title", type: .string),
        AttributeDescription(name: "uuid", type: .uuid, defaultValue: .uuid),
      ], indexes: [IndexDescription(elements: [SortKey("title")])], doc: "What has been published.")
  }

  private static func book() throws -> EntityDescription {
    EntityDescription(
      name: "Book", className: "BookObject", parent: "Publication", renamedFrom: "Volume",
      attributes: try bookAttributes(),
      relationships: [
        RelationshipDescription(
          name: "reviews", destination: "Review", isToMany: true, inverse: "book", deleteRule: .cascade,
          minimumCount: 0, maximumCount: 500, doc: "What readers say."),
        RelationshipDescription(
          name: "sequel", destination: "Book", propertyName: "next", renamedFrom: "Volume.successor",
          hashModifier: "r1", info: ["since": "2"]),
        RelationshipDescription(
          name: "publisher", destination: "Publisher", isOptional: false, inverse: "books",
          deleteRule: .noAction),
      ],
      fetchedProperties: [
        FetchedPropertyDescription(
          name: "others", entity: "Book",
          predicate: try FetchPredicate(format: "title == $FETCH_SOURCE.title"),
          sort: [SortKey("title"), SortKey("price", ascending: false)], limit: 10, swiftName: "sameTitle",
          info: ["a": "b"], doc: "Of the same title.")
      ],
      fetchTemplates: [
        FetchTemplate(
          name: "cheap", predicate: try FetchPredicate(format: "price < $limit"), sort: [SortKey("price")],
          limit: 5, doc: "Bargains."),
        FetchTemplate(name: "everything"),
      ],
      indexes: [
        IndexDescription(elements: [SortKey("price"), SortKey("added", ascending: false)]),
        IndexDescription(elements: [SortKey("isbn")]),
      ], uniquenessConstraints: [["isbn"], ["id", "priority"]], hashModifier: "b2",
      info: ["z": "1", "a": "\"quoted\"", "é": ""], doc: "A bound publication.\nWith \"pages\".")
  }

  private static func bookAttributes() throws -> [AttributeDescription] {
    [
      AttributeDescription(
        name: "isbn", type: .string, minimumLength: 10, maximumLength: 17, pattern: "[0-9-]{10,17}"),
      AttributeDescription(
        name: "priority", type: .enumeration("Priority"), defaultValue: .value(.int(1))),
      AttributeDescription(name: "shippedTo", type: .composite("Address"), isOptional: true),
      AttributeDescription(name: "cover", type: .data, isOptional: true, storesExternally: true),
      AttributeDescription(
        name: "settings", type: .codable(type: "MyApp.Settings", codec: 2), isOptional: true),
      AttributeDescription(
        name: "price", type: .decimal, defaultValue: .value(.decimal(Decimal(999) / 100)),
        minimum: .decimal(0), maximum: .decimal(1000), doc: "In euros."),
      AttributeDescription(
        name: "id", type: .int64, propertyName: "number", renamedFrom: "key", hashModifier: "a1",
        info: ["k": "v"]),
      AttributeDescription(
        name: "draft", type: .bool, defaultValue: .value(.bool(false)), isTransient: true),
      AttributeDescription(
        name: "reviewCount", type: .int64, derivation: try ValueExpression(format: "reviews.@count")),
      AttributeDescription(name: "added", type: .date, defaultValue: .now),
      AttributeDescription(
        name: "printed", type: .date, defaultValue: .value(.date(Date(timeIntervalSinceReferenceDate: 0.5)))),
      AttributeDescription(
        name: "weight", type: .float, isOptional: true, defaultValue: .value(.double(1)),
        minimum: .double(0)),
      AttributeDescription(name: "height", type: .double, isOptional: true),
      AttributeDescription(name: "pages", type: .int32, isOptional: true, minimum: .int(1)),
      AttributeDescription(name: "edition", type: .int16, defaultValue: .value(.int(1))),
      AttributeDescription(
        name: "homepage", type: .url, isOptional: true,
        defaultValue: URL(string: "https://example.org").map { .value(.url($0)) }),
    ]
  }

  private static func review() -> EntityDescription {
    EntityDescription(
      name: "Review",
      attributes: [AttributeDescription(name: "text", type: .string)],
      relationships: [
        RelationshipDescription(name: "book", destination: "Book", isOptional: false, inverse: "reviews")
      ])
  }

  private static func publisher() -> EntityDescription {
    EntityDescription(
      name: "Publisher",
      relationships: [
        RelationshipDescription(
          name: "books", destination: "Book", isToMany: true, inverse: "publisher", deleteRule: .deny,
          isOrdered: true)
      ])
  }
}
