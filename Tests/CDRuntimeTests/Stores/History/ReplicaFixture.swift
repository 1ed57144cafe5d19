import Foundation
import Testing

@testable import CDRuntime

/// Stores of several versions of a model in one folder, whose objects are told apart by their `name`.
final class ReplicaFixture {
  let folder: URL
  /// The kind of each store, by its name.
  private var kinds: [String: StoreKind] = [:]

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
    for (name, kind) in kinds { kind.drop(url(name)) }
  }

  func url(_ name: String) -> URL { folder.appending(path: name) }

  func copy(
    _ name: String, to other: String, _ kind: StoreKind = .ofEnvironment, asReplica: Bool = true
  ) throws {
    kinds[other] = kind
    let location = kind.location(url(other))
    if let source = kinds[name], !source.hasFiles {
      try PersistentStoreCoordinator.copyPersistentStore(
        at: source.location(url(name)), to: location, asReplica: asReplica)
    } else {
      try PersistentStoreCoordinator.copyPersistentStore(
        at: url(name), to: location, formats: [JSONStoreFormat()], asReplica: asReplica)
    }
  }

  /// Removes a store.
  func remove(_ name: String) throws {
    if let kind = kinds[name], !kind.hasFiles { return kind.drop(url(name)) }
    try FileManager.default.removeItem(at: url(name))
  }

  /// Opens a store, and makes or migrates it; saves what a body does.
  @discardableResult func using<R>(
    _ name: String, _ model: ManagedObjectModel, _ kind: StoreKind = .ofEnvironment,
    _ change: (inout PersistentStoreDescription) -> Void = { _ in },
    _ body: (ManagedObjectContext) throws -> R
  ) throws -> R {
    kinds[name] = kind
    var description = PersistentStoreDescription(kind.location(url(name)))
    change(&description)
    let coordinator = try PlannedModel.remembered(model).coordinator(description)
    let context = ManagedObjectContext(coordinator)
    let result = try body(context)
    if context.hasChanges { try context.save() }
    return result
  }

  /// The global identifier of each object, by its name. No two objects have the same one, and each leads to its object.
  func ids(
    _ name: String, _ model: ManagedObjectModel, _ kind: StoreKind = .ofEnvironment,
    _ change: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> [String: GlobalObjectID] {
    try using(name, model, kind, change) { try Self.ids($0) }
  }

  static func ids(_ context: ManagedObjectContext) throws -> [String: GlobalObjectID] {
    let coordinator = context.persistentStoreCoordinator
    var result: [String: GlobalObjectID] = [:]
    for object in try allObjects(context) {
      let id = try #require(try coordinator.globalID(of: object.objectID))
      #expect(try coordinator.managedObjectID(of: id) == object.objectID, "\(object.objectID) \(id)")
      #expect(result.updateValue(id, forKey: try object.text("name")) == nil)
    }
    #expect(Set(result.values).count == result.count, "two objects have one global identifier: \(result)")
    return result
  }

  static func allObjects(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    let version = try #require(context.persistentStoreCoordinator.managedObjectModel.currentVersion)
    return try version.entities.filter { $0.parent == nil }.flatMap {
      try context.fetch(FetchRequest<ManagedObject>(entityName: $0.name))
    }
  }

  @discardableResult
  static func insert(_ entityName: String, _ name: String, _ context: ManagedObjectContext) throws
    -> ManagedObject
  {
    let object = try context.insert(entityNamed: entityName)
    try object.setValue(.attribute(.string(name)), forKey: "name")
    return object
  }
}

extension PersistentStoreCoordinator {
  /// The global identifiers of each transaction: inserted, updated, deleted.
  func globalHistory() throws -> [[Set<GlobalObjectID>]] {
    try history().map { $0.globalChanges }.map { [Set($0.inserted), Set($0.updated), Set($0.deleted)] }
  }
}
