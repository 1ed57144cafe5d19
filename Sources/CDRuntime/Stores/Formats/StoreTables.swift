#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The tables of a store for a format, and what an engine needs to know of each.
package struct StoreTables {
  /// What a table's rows are in the store.
  package enum Content {
    /// The next keys of the root entities, and as one more row the number of the next save, so that the numbers of purged
    /// saves are not used again.
    case keys
    case objects(EntityPlan)
    case pairs(JoinPlan)
    /// The newest saves, at most ``StoreTables/historyLength``.
    case history
  }

  package struct Part {
    package let table: StoreTable
    package let content: Content
    /// The narrow types of columns, whose range must be checked: integers of less than 64 bits, and Float. Nil for
    /// other columns.
    let storageTypes: [StorageType?]
  }

  /// The number of saves that a file keeps. No other process reads the file while it is open, so only this program
  /// reads the history.
  package static let historyLength = 1000

  package private(set) var parts: [Part] = []
  /// The names of the root entities whose objects the store holds.
  package let roots: [String]

  var all: [StoreTable] { parts.map(\.table) }

  @_optimize(none)
  package init(_ model: ModelPlan, store storeIndex: Int) {
    roots = model.entities.filter { $0.root == $0.index && $0.storeIndex == storeIndex }.map(\.name)
    add(.keys, .keys, "_keys", [StoreColumn("_entity", .string), StoreColumn("_next", .count)])
    let positions = Self.positionColumns(model)
    for entity in model.entities where entity.storeIndex == storeIndex && !entity.description.isAbstract {
      add(entity, positions: positions[entity.root] ?? [])
    }
    for join in model.joins where model.entities[join.source].storeIndex == storeIndex { add(join) }
    add(
      .history, .history, "_history",
      [
        StoreColumn("_id", .count), StoreColumn("_time", .date), StoreColumn("_origin", .string),
        StoreColumn("_author", .string), StoreColumn("_changes", .json),
      ])
  }

  private mutating func add(
    _ kind: StoreTable.Kind, _ content: Content, _ name: String, _ columns: [StoreColumn],
    storageTypes: [StorageType?] = []
  ) {
    let table = StoreTable(kind: kind, name: name, columns: columns, index: parts.count)
    let rest = [StorageType?](repeating: nil, count: columns.count - storageTypes.count)
    parts.append(Part(table: table, content: content, storageTypes: storageTypes + rest))
  }

  /// The columns with positions in ordered relationships, by the root entity of the table that has them.
  @_optimize(none)
  private static func positionColumns(_ model: ModelPlan) -> [Int: Set<String>] {
    var result: [Int: Set<String>] = [:]
    for entity in model.entities {
      for relationship in entity.relationships.compactMap(\.self) {
        guard let position = model.positionColumn(of: relationship) else { continue }
        result[model.entities[relationship.destination].root, default: []].insert(position)
      }
    }
    return result
  }

  @_optimize(none)
  private mutating func add(_ entity: EntityPlan, positions: Set<String>) {
    var columns = [StoreColumn("_key", .key), StoreColumn("_version", .count)]
    var storageTypes: [StorageType?] = [nil, nil]
    for column in entity.columns {
      storageTypes.append(Self.narrowType(of: column))
      columns.append(StoreColumn(column.name, Self.type(of: column, in: entity)))
    }
    for column in entity.columns where column.isReference {
      let position = column.name + ".position"
      if positions.contains(position) { columns.append(StoreColumn(position, .count)) }
    }
    add(.objects, .objects(entity), entity.name, columns, storageTypes: storageTypes)
  }

  private static func narrowType(of column: ColumnPlan) -> StorageType? {
    if column.isReference { return nil }
    let type = column.storageType
    let isNarrow = type.integerRange.map { $0 != Int64.min...Int64.max } ?? (type == .float)
    return isNarrow ? type : nil
  }

  private static func type(of column: ColumnPlan, in entity: EntityPlan) -> StoreColumn.ValueType {
    if column.isReference { return .key }
    if entity.slots[column.slot].mayNameFile { return .externalData }
    return StoreColumn.ValueType(column.storageType)
  }

  @_optimize(none)
  private mutating func add(_ join: JoinPlan) {
    var columns = [StoreColumn("_source", .key), StoreColumn("_target", .key)]
    if join.isOrdered { columns.append(StoreColumn("_position", .count)) }
    if join.isInverseOrdered { columns.append(StoreColumn("_inverse_position", .count)) }
    add(.pairs, .pairs(join), join.table, columns)
  }
}

// MARK: What an engine gives

/// The tables of an engine, from which a format writes a store's rows.
package protocol TableSource {
  /// Returns the entries of the store's metadata.
  func metadata() throws -> [String: String]
  /// Calls a body with the values of each row of a table, in the order of the table's columns. Objects are in the order
  /// of their keys.
  func forEachRow(of part: StoreTables.Part, _ body: ([StoreValue]) throws -> Void) throws
  /// Returns the entity of a row of a root's table that cannot be an object: the model does not have the entity, or it is
  /// abstract. The tables for a format do not contain such rows. Returns nil if all rows can be objects.
  func strangeEntity(in root: EntityPlan, of model: ModelPlan) throws -> String?
}

extension TableSource {
  /// Other programs cannot write the rows of an engine without SQL.
  package func strangeEntity(in root: EntityPlan, of model: ModelPlan) throws -> String? { nil }
}

/// The tables of an engine, which receive the rows that a format reads.
protocol TableReceiver: AnyObject {
  /// Creates the tables of a model's store, without rows.
  ///
  /// - Parameter metadata: The entries of the store's metadata.
  func begin(_ model: ModelPlan, store: Int, metadata: [String: String]) throws
  /// Prepares the insertion of rows into a table.
  func insertion(into part: StoreTables.Part) throws -> any RowReceiver
  /// Completes the store after the last row: creates the indexes, checks the references, and makes the next key of each
  /// root entity greater than each existing key.
  ///
  /// - Parameter nextSave: The number of the next save, if it is greater than those of all saves; otherwise 0.
  /// - Throws: ``StoreFormatError`` if an index refuses rows, or if a reference leads to no row.
  func finish(nextSave: Int64) throws
}

/// The insertion of rows into a table, one after another.
protocol RowReceiver: AnyObject {
  /// Sets a value of the next row.
  func place(_ value: StoreValue, at index: Int)
  /// Sets a decimal number of the next row.
  ///
  /// - Returns: Whether the number has a stored form.
  func place(_ number: Decimal, at index: Int) -> Bool
  /// Inserts the row.
  ///
  /// - Throws: ``RowRefusal`` if the table refuses the row.
  func insert() throws
}

/// The reason why a table refuses a row.
enum RowRefusal: Error {
  /// Another row has the same key or the same unique values.
  case duplicateKey
  /// A column that must have a value has none.
  case missingValue(column: String)
  /// The row breaks another constraint of the table.
  case constraint
}
