#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension StoreMetadata {
  /// The SQL condition of the rows that hold the app's own values.
  static let areValues = "substr(\"key\", 1, \(valuePrefix.count)) = \(SQLText.literal(valuePrefix))"

  /// Reads the metadata of a store from the table `_cdgen_metadata`.
  init(_ connection: SQLiteConnection, schema: String = "main", url: URL) throws {
    try self.init(entries: connection.metadataEntries(schema: schema), url: url)
  }

  /// Replaces the app's own values.
  @_optimize(none)
  static func write(_ values: [String: String], to connection: SQLiteConnection, schema: String) throws {
    try connection.execute("DELETE FROM \(schema).\"_cdgen_metadata\" WHERE \(areValues)")
    let statement = try connection.statement(
      "INSERT INTO \(schema).\"_cdgen_metadata\" (\"key\", \"value\") VALUES (?, ?)")
    for (key, value) in values {
      statement.bind(valuePrefix + key, at: 1)
      statement.bind(value, at: 2)
      try statement.run()
    }
  }

  func write(to connection: SQLiteConnection, schema: String = "main") throws {
    try connection.writeMetadata(entries, schema: schema)
  }
}

extension SQLiteConnection {
  /// Returns all entries of a store's metadata.
  func metadataEntries(schema: String = "main") throws -> [String: String] {
    var entries: [String: String] = [:]
    for row in try rows("SELECT \"key\", \"value\" FROM \(schema).\"_cdgen_metadata\"") {
      if let key = row[0], let value = row[1] { entries[key] = value }
    }
    return entries
  }

  /// Returns the value of an entry of a store's metadata; nil if there is no such entry.
  func metadata(_ key: String, schema: String = "main") throws -> String? {
    let statement = try statement("SELECT \"value\" FROM \(schema).\"_cdgen_metadata\" WHERE \"key\" = ?1")
    defer { statement.reset() }
    statement.bind(key, at: 1)
    return try statement.step() ? statement.string(0) : nil
  }

  /// Writes entries of a store's metadata. Existing entries with these keys are replaced.
  func writeMetadata(_ entries: [String: String], schema: String = "main") throws {
    let statement = try makeStatement(
      "INSERT OR REPLACE INTO \(schema).\"_cdgen_metadata\" (\"key\", \"value\") VALUES (?, ?)")
    for (key, value) in entries {
      statement.bind(key, at: 1)
      statement.bind(value, at: 2)
      try statement.run()
    }
  }

  /// The SQL of the first key of a table that no object has had. The keys' counter may be missing.
  static func nextKeySQL(of root: String, table: String) -> String {
    "SELECT max(coalesce((SELECT next FROM main._cdgen_keys WHERE entity = \(SQLText.literal(root))), 1), "
      + "coalesce((SELECT max(_pk) + 1 FROM main.\(SQLText.quoted(table))), 1))"
  }

  /// Returns a key that is greater than all keys that objects of the store have had, of any entity.
  func unusedKey() throws -> ObjectKey {
    let next = try scalar(
      "SELECT max(\"next\") FROM \"_cdgen_keys\" WHERE \"next\" BETWEEN 1 AND \(KeyRanges.largestKey)")
    return next.flatMap { ObjectKey($0) } ?? 1
  }

  /// The metadata entries that make a copy of the store a replica: a new UUID, and the record of the original's objects.
  func replicaEntries(of url: URL, roots: [String]) throws -> [String: String] {
    let found = try StoreMetadata(self, url: url)
    let origins = try InsertionOrigins(
      text: metadata(InsertionOrigins.metadataKey), storeID: found.storeID, url: url)
    var nextKeys: [String: ObjectKey] = [:]
    for root in roots {
      // Another program may have replaced the counter by something that is not a key.
      let next = try scalar(Self.nextKeySQL(of: root, table: root)).flatMap { ObjectKey($0) }
      guard let next, next < .max else { throw StoreError.damagedKeys(url, entity: root) }
      nextKeys[root] = next
    }
    let storeID = UUID.random()
    return [
      "storeUUID": storeID.uuidString,
      InsertionOrigins.metadataKey: origins.replica(storeID, nextKeys: nextKeys).text,
    ]
  }
}
