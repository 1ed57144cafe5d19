import CDModel
import Testing

@Suite struct EntityGraphStorageTests {
  private let graph = EntityGraph(
    ModelVersion(
      number: 1,
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
          attributes: [
            AttributeDescription(name: "title", type: .string),
            AttributeDescription(name: "draft", type: .bool, isTransient: true),
          ],
          relationships: [
            RelationshipDescription(
              name: "author", destination: "Author", isOptional: false, inverse: "publications")
          ]),
        EntityDescription(
          name: "Book", parent: "Publication",
          attributes: [
            AttributeDescription(name: "shippedTo", type: .composite("Address"), isOptional: true),
            AttributeDescription(name: "isbn", type: .string),
          ],
          relationships: [
            RelationshipDescription(name: "sequel", destination: "Book", inverse: "prequel"),
            RelationshipDescription(name: "prequel", destination: "Book", inverse: "sequel"),
            RelationshipDescription(name: "twin", destination: "Book", inverse: "twin"),
            RelationshipDescription(name: "seal", destination: "Seal", inverse: "book"),
          ]),
        EntityDescription(
          name: "Author",
          relationships: [
            RelationshipDescription(
              name: "publications", destination: "Publication", isToMany: true, inverse: "author")
          ]),
        EntityDescription(
          name: "Seal",
          relationships: [
            RelationshipDescription(
              name: "book", destination: "Book", isOptional: false, inverse: "seal")
          ]),
      ]))

  @Test func slotsFollowTheLineage() {
    #expect(
      graph.slots(of: "Book").map { "\($0.number) \($0.entity).\($0.property.name)" } == [
        "0 Publication.title", "1 Publication.draft", "2 Publication.author", "3 Book.shippedTo",
        "4 Book.isbn", "5 Book.sequel", "6 Book.prequel", "7 Book.twin", "8 Book.seal",
      ])
    #expect(graph.slots(of: "Nothing").isEmpty)
  }

  @Test func columnsAreWhatARowHolds() {
    #expect(
      graph.columns(of: "Book").map { "\($0.ordinal) \($0.slot) \($0.entity) \($0.name) \($0.kind)" } == [
        "0 0 Publication title attribute", "1 2 Publication author reference",
        "2 3 Book shippedTo.street field", "3 3 Book shippedTo.city field", "4 4 Book isbn attribute",
        "5 6 Book prequel reference", "6 7 Book twin reference",
      ])
    #expect(graph.columns(of: "Seal").map(\.name) == ["book"])
    #expect(graph.columns(of: "Author").isEmpty)
  }
}
