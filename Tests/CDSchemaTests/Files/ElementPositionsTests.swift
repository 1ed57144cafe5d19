import CDModel
import CDSchema
import Testing

@Suite("Positions of elements")
struct ElementPositionsTests {
  private let version = """
    enums: { Kind: { type: String, cases: { a: x } } }
    composites:
      Place: { zip: String }
    entities:
      Book:
        attributes:
          title: String
          total: { type: Int64, derived: 1 + 2 }
        relationships:
          next: { to: [Book], inverse: none }
        indexes: [[title], [-total, title]]
        unique: [[title]]
        fetches:
          all:
            where: >-
              title == 'ü'
              AND total > 3
            sort: [title, -total]
        fetched: { others: { entity: Book } }
    configurations: { Cloud: [Book] }
    """

  private func place(_ element: SchemaElement, _ key: String? = nil) -> String? {
    let positions = load(version: version).positions
    let location = key.map { positions[element, $0] } ?? positions[element]
    return location?.description
  }

  @Test func elements() {
    #expect(place(.model) == "model.yaml:1:1")
    #expect(place(.version(1)) == "1.yaml:1:1")
    #expect(place(.version(2)) == nil)
    #expect(place(.part(.enumeration("Kind"), version: 1)) == "1.yaml:1:10")
    #expect(place(.enumCase(version: 1, enumeration: "Kind", name: "a")) == "1.yaml:1:41")
    #expect(place(.part(.composite("Place"), version: 1)) == "1.yaml:3:3")
    #expect(place(.part(.field(composite: "Place", name: "zip"), version: 1)) == "1.yaml:3:12")
    #expect(place(.part(.entity("Book"), version: 1)) == "1.yaml:5:3")
    #expect(place(.part(.attribute(entity: "Book", name: "title"), version: 1)) == "1.yaml:7:7")
    #expect(place(.part(.relationship(entity: "Book", name: "next"), version: 1)) == "1.yaml:10:7")
    #expect(place(.index(version: 1, entity: "Book", index: 1)) == "1.yaml:11:24")
    #expect(place(.uniquenessConstraint(version: 1, entity: "Book", index: 0)) == "1.yaml:12:14")
    #expect(place(.part(.fetchTemplate(entity: "Book", name: "all"), version: 1)) == "1.yaml:14:7")
    #expect(place(.part(.fetchedProperty(entity: "Book", name: "others"), version: 1)) == "1.yaml:19:16")
    #expect(place(.part(.configuration("Cloud"), version: 1)) == "1.yaml:20:19")
  }

  @Test func values() {
    #expect(place(.model, "id") == "model.yaml:1:5")
    #expect(place(.part(.attribute(entity: "Book", name: "title"), version: 1), "type") == "1.yaml:7:14")
    #expect(place(.part(.attribute(entity: "Book", name: "title"), version: 1), "default") == nil)
    #expect(
      place(.part(.relationship(entity: "Book", name: "next"), version: 1), "inverse") == "1.yaml:10:36")
    #expect(
      place(.part(.fetchTemplate(entity: "Book", name: "all"), version: 1), "sort[1]") == "1.yaml:18:23")
    #expect(place(.index(version: 1, entity: "Book", index: 1), "elements[0]") == "1.yaml:11:25")
  }

  @Test("what is not there has the place of what is around it")
  func nearest() {
    let positions = load(version: version).positions
    let missing = SchemaElement.part(.attribute(entity: "Book", name: "isbn"), version: 1)
    #expect(positions.nearest(to: missing)?.description == "1.yaml:5:3")
    #expect(positions.nearest(to: missing, key: "type")?.description == "1.yaml:5:3")
    #expect(positions.nearest(to: .version(9))?.description == "model.yaml:1:1")
  }

  @Test("a place within a folded expression")
  func inside() {
    let positions = load(version: version).positions
    let fetch = SchemaElement.part(.fetchTemplate(entity: "Book", name: "all"), version: 1)
    func place(_ offset: Int) -> String? {
      positions.location(of: fetch, key: "where", utf8Offset: offset)?.description
    }
    #expect(place(0) == "1.yaml:16:11")
    #expect(place(11) == "1.yaml:16:21", "within ü, which has two bytes")
    #expect(place(14) == "1.yaml:17:11")
    #expect(place(27) == "1.yaml:17:24", "the end")
    #expect(place(1000) == "1.yaml:17:24")
  }
}
