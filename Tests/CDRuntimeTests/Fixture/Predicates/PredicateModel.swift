import CDRuntime

/// A model with a property of every kind that predicates can ask for.
enum PredicateModel {
  static let version = ModelVersion(
    number: 1,
    enums: [
      EnumDescription(
        name: "Level", rawType: .int16,
        cases: [.init(name: "low", rawValue: .int(0)), .init(name: "high", rawValue: .int(5))])
    ],
    composites: [
      CompositeDescription(
        name: "Place",
        fields: [
          AttributeDescription(name: "city", type: .string, isOptional: true),
          AttributeDescription(name: "floor", type: .int32, isOptional: true),
        ])
    ],
    entities: [
      EntityDescription(
        name: "Author",
        attributes: [
          AttributeDescription(name: "name", type: .string, isOptional: true),
          AttributeDescription(name: "age", type: .int32, isOptional: true),
        ],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "author"),
          RelationshipDescription(name: "mentor", destination: "Author"),
        ]),
      EntityDescription(
        name: "Item", isAbstract: true,
        attributes: [AttributeDescription(name: "title", type: .string)]),
      EntityDescription(
        name: "Book", parent: "Item",
        attributes: [
          AttributeDescription(name: "pages", type: .int16, isOptional: true),
          AttributeDescription(name: "sold", type: .int64, isOptional: true),
          AttributeDescription(name: "rating", type: .double, isOptional: true),
          AttributeDescription(name: "weight", type: .float, isOptional: true),
          AttributeDescription(name: "price", type: .decimal, isOptional: true),
          AttributeDescription(name: "isNew", type: .bool, isOptional: true),
          AttributeDescription(name: "added", type: .date, isOptional: true),
          AttributeDescription(name: "cover", type: .data, isOptional: true),
          AttributeDescription(name: "code", type: .uuid, isOptional: true),
          AttributeDescription(name: "level", type: .enumeration("Level"), isOptional: true),
          AttributeDescription(name: "place", type: .composite("Place"), isOptional: true),
          AttributeDescription(name: "draft", type: .string, isOptional: true, isTransient: true),
        ],
        relationships: [
          RelationshipDescription(name: "author", destination: "Author", inverse: "books"),
          RelationshipDescription(name: "tags", destination: "Tag", isToMany: true, inverse: "books"),
        ]),
      EntityDescription(
        name: "Tag",
        attributes: [AttributeDescription(name: "word", type: .string, isOptional: true)],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "tags")
        ]),
    ])
}
