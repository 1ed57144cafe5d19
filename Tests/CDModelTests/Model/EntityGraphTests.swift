import CDModel
import Testing

@Suite("EntityGraph")
struct EntityGraphTests {
  static let library = EntityGraph(
    ModelVersion(
      number: 1,
      enums: [EnumDescription(name: "Priority", rawType: .int16, cases: [])],
      composites: [CompositeDescription(name: "Address", fields: [])],
      entities: [
        EntityDescription(
          name: "Review",
          relationships: [RelationshipDescription(name: "book", destination: "Book", inverse: "reviews")]),
        EntityDescription(
          name: "Audiobook", parent: "Book", attributes: [AttributeDescription(name: "minutes", type: .int32)]
        ),
        EntityDescription(
          name: "Book", parent: "Publication",
          attributes: [AttributeDescription(name: "isbn", type: .string, propertyName: "number")],
          relationships: [
            RelationshipDescription(name: "reviews", destination: "Review", isToMany: true, inverse: "book"),
            RelationshipDescription(name: "sequel", destination: "Book"),
          ],
          fetchedProperties: [FetchedPropertyDescription(name: "others", entity: "Book", swiftName: "rest")]),
        EntityDescription(name: "Magazine", parent: "Publication"),
        EntityDescription(
          name: "Publication", isAbstract: true,
          attributes: [AttributeDescription(name: "title", type: .string)]),
      ]))

  @Test func `Entities are found, whatever the order of their declaration`() {
    let graph = Self.library
    #expect(graph.entity("Book") == graph.version.entities[2])
    #expect(graph.entity("book") == nil)
    #expect(graph.lineage(of: "Audiobook").map(\.name) == ["Publication", "Book", "Audiobook"])
    #expect(graph.lineage(of: "Nothing") == [])
    #expect(graph.parent(of: "Audiobook")?.name == "Book")
    #expect(graph.parent(of: "Review") == nil)
    #expect(graph.parent(of: "Nothing") == nil)
    #expect(
      graph.entitiesParentsFirst.map(\.name) == ["Review", "Publication", "Book", "Audiobook", "Magazine"])
    #expect(graph.root(of: "Audiobook")?.name == "Publication")
    #expect(graph.root(of: "Review")?.name == "Review")
    #expect(graph.root(of: "Nothing") == nil)
    #expect(graph.subentities(of: "Publication").map(\.name) == ["Book", "Magazine"])
    #expect(graph.descendants(of: "Publication").map(\.name) == ["Book", "Audiobook", "Magazine"])
    #expect(graph.descendants(of: "Magazine") == [])
    #expect(graph.isKind("Audiobook", of: "Publication"))
    #expect(graph.isKind("Book", of: "Book"))
    #expect(!graph.isKind("Publication", of: "Book"))
    #expect(!graph.isKind("Nothing", of: "Nothing"))
  }

  @Test func `Properties come from the root down`() {
    let graph = Self.library
    #expect(graph.attributes(of: "Audiobook").map(\.name) == ["title", "isbn", "minutes"])
    #expect(graph.relationships(of: "Audiobook").map(\.name) == ["reviews", "sequel"])
    #expect(graph.fetchedProperties(of: "Audiobook").map(\.name) == ["others"])
    #expect(graph.attributes(of: "Publication").map(\.name) == ["title"])
    #expect(graph.attributes(of: "Nothing") == [])
  }

  @Test func `A property is found by name, with its kind and the entity that declares it`() {
    let graph = Self.library
    let book = graph.version.entities[2]
    #expect(graph.property("isbn", of: "Audiobook") == .attribute(book.attributes[0]))
    #expect(graph.property("sequel", of: "Book") == .relationship(book.relationships[1]))
    #expect(graph.property("others", of: "Book") == .fetched(book.fetchedProperties[0]))
    #expect(graph.property("isbn", of: "Publication") == nil)
    #expect(graph.property("isbn", of: "Nothing") == nil)
    #expect(graph.property("isbn", of: "Book")?.swiftName == "number")
    #expect(graph.property("others", of: "Book")?.swiftName == "rest")
    #expect(graph.property("sequel", of: "Book")?.swiftName == "sequel")
    #expect(graph.property("others", of: "Book")?.name == "others")
    #expect(graph.declaringEntity(of: "title", in: "Audiobook")?.name == "Publication")
    #expect(graph.declaringEntity(of: "minutes", in: "Book") == nil)
  }

  @Test func `An inverse leads back, to a relative too`() {
    let graph = Self.library
    let book = graph.version.entities[2]
    let review = graph.version.entities[0]
    #expect(graph.inverse(of: review.relationships[0], in: "Review") == book.relationships[0])
    #expect(graph.inverse(of: book.relationships[0], in: "Audiobook") == review.relationships[0])
    #expect(graph.inverse(of: book.relationships[1], in: "Book") == nil)
    // The inverse does not name it, or leads elsewhere.
    let stranger = RelationshipDescription(name: "critics", destination: "Review", inverse: "book")
    #expect(graph.inverse(of: stranger, in: "Book") == nil)
    #expect(graph.inverse(of: book.relationships[0], in: "Magazine") == nil)
  }

  @Test func `Enumerations and composites are found by name`() {
    #expect(Self.library.enumeration("Priority")?.rawType == .int16)
    #expect(Self.library.enumeration("Address") == nil)
    #expect(Self.library.composite("Address")?.fields == [])
    #expect(Self.library.composite("Priority") == nil)
  }

  @Test func `A cycle of parents is cut where it closes`() {
    let graph = EntityGraph(
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(name: "Leaf", parent: "B"),
          EntityDescription(name: "A", parent: "B"),
          EntityDescription(name: "B", parent: "C"),
          EntityDescription(name: "C", parent: "A"),
          EntityDescription(name: "Self", parent: "Self"),
        ]))
    // The walk from Leaf goes by B, C and A, and A's step back to B is the one that closes.
    #expect(graph.lineage(of: "B").map(\.name) == ["A", "C", "B"])
    #expect(graph.lineage(of: "Leaf").map(\.name) == ["A", "C", "B", "Leaf"])
    #expect(graph.lineage(of: "A").map(\.name) == ["A"])
    #expect(graph.descendants(of: "A").map(\.name) == ["C", "B", "Leaf"])
    #expect(graph.lineage(of: "Self").map(\.name) == ["Self"])
    #expect(graph.subentities(of: "Self") == [])
    #expect(graph.entitiesParentsFirst.map(\.name) == ["A", "C", "B", "Leaf", "Self"])
    #expect(!graph.isKind("A", of: "B"))
  }

  @Test func `Unknown parents and repeated names do no harm`() {
    let graph = EntityGraph(
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "A", parent: "Gone",
            attributes: [
              AttributeDescription(name: "x", type: .string), AttributeDescription(name: "x", type: .bool),
            ], relationships: [RelationshipDescription(name: "x", destination: "Gone", inverse: "y")]),
          EntityDescription(name: "A", parent: "A"),
          EntityDescription(
            name: "B", parent: "A", attributes: [AttributeDescription(name: "x", type: .date)]),
        ]))
    #expect(graph.entity("A") == graph.version.entities[0])
    #expect(graph.root(of: "B")?.name == "A")
    #expect(graph.entitiesParentsFirst.map(\.attributes.count) == [2, 1])
    #expect(graph.subentities(of: "A").map(\.name) == ["B"])
    #expect(graph.property("x", of: "A") == .attribute(AttributeDescription(name: "x", type: .string)))
    #expect(graph.property("x", of: "B") == .attribute(AttributeDescription(name: "x", type: .date)))
    #expect(graph.attributes(of: "B").map(\.type) == [.string, .bool, .date])
    #expect(graph.inverse(of: graph.version.entities[0].relationships[0], in: "A") == nil)
  }

  @Test func `A very deep line of parents needs no deep stack`() {
    let depth = 50_000
    let graph = EntityGraph(
      ModelVersion(
        number: 1,
        entities: (0..<depth).map {
          EntityDescription(name: "E\($0)", parent: $0 == 0 ? nil : "E\($0 - 1)")
        }))
    #expect(graph.lineage(of: "E\(depth - 1)").count == depth)
    #expect(graph.descendants(of: "E0").count == depth - 1)
    #expect(graph.root(of: "E\(depth - 1)")?.name == "E0")
  }
}
