@_spi(Generated) import CDRuntime
import Foundation
import Testing

/// The rules of the schema apply to what a batch derives, too.
@Suite struct DerivedRuleTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  /// Owners with the sum of the marks of their items, which know the marks of the others.
  init() throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Owner",
        attributes: [
          AttributeDescription(
            name: "sum", type: .int64, derivation: try ValueExpression(format: "items.@sum.mark"),
            maximum: .int(10))
        ],
        relationships: [
          RelationshipDescription(name: "items", destination: "Item", isToMany: true, inverse: "owner")
        ]),
      EntityDescription(
        name: "Item",
        attributes: [
          AttributeDescription(name: "title", type: .string, isOptional: true),
          AttributeDescription(name: "mark", type: .int64, defaultValue: .value(.int(0))),
          AttributeDescription(
            name: "label", type: .string, derivation: try ValueExpression(format: "title ?? ''"),
            minimumLength: 1),
          AttributeDescription(
            name: "rest", type: .int64, derivation: try ValueExpression(format: "(owner.sum ?? mark) - mark"),
            minimum: .int(0)),
        ],
        relationships: [RelationshipDescription(name: "owner", destination: "Owner", inverse: "items")]),
      EntityDescription(
        name: "Word",
        attributes: [
          AttributeDescription(name: "text", type: .string, isOptional: true),
          .derived("upper", .string, "uppercase:(text)"),
        ], uniquenessConstraints: [["upper"]]),
    ])
    context = container.newContext()
  }

  private func insert(_ rows: [[String: FetchedValue]]) throws {
    try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Item", rows: rows))
  }

  private func update(_ assignments: [BatchAssignment<ManagedObject>]) throws {
    try context.execute(
      BatchUpdateRequest<ManagedObject>(FetchRequest(entityName: "Item"), set: assignments))
  }

  private func owner() throws -> ManagedObject {
    let owner = try context.insert(entityNamed: "Owner")
    try context.save()
    return owner
  }

  /// The mistakes for which a batch is refused.
  private func mistakes(_ body: () throws -> Void) throws -> [BatchMistake] {
    do {
      try body()
      Issue.record("the batch breaks a rule")
      return []
    } catch BatchError.invalid(let mistakes) {
      return mistakes
    }
  }

  private func count() throws -> Int {
    try container.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Item"))
  }

  @Test func newRowsAreChecked() throws {
    let found = try mistakes { try insert([["title": "A"], [:], ["title": ""]]) }
    #expect(found.count == 2)
    #expect(found.allSatisfy { $0.property == "label" && $0.reason == .wrongLength && $0.objectID == nil })
    #expect(try count() == 0)
    try insert([["title": "A"], ["title": "B", "mark": 7]])
    #expect(try count() == 2)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test func changedRowsAreChecked() throws {
    let item = try context.insert(entityNamed: "Item")
    try item.setValue("A", forKey: "title")
    try context.save()
    let found = try mistakes { try update([.set("title", to: nil as FetchedValue)]) }
    #expect(found.map(\.property) == ["label"] && found.map(\.objectID) == [item.objectID])
    try update([.set("title", to: "B")])
    #expect(try item.value(forKey: "label").attribute == .string("B"))
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test func whoReadsTheRowsIsCheckedToo() throws {
    let owner = try owner()
    let rows = [6, 5].map { mark -> [String: FetchedValue] in
      ["title": "A", "mark": .value(Int64(mark)), "owner": .object(owner.objectID)]
    }
    let found = try mistakes { try insert(rows) }
    #expect(found.map(\.property) == ["sum"] && found.map(\.objectID) == [owner.objectID])
    #expect(found.map(\.reason) == [.outOfRange])
    #expect(try count() == 0)
  }

  @Test func onlyTheLastValuesCount() throws {
    let owner = try owner()
    try insert([["title": "A", "mark": 1, "owner": .object(owner.objectID)]])
    // The sum is computed after the item's rest, which is below 0 until then.
    try update([.set("mark", to: 5)])
    #expect(try owner.value(forKey: "sum").attribute == .int(5))
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test func anEmptyValueIsWrittenForAGeneratedClass() throws {
    let crates = try PersistentContainer(scratchFor: CratesModel.self)
    let context = crates.newContext()
    let request = BatchInsertRequest<Crate>(["", "abc"], columns: [.set("name") { .value($0) }])
    #expect(try context.execute(request).count == 2)
    let empty = FetchRequest<ManagedObject>(
      entityName: "Crate", where: try FetchPredicate(format: "size == 0"))
    #expect(try context.count(for: empty) == 1)
    #expect(try crates.persistentStoreCoordinator.verify() == [])
  }

  @Test func aDerivedValueThatAnotherRowHasIsRefused() throws {
    let error = BatchError.notUnique(entity: "Word", properties: ["upper"], row: nil)
    func add(_ texts: [String]) throws {
      let rows = texts.map { ["text": FetchedValue.value($0)] }
      try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Word", rows: rows))
    }
    try add(["a", "b"])
    #expect(throws: error) { try add(["c", "A"]) }
    #expect(throws: error) {
      try context.execute(
        BatchUpdateRequest<ManagedObject>(FetchRequest(entityName: "Word"), set: [.set("text", to: "d")]))
    }
    let words = FetchRequest<ManagedObject>(entityName: "Word")
    let texts = try container.newContext().dictionaries(for: words).map { $0["upper"]?.attribute }
    #expect(Set(texts) == [.string("A"), .string("B")])
  }

  @Test(.onceForAllKinds) func importedObjectsAreNamed() throws {
    var keys: [Int64] = []
    let found = try mistakes {
      try context.importObjects { objects in
        let key = try objects.firstKey(ofEntity: "Item")
        try objects.insert(entity: "Item", key: key, references: [], size: 0) { _ in }
        keys.append(key)
      }
    }
    #expect(found.map(\.property) == ["label"] && found.compactMap { $0.objectID?.number } == keys)
    #expect(try count() == 0)
  }
}

// What the generator writes for an entity with a mandatory derived attribute.
nonisolated final class Crate: CDRuntime.ManagedObject, CDRuntime.EntityClass {
  private final var _name: String = ""
  private final var _size: Int64 = 0

  override init(_seed: borrowing CDRuntime.ObjectSeed) { super.init(_seed: _seed) }
  override class var entityName: String { "Crate" }
  override func _decode(_ row: CDRuntime.RowReader) {
    super._decode(row)
    _name = row.string(0)
    _size = row.int64(1)
  }
  override func _encode(_ slot: Int, _ writer: CDRuntime.RowWriter) {
    switch slot {
    case 0: writer.string(_name)
    case 1: writer.int64(_size)
    default: super._encode(slot, writer)
    }
  }
}

nonisolated enum CratesModel: CDRuntime.GeneratedModel {
  static let _definition = CDRuntime.ModelDefinition(
    format: CDRuntime.GeneratedCodeFormat1.self,
    classes: ["Crate": CDRuntime.GeneratedClass(Crate.self) { Crate(_seed: $0) }],
    canonicalJSON: description.canonicalJSON)

  private static let description = ManagedObjectModel(
    name: "Crates", id: UUID(uuidString: "6A0D2F3C-7B1E-4C59-8D24-1F0B9E6C5A37") ?? UUID(),
    versions: [ModelVersion(number: 1, entities: [crate])], currentVersionNumber: 1)

  private static let crate = EntityDescription(
    name: "Crate",
    attributes: [
      AttributeDescription(name: "name", type: .string),
      AttributeDescription(
        name: "size", type: .int64, derivation: try? ValueExpression(format: "name.length")),
    ])
}
