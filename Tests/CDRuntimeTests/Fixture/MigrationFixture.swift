import CSQLite
import Foundation
import Testing

@testable import CDRuntime

/// A store that is written with one version of a model and opened with another.
final class MigrationFixture {
  static let id = UUID(uuidString: "0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7A1") ?? UUID()

  let folder: URL
  let url: URL
  /// The file as a store of the kind that the environment asks for.
  var location: StoreLocation { StoreKind.ofEnvironment.location(url) }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appending(path: "store.cdstore")
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
    StoreKind.ofEnvironment.drop(url)
  }

  /// What errors show of the store.
  var shownURL: URL { StoreKind.ofEnvironment.shownURL(url) }

  static func version(
    _ number: Int, _ entities: [EntityDescription], enums: [EnumDescription] = [],
    composites: [CompositeDescription] = []
  ) -> ModelVersion {
    ModelVersion(
      number: number, basedOn: number > 1 ? [number - 1] : [], enums: enums, composites: composites,
      entities: entities)
  }

  static func model(_ versions: [ModelVersion], mappings: [MappingRules] = [], current: Int? = nil)
    -> ManagedObjectModel
  {
    ManagedObjectModel(
      name: "Matrix", id: id, versions: versions,
      currentVersionNumber: current ?? versions.last?.number ?? 1, mappings: mappings)
  }

  /// Makes the store and fills it.
  func create(_ versions: [ModelVersion], _ body: (ManagedObjectContext) throws -> Void = { _ in }) throws {
    try using(Self.model(versions), body: body)
  }

  /// Opens the store, saves what a body does, and closes it.
  func using<R>(
    _ model: ManagedObjectModel, _ change: (inout PersistentStoreDescription) -> Void = { _ in },
    body: (ManagedObjectContext) throws -> R
  ) throws -> R {
    var description = PersistentStoreDescription(location)
    change(&description)
    // A plan that is remembered is that of one store with all entities.
    let coordinator =
      description.configuration == nil
      ? try PlannedModel.remembered(model).coordinator(description)
      : try PersistentStoreCoordinator(model: model, stores: [description])
    let context = ManagedObjectContext(coordinator)
    let result = try body(context)
    if context.hasChanges { try context.save() }
    return result
  }

  func open(_ model: ManagedObjectModel, _ change: (inout PersistentStoreDescription) -> Void = { _ in })
    throws
  {
    try using(model, change, body: { (_: ManagedObjectContext) in })
  }

  /// What a query finds in the file; where it is none of SQLite's, in tables that are made of it.
  func rows(_ sql: String) throws -> [[String?]] {
    guard StoreKind.ofEnvironment != .sqlite else { return try PlainSQL.connection(to: url).rows(sql) }
    let bytes = try bytes()
    if let tables, tables.bytes == bytes { return try tables.connection.rows(sql) }
    let connection = try PlainSQL.connection(to: url)
    tables = (bytes, connection)
    return try connection.rows(sql)
  }

  /// The tables of the file as it was then.
  private var tables: (bytes: Data, connection: SQLiteConnection)?

  /// The first column of all rows.
  func column(_ sql: String) throws -> [String?] { try rows(sql).map { $0[0] } }

  /// The names of the files beside the store and its own.
  var files: [String] {
    let own = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    return own + ((try? StoreKind.ofEnvironment.names(url)) ?? [])
  }

  /// The file; or all that another engine stores.
  func bytes() throws -> Data { try StoreKind.ofEnvironment.contents(url) }

  /// That nothing of the file is damaged, and its tables are what the model's are.
  func verify(_ model: ManagedObjectModel) throws {
    #expect(try rows("PRAGMA integrity_check") == [["ok"]])
    #expect(try rows("PRAGMA foreign_key_check").isEmpty)
    let coordinator = try PlannedModel.remembered(model).coordinator(at: location)
    #expect(try coordinator.verify().isEmpty)
  }
}

/// Descriptions in short.
func entity(
  _ name: String, parent: String? = nil, isAbstract: Bool = false, renamedFrom: String? = nil,
  _ attributes: [AttributeDescription] = [], relationships: [RelationshipDescription] = [],
  unique: [[String]] = []
) -> EntityDescription {
  var result = EntityDescription(
    name: name, isAbstract: isAbstract, parent: parent, attributes: attributes, relationships: relationships)
  result.renamedFrom = renamedFrom
  result.uniquenessConstraints = unique
  return result
}

func attribute(
  _ name: String, _ type: AttributeType, isOptional: Bool = false, _ value: AttributeValue? = nil,
  renamedFrom: String? = nil
) -> AttributeDescription {
  var result = AttributeDescription(
    name: name, type: type, isOptional: isOptional, defaultValue: value.map { .value($0) })
  result.renamedFrom = renamedFrom
  return result
}

func toOne(
  _ name: String, _ destination: String, inverse: String?, isOptional: Bool = true, renamedFrom: String? = nil
) -> RelationshipDescription {
  var result = RelationshipDescription(
    name: name, destination: destination, isOptional: isOptional, inverse: inverse)
  result.renamedFrom = renamedFrom
  return result
}

func toMany(
  _ name: String, _ destination: String, inverse: String?, isOrdered: Bool = false, renamedFrom: String? = nil
) -> RelationshipDescription {
  var result = RelationshipDescription(
    name: name, destination: destination, isToMany: true, inverse: inverse)
  result.isOrdered = isOrdered
  result.renamedFrom = renamedFrom
  return result
}
