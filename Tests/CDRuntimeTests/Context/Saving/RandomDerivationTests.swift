import CDRuntime
import Foundation
import SeededRandom
import Testing

/// Contexts, a child and batches that change the same objects at random, with derived attributes that read other objects'
/// derived attributes. `verify` computes all of them again after each save.
///
/// `CDGEN_RANDOM_ROUNDS=N` makes N runs more, and `CDGEN_RANDOM_SEED=S` begins them at a seed.
@Suite struct RandomDerivationTests {
  @Test(arguments: 1...(isThorough ? 30 : 12) as ClosedRange<UInt64>)
  func noSaveLeavesAnOutdatedValue(seed: UInt64) throws {
    try RandomDerivations(seed: seed).run(steps: 150)
  }

  @Test func furtherSeedsLeaveNoneEither() throws {
    var failures = 0
    for seed in furtherSeeds where failures < 5 {
      do { try RandomDerivations(seed: seed).run(steps: 150) } catch {
        Issue.record(error)
        failures += 1
      }
    }
  }
}

private final class RandomDerivations {
  /// A context with the objects that it has seen, whose values may be old.
  private final class Side {
    let name: String
    let context: ManagedObjectContext
    var held: [String: [ManagedObject]] = [:]

    init(_ name: String, _ context: ManagedObjectContext) {
      self.name = name
      self.context = context
    }
  }

  private let seed: UInt64
  private let container: PersistentContainer
  private var random: SplitMix
  private var log: [String] = []
  private var number = 0

  private static let policies: [(name: String, policy: MergePolicy)] = [
    ("error", .error), ("store", .mergeByPropertyStoreTrump), ("object", .mergeByPropertyObjectTrump),
    ("overwrite", .overwrite), ("rollback", .rollback),
  ]

  init(seed: UInt64) throws {
    self.seed = seed
    random = SplitMix(seed: seed)
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Drive",
        attributes: [
          AttributeDescription(name: "name", type: .string, isOptional: true),
          try .derived("fileCount", .int64, "folders.@sum.count"),
          try .derived("largest", .int64, "folders.@max.size"),
        ],
        relationships: [
          RelationshipDescription(name: "folders", destination: "Folder", isToMany: true, inverse: "drive")
        ]),
      EntityDescription(
        name: "Folder",
        attributes: [
          AttributeDescription(name: "name", type: .string, isOptional: true),
          try .derived("count", .int64, "files.@count"),
          try .derived("size", .int64, "files.@sum.size"),
          try .derived("large", .int64, "SUBQUERY(files, $f, $f.size > 50).@count"),
          try .derived("labelCount", .int64, "labels.@count"),
          try .derived("driveName", .string, "drive.name"),
          try .derived("coverSize", .int64, "cover.size"),
          try .derived("parentName", .string, "parent.name"),
        ],
        relationships: [
          RelationshipDescription(name: "drive", destination: "Drive", inverse: "folders"),
          RelationshipDescription(
            name: "files", destination: "File", isToMany: true, inverse: "folder", deleteRule: .cascade),
          RelationshipDescription(name: "labels", destination: "Label", isToMany: true, inverse: "folders"),
          RelationshipDescription(name: "cover", destination: "File"),
          RelationshipDescription(name: "parent", destination: "Folder", inverse: "children"),
          RelationshipDescription(name: "children", destination: "Folder", isToMany: true, inverse: "parent"),
        ]),
      EntityDescription(
        name: "File",
        attributes: [
          AttributeDescription(name: "size", type: .int64, isOptional: true),
          try .derived("folderName", .string, "folder.name"),
          try .derived("driveName", .string, "folder.driveName"),
          try .derived("share", .int64, "folder.size - size"),
        ],
        relationships: [RelationshipDescription(name: "folder", destination: "Folder", inverse: "files")]),
      EntityDescription(
        name: "Label",
        attributes: [
          AttributeDescription(name: "name", type: .string, isOptional: true),
          try .derived("fileCount", .int64, "folders.@sum.count"),
        ],
        relationships: [
          RelationshipDescription(name: "folders", destination: "Folder", isToMany: true, inverse: "labels")
        ]),
    ])
  }

  func run(steps: Int) throws {
    let first = Side("first", container.newContext())
    let second = Side("second", container.newContext())
    second.context.undoManager = ContextUndoManager()
    let child = Side("child", ManagedObjectContext(parent: first.context))
    for _ in 0..<steps {
      let side = [first, first, second, second, child][Int.random(in: 0..<5, using: &random)]
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<13: try change(side)
      case 13..<17: try save(side)
      case 17: try batch(side)
      case 18:
        log.append("\(side.name): roll back")
        side.context.rollback()
      default: try undo(side)
      }
    }
    for side in [child, first, second] { try save(side) }
  }

  private func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

  /// An object that the side has seen before, or one that it fetches now.
  private func object(_ entity: String, _ side: Side) throws -> ManagedObject? {
    let known = (side.held[entity] ?? []).filter { $0.managedObjectContext != nil && !$0.isDeleted }
    if !chance(3), let object = known.randomElement(using: &random) { return object }
    let found = try side.context.fetch(FetchRequest<ManagedObject>(entityName: entity))
      .sorted { $0.objectID.description < $1.objectID.description }
    let object = found.randomElement(using: &random)
    if let object { side.held[entity, default: []].append(object) }
    return object
  }

  private func set(_ object: ManagedObject, _ key: String, _ value: PropertyValue, _ side: Side) {
    do {
      try object.setValue(value, forKey: key)
      log.append("\(side.name): \(object.objectID).\(key) = \(text(value))")
    } catch { log.append("\(side.name): \(object.objectID).\(key) not set: \(error)") }
  }

  private func text(_ value: PropertyValue) -> String {
    switch value {
    case .attribute(let value): "\(value)"
    case .object(let object): object.map { "\($0.objectID)" } ?? "nil"
    case .objects(let objects): "\(objects.map(\.objectID))"
    }
  }

  private func change(_ side: Side) throws {
    number += 1
    switch Int.random(in: 0..<14, using: &random) {
    case 0..<4:
      let entity = ["Drive", "Folder", "File", "File", "Label"][Int.random(in: 0..<5, using: &random)]
      let object = try side.context.insert(entityNamed: entity)
      side.held[entity, default: []].append(object)
      log.append("\(side.name): insert \(object.objectID)")
      if entity == "File" {
        set(object, "size", .attribute(.int(Int64.random(in: 0..<100, using: &random))), side)
        if let folder = try self.object("Folder", side) { set(object, "folder", .object(folder), side) }
      } else {
        set(object, "name", .attribute(.string("\(entity) \(number)")), side)
      }
    case 4:
      if let file = try object("File", side) {
        set(file, "size", .attribute(.int(Int64.random(in: 0..<100, using: &random))), side)
      }
    case 5:
      if let file = try object("File", side) {
        set(file, "folder", .object(chance(4) ? nil : try object("Folder", side)), side)
      }
    case 6:
      if let folder = try object("Folder", side) {
        set(folder, "drive", .object(chance(4) ? nil : try object("Drive", side)), side)
      }
    case 7:
      if let folder = try object("Folder", side) {
        set(folder, "cover", .object(chance(4) ? nil : try object("File", side)), side)
      }
    case 8:
      if let folder = try object("Folder", side) {
        set(folder, "parent", .object(chance(4) ? nil : try object("Folder", side)), side)
      }
    case 9, 10:
      let entity = ["Drive", "Folder", "Label"][Int.random(in: 0..<3, using: &random)]
      if let object = try object(entity, side) {
        set(object, "name", .attribute(.string("\(entity) \(number)")), side)
      }
    case 11:
      if let folder = try object("Folder", side) {
        var labels: Set<ManagedObject> = []
        for _ in 0..<Int.random(in: 0..<3, using: &random) {
          if let label = try object("Label", side) { labels.insert(label) }
        }
        set(folder, "labels", .objects(labels.sorted { "\($0.objectID)" < "\($1.objectID)" }), side)
      }
    case 12:
      let entity = ["Drive", "Folder", "File", "Label"][Int.random(in: 0..<4, using: &random)]
      if let object = try object(entity, side) {
        log.append("\(side.name): delete \(object.objectID)")
        side.context.delete(object)
      }
    default:
      // Derives the attributes of a context with changes.
      let request = FetchRequest<ManagedObject>(
        entityName: "Folder", where: try FetchPredicate(format: "size > 30 OR driveName != nil"))
      log.append("\(side.name): fetch \(try side.context.fetch(request).count) folders")
    }
  }

  private func batch(_ side: Side) throws {
    let limit = Int64.random(in: 0..<100, using: &random)
    do {
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let request = FetchRequest<ManagedObject>(
          entityName: "File", where: try FetchPredicate(format: "size > \(limit)"))
        try side.context.execute(
          BatchUpdateRequest(request, set: [.set("size", to: .attribute(.int(limit)))]))
        log.append("\(side.name): batch update to \(limit)")
      case 1:
        let request = FetchRequest<ManagedObject>(
          entityName: "File", where: try FetchPredicate(format: "size == \(limit / 10)"))
        try side.context.execute(BatchDeleteRequest(request))
        log.append("\(side.name): batch deletion")
      case 2:
        try side.context.execute(
          BatchInsertRequest<ManagedObject>(
            entityName: "File", rows: (0..<3).map { ["size": FetchedValue.attribute(.int(limit + $0))] }))
        log.append("\(side.name): batch insertion")
      default:
        let request = FetchRequest<ManagedObject>(
          entityName: "Folder", where: try FetchPredicate(format: "size > \(limit)"))
        try side.context.execute(
          BatchUpdateRequest(request, set: [.set("name", to: .attribute(.string("batch \(number)")))]))
        log.append("\(side.name): batch renaming above \(limit)")
      }
    } catch { log.append("\(side.name): batch: \(error)") }
    try verify()
  }

  private func undo(_ side: Side) throws {
    guard side.context.undoManager != nil else { return }
    if chance(3) {
      log.append("\(side.name): redo")
      side.context.redo()
    } else {
      log.append("\(side.name): undo")
      side.context.undo()
    }
  }

  private func save(_ side: Side) throws {
    let (name, policy) = Self.policies.randomElement(using: &random) ?? Self.policies[0]
    side.context.mergePolicy = policy
    do {
      log.append("\(side.name): save, \(name)")
      try side.context.save()
    } catch let error as SaveError {
      log.append("\(side.name): \(error)")
      if chance(2) {
        log.append("\(side.name): roll back")
        side.context.rollback()
      }
    }
    try verify()
  }

  private func verify() throws {
    let findings = try container.persistentStoreCoordinator.verify()
    if findings.isEmpty { return }
    throw Difference(
      description: "seed \(seed): \(findings)\n" + (log + (try contents())).joined(separator: "\n"))
  }

  /// What the store has, a line for each object.
  private func contents() throws -> [String] {
    let context = container.newContext()
    return try ["Drive", "Folder", "File", "Label"].flatMap { entity in
      try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).map { object in
        let keys = (object.entity.attributes.map(\.name) + object.entity.relationships.map(\.name)).sorted()
        return "\(object.objectID): "
          + (try keys.map { "\($0) \(text(try object.value(forKey: $0)))" }.joined(separator: ", "))
      }
    }
  }
}
