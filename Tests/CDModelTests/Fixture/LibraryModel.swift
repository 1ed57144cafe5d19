import CDModel

/// A model with one of everything that the checker looks at.
enum LibraryModel {
  static let version = ModelVersion(
    number: 1,
    enums: [
      EnumDescription(
        name: "Priority", rawType: .int16,
        cases: [.init(name: "low", rawValue: .int(0)), .init(name: "high", rawValue: .int(2))]),
      EnumDescription(
        name: "Genre", rawType: .string,
        cases: [
          .init(name: "novel", rawValue: .string("n")), .init(name: "n", rawValue: .string("other")),
        ]),
    ],
    composites: [
      CompositeDescription(
        name: "Address",
        fields: [
          AttributeDescription(name: "street", type: .string),
          AttributeDescription(name: "city", type: .string, isOptional: true),
        ])
    ],
    entities: [
      EntityDescription(
        name: "Publication", isAbstract: true,
        attributes: [AttributeDescription(name: "title", type: .string)]),
      EntityDescription(
        name: "Book", parent: "Publication",
        attributes: [
          AttributeDescription(name: "isbn", type: .string, isOptional: true),
          AttributeDescription(name: "pages", type: .int16),
          AttributeDescription(name: "sold", type: .int64),
          AttributeDescription(name: "price", type: .decimal),
          AttributeDescription(name: "weight", type: .double, isOptional: true),
          AttributeDescription(name: "rating", type: .float),
          AttributeDescription(name: "isLent", type: .bool),
          AttributeDescription(name: "added", type: .date),
          AttributeDescription(name: "lent", type: .date, isOptional: true),
          AttributeDescription(name: "cover", type: .data, isOptional: true),
          AttributeDescription(name: "uuid", type: .uuid),
          AttributeDescription(name: "link", type: .url, isOptional: true),
          AttributeDescription(name: "priority", type: .enumeration("Priority")),
          AttributeDescription(name: "genre", type: .enumeration("Genre"), isOptional: true),
          AttributeDescription(name: "shippedTo", type: .composite("Address"), isOptional: true),
          AttributeDescription(
            name: "settings", type: .codable(type: "Settings", codec: 1), isOptional: true),
          AttributeDescription(name: "draft", type: .bool, isTransient: true),
        ],
        relationships: [
          RelationshipDescription(name: "author", destination: "Author", isOptional: false, inverse: "books"),
          RelationshipDescription(name: "reviews", destination: "Review", isToMany: true),
          RelationshipDescription(name: "sequel", destination: "Book"),
        ],
        fetchedProperties: [FetchedPropertyDescription(name: "others", entity: "Book")]),
      EntityDescription(
        name: "Author",
        attributes: [
          AttributeDescription(name: "name", type: .string),
          AttributeDescription(name: "born", type: .date, isOptional: true),
        ],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "author")
        ]),
      EntityDescription(
        name: "Review",
        attributes: [
          AttributeDescription(name: "stars", type: .int32),
          AttributeDescription(name: "text", type: .string),
        ]),
    ])

  static let checker = ExpressionChecker(graph: EntityGraph(version))
}
