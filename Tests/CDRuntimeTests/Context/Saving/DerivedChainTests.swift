import CDRuntime
import Foundation
import Testing

/// Attributes that are derived from other derived attributes: of the same object, declared before them, and of one object
/// after another.
@Suite struct DerivedChainTests {
  private let container: PersistentContainer

  init() throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Item",
        attributes: [
          AttributeDescription(name: "n", type: .int64, defaultValue: .value(.int(0))),
          .derived("b", .int64, "a + n"), .derived("a", .int64, "n + 1"),
          .derived("c", .int64, "up.b + 1"), .derived("d", .int64, "up.c + 1"),
          .derived("e", .int64, "up.d + 1"),
        ],
        relationships: [
          RelationshipDescription(name: "up", destination: "Item", inverse: "downs"),
          RelationshipDescription(name: "downs", destination: "Item", isToMany: true, inverse: "up"),
        ])
    ])
  }

  /// Saves four items, each below the one before.
  private func makeItems() throws -> [ManagedObjectID] {
    let context = container.newContext()
    var items: [ManagedObject] = []
    for _ in 0..<4 {
      let item = try context.insert(entityNamed: "Item")
      if let last = items.last { try item.setValue(last, forKey: "up") }
      items.append(item)
    }
    try context.save()
    return items.map(\.objectID)
  }

  /// The values of `b` to `e`, each of the next item.
  private func chain(_ items: [ManagedObjectID]) throws -> [PropertyValue] {
    let context = container.newContext()
    return try zip(items, ["b", "c", "d", "e"]).map { id, key in
      try context.existingObject(with: id).value(forKey: key)
    }
  }

  private func numbers(_ numbers: Int64...) -> [PropertyValue] { numbers.map { .attribute(.int($0)) } }

  /// The number of items whose `b` has a value.
  private func count(ofB value: Int) throws -> Int {
    let predicate = try FetchPredicate(format: "b == \(value)")
    return try container.newContext().count(
      for: FetchRequest<ManagedObject>(entityName: "Item", where: predicate))
  }

  @Test func aSaveComputesTheWholeChain() throws {
    let items = try makeItems()
    #expect(try chain(items) == numbers(1, 2, 3, 4))
    let context = container.newContext()
    try context.existingObject(with: items[0]).setValue(7, forKey: "n")
    try context.save()
    #expect(try chain(items) == numbers(15, 16, 17, 18))
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test func aBatchComputesTheWholeChain() throws {
    let items = try makeItems()
    let context = container.newContext()
    let first = FetchRequest<ManagedObject>(
      entityName: "Item", where: try FetchPredicate(format: "up == nil"))
    try context.execute(BatchUpdateRequest<ManagedObject>(first, set: [.set("n", to: 7)]))
    #expect(try chain(items) == numbers(15, 16, 17, 18))
    let rows: [[String: FetchedValue]] = [["n": .value(Int64(20))], ["n": .value(Int64(30))]]
    try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Item", rows: rows))
    #expect(try count(ofB: 41) == 1)
    #expect(try count(ofB: 61) == 1)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test func anImportComputesTheWholeChain() throws {
    try container.newContext().importObjects { objects in
      let key = try objects.firstKey(ofEntity: "Item")
      try objects.insert(entity: "Item", key: key, references: [], size: 0) { item in
        try item.setValue(7, forKey: "n")
      }
      for number in Int64(1)...3 {
        try objects.insert(
          entity: "Item", key: key + number, references: [("up", key + number - 1)], size: 0
        ) { _ in }
      }
    }
    #expect(try count(ofB: 15) == 1)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }
}
