public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A SQLite store that Core Data has created, read without its model.
///
/// ```swift
/// let store = try CoreDataStore(at: url)
/// for entity in store.entities { print(entity.name, entity.count) }
/// print(try store.version(in: model).number)
/// let copy = try store.copy(to: .sqlite(url.appendingPathExtension("new")), model: model)
/// for remark in copy.remarks { print(remark) }
/// ```
///
/// The file is opened for reading only. A journal that a program has left beside it is part of the store. The store is
/// then read from a copy of both files in the temporary folder.
///
/// ## Topics
///
/// ### Reading a store
/// - ``isStore(at:)``
/// - ``init(at:)``
/// - ``version(in:)``
/// - ``managedObjectModel(in:version:)``
///
/// ### Copying and opening a store
/// - ``copy(to:model:version:acceptsLosses:)``
/// - ``CoreDataStoreCopy``
/// - ``CoreDataStoreFormat``
///
/// ### Errors and losses
/// - ``CoreDataStoreError``
/// - ``CoreDataLosses``
public struct CoreDataStore: Hashable, Sendable {
  /// An entity in the store's own list.
  public struct Entity: Hashable, Sendable {
    /// The name in Core Data's model.
    public let name: String
    /// The name of the parent entity; nil if there is none.
    public let parent: String?
    /// The number of objects of the entity, without those of its subentities.
    public let count: Int
  }

  /// The location of the store.
  public let url: URL
  /// The store's UUID. It is part of its objects' identifiers, and a copy keeps it.
  public let storeID: UUID
  /// The version of Core Data that wrote the store last, if the store names it.
  public let frameworkVersion: Int?
  /// The identifiers of the model's version, as Xcode calls them, without empty ones.
  public let versionIdentifiers: [String]
  /// The app's own values in the store's metadata, if they are text or can be converted to text.
  public let values: [String: String]
  /// The entities of the app's model, in the store's order.
  public let entities: [Entity]

  /// Reads the metadata and the entities of a store.
  ///
  /// - Throws: ``CoreDataStoreError``.
  public init(at url: URL) throws {
    let source = try CoreDataSource(url)
    self.url = url
    storeID = source.metadata.storeID
    frameworkVersion = source.metadata.frameworkVersion.map { Int(clamping: $0) }
    versionIdentifiers = source.metadata.identifiers.sorted()
    values = source.metadata.values
    var counts: [String: [Int64?: Int64]] = [:]
    var entities: [Entity] = []
    for entity in source.entities.ofModel {
      var count: Int64 = 0
      if let table = source.table(of: entity) {
        if counts[table] == nil { counts[table] = try source.counts(in: table) }
        count =
          source.entities.isAlone(entity.number)
          ? counts[table, default: [:]].values.reduce(0, +) : counts[table]?[entity.number] ?? 0
      }
      entities.append(
        Entity(
          name: entity.name, parent: entity.parent.flatMap { source.entities.name(of: $0) },
          count: Int(clamping: count)))
    }
    self.entities = entities
    try source.database.files.checkUnchanged()
  }

  /// The folder with the large values of a store.
  ///
  /// - Parameter path: The path of the store's file. No symbolic link leads to it.
  package static func externalFolder(ofStore path: String) -> URL { ExternalRecords.folder(ofStore: path) }

  /// Returns whether a file is a SQLite database with the tables by which Core Data recognizes its stores.
  public static func isStore(at url: URL) -> Bool {
    // If a journal was never written back, the store's tables may be in the journal only.
    [true, false].contains { ignoresJournal in
      guard let database = try? SourceDatabase(url, ignoresJournal: ignoresJournal),
        let schema = try? SourceSchema(database)
      else { return false }
      return schema.has("Z_METADATA") && schema.has("Z_PRIMARYKEY")
    }
  }

  /// Returns the version of a model that fits the store: the version that declares exactly the store's tables and
  /// columns.
  ///
  /// If several versions fit, it is the one whose identifier the store names. Otherwise it is the newest one, if every
  /// value of the other versions stays the same up to that version.
  ///
  /// - Throws: ``CoreDataStoreError``. ``CoreDataStoreError/noFittingVersion(_:model:differences:)`` lists the
  ///   differences of each version.
  public func version(in model: ManagedObjectModel) throws -> ModelVersion {
    let version = try CoreDataSource(url).layout(in: model, version: nil).version
    return model.version(version.number) ?? version
  }

  /// Returns a model with the store's version as its current version.
  ///
  /// - Parameters:
  ///   - model: The model, one of whose versions fits the store.
  ///   - version: The number of the store's version; nil to find it.
  /// - Throws: ``CoreDataStoreError``.
  public func managedObjectModel(
    in model: ManagedObjectModel, version: Int? = nil
  ) throws -> ManagedObjectModel {
    var model = model
    model.currentVersionNumber = try CoreDataSource(url).layout(in: model, version: version).version.number
    return model
  }
}
