import CDRuntime
import Foundation
import Testing

/// A save that meets equal values tells of every list of them, with all objects that have them.
@Suite struct UniqueListTests {
  private let context: ManagedObjectContext

  init() throws {
    let place = CompositeDescription(
      name: "Place", fields: [AttributeDescription(name: "row", type: .double, isOptional: true)])
    let container = try PersistentContainer(
      scratchOf: [
        EntityDescription(
          name: "Base",
          attributes: [
            AttributeDescription(name: "code", type: .string, isOptional: true),
            AttributeDescription(name: "first", type: .data, isOptional: true),
            AttributeDescription(name: "place", type: .composite("Place"), isOptional: true),
          ],
          uniquenessConstraints: [["code"], ["first", "place.row"]]),
        EntityDescription(
          name: "Leaf", parent: "Base",
          attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
          uniquenessConstraints: [["number"]]),
      ], composites: [place])
    context = container.newContext()
  }

  /// A passport stores who has it, so that no two persons have the same passport.
  private static let people = [
    EntityDescription(
      name: "Person", attributes: [AttributeDescription(name: "name", type: .string)],
      relationships: [RelationshipDescription(name: "passport", destination: "Passport", inverse: "person")],
      uniquenessConstraints: [["name", "passport"]]),
    EntityDescription(
      name: "Passport",
      relationships: [
        RelationshipDescription(name: "person", destination: "Person", isOptional: false, inverse: "passport")
      ]),
  ]

  private func make(_ entity: String, _ values: [String: AttributeValue]) throws -> ManagedObject {
    let object = try context.insert(entityNamed: entity)
    for (key, value) in values { try object.setValue(.attribute(value), forKey: key) }
    return object
  }

  private func expectConflicts(_ expected: [(properties: [String], objects: [ManagedObject])]) throws {
    do {
      try context.save()
      Issue.record("the save succeeds")
    } catch SaveError.notUnique(let conflicts) {
      #expect(conflicts.map(\.properties) == expected.map(\.properties))
      #expect(conflicts.map(\.objectIDs) == expected.map { $0.objects.map(\.objectID) })
    }
  }

  // The first one's code keeps the others' rows out of the table, where they would have met.
  @Test func refusedObjectsMeetEachOther() throws {
    let base = try make("Base", ["code": .string("x")])
    let leaves = try (0..<2).map { _ in try make("Leaf", ["code": .string("x"), "number": .int(1)]) }
    try expectConflicts([(["code"], [base] + leaves), (["number"], leaves)])
  }

  @Test func refusedObjectsMeetThoseThatAreWrittenLater() throws {
    let stored = try make("Leaf", ["code": .string("x")])
    try context.save()
    let refused = try make("Leaf", ["code": .string("x"), "number": .int(2)])
    let later = try make("Leaf", ["number": .int(2)])
    try expectConflicts([(["code"], [refused, stored]), (["number"], [refused, later])])
  }

  @Test func changedObjectsMeetEachOther() throws {
    let stored = try make("Leaf", ["code": .string("a"), "number": .int(9)])
    let changed = try (0..<3).map {
      try make("Leaf", ["code": .string("c\($0)"), "number": .int(Int64($0))])
    }
    try context.save()
    for object in changed {
      try object.setValue("a", forKey: "code")
      try object.setValue(7, forKey: "number")
    }
    // It moves out of the way, which helps nobody.
    try stored.setValue("c0", forKey: "code")
    let new = try make("Leaf", ["number": .int(7)])
    try expectConflicts([(["code"], changed), (["number"], changed + [new])].map { ($0.0, $0.1) })
    for (place, object) in changed.enumerated() {
      try object.setValue("d\(place)", forKey: "code")
      try object.setValue(Int32(place) + 20, forKey: "number")
    }
    try context.save()
  }

  // Values with zero bytes, and fractions whose last digits differ.
  @Test func valuesAreComparedWhole() throws {
    func composite(_ number: Double) -> AttributeValue { .composite(["row": .double(number)]) }
    let (short, long) = (Data([0]), Data([0, 1]))
    let zero = StoreKind.ofEnvironment.zero
    let first = try make(
      "Base", ["code": .string("x\(zero)"), "first": .data(short), "place": composite(0.1)])
    let objects = try [
      make("Base", ["code": .string("x\(zero)"), "first": .data(long), "place": composite(0.1)]),
      make("Base", ["code": .string("x\(zero)"), "first": .data(short), "place": composite(0.1.nextUp)]),
      make("Base", ["code": .string("x\(zero)"), "first": .data(long), "place": composite(0.1)]),
      make("Base", ["code": .string("x\(zero)a"), "first": .data(long), "place": .null]),
    ]
    try expectConflicts([
      (["code"], [first] + objects[..<3]), (["first", "place.row"], [objects[0], objects[2]]),
    ])
  }

  @Test func manyPairsAreToldOf() throws {
    let ones = try (0..<50).map {
      try make("Leaf", ["code": .string("\($0)"), "number": .int(Int64($0 / 2))])
    }
    try expectConflicts(stride(from: 0, to: 50, by: 2).map { (["number"], [ones[$0], ones[$0 + 1]]) })
  }

  @Test func aListWithTheSideThatStoresNoReferenceRefusesNothing() throws {
    let context = try PersistentContainer(scratchOf: Self.people).newContext()
    for _ in 0..<2 {
      let person = try context.insert(entityNamed: "Person")
      try person.setValue("A", forKey: "name")
      let passport = try context.insert(entityNamed: "Passport")
      try passport.setValue(.object(person), forKey: "person")
    }
    try context.save()
    var request = BatchInsertRequest<ManagedObject>(entityName: "Person", rows: [["name": "A"]])
    request.uniqueness = .update
    #expect(try context.execute(request).count == 1)
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")) == 3)
  }

  // Earlier releases created the index, over the other properties of the list.
  @Test(.onceForAllKinds) func theIndexOfSuchAListIsDroppedWhenTheStoreIsOpened() throws {
    let fixture = try MigrationFixture()
    let model = MigrationFixture.model([MigrationFixture.version(1, Self.people)])
    try fixture.open(model)
    try PlainSQL.run(
      #"CREATE UNIQUE INDEX "Person.unique.name.passport" ON "Person" ("name")"#, at: fixture.url)
    try fixture.using(model) { context in
      for _ in 0..<2 {
        let person = try context.insert(entityNamed: "Person")
        try person.setValue("A", forKey: "name")
      }
    }
    #expect(try fixture.column("SELECT name FROM Person") == ["A", "A"])
  }
}
