import CDRuntime
import Foundation
import Testing

/// Objects and identifiers in conditions: an identifier means the row of its store and of its entity's table, in memory and
/// in SQL alike.
@Suite struct ObjectComparisonTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let a, b, c: ManagedObject

  init() throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "A",
        relationships: [
          RelationshipDescription(name: "bs", destination: "B", isToMany: true, inverse: "manyA"),
          RelationshipDescription(name: "ones", destination: "B", isToMany: true, inverse: "oneA"),
        ]),
      EntityDescription(
        name: "B",
        relationships: [
          RelationshipDescription(name: "manyA", destination: "A", isToMany: true, inverse: "bs"),
          RelationshipDescription(name: "oneA", destination: "A", inverse: "ones"),
          RelationshipDescription(name: "others", destination: "B", isToMany: true),
          RelationshipDescription(name: "next", destination: "B"),
        ]),
      EntityDescription(name: "C", parent: "B"),
    ])
    context = container.newContext()
    a = try context.insert(entityNamed: "A")
    b = try context.insert(entityNamed: "B")
    c = try context.insert(entityNamed: "C")
    try b.setValue([a], forKey: "manyA")
    try b.setValue(a, forKey: "oneA")
    try b.setValue([c], forKey: "others")
    try b.setValue(c, forKey: "next")
    try context.save()
  }

  /// An identifier with another entity or another store.
  private func id(_ object: ManagedObject, entity: String? = nil, store: UUID? = nil) throws
    -> ManagedObjectID
  {
    let id = object.objectID
    let uri = "cdgen://\((store ?? id.storeID).uuidString)/\(entity ?? id.entityName)/"
    let key = try #require(id.description.split(separator: "/").last)
    let url = try #require(URL(string: uri + key))
    return try #require(ManagedObjectID(uri: url))
  }

  /// What a condition finds in the store, with unsaved changes, and in a child.
  private func found(_ format: String, _ arguments: [ManagedObjectID]) throws -> [[ManagedObject]] {
    let predicate = try FetchPredicate(format: format, arguments: arguments.map { $0 as any FormatArgument })
    let request = FetchRequest<ManagedObject>(entityName: "B", where: predicate)
    var result = [try context.fetch(request), try context.objectIDs(for: request).map(context.object)]
    let evaluator = PredicateEvaluator()
    result.append(try [b, c].filter { try evaluator.matches(predicate, $0) })
    let extra = try context.insert(entityNamed: "A")
    result.append(try context.fetch(request))
    context.delete(extra)
    let child = ManagedObjectContext(parent: context)
    result.append(try child.fetch(request).map { try context.object(with: $0.objectID) })
    return result
  }

  private func expect(
    _ format: String, _ arguments: [ManagedObjectID], _ expected: [ManagedObject],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    for objects in try found(format, arguments) {
      #expect(objects == expected, "\(format)", sourceLocation: location)
    }
  }

  private static let formats = [
    "%@ IN manyA", "manyA CONTAINS %@", "ANY manyA == %@", "oneA == %@", "%@ == oneA", "oneA IN {%@}",
    "oneA IN {%@, %@}", "ANY manyA IN {%@, %@}", "SUBQUERY(manyA, $x, $x == %@).@count > 0",
  ]

  private func arguments(_ format: String, _ id: ManagedObjectID) -> [ManagedObjectID] {
    (1..<format.split(separator: "%@", omittingEmptySubsequences: false).count).map { _ in id }
  }

  @Test(arguments: formats) func keysOfAnotherTableMeanNobody(format: String) throws {
    try expect(format, arguments(format, a.objectID), [b])
    // Both have the key 1, and only one is an A.
    #expect(a.objectID.description.hasSuffix("/p1") && b.objectID.description.hasSuffix("/p1"))
    try expect(format, arguments(format, b.objectID), [])
    try expect("NOT (\(format))", arguments(format, b.objectID), [b, c])
    try expect(format, arguments(format, try id(a, store: UUID())), [])
  }

  // The table is one for all of the hierarchy, and the row says which entity it is of.
  @Test(arguments: ["B", "C"]) func anyEntityOfTheHierarchyDoes(entity: String) throws {
    let id = try id(c, entity: entity)
    try expect("%@ IN others", [id], [b])
    try expect("self == %@", [id], [c])
    try expect("self IN {%@, %@}", [id, a.objectID], [c])
    try expect("self != %@", [id], [b])
  }

  // No object is there that knows its hierarchy: only the identifiers are compared.
  @Test(arguments: [
    "%@ == %@", "(%@ ?? next) == %@", "(%@ ?? %@) == %@", "%@ IN {%@, %@}", "NOT (%@ != %@)", "$x == $y",
    "($x ?? next) == $y",
  ])
  func twoIdentifiersOfOneObjectAreEqual(format: String) throws {
    func found(_ first: ManagedObjectID, _ second: ManagedObjectID) throws -> Set<ManagedObjectID> {
      let count = format.split(separator: "%@", omittingEmptySubsequences: false).count - 1
      let arguments = (0..<count).map { $0 == 0 ? first : second }
      var request = FetchRequest<ManagedObject>(
        entityName: "B",
        where: try FetchPredicate(format: format, arguments: arguments.map { $0 as any FormatArgument }))
      if count == 0 { request.variables = ["x": first, "y": second] }
      return Set(try context.fetch(request).map(\.objectID))
    }
    let all: Set<ManagedObjectID> = [b.objectID, c.objectID]
    let named = try id(c, entity: "B")
    for isChanged in [false, true] {
      // The evaluator decides about objects with unsaved changes.
      if isChanged { try b.setValue(.objects([]), forKey: "manyA") }
      #expect(try found(c.objectID, named) == all)
      #expect(try found(named, c.objectID) == all)
      #expect(try found(b.objectID, named).isEmpty)
      // The checker refuses objects of different hierarchies as choices of one value.
      if format.hasPrefix("(%@ ??") { continue }
      #expect(try found(a.objectID, try id(b, entity: "C")).isEmpty)
    }
  }

  @Test func groupsAreComparedWithAnyIdentifierOfTheirObject() throws {
    var request = AggregateRequest<ManagedObject>(entityName: "B", [.count()])
    request.groupBy = ["next"]
    request.having = try FetchPredicate(format: "next == $x")
    for entity in ["B", "C"] {
      request.variables = ["x": try id(c, entity: entity)]
      #expect(try context.aggregates(for: request).map { $0["next"]?.objectID } == [c.objectID])
    }
    request.variables = ["x": a.objectID]
    #expect(try context.aggregates(for: request).isEmpty)
  }

  @Test func objectsOfTwoContextsWithOneRowAreEqual() throws {
    let other = try container.newContext().existingObject(with: a.objectID)
    let evaluator = PredicateEvaluator(variables: ["a": .subject(other), "b": .subject(b)])
    #expect(try evaluator.matches(try FetchPredicate(format: "oneA == $a"), b))
    #expect(try !evaluator.matches(try FetchPredicate(format: "oneA == $b"), b))
  }
}
