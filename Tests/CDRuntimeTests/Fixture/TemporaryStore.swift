import Foundation
import Testing

@testable import CDRuntime

/// A container over a file of its own, which goes with the test.
///
/// The environment variable `CDGEN_STORE_TYPE` says of which kind the file is: see ``StoreKind``. Stores that are in
/// memory have one owner: what asks for another coordinator gets the one that is there.
final class TemporaryStore {
  let folder: URL
  let url: URL
  let kind = StoreKind.ofEnvironment
  /// Whether coordinators have one plan together: see ``PlannedModel``.
  private let sharesPlan: Bool
  /// Objects do not keep their context alive: the store does, for the length of the test.
  private var contexts: [ManagedObjectContext] = []
  private weak var coordinator: PersistentStoreCoordinator?
  /// Whether tables were changed behind the runtime's back.
  private var hasForeignChanges = false
  /// The same, where it has what is in no file.
  private var keptCoordinator: PersistentStoreCoordinator?

  init(sharesPlan: Bool = false) throws {
    self.sharesPlan = sharesPlan
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appending(path: "library.cdstore")
  }

  deinit {
    do { try expectAllInFile() } catch { Issue.record(error) }
    try? FileManager.default.removeItem(at: folder)
    kind.drop(url)
  }

  /// A file that is written whole has all that its tables in memory have, whoever has changed them.
  private func expectAllInFile() throws {
    // A store that was removed from its coordinator is in memory no more.
    guard StoreKind.whole.contains(kind), !hasForeignChanges, let coordinator, !coordinator.storeIDs.isEmpty,
      FileManager.default.fileExists(atPath: url.path)
    else { return }
    let copy = folder.appending(path: "copy.cdstore")
    try FileManager.default.copyItem(at: url, to: copy)
    let description = PersistentStoreDescription(kind.location(copy), isReadOnly: true)
    let file = try PersistentStoreCoordinator(for: LibraryModel.self, stores: [description])
    // Keys that were reserved in vain are no one's.
    func rows(_ coordinator: PersistentStoreCoordinator) throws -> [String: [[StoreValue]]] {
      try coordinator.storedRows().filter { $0.key != "_keys" }
    }
    #expect(try rows(file) == rows(coordinator), "the file is not what is in memory")
  }

  var location: StoreLocation { kind.location(url) }
  /// What errors show of the store.
  var shownURL: URL { kind.shownURL(url) }

  /// Whether all who have the store open have it by one coordinator.
  var hasOneOwner: Bool { kind != .sqlite && kind != .postgresql }

  func container() throws -> PersistentContainer { PersistentContainer(try openCoordinator()) }

  private func openCoordinator() throws -> PersistentStoreCoordinator {
    if hasOneOwner, let coordinator { return coordinator }
    let new =
      sharesPlan
      ? try PlannedModel.library.coordinator(at: location)
      : try PersistentStoreCoordinator(for: LibraryModel.self, at: location)
    coordinator = new
    if kind.isInMemory { keptCoordinator = new }
    return new
  }

  /// A context over a coordinator of its own, which has seen nothing of what others hold in memory.
  func freshContext() throws -> ManagedObjectContext {
    let context = try container().newContext()
    contexts.append(context)
    return context
  }

  /// Changes tables behind the runtime's back: the file's, the server's, or those that were made of a file that is read
  /// whole. These stay open from then on. Of an engine without tables it changes the rows: see
  /// ``PlainSQL/change(_:_:in:)``.
  ///
  /// - Parameters:
  ///   - statements: Statements that SQLite and a server understand: names that are not in lower case are in quotes.
  ///   - checksReferences: Whether foreign keys hold.
  func run(_ statements: String..., checksReferences: Bool = true) throws {
    hasForeignChanges = true
    if kind == .postgresql {
      return try TestServer.run(statements, at: url, checksReferences: checksReferences)
    }
    let sql = ((checksReferences ? [] : ["PRAGMA foreign_keys = OFF"]) + statements).joined(separator: "; ")
    if kind == .sqlite { return try PlainSQL.run(sql, at: url) }
    if kind == .plain { return try PlainSQL.change(url, sql, in: coordinator) }
    keptCoordinator = try openCoordinator()
    try tables().execute(sql)
  }

  /// Adds a save to the history behind the runtime's back.
  func addToHistory(_ changes: String) throws {
    let text = SQLText.literal(changes)
    guard kind == .postgresql else {
      return try run("INSERT INTO _cdgen_history (time, origin, changes) VALUES (0, 'x', \(text))")
    }
    let counter = "WHERE entity = '_cdgen_history'"
    try run(
      "INSERT INTO _cdgen_history (id, save, time, origin, changes) "
        + "SELECT next, gen_random_uuid(), 0, 'x', \(text) FROM _cdgen_keys \(counter)",
      "UPDATE _cdgen_keys SET next = next + 1 \(counter)")
  }

  /// The first column of a query's rows, from the file where there is one.
  func rows(_ sql: String) throws -> [String] {
    guard kind.isInMemory else { return try PlainSQL.rows(sql, at: url) }
    return try tables().rows(sql).map { $0[0] ?? "NULL" }
  }

  /// The tables in memory, as another connection sees them.
  private func tables() throws -> SQLiteConnection {
    try SQLiteConnection(path: openCoordinator().database.attached.all[0].path, of: [])
  }
}
