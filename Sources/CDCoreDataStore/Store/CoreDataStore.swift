public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A SQLite store that Core Data has made, as it is without its model.
///
/// ```swift
/// let store = try CoreDataStore(at: url)
/// for entity in store.entities { print(entity.name, entity.count) }
/// print(try store.version(in: model).number)
/// let copy = try store.copy(to: .sqlite(url.appendingPathExtension("new")), model: model)
/// for remark in copy.remarks { print(remark) }
/// ```
///
/// The file is opened to be read alone. What a program has left in a journal beside it is part of the store, and is
/// read from a copy of both in the temporary folder.
///
/// ## Topics
///
/// ### What it is
/// - ``isStore(at:)``
/// - ``init(at:)``
/// - ``version(in:)``
/// - ``managedObjectModel(in:version:)``
///
/// ### What becomes of it
/// - ``copy(to:model:version:acceptsLosses:)``
/// - ``CoreDataStoreCopy``
/// - ``CoreDataStoreFormat``
///
/// ### What goes wrong
/// - ``CoreDataStoreError``
/// - ``CoreDataLosses``
public struct CoreDataStore: Hashable, Sendable {
  /// An entity as the store lists it.
  public struct Entity: Hashable, Sendable {
    /// The name in Core Data's model.
    public let name: String
    /// The entity that it inherits from; nil for none.
    public let parent: String?
    /// The count of objects of just this entity.
    public let count: Int
  }

  /// The file.
  public let url: URL
  /// The store's UUID, which is part of its objects' identifiers and stays that of a copy.
  public let storeID: UUID
  /// The version of Core Data that wrote it last, where it says so.
  public let frameworkVersion: Int?
  /// The identifiers of the model's version, as Xcode calls them, without empty ones.
  public let versionIdentifiers: [String]
  /// What the app keeps in the store's metadata, as far as it is text or can be.
  public let values: [String: String]
  /// The entities of the app's model, in the store's order.
  public let entities: [Entity]

  /// Reads what a store says of itself.
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

  /// Whether a file is a SQLite database with the tables by which Core Data knows its own.
  public static func isStore(at url: URL) -> Bool {
    // The tables of a store whose journal was never written back are in the journal alone.
    [true, false].contains { ignoresJournal in
      guard let database = try? SourceDatabase(url, ignoresJournal: ignoresJournal),
        let schema = try? SourceSchema(database)
      else { return false }
      return schema.has("Z_METADATA") && schema.has("Z_PRIMARYKEY")
    }
  }

  /// The version of a model that the store is of: the one that declares just the tables and columns that it has.
  ///
  /// Of several of them it is the one whose identifier the store names, and else the newest, where each value of the
  /// others stays what it is on the way to that one.
  ///
  /// - Throws: ``CoreDataStoreError``: ``CoreDataStoreError/noFittingVersion(_:model:differences:)`` says what
  ///   differs in each version.
  public func version(in model: ManagedObjectModel) throws -> ModelVersion {
    try CoreDataSource(url).layout(in: model, version: nil).version
  }

  /// A model with the store's version as its current one.
  ///
  /// - Parameters:
  ///   - model: The model, one of whose versions is the store's.
  ///   - version: The number of the version that it is to be; nil to find out.
  /// - Throws: ``CoreDataStoreError``.
  public func managedObjectModel(
    in model: ManagedObjectModel, version: Int? = nil
  ) throws -> ManagedObjectModel {
    var model = model
    model.currentVersionNumber = try CoreDataSource(url).layout(in: model, version: version).version.number
    return model
  }
}
