import Foundation
import Testing

@testable import CDRuntime

@Suite struct FetchedPropertyTests {
  /// Who has a city has neighbours, other people of the city, and the eldest of them.
  private static let version = ModelVersion(
    number: 1,
    entities: [
      EntityDescription(
        name: "Person",
        attributes: [
          AttributeDescription(name: "name", type: .string),
          AttributeDescription(name: "city", type: .string, isOptional: true),
          AttributeDescription(name: "age", type: .int16, defaultValue: .value(.int(0))),
        ],
        fetchedProperties: [
          FetchedPropertyDescription(
            name: "neighbours", entity: "Person",
            predicate: try? FetchPredicate(format: "city == $FETCH_SOURCE.city AND SELF != $FETCH_SOURCE"),
            sort: [SortKey("name", options: .caseInsensitive)]),
          FetchedPropertyDescription(
            name: "eldest", entity: "Person",
            predicate: try? FetchPredicate(format: "age > $FETCH_SOURCE.age"),
            sort: [SortKey("age", ascending: false)], limit: 1),
        ])
    ])

  @Test func fetchSourceIsTheObject() throws {
    let model = ManagedObjectModel(
      name: "People", id: UUID(), versions: [Self.version], currentVersionNumber: 1)
    let container = try PersistentContainer(scratchModel: model)
    let context = container.newContext()
    let people = try [("Bo", "Rome", 5), ("al", "Rome", 7), ("Cy", "Rome", 6), ("Di", nil, 9)].map {
      try context.insert(entityNamed: "Person", values: ["name": $0.0, "city": $0.1, "age": $0.2])
    }
    func names(_ person: Int, _ property: String) throws -> [AttributeValue?] {
      try people[person].value(forKey: property).objects.map { try $0.value(forKey: "name").attribute }
    }
    for _ in 0..<2 {
      // First with everything unsaved, then with nothing.
      #expect(try names(0, "neighbours") == [.string("al"), .string("Cy")])
      #expect(try names(3, "neighbours").isEmpty)
      #expect(try names(2, "eldest") == [.string("Di")])
      #expect(try names(3, "eldest").isEmpty)
      try context.save()
    }
    try people[3].setValue("Rome", forKey: "city")
    #expect(try names(3, "neighbours") == [.string("al"), .string("Bo"), .string("Cy")])
    #expect(try names(0, "neighbours") == [.string("al"), .string("Cy"), .string("Di")])
    // A predicate may go through a fetched property; SQL does not know it.
    let request = FetchRequest<ManagedObject>(
      entityName: "Person",
      where: try FetchPredicate(format: "neighbours.@count == 3 AND ANY neighbours.age == 9"))
    #expect(try context.count(for: request) == 3)
  }
}
