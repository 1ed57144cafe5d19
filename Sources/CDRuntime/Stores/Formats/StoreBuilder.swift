public import CDModel
import CSQLite

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Receives the contents of a file from a ``StoreFormat``: first the metadata, then the rows. The tables can come in
/// any order.
///
/// ```swift
/// struct Contents: Decodable {
///   var metadata: [String: String]
///   var texts: [String: [[String?]]]
/// }
///
/// func read(_ input: StoreInput, into builder: StoreBuilder) throws {
///   let file = try JSONDecoder().decode(Contents.self, from: input.readAll())
///   for table in try builder.begin(metadata: file.metadata) {
///     for row in file.texts[table.name] ?? [] {
///       try builder.add(row.map { text in text.map(StoreValue.text) ?? .null }, to: table)
///     }
///   }
/// }
/// ```
///
/// The builder checks everything: the model has the entities, the values have the types of their columns, no key occurs
/// twice, and each reference leads to an existing object.
public final class StoreBuilder {
  /// The metadata's key for the names of the root entities whose objects the store holds, separated by spaces.
  static let entitiesKey = "entities"

  /// Ends the reading when only the metadata is wanted.
  struct MetadataRead: Error {}

  let connection: SQLiteConnection
  let url: URL
  private let current: (plan: ModelPlan, storeIndex: Int)?
  private let wantsMetadataOnly: Bool
  /// The files of large values for a copy; nil if large values stay as they are.
  private let largeValues: CopiedValues?
  /// Whether the store gets a UUID of its own, instead of that in the metadata.
  private let isReplica: Bool
  private var rows: StoreRows?
  private var schema: SQLiteSchema?
  private var model: ModelPlan?
  private var prepared: [Prepared?] = []
  private var nextSave: Int64 = 0

  /// The statement and types for writing rows of a table.
  private struct Prepared {
    let statement: SQLiteStatement
    let table: StoreTable
    let kind: StoreTable.Kind
    let types: [StoreColumn.ValueType]
    let storageTypes: [StorageType?]
  }

  /// - Parameters:
  ///   - connection: An empty database.
  ///   - current: A model that the store may have, and the index of the store in that model. If the store's model is
  ///     the same, the builder does not build a plan of the store's own model.
  ///   - largeValues: The files of large values, if the new store is a copy.
  init(
    _ connection: SQLiteConnection, url: URL, current: (plan: ModelPlan, storeIndex: Int)? = nil,
    wantsMetadataOnly: Bool = false, largeValues: CopiedValues? = nil, isReplica: Bool = false
  ) {
    self.largeValues = largeValues
    self.isReplica = isReplica
    self.connection = connection
    self.url = url
    self.current = current
    self.wantsMetadataOnly = wantsMetadataOnly
  }

  var hasBegun: Bool { rows != nil }

  /// Returns the store's tables, as its metadata describes them. Call this once, before you add a row.
  ///
  /// - Throws: ``StoreFormatError``, ``StoreError`` or an internal error of the builder. Your format must pass these
  ///   errors on.
  public func begin(metadata: [String: String]) throws -> [StoreTable] {
    guard rows == nil else { throw StoreFormatError(.syntax("the metadata occur twice")) }
    try connection.execute("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")
    for sql in SQLiteSchema.systemTables { try connection.execute(sql) }
    try insert(metadata)
    let found: StoreMetadata
    do {
      found = try StoreMetadata(connection, url: url)
    } catch StoreError.damagedMetadata(_, let key) { throw StoreFormatError(.metadata(key: key)) }
    guard let names = metadata[Self.entitiesKey] else {
      throw StoreFormatError(.metadata(key: Self.entitiesKey))
    }
    if wantsMetadataOnly {
      try connection.execute("COMMIT")
      throw MetadataRead()
    }
    let roots = Set(names.split(separator: " ").map(String.init))
    let (model, storeIndex) = try plan(found, roots: roots)
    let rows = StoreRows(model, store: storeIndex)
    if let strange = roots.subtracting(rows.roots).min() { throw StoreFormatError(.unknownEntity(strange)) }
    let schema = SQLiteSchema(model, store: storeIndex)
    for sql in schema.tables { try connection.execute(sql) }
    self.rows = rows
    self.schema = schema
    self.model = model
    prepared = [Prepared?](repeating: nil, count: rows.parts.count)
    return rows.tables
  }

  /// Returns the tables of a store that does not contain its model because another program wrote it. Call this once,
  /// instead of ``begin(metadata:)``.
  ///
  /// ```swift
  /// func read(_ input: StoreInput, into builder: StoreBuilder) throws {
  ///   let tables = try builder.begin(
  ///     model: ToDoModel.model, storeID: id(of: input.url), entities: ["Category", "ToDo"],
  ///     values: ["origin": input.url.path()])
  ///   for table in tables where table.kind == .objects { print(table.name, table.columns.count) }
  /// }
  ///
  /// func id(of url: URL) -> UUID { UUID() }  // Read from the file.
  /// ```
  ///
  /// - Parameters:
  ///   - model: The model. Its current version is the version of the store.
  ///   - storeID: The UUID of the store. It must be the same each time the store is read.
  ///   - entities: The root entities whose objects the store holds. A root entity inherits from no other entity.
  ///   - values: The app's own metadata. See ``PersistentStoreMetadata/values``.
  /// - Throws: ``ModelError``, or an error of ``begin(metadata:)``.
  public func begin(
    model: ManagedObjectModel, storeID: UUID, entities: Set<String>, values: [String: String] = [:]
  ) throws -> [StoreTable] {
    let plan = try ModelPlan(model, assignment: StoreAssignment(roots: entities))
    var metadata = StoreMetadata(plan, storeID: storeID, store: 0)
    metadata.values = values
    var entries = metadata.allEntries
    entries[Self.entitiesKey] = entities.sorted().joined(separator: " ")
    return try begin(metadata: entries)
  }

  private func insert(_ metadata: [String: String]) throws {
    let statement = try connection.makeStatement(
      "INSERT INTO \"_cdgen_metadata\" (\"key\", \"value\") VALUES (?, ?)")
    for (key, value) in metadata where key != Self.entitiesKey {
      statement.bind(key, at: 1)
      statement.bind(value, at: 2)
      try statement.run()
    }
  }

  private func plan(_ found: StoreMetadata, roots: Set<String>) throws -> (ModelPlan, Int) {
    // If the file's model was changed without its hash, the rows do not belong to that model.
    func checkHash(_ plan: ModelPlan, _ storeIndex: Int) throws {
      guard plan.dataHash(ofStore: storeIndex).description == found.dataHash else {
        throw StoreFormatError(.metadata(key: "dataHash"))
      }
    }
    if let current, found.version == current.plan.source(ofStore: current.storeIndex).version.canonicalJSON {
      let own = current.plan.entities.filter { $0.root == $0.index && $0.storeIndex == current.storeIndex }
      if Set(own.map(\.name)) == roots {
        try checkHash(current.plan, current.storeIndex)
        return (current.plan, current.storeIndex)
      }
    }
    let version: ModelVersion
    do {
      version = try ModelVersion(canonicalJSON: found.version)
    } catch { throw StoreFormatError(.metadata(key: "version")) }
    let model = ManagedObjectModel(
      name: found.modelName, id: found.modelID, versions: [version], currentVersionNumber: version.number)
    do {
      let plan = try ModelPlan(model, assignment: StoreAssignment(roots: roots))
      try checkHash(plan, 0)
      return (plan, 0)
    } catch is ModelError { throw StoreFormatError(.metadata(key: "version")) }
  }

  /// Adds a row. Its values are in the order of the table's columns.
  ///
  /// - Throws: ``StoreFormatError`` if a value does not fit its column, or if the row already exists.
  public func add(_ row: [StoreValue], to table: StoreTable) throws {
    let part = try prepare(table)
    guard row.count == part.types.count else {
      throw StoreFormatError(.invalidRow(entity: table.name, key: nil))
    }
    if try part.kind == .keys && isNextSave(row) { return }
    for index in row.indices {
      guard let fitted = part.types[index].fitted(row[index]),
        part.storageTypes[index].map({ Self.isInRange(fitted, $0) }) ?? true
      else {
        throw StoreFormatError(
          .invalidValue(
            entity: table.name, property: part.table.columns[index].name, key: Self.key(row, part.kind)))
      }
      part.statement.bind(
        part.types[index] == .externalData ? try largeValues?.placed(fitted) ?? fitted : fitted,
        at: Int32(index + 1))
    }
    switch part.kind {
    case .objects: try checkSystemValues(row, table)
    case .keys, .pairs, .history:
      // SQLite would replace a null identifier by a number.
      if row.first == .null { throw StoreFormatError(.invalidRow(entity: table.name, key: nil)) }
    }
    do {
      try part.statement.run()
    } catch let error as StoreError { throw Self.formatError(error, row, part.table) }
  }

  private func prepare(_ table: StoreTable) throws -> Prepared {
    guard let rows, prepared.indices.contains(table.index) else {
      throw StoreFormatError(.syntax("a row comes before the metadata"))
    }
    if let part = prepared[table.index] { return part }
    let part = rows.parts[table.index]
    let new = Prepared(
      statement: try connection.makeStatement(part.insert), table: part.table, kind: part.table.kind,
      types: part.table.columns.map(\.type), storageTypes: part.storageTypes)
    prepared[table.index] = new
    return new
  }

  private func isNextSave(_ row: [StoreValue]) throws -> Bool {
    guard row.first == .text(StoreRows.historyKey) else { return false }
    guard row.count == 2, case .integer(let next) = row[1], next > 0 else {
      throw StoreFormatError(.invalidRow(entity: "_keys", key: nil))
    }
    nextSave = next
    return true
  }

  /// Checks that the key is positive and has a next key, and that the version fits in 32 bits.
  private func checkSystemValues(_ row: [StoreValue], _ table: StoreTable) throws {
    guard case .integer(let key) = row[0], key > 0, key < .max else {
      throw StoreFormatError(.invalidRow(entity: table.name, key: nil))
    }
    guard case .integer(let version) = row[1], UInt32(exactly: version) != nil else {
      throw StoreFormatError(.invalidValue(entity: table.name, property: "_version", key: key))
    }
  }

  /// Returns whether a number fits in the range of a narrower type.
  private static func isInRange(_ value: StoreValue, _ storageType: StorageType) -> Bool {
    switch (storageType, value) {
    case (_, .integer(let number)): storageType.integerRange?.contains(number) ?? true
    case (.float, .real(let number)): Float(number).isFinite || number.isInfinite
    default: true
    }
  }

  private static func key(_ row: [StoreValue], _ kind: StoreTable.Kind) -> Int64? {
    if case .integer(let key)? = row.first, kind == .objects { key } else { nil }
  }

  private static func formatError(_ error: StoreError, _ row: [StoreValue], _ table: StoreTable) -> any Error
  {
    guard case .sqlite(_, let code, let message, _) = error, code & 0xFF == SQLITE_CONSTRAINT else {
      return error
    }
    let key = key(row, table.kind)
    if error.isUniquenessViolation || code == SQLITE_CONSTRAINT | (10 << 8) {
      return StoreFormatError(.duplicateKey(entity: table.name, key: key))
    }
    // The message ends with the column, for example `NOT NULL constraint failed: Table.column`.
    let column = table.columns.first { column in
      message.hasPrefix("NOT NULL") && message.hasSuffix("." + column.name)
    }
    guard let column else { return StoreFormatError(.invalidRow(entity: table.name, key: key)) }
    return StoreFormatError(.invalidValue(entity: table.name, property: column.name, key: key))
  }

  /// Creates the indexes, checks the references, and commits.
  func finish() throws {
    guard let rows, let schema, let model else { throw StoreFormatError(.truncated) }
    prepared.removeAll()
    for index in schema.indexes {
      do {
        try connection.execute(index.sql)
      } catch let error as StoreError where error.isUniquenessViolation {
        throw StoreFormatError(.notUnique(index: index.name))
      }
    }
    try checkReferences(model)
    for root in rows.roots {
      // The next key must be greater than each existing key.
      let name = SQLText.literal(root)
      let next = "(SELECT coalesce(max(\"_pk\"), 0) + 1 FROM \(SQLText.quoted(root)))"
      try connection.execute(
        "INSERT INTO \"_cdgen_keys\" (\"entity\", \"next\") VALUES (\(name), \(next)) "
          + "ON CONFLICT (\"entity\") DO UPDATE SET \"next\" = max(\"next\", \(next))")
    }
    if isReplica {
      try connection.writeMetadata(connection.replicaEntries(of: url, roots: rows.roots))
    }
    if nextSave > 1 {
      try connection.execute("DELETE FROM sqlite_sequence WHERE name = '_cdgen_history'")
      try connection.execute(
        "INSERT INTO sqlite_sequence (name, seq) VALUES ('_cdgen_history', "
          + "max(\(nextSave - 1), coalesce((SELECT max(\"id\") FROM \"_cdgen_history\"), 0)))")
    }
    try connection.execute("COMMIT; PRAGMA foreign_keys = ON")
  }

  private func checkReferences(_ model: ModelPlan) throws {
    let statement = try connection.makeStatement("PRAGMA foreign_key_check")
    guard try statement.step() else { return }
    let (table, destination) = (statement.string(0) ?? "", statement.string(2) ?? "")
    let key = try statement.isNull(1) ? pairKey(table, statement.int64(3)) : statement.int64(1)
    throw StoreFormatError(.danglingReference(entity: table, key: key, destination: destination))
  }

  /// Returns the source of a pair with a missing object. Rows of a join table have no number of their own.
  private func pairKey(_ table: String, _ foreignKey: Int64) throws -> Int64? {
    let name = SQLText.quoted(table)
    for row in try connection.rows("PRAGMA foreign_key_list(\(name))") where row[0] == "\(foreignKey)" {
      guard let destination = row[2], let column = row[3] else { return nil }
      let found = try connection.scalar(
        "SELECT min(\"_source\") FROM \(name) WHERE \(SQLText.quoted(column)) NOT IN "
          + "(SELECT \"_pk\" FROM \(SQLText.quoted(destination)))")
      return found.flatMap { Int64($0) }
    }
    return nil
  }
}
