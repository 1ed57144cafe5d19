import CDModel
@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The columns of a statement that reads the values of key paths.
struct FetchedColumns {
  private enum Reading {
    case attribute(StorageType)
    /// A key, with the column for the name of its entity if the object can be of several entities.
    case object(EntityPlan, nameColumn: Int?)
  }

  private let readings: [Reading]
  private let session: PostgresSession
  let sql: String
  /// The number of columns for the values, without the columns for entity names.
  let count: Int
  /// Whether equal values may have different stored forms.
  let hasOpaque: Bool

  /// Returns nil if SQL has no form of one of the values.
  init?(
    _ names: [String], _ types: [ExpressionType], of plan: EntityPlan, _ session: PostgresSession
  ) throws {
    var compiler = SQLCompiler(
      entity: plan, model: session.model, variables: [:], now: Date(), key: SQLPredicate.noKey,
      dialect: session.dialect)
    var columns: [String] = []
    var entityColumns: [String] = []
    var readings: [Reading] = []
    var hasOpaque = false
    for (name, type) in zip(names, types) {
      guard case .value(let value)? = try compiler.operand(ValueExpression.keyPath(name)),
        value.sql.bindings.isEmpty, session.dialect.acceptsTerm(value.sql)
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
        let table = session.dialect.table(destination.table)
        readings.append(.object(destination, nameColumn: names.count + entityColumns.count))
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

  /// Whether several entities' names are read beside the values.
  var hasEntityNames: Bool {
    readings.contains { if case .object(_, .some) = $0 { true } else { false } }
  }

  func values(_ result: PostgresResult, _ row: Int, _ report: RowReport) -> [FetchedValue] {
    readings.enumerated().map { column, reading in
      switch reading {
      case .attribute(let storageType): return .attribute(result.value(row, column, storageType))
      case .object(let destination, let nameColumn):
        if result.isNull(row, column) { return .object(nil) }
        let name = nameColumn.flatMap { result.string(row, $0) } ?? destination.name
        guard let plan = session.model.entity(name), let store = session.stores.store(of: plan) else {
          return .object(nil)
        }
        return .object(
          ManagedObjectID(storeID: store.storeID, entityName: name, key: result.int(row, column)))
      }
    }
  }
}
