import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The columns of a statement that reads the values of key paths.
package struct FetchedColumns {
  /// How a value is read from its column.
  package enum Reading {
    case attribute(StorageType)
    /// A key, with the column for the name of its entity if the object can be of several entities.
    case object(EntityPlan, nameColumn: Int?)
  }

  /// The values, in the order of the key paths.
  package let readings: [Reading]
  package let sql: String
  /// Whether equal values may have different stored forms.
  package let hasOpaque: Bool
  private let model: ModelPlan
  private let stores: StoreSet

  /// The number of columns for the values, without the columns for entity names.
  package var count: Int { readings.count }

  /// Whether the names of entities are read beside the values.
  package var hasEntityNames: Bool {
    readings.contains { if case .object(_, .some) = $0 { true } else { false } }
  }

  /// Returns nil if SQL has no form of one of the values.
  package init?(
    _ names: [String], _ types: [ExpressionType], of plan: EntityPlan, _ model: ModelPlan, _ stores: StoreSet,
    _ dialect: any SQLDialect
  ) throws(EvaluationError) {
    var compiler = SQLCompiler(
      entity: plan, model: model, variables: [:], now: Date(), key: SQLPredicate.noKey, dialect: dialect)
    var columns: [String] = []
    var entityColumns: [String] = []
    var readings: [Reading] = []
    var hasOpaque = false
    for (name, type) in zip(names, types) {
      guard case .value(let value)? = try compiler.operand(ValueExpression.keyPath(name)),
        value.sql.bindings.isEmpty, dialect.acceptsTerm(value.sql)
      else { return nil }
      columns.append(value.sql.text)
      if value.kind == .opaque { hasOpaque = true }
      switch type {
      case .attribute(let type):
        guard let storageType = StorageType(type, in: model.graph) else { return nil }
        readings.append(.attribute(storageType))
      case .object(let entity):
        guard let destination = model.entity(entity) else { return nil }
        guard destination.isPolymorphic else {
          readings.append(.object(destination, nameColumn: nil))
          continue
        }
        guard dialect.isReachable(destination.table) else { return nil }
        let table = dialect.table(destination.table)
        readings.append(.object(destination, nameColumn: names.count + entityColumns.count))
        entityColumns.append("(SELECT e._entity FROM \(table) AS e WHERE e._pk = \(value.sql.text))")
      case .collection, .dictionary, .null, .unknown: return nil
      }
    }
    self.readings = readings
    self.model = model
    self.stores = stores
    self.hasOpaque = hasOpaque
    sql = (columns + entityColumns).joined(separator: ", ")
  }

  /// The object that a key stands for; nil if no store has its entity.
  ///
  /// - Parameter name: The name of the object's entity.
  package func object(_ key: ObjectKey, entityName name: String) -> FetchedValue {
    guard let plan = model.entity(name), let store = stores.store(of: plan) else { return .object(nil) }
    return .object(ManagedObjectID(storeID: store.storeID, entityName: name, key: key))
  }
}
