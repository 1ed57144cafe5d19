import CDRuntime
import Foundation
import Testing

/// Fetches compare objects with unsaved changes with the values that other contexts have saved meanwhile.
@Suite struct ChangedObjectFetchTests {
  private let container: PersistentContainer
  private let first: ManagedObjectContext
  private let other: ManagedObjectContext

  private static func derived(_ name: String, _ type: AttributeType, _ text: String) throws
    -> AttributeDescription
  {
    AttributeDescription(
      name: name, type: type, isOptional: true, derivation: try ValueExpression(format: text))
  }

  init() throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Folder",
        attributes: [
          AttributeDescription(name: "name", type: .string)
        ],
        relationships: [
          RelationshipDescription(name: "files", destination: "File", isToMany: true, inverse: "folder")
        ]),
      EntityDescription(
        name: "File",
        attributes: [
          AttributeDescription(name: "size", type: .int64),
          try Self.derived("folderName", .string, "folder.name"),
        ],
        relationships: [RelationshipDescription(name: "folder", destination: "Folder", inverse: "files")]),
    ])
    first = container.newContext()
    other = container.newContext()
  }

  private func folder(_ name: String) throws -> ManagedObject {
    let folder = try first.insert(entityNamed: "Folder")
    try folder.setValue(name, forKey: "name")
    return folder
  }

  @discardableResult
  private func file(_ size: Int, in folder: ManagedObject, _ context: ManagedObjectContext) throws
    -> ManagedObject
  {
    let file = try context.insert(entityNamed: "File")
    try file.setValue(size, forKey: "size")
    try file.setValue(folder, forKey: "folder")
    return file
  }

  private func request(_ format: String) throws -> FetchRequest<ManagedObject> {
    FetchRequest(entityName: "File", where: try FetchPredicate(format: format))
  }

  @Test(arguments: [false, true]) func aChangedObjectMatchesWhatOthersHaveSaved(isInBlock: Bool) throws {
    let folder = try folder("0")
    for size in 0..<4 { try file(size, in: folder, first) }
    try first.save()
    let file = try #require(try other.fetch(request("size == 2")).first)
    #expect(try other.existingObject(with: folder.objectID).value(forKey: "name") == .attribute(.string("0")))
    try file.setValue(5, forKey: "size")
    var number = 0
    func name() throws -> String {
      number += 1
      try folder.setValue("\(number)", forKey: "name")
      try first.save()
      return "'\(number)'"
    }
    func found(_ format: String) throws -> [Int] {
      let name = try name()
      func count(_ body: (FetchRequest<ManagedObject>) throws -> Int) throws -> Int {
        let matching = try request("\(format) == \(name)")
        return isInBlock ? try other.perform { try body(matching) } : try body(matching)
      }
      return try [
        count { try other.count(for: $0) }, count { try other.fetch($0).count },
        count { try other.objectIDs(for: $0).count },
      ]
    }
    #expect(try found("folder.name") == [4, 4, 4])
    #expect(try found("folderName") == [4, 4, 4])
    // The name changes before each of them, too.
    for format in ["folder.name", "folderName"] {
      let matching = try request("\(format) == \(name())")
      #expect(try other.count(for: matching) == 4)
    }
    let child = ManagedObjectContext(parent: other)
    try child.existingObject(with: file.objectID).setValue(6, forKey: "size")
    let matching = try request("folder.name == \(name())")
    #expect(try child.count(for: matching) == 4)
  }

  /// Whoever decides about the rows: an object with changes keeps them although another context has deleted its row, and
  /// is found until a save reports the conflict.
  @Test(arguments: [false, true]) func aChangedObjectIsFoundWithoutItsRow(isInChild: Bool) throws {
    let folder = try folder("0")
    let file = try file(1, in: folder, first)
    try first.save()
    let context = isInChild ? ManagedObjectContext(parent: other) : other
    let changed = try #require(try context.fetch(request("size == 1")).first)
    try changed.setValue(5, forKey: "size")
    first.delete(file)
    try first.save()
    #expect(try context.fetch(request("size == 5")) == [changed])
    // From now on, the answer for other files depends on a change.
    try context.existingObject(with: folder.objectID).setValue("x", forKey: "name")
    let matching = try request("size == 5 AND folder.name == 'x'")
    #expect(try context.fetch(matching) == [changed])
    #expect(try context.count(for: matching) == 1)
    #expect(try context.objectIDs(for: matching) == [changed.objectID])
    #expect(try context.fetch(request("size == 5")) == [changed])
  }

  /// The owner's row counts an object as it was before it was changed or deleted here.
  @Test(.onceForAllKinds, arguments: [false, true], [false, true])
  func derivedAttributesOfANewOwnerFollowTheChanges(isDeleted: Bool, isInChild: Bool) throws {
    let store = try GraphStore([
      EntityDescription(
        name: "Shop", attributes: [try Self.derived("sales", .int64, "orders.@sum.amount")],
        relationships: [
          RelationshipDescription(name: "orders", destination: "Order", isToMany: true, inverse: "shop")
        ]),
      EntityDescription(
        name: "Order", attributes: [AttributeDescription(name: "amount", type: .int64)],
        relationships: [RelationshipDescription(name: "shop", destination: "Shop", inverse: "orders")]),
    ])
    let theirs = store.context()
    let context = isInChild ? ManagedObjectContext(parent: theirs) : store.context()
    let (first, second) = (try theirs.insert(entityNamed: "Shop"), try theirs.insert(entityNamed: "Shop"))
    let order = try theirs.insert(entityNamed: "Order")
    try order.setValue(1, forKey: "amount")
    try order.setValue(first, forKey: "shop")
    try theirs.save()
    let mine = try context.existingObject(with: order.objectID)
    if isDeleted { context.delete(mine) } else { try mine.setValue(5, forKey: "amount") }
    try order.setValue(second, forKey: "shop")
    try theirs.save()
    func shops(_ sales: Int) throws -> Set<ManagedObjectID> {
      let predicate = try FetchPredicate(format: "sales == \(sales)")
      let request = FetchRequest<ManagedObject>(entityName: "Shop", where: predicate)
      return Set(try context.fetch(request).map(\.objectID))
    }
    let changed: Set<ManagedObjectID> = isDeleted ? [] : [second.objectID]
    let empty: Set<ManagedObjectID> = isDeleted ? [first.objectID, second.objectID] : [first.objectID]
    #expect(try shops(1).isEmpty)
    #expect(try shops(5) == changed)
    #expect(try shops(0) == empty)
    context.rollback()
    #expect(try shops(1) == [second.objectID])
  }

  @Test(.onceForAllKinds, arguments: [false, true])
  func derivedAttributesOfANewPartnerFollowTheDeletion(isInChild: Bool) throws {
    let store = try GraphStore([
      // It sorts before the other one, so it has the reference.
      EntityDescription(
        name: "Bed", attributes: [try Self.derived("age", .int64, "guest.age")],
        relationships: [RelationshipDescription(name: "guest", destination: "Guest", inverse: "bed")]),
      EntityDescription(
        name: "Guest", attributes: [AttributeDescription(name: "age", type: .int64)],
        relationships: [RelationshipDescription(name: "bed", destination: "Bed", inverse: "guest")]),
    ])
    let theirs = store.context()
    let context = isInChild ? ManagedObjectContext(parent: theirs) : store.context()
    let (first, second) = (try theirs.insert(entityNamed: "Bed"), try theirs.insert(entityNamed: "Bed"))
    let guest = try theirs.insert(entityNamed: "Guest")
    try guest.setValue(7, forKey: "age")
    try first.setValue(guest, forKey: "guest")
    try theirs.save()
    context.delete(try context.existingObject(with: guest.objectID))
    try second.setValue(guest, forKey: "guest")
    try theirs.save()
    func count(_ format: String) throws -> Int {
      let predicate = try FetchPredicate(format: format)
      return try context.count(for: FetchRequest<ManagedObject>(entityName: "Bed", where: predicate))
    }
    #expect(try count("age == 7") == 0)
    #expect(try count("age == nil") == 2)
    context.rollback()
    #expect(try count("age == 7") == 1)
  }
}
