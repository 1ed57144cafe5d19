/// The complete contents of a store, for a ``StoreFormat`` to write: the metadata, and the rows of each table.
///
/// ```swift
/// func write(_ contents: StoreContents, to output: StoreOutput) throws {
///   for table in contents.tables {
///     try output.write("\(table.name)\n")
///     try contents.forEachRow(of: table) { row in try output.write("\(row.count) values\n") }
///   }
/// }
/// ```
public final class StoreContents {
  /// The store's metadata, with its model. A format must write all entries unchanged, and later pass them to
  /// ``StoreBuilder/begin(metadata:)``.
  public let metadata: [String: String]
  /// The tables. A table may have no rows.
  public let tables: [StoreTable]

  private let parts: [StoreTables.Part]
  private let source: any TableSource

  /// - Parameters:
  ///   - source: The tables of an engine, which give the rows.
  ///   - isCopy: Whether the contents are for a store with another name, which has no backups.
  ///   - entries: Metadata entries that replace the ones of the store.
  package init(
    _ stored: StoreTables, from source: any TableSource, isCopy: Bool = false,
    replacing entries: [String: String] = [:]
  ) throws {
    self.source = source
    parts = stored.parts
    tables = stored.all
    var metadata = try source.metadata()
    if isCopy { metadata["pendingBackup"] = nil }
    metadata.merge(entries) { _, new in new }
    metadata[StoreBuilder.entitiesKey] = stored.roots.joined(separator: " ")
    self.metadata = metadata
  }

  /// Calls a body with the values of each row of a table, in the order of the table's columns. Objects are in the order
  /// of their keys.
  ///
  /// - Throws: An error of the body, or ``StoreError``.
  public func forEachRow(of table: StoreTable, _ body: ([StoreValue]) throws -> Void) throws {
    guard tables.indices.contains(table.index) else { return }
    try source.forEachRow(of: parts[table.index], body)
  }
}
