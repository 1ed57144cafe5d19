import Foundation

/// The columns of a statement that reads the values of key paths.
struct FetchedColumns {
  private enum Reading {
    case attribute(StorageType)
    /// A key, with the column for the name of its entity if the object can be of several entities.
    case object(EntityPlan, nameColumn: Int32?)
  }

  private let readings: [Reading]
  private let session: SQLiteSession
  let sql: String
  /// The number of columns for the values, without the columns for entity names.
  let count: Int
  /// Whether equal values may have different stored forms.
  let hasOpaque: Bool

  /// Returns nil if SQL has no form of one of the values.
  init?(
    _ names: [String], _ types: [ExpressionType], of plan: EntityPlan, _ session: SQLiteSession
  ) throws {
    var compiler = SQLCompiler(
      entity: plan, model: session.model, variables: [:], now: Date(), key: SQLPredicate.noKey,
      dialect: session.sql.dialect)
    var columns: [String] = []
    var entityColumns: [String] = []
    var readings: [Reading] = []
    var hasOpaque = false
    for (name, type) in zip(names, types) {
      guard case .value(let value)? = try compiler.operand(ValueExpression.keyPath(name)),
        value.sql.bindings.isEmpty, session.sql.dialect.acceptsTerm(value.sql)
      else { return nil }
      columns.append(value.sql.text)
      if value.kind == .opaque { hasOpaque = true }
      switch type {
      case .attribute(let type):
        guard let storageType = StorageType(type, in: session.model.graph) else { return nil }
        readings.append(.attribute(storageType))
      case .object(let entity):
        guard let destination = session.model.entity(entity) else { return nil }
        guard destination.isPolymorphic else {
          readings.append(.object(destination, nameColumn: nil))
          continue
        }
        let table = SQLText.quoted(destination.table)
        readings.append(.object(destination, nameColumn: Int32(names.count + entityColumns.count)))
        entityColumns.append("(SELECT e._entity FROM \(table) AS e WHERE e._pk = \(value.sql.text))")
      case .collection, .dictionary, .null, .unknown: return nil
      }
    }
    self.readings = readings
    self.session = session
    self.hasOpaque = hasOpaque
    count = columns.count
    sql = (columns + entityColumns).joined(separator: ", ")
  }

  func values(_ statement: SQLiteStatement, _ report: RowReport) -> [FetchedValue] {
    let row = RowReader(
      statement: statement.handle, map: readings.indices.map { Int32($0) }, report: report)
    return readings.enumerated().map { column, reading in
      switch reading {
      case .attribute(let storageType): return .attribute(row.value(column, storageType))
      case .object(let destination, let nameColumn):
        if row.isNull(column) { return .object(nil) }
        let name = nameColumn.flatMap { statement.string($0) } ?? destination.name
        guard let plan = session.model.entity(name), let store = session.stores.store(of: plan) else {
          return .object(nil)
        }
        return .object(
          ManagedObjectID(storeID: store.storeID, entityName: name, key: statement.int64(Int32(column))))
      }
    }
  }
}
