import GRDBSQLite

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

  private let files: ExternalFiles
  private let connection: SQLiteConnection
  /// The names of the values that became files, by object and slot.
  private var names: [Place: String] = [:]

  private struct Place: Hashable {
    let object: ObjectIdentifier
    let slot: Int
  }

  /// Writes the files of all objects that a save inserts or updates.
  init(of plan: SavePlan, files: ExternalFiles, connection: SQLiteConnection) throws {
    self.files = files
    self.connection = connection
    var values: [(name: String, value: Data)] = []
    for (objects, isNew) in [(plan.inserted, true), (plan.updated, false)] {
      for object in objects {
        for slot in object.scope.plan.externalSlots
        where isNew || object.extras?.changed.contains(slot) == true {
          guard case .data(let value) = object.storedValue(slot),
            value.count > ExternalFiles.largestInlineSize
          else { continue }
          let name = UUID().uuidString
          names[Place(object: ObjectIdentifier(object), slot: slot)] = name
          values.append((name, value))
        }
      }
    }
    guard !values.isEmpty else { return }
    do {
      try connection.write { for value in values { try list(value.name) } }
      for value in values { try files.write(value.value, name: value.name) }
      try files.syncFolder()
    } catch {
      discard()
      throw error
    }
  }

  /// The file's name where the value of a slot is one.
  func name(_ object: ManagedObject, _ slot: Int) -> String? {
    names[Place(object: ObjectIdentifier(object), slot: slot)]
  }

  /// Lists the files that a row refers to, which is about to be changed or deleted.
  func replace(_ object: ManagedObject, slots: [Int]) throws {
    let plan = object.scope.plan
    for slot in slots {
      guard let column = plan.slots[slot].columns.first.map({ SQLite.quoted(plan.columns[$0].name) }) else {
        continue
      }
      let statement = try connection.statement(
        "SELECT \(column) FROM \(SQLite.quoted(plan.table)) WHERE _pk = ?1 AND typeof(\(column)) = 'text'")
      defer { statement.reset() }
      statement.bind(object.key, at: 1)
      if try statement.step(), let name = statement.string(0) { try list(name) }
    }
  }

  /// Takes the save's own files off the list. To be called last in its transaction.
  func keep() throws {
    let statement = try connection.statement("DELETE FROM \"_cdgen_files\" WHERE \"name\" = ?1")
    for name in names.values {
      statement.bind(name, at: 1)
      try statement.run()
      // A save that took longer than any may have lost its files to a collection.
      guard sqlite3_changes(connection.handle) == 1, files.exists(name) else {
        throw StoreError.externalData(
          files.folder.appending(path: name), reason: "it was removed while the save was running; save again")
      }
    }
  }

  /// Removes the files of a save that failed.
  func discard() {
    guard !names.isEmpty else { return }
    for name in names.values { files.remove(name) }
    // What stays listed is removed by a later collection.
    try? connection.write {
      let statement = try connection.statement("DELETE FROM \"_cdgen_files\" WHERE \"name\" = ?1")
      for name in names.values {
        statement.bind(name, at: 1)
        try statement.run()
      }
    }
  }

  private func list(_ name: String) throws {
    let statement = try connection.statement(
      "INSERT OR REPLACE INTO \"_cdgen_files\" (\"name\", \"time\") VALUES (?1, ?2)")
    statement.bind(name, at: 1)
    sqlite3_bind_double(statement.handle, 2, Date().timeIntervalSinceReferenceDate)
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
