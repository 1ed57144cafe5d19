import CDRuntime

/// The tables of the source, as the file declares them.
struct SourceSchema {
  struct Column: Hashable {
    /// The name as it is written in the file.
    var name: String
    /// The declared type, in capitals.
    var type: String
    /// Whether it is the key of the rows.
    var isKey: Bool
  }

  private struct Entry {
    var name: String
    var isTable: Bool
    var isVirtual: Bool
  }

  private let database: SourceDatabase
  private let entries: [String: Entry]
  private var columnsRead: [String: [String: Column]] = [:]

  init(_ database: SourceDatabase) throws(CoreDataStoreError) {
    self.database = database
    let list = try database.rows("SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view')")
    {
      ($0.text(0), $0.text(1), $0.text(2))
    }
    var entries: [String: Entry] = [:]
    for case (let type?, let name?, let sql) in list {
      entries[name.uppercased()] = Entry(
        name: name, isTable: type == "table",
        isVirtual: sql?.uppercased().hasPrefix("CREATE VIRTUAL") ?? false)
    }
    self.entries = entries
  }

  /// The names of all tables and views, in capitals.
  var names: some Collection<String> { entries.keys }

  func has(_ table: String) -> Bool { entries[table.uppercased()] != nil }

  /// The name as it is written in the file.
  func name(of table: String) -> String { entries[table.uppercased()]?.name ?? table }

  /// The columns of a table, by their names in capitals.
  ///
  /// - Throws: ``CoreDataStoreError/notACoreDataStore(_:reason:)`` if there is no such table, or if it is not an
  ///   ordinary table.
  mutating func columns(of table: String) throws(CoreDataStoreError) -> [String: Column] {
    let key = table.uppercased()
    if let known = columnsRead[key] { return known }
    guard let entry = entries[key] else {
      throw .notACoreDataStore(database.url, reason: "it has no table \(table)")
    }
    // The creator of the file determines which rows a view or a virtual table returns.
    guard entry.isTable, !entry.isVirtual else {
      throw .notACoreDataStore(database.url, reason: "\(table) is not an ordinary table")
    }
    var columns: [String: Column] = [:]
    var isComputed = false
    let info = try database.rows("PRAGMA table_xinfo(\(SQLText.quoted(entry.name)))") {
      ($0.text(1), $0.text(2), $0.integer(5), $0.integer(6))
    }
    for (name, type, key, hidden) in info {
      guard let name else { continue }
      if hidden != 0 { isComputed = true }
      let type = (type ?? "").uppercased()
      columns[name.uppercased()] = Column(name: name, type: type, isKey: key == 1 && type == "INTEGER")
    }
    if isComputed {
      throw .notACoreDataStore(database.url, reason: "\(table) has columns that are calculated")
    }
    columnsRead[key] = columns
    return columns
  }

  /// Throws if a table lacks one of these columns.
  mutating func require(_ columns: [String], in table: String, key: String? = nil) throws(CoreDataStoreError)
  {
    let found = try self.columns(of: table)
    for column in columns where found[column] == nil {
      throw .notACoreDataStore(database.url, reason: "\(table) has no column \(column)")
    }
    if let key, found[key]?.isKey != true {
      throw .notACoreDataStore(database.url, reason: "\(key) is not the key of \(table)")
    }
  }
}
