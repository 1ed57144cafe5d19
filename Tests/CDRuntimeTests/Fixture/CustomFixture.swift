import Foundation
import Synchronization
import Testing

@_spi(Generated) @testable import CDRuntime

/// A policy of closures.
struct TestPolicy: EntityMigrationPolicy {
  typealias Hook = (EntityMapping, MigrationManager) throws -> Void
  typealias ObjectHook = (ManagedObject, EntityMapping, MigrationManager) throws -> Void

  var begin: Hook = { _, _ in }
  var create: ObjectHook = { try $2.makeDestinationInstance(for: $0, in: $1) }
  var endCreation: Hook = { _, _ in }
  var relate: ObjectHook?
  var endRelation: Hook = { _, _ in }
  var validate: Hook = { _, _ in }
  var end: Hook = { _, _ in }

  func begin(_ mapping: EntityMapping, manager: MigrationManager) throws { try begin(mapping, manager) }

  func createDestinationInstances(
    for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try create(source, mapping, manager)
  }

  func endInstanceCreation(of mapping: EntityMapping, manager: MigrationManager) throws {
    try endCreation(mapping, manager)
  }

  func createRelationships(
    for destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    if let relate { try relate(destination, mapping, manager) } else { manager._leaveRelationships() }
  }

  func endRelationshipCreation(of mapping: EntityMapping, manager: MigrationManager) throws {
    try endRelation(mapping, manager)
  }

  func validate(_ mapping: EntityMapping, manager: MigrationManager) throws { try validate(mapping, manager) }

  func end(_ mapping: EntityMapping, manager: MigrationManager) throws { try end(mapping, manager) }
}

extension ManagedObject {
  /// The text of an attribute; what is something else fails the test.
  func text(_ key: String) throws -> String {
    guard case .string(let text)? = try value(forKey: key).attribute else {
      Issue.record("\(key) is not a string")
      return ""
    }
    return text
  }

  func int(_ key: String) throws -> Int64 {
    guard case .int(let number)? = try value(forKey: key).attribute else {
      Issue.record("\(key) is not a number")
      return 0
    }
    return number
  }
}

/// Notes and categories, whose migration from version 1 to 2 is custom for some.
enum Notes {
  static func version(
    _ number: Int, note: [AttributeDescription] = [attribute("text", .string), attribute("rank", .int64)],
    category: RelationshipDescription = toOne("category", "Category", inverse: "notes"),
    notes: RelationshipDescription = toMany("notes", "Note", inverse: "category"),
    more: [RelationshipDescription] = [], others: [EntityDescription] = [], unique: [[String]] = [],
    composites: [CompositeDescription] = []
  ) -> ModelVersion {
    MigrationFixture.version(
      number,
      [
        entity("Note", note, relationships: [category] + more, unique: unique),
        entity("Category", [attribute("name", .string)], relationships: [notes]),
      ] + others, composites: composites)
  }

  static func rules(
    _ entities: [EntityRule], duplicates: [DuplicateRule] = [], drops: [String] = []
  ) -> MappingRules {
    MappingRules(source: 1, destination: 2, entities: entities, drops: drops, duplicates: duplicates)
  }

  /// N0 to N5, of categories C0, C1, C2, C0, C1 and none.
  static func fill(_ context: ManagedObjectContext) throws {
    var categories: [ManagedObject] = []
    for number in 0..<3 {
      let category = try context.insert(entityNamed: "Category")
      try category.setValue("C\(number)", forKey: "name")
      categories.append(category)
    }
    for number in 0..<6 {
      let note = try context.insert(entityNamed: "Note")
      try note.setValue("N\(number)", forKey: "text")
      try note.setValue(number, forKey: "rank")
      if number < 5 { try note.setValue(categories[number % 3], forKey: "category") }
      // Keys are in this order.
      try context.save()
    }
  }

  /// Fills a store of the first version, and opens it with the second.
  static func migrate(
    _ old: ModelVersion = version(1), _ new: ModelVersion = version(2), _ rules: MappingRules,
    _ policies: [String: @Sendable () -> TestPolicy], in fixture: MigrationFixture,
    _ change: (inout PersistentStoreDescription) -> Void = { _ in },
    fill: (ManagedObjectContext) throws -> Void = { try Notes.fill($0) }
  ) throws {
    let model = MigrationFixture.model([old, new], mappings: [rules])
    try fixture.create([old], fill)
    try fixture.open(model) { description in
      for (mapping, make) in policies { description.migrationPolicies[mapping, from: 1, to: 2] = { make() } }
      change(&description)
    }
    try fixture.verify(model)
  }

  static let pairs =
    "SELECT n.text, c.name FROM Note n LEFT JOIN Category c ON c._pk = n.category ORDER BY n._pk"
}

/// Lines that closures add.
final class Log: Sendable {
  private let lines = Mutex<[String]>([])
  var entries: [String] { lines.withLock { $0 } }
  func add(_ entry: String) { lines.withLock { $0.append(entry) } }
}

/// Objects that a policy keeps.
final class Cache {
  var objects: [Int64: ManagedObject] = [:]
}
