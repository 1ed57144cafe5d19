public import CDModel

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
  package static let entitiesKey = "entities"

  /// The name of the entry for saves in the table of keys. No entity has this name.
  package static let historyKey = "_history"

  /// Ends the reading when only the metadata is wanted.
  struct MetadataRead: Error {}

  /// The engine's tables for the rows; nil if only the metadata is wanted.
  private let receiver: (any TableReceiver)?
  private let url: URL
  private let current: (plan: ModelPlan, storeIndex: Int)?
  /// The files of large values for a copy; nil if large values stay as they are.
  private let largeValues: CopiedValues?
  /// The metadata of the file; nil before they are read.
  private(set) var metadata: StoreMetadata?
  private var parts: [StoreTables.Part]?
  private var prepared: [Prepared?] = []
  private var nextSave: Int64 = 0

  /// The insertion of rows into a table, and the types of their values.
  private struct Prepared {
    let rows: any RowReceiver
    let table: StoreTable
    let types: [StoreColumn.ValueType]
    let storageTypes: [StorageType?]
  }

  /// - Parameters:
  ///   - receiver: The tables of an engine, which receive the rows.
  ///   - url: The URL that errors show.
  ///   - current: A model that the store may have, and the index of the store in that model. If the store's model is
  ///     the same, the builder does not build a plan of the store's own model.
  ///   - largeValues: The files of large values, if the new store is a copy.
  init(
    _ receiver: any TableReceiver, url: URL, current: (plan: ModelPlan, storeIndex: Int)? = nil,
    largeValues: CopiedValues? = nil
  ) {
    self.receiver = receiver
    self.url = url
    self.current = current
    self.largeValues = largeValues
  }

  /// A builder that reads only the metadata of a file.
  init(metadataOf url: URL) {
    receiver = nil
    self.url = url
    current = nil
    largeValues = nil
  }

  /// Returns the store's tables, as its metadata describes them. Call this once, before you add a row.
  ///
  /// - Throws: ``StoreFormatError``, ``StoreError`` or an internal error of the builder. Your format must pass these
  ///   errors on.
  @_optimize(none)
  public func begin(metadata: [String: String]) throws -> [StoreTable] {
    guard self.metadata == nil else { throw StoreFormatError(.syntax("the metadata occur twice")) }
    var entries = metadata
    let names = entries.removeValue(forKey: Self.entitiesKey)
    let found: StoreMetadata
    do {
      found = try StoreMetadata(entries: entries, url: url)
    } catch StoreError.damagedMetadata(_, let key) { throw StoreFormatError(.metadata(key: key)) }
    guard let names else { throw StoreFormatError(.metadata(key: Self.entitiesKey)) }
    self.metadata = found
    guard let receiver else { throw MetadataRead() }
    let roots = Set(names.split(separator: " ").map(String.init))
    let (model, storeIndex) = try plan(found, roots: roots)
    let tables = StoreTables(model, store: storeIndex)
    if let strange = roots.subtracting(tables.roots).min() {
      throw StoreFormatError(.unknownEntity(strange))
    }
    // A copy has another name, and no backups.
    if largeValues != nil { entries["pendingBackup"] = nil }
    try receiver.begin(model, store: storeIndex, metadata: entries)
    parts = tables.parts
    prepared = [Prepared?](repeating: nil, count: tables.parts.count)
    return tables.all
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
  @_optimize(none)
  public func begin(
    model: ManagedObjectModel, storeID: UUID, entities: Set<String>, values: [String: String] = [:]
  ) throws -> [StoreTable] {
    let plan = try ModelPlan(model, assignment: StoreAssignment(roots: entities))
    var metadata = StoreMetadata(plan, storeID: storeID, store: 0)
    metadata.values = values
    var entries = metadata.allEntries
    entries[Self.entitiesKey] = entities.ordered().joined(separator: " ")
    return try begin(metadata: entries)
  }

  @_optimize(none)
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
    if try part.table.kind == .keys && isNextSave(row) { return }
    for index in row.indices {
      guard try place(row[index], at: index, in: part) else {
        throw StoreFormatError(
          .invalidValue(
            entity: table.name, property: part.table.columns[index].name, key: Self.key(row, part.table.kind))
        )
      }
    }
    switch part.table.kind {
    case .objects: try checkSystemValues(row, table)
    case .history:
      // A next save must have a number too.
      guard case .integer(let number)? = row.first, number > 0, number < KeyRanges.largestKey else {
        throw StoreFormatError(.invalidRow(entity: table.name, key: nil))
      }
    case .keys, .pairs:
      // An engine may replace a null identifier by a number.
      if row.first == .null { throw StoreFormatError(.invalidRow(entity: table.name, key: nil)) }
      // No object could be added to such a store.
      if part.table.kind == .keys, case .integer(let next)? = row.last, next > KeyRanges.largestKey {
        throw StoreFormatError(.invalidRow(entity: table.name, key: nil))
      }
    }
    do {
      try part.rows.insert()
    } catch let refusal as RowRefusal { throw Self.formatError(refusal, row, part.table) }
  }

  private func prepare(_ table: StoreTable) throws -> Prepared {
    guard let parts, let receiver, prepared.indices.contains(table.index) else {
      throw StoreFormatError(.syntax("a row comes before the metadata"))
    }
    if let part = prepared[table.index] { return part }
    let part = parts[table.index]
    let new = Prepared(
      rows: try receiver.insertion(into: part), table: part.table, types: part.table.columns.map(\.type),
      storageTypes: part.storageTypes)
    prepared[table.index] = new
    return new
  }

  private func isNextSave(_ row: [StoreValue]) throws -> Bool {
    guard row.first == .text(Self.historyKey) else { return false }
    guard row.count == 2, case .integer(let next) = row[1], 1...KeyRanges.largestKey ~= next else {
      throw StoreFormatError(.invalidRow(entity: "_keys", key: nil))
    }
    nextSave = next
    return true
  }

  /// Checks that the key is positive and has a next key, and that the version fits in 32 bits.
  private func checkSystemValues(_ row: [StoreValue], _ table: StoreTable) throws {
    guard case .integer(let key) = row[0], key > 0, key < KeyRanges.largestKey else {
      throw StoreFormatError(.invalidRow(entity: table.name, key: nil))
    }
    guard case .integer(let version) = row[1], UInt32(exactly: version) != nil else {
      throw StoreFormatError(.invalidValue(entity: table.name, property: "_version", key: key))
    }
  }

  /// Passes a value of a row to its table.
  ///
  /// - Returns: Whether the value has the column's type and range.
  private func place(_ value: StoreValue, at index: Int, in part: Prepared) throws -> Bool {
    if part.types[index] == .decimal, case .text(let text) = value {
      guard let number = DecimalText.decode(" " + text) else { return false }
      return part.rows.place(number, at: index)
    }
    guard var fitted = part.types[index].fitted(value) else { return false }
    if let storageType = part.storageTypes[index] {
      guard let narrow = Self.narrowed(fitted, to: storageType) else { return false }
      fitted = narrow
    }
    if part.types[index] == .externalData { fitted = try largeValues?.placed(fitted) ?? fitted }
    part.rows.place(fitted, at: index)
    return true
  }

  /// Returns a number as an attribute of a narrower type has it; nil if the number is outside of the type's range.
  private static func narrowed(_ value: StoreValue, to storageType: StorageType) -> StoreValue? {
    switch (storageType, value) {
    case (_, .integer(let number)):
      return storageType.integerRange?.contains(number) ?? true ? value : nil
    case (.float, .real(let number)):
      let float = Float(number)
      return float.isFinite || number.isInfinite ? .real(Double(float)) : nil
    default: return value
    }
  }

  private static func key(_ row: [StoreValue], _ kind: StoreTable.Kind) -> Int64? {
    if case .integer(let key)? = row.first, kind == .objects { key } else { nil }
  }

  private static func formatError(
    _ refusal: RowRefusal, _ row: [StoreValue], _ table: StoreTable
  ) -> StoreFormatError {
    let key = key(row, table.kind)
    return switch refusal {
    case .duplicateKey: StoreFormatError(.duplicateKey(entity: table.name, key: key))
    case .missingValue(let column):
      StoreFormatError(.invalidValue(entity: table.name, property: column, key: key))
    case .constraint: StoreFormatError(.invalidRow(entity: table.name, key: key))
    }
  }

  /// Adds the complete contents of another store, and ends the reading.
  func add(_ contents: StoreContents) throws {
    let tables = try begin(metadata: contents.metadata)
    for table in contents.tables {
      guard let same = tables.first(where: { $0.kind == table.kind && $0.name == table.name }) else {
        continue
      }
      try contents.forEachRow(of: table) { try add($0, to: same) }
    }
    try finish()
  }

  /// Ends the reading of the file. The engine creates the indexes and checks the references.
  func finish() throws {
    guard parts != nil, let receiver else { throw StoreFormatError(.truncated) }
    prepared.removeAll()
    try receiver.finish(nextSave: nextSave)
  }
}
