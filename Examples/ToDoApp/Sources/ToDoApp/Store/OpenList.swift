import CDRuntime
import Foundation

/// A list that is open.
struct OpenList: Sendable {
  let container: PersistentContainer
  let name: String
  /// What a migration has done; nil if there was none.
  let migration: Migration?

  struct Migration: Sendable {
    var from: Int
    var to: Int
    var backup: URL?
  }

  var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

  /// Opens the store, creates it, or migrates it.
  ///
  /// - Parameter progress: Follows a migration.
  /// - Throws: ``StoreError`` or ``MigrationError``. The store is then unchanged.
  init(_ address: StoreAddress, progress: @escaping ProgressHandler) throws {
    let location = try address.location()
    var description = PersistentStoreDescription(location)
    description.keepsBackup = true
    description.migrationObserver = MigrationObserver(progress: progress)
    var found: PersistentStoreMetadata?
    if case .file(let url) = address, FileManager.default.fileExists(atPath: url.path(percentEncoded: false))
    {
      found = try PersistentStoreCoordinator.metadata(forStoreAt: url)
    }
    container = try PersistentContainer(
      for: ToDoModel.self, migrations: { ToDoMigrations() }, stores: [description])
    name = address.name
    migration = Self.migration(from: found, at: address)
    try Self.preparePanel(in: container.newContext())
  }

  private static func migration(from found: PersistentStoreMetadata?, at address: StoreAddress) -> Migration?
  {
    guard let found, case .file(let url) = address,
      let now = try? PersistentStoreCoordinator.metadata(forStoreAt: url),
      now.modelVersion.number != found.modelVersion.number
    else { return nil }
    let version = found.modelVersion.number
    let backup = url.deletingLastPathComponent().appending(path: "\(url.lastPathComponent)-before-\(version)")
    let isKept = FileManager.default.fileExists(atPath: backup.path(percentEncoded: false))
    return Migration(from: version, to: now.modelVersion.number, backup: isKept ? backup : nil)
  }

  /// Every store has one panel, which orders the categories. A new store and a migrated one get theirs here.
  private static func preparePanel(in context: ManagedObjectContext) throws {
    try context.perform {
      let panel = try Panel.first(in: context) ?? Panel(in: context)
      panel.addToCategories(try Category.fetch(where: { $0.panel == nil }, sortedBy: \.name, in: context))
      // Another process may be opening the same new store. Its panel stays.
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.save()
    }
  }
}
