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

  // MARK: Fetches that fail

  /// A container of nodes, each of which has fetched properties with the given conditions.
  private func container(_ conditions: [(name: String, condition: String)]) throws -> PersistentContainer {
    let properties = try conditions.map {
      FetchedPropertyDescription(
        name: $0.name, entity: "Node", predicate: try FetchPredicate(format: $0.condition))
    }
    return try PersistentContainer(
      scratchOf: [
        EntityDescription(
          name: "Node", attributes: [AttributeDescription(name: "text", type: .string)],
          fetchedProperties: properties)
      ])
  }

  @Test func aConditionThatReadsItsOwnPropertyHasNoResult() throws {
    let container = try container([
      ("others", "others.@count >= 0"), ("left", "ANY right.text != ''"), ("right", "ANY left.text != ''"),
    ])
    let context = container.newContext()
    let node = try context.insert(entityNamed: "Node")
    try node.setValue("a", forKey: "text")
    try context.save()
    for name in ["others", "left", "right"] {
      let error = #expect(throws: FetchError.self) { try node.value(forKey: name) }
      let message = error.map { "\($0)" } ?? ""
      #expect(message.contains("'Node.\(name)'"), "\(message)")
      // The levels do not add to the message.
      #expect(message.ranges(of: "whose fetch fails").count == 1, "\(message)")
    }
    #expect(throws: FetchError.self) {
      try context.objects(forEntityNamed: "Node", format: "others.@count == 1")
    }
  }

  /// Each of the properties reads the next one, and the last one reads no other.
  @Test func conditionsMayReadOtherProperties() throws {
    let container = try container(
      (1...16).map { ("p\($0)", $0 == 16 ? "text == 'a'" : "ANY p\($0 + 1).text == 'a'") })
    let context = container.newContext()
    let node = try context.insert(entityNamed: "Node")
    try node.setValue("a", forKey: "text")
    try context.save()
    #expect(try node.value(forKey: "p1").objects == [node])
  }

  @Test(.timeLimit(.minutes(10))) func aConditionReportsAPatternThatIsTooCostly() throws {
    let pattern = "(a+)+$"
    let container = try container([("matching", "text MATCHES '\(pattern)'")])
    let context = container.newContext()
    for number in 0..<60 {
      let text = String(repeating: "a", count: 20) + "-\(number)"
      try context.insert(entityNamed: "Node").setValue(text, forKey: "text")
    }
    try context.save()
    #expect(throws: FetchError.patternTooCostly(pattern: pattern)) {
      try context.objects(forEntityNamed: "Node", format: "matching.@count == 0")
    }
  }
}
