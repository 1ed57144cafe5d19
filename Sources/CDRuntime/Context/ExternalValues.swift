import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The large values of one save: their files are written before the save's transaction begins, and what the rows
/// no longer refer to is noted in it.
///
/// `_cdgen_files` lists the files that no row may refer to. A new file's name goes in before the file is written,
/// and out in the transaction that makes a row refer to it; the name of a replaced one goes in with the
/// transaction that replaces it. Whatever happens in between, every file is referred to, or listed. A listed file
/// is removed when it is old enough that no reader can still come for it, and no save still be about to refer to
/// it.
struct ExternalValues {
  /// How long, in seconds, a listed file is kept.
  static let grace: Double = 3600

  private let stores: StoreSet
  private let connection: SQLiteConnection
  /// The values that became files, by object and slot.
  private var written: [Place: File] = [:]

  private struct Place: Hashable {
    let object: ObjectIdentifier
    let slot: Int
  }

  private struct File {
    let name: String
    let store: SQLiteStore
    let files: ExternalFiles
  }

  /// Writes the files of all objects that a save inserts or updates.
  ///
  /// - Parameter making: Who keeps account of the files that a migration writes.
  init(
    of plan: SavePlan, stores: StoreSet, connection: SQLiteConnection, making: NewExternalFiles? = nil
  ) throws {
    self.stores = stores
    self.connection = connection
    var values: [(file: File, value: Data)] = []
    for (objects, isNew) in [(plan.inserted, true), (plan.updated, false)] {
      for object in objects where !object.scope.plan.externalSlots.isEmpty {
        guard let store = stores.home(of: object.scope.plan), let files = store.files else { continue }
        for slot in object.scope.plan.externalSlots
        where isNew || object.extras?.changed.contains(slot) == true {
          guard case .data(let value) = object.storedValue(slot),
            value.count > ExternalFiles.largestInlineSize
          else { continue }
          let file = File(name: UUID.random().uuidString, store: store, files: files)
          written[Place(object: ObjectIdentifier(object), slot: slot)] = file
          values.append((file, value))
        }
      }
    }
    guard !values.isEmpty else { return }
    do {
      try making?.willWrite(values.map(\.file.name))
      try connection.write { for value in values { try list(value.file.name, in: value.file.store) } }
      for value in values { try value.file.files.write(value.value, name: value.file.name) }
      let folders = Dictionary(values.map { ($0.file.store.place, $0.file.files) }) { first, _ in first }
      for files in folders.values { try files.syncFolder() }
    } catch {
      discard()
      throw error
    }
  }

  /// The file's name where the value of a slot is one.
  func name(_ object: ManagedObject, _ slot: Int) -> String? {
    written[Place(object: ObjectIdentifier(object), slot: slot)]?.name
  }

  /// Lists the files that a row refers to, which is about to be changed or deleted.
  func replace(_ object: ManagedObject, slots: [Int]) throws {
    let plan = object.scope.plan
    guard !slots.isEmpty, let store = stores.home(of: plan), store.files != nil else { return }
    for slot in slots {
      guard let column = plan.slots[slot].columns.first.map({ SQLite.quoted(plan.columns[$0].name) }) else {
        continue
      }
      let statement = try connection.statement(
        "SELECT \(column) FROM \(SQLite.quoted(plan.table)) WHERE _pk = ?1 AND typeof(\(column)) = 'text'")
      defer { statement.reset() }
      statement.bind(object.key, at: 1)
      if try statement.step(), let name = statement.string(0) { try list(name, in: store) }
    }
  }

  /// Takes the save's own files off the list. To be called last in its transaction.
  func keep() throws {
    for file in written.values {
      try unlist(file)
      // A save that took longer than any may have lost its files to a collection.
      guard sqlite3_changes(connection.handle) == 1, file.files.exists(file.name) else {
        throw StoreError.externalData(
          file.files.folder.appending(path: file.name),
          reason: "it was removed while the save was running; save again")
      }
    }
  }

  /// Removes the files of a save that failed, but for those of stores in which it is written.
  func discard(exceptIn places: Set<Int> = []) {
    let lost = written.values.filter { !places.contains($0.store.place) }
    guard !lost.isEmpty else { return }
    for file in lost { file.files.remove(file.name) }
    // What stays listed is removed by a later collection.
    try? connection.write { for file in lost { try unlist(file) } }
  }

  private func list(_ name: String, in store: SQLiteStore) throws {
    let statement = try connection.statement(
      "INSERT OR REPLACE INTO \(stores.schema(of: store)).\"_cdgen_files\" (\"name\", \"time\") VALUES (?1, ?2)"
    )
    statement.bind(name, at: 1)
    sqlite3_bind_double(statement.handle, 2, Date().timeIntervalSinceReferenceDate)
    try statement.run()
  }

  private func unlist(_ file: File) throws {
    let statement = try connection.statement(
      "DELETE FROM \(stores.schema(of: file.store)).\"_cdgen_files\" WHERE \"name\" = ?1")
    statement.bind(file.name, at: 1)
    try statement.run()
  }

  /// Removes the files that have been listed for long enough.
  static func collect(_ files: ExternalFiles, _ connection: SQLiteConnection, now: Date = Date()) throws {
    let limit = now.timeIntervalSinceReferenceDate - grace
    let names = try connection.rows("SELECT \"name\" FROM \"_cdgen_files\" WHERE \"time\" < \(limit)")
      .compactMap { $0[0] }
    guard !names.isEmpty else { return }
    try connection.write {
      // Listed again, or referred to, by whoever was faster: the row is gone or younger then.
      let statement = try connection.statement(
        "DELETE FROM \"_cdgen_files\" WHERE \"name\" = ?1 AND \"time\" < ?2")
      for name in names {
        statement.bind(name, at: 1)
        sqlite3_bind_double(statement.handle, 2, limit)
        try statement.run()
        if sqlite3_changes(connection.handle) == 1 { files.remove(name) }
      }
    }
  }
}
