import Foundation

/// The columns of a statement that reads the values of key paths.
struct FetchedColumns {
  private enum Reading {
    case attribute(CellType)
    /// A key, with the column of its entity's name where there may be several.
    case object(EntityPlan, nameColumn: Int32?)
  }

  private let names: [String]
  private let readings: [Reading]
  private let context: ManagedObjectContext
  private let entity: EntityPlan
  let sql: String
  /// How many columns the values take, without those of entities' names.
  let count: Int
  /// Whether equal values may be kept in different ways.
  let hasOpaque: Bool

  /// Nil where SQL has no form of one of the values.
  init?(
    _ names: [String], _ types: [ExpressionType], of plan: EntityPlan, in context: ManagedObjectContext
  ) throws {
    var compiler = SQLCompiler(
      entity: plan, model: context.model, variables: [:], now: Date(), key: SQLPredicate.noKey)
    var columns: [String] = []
    var entityColumns: [String] = []
    var readings: [Reading] = []
    var hasOpaque = false
    for (name, type) in zip(names, types) {
      guard case .value(let value)? = try compiler.operand(ValueExpression.keyPath(name)),
        value.sql.bindings.isEmpty, value.sql.parserDepth <= SQLPredicate.maximumTermDepth
      else { return nil }
      columns.append(value.sql.text)
      if value.kind == .opaque { hasOpaque = true }
      switch type {
      case .attribute(let type):
        guard let cell = CellType(type, in: context.model.graph) else { return nil }
        readings.append(.attribute(cell))
      case .object(let entity):
        guard let destination = context.model.entity(entity) else { return nil }
        guard destination.isPolymorphic else {
          readings.append(.object(destination, nameColumn: nil))
          continue
        }
        let table = SQLite.quoted(destination.table)
        readings.append(.object(destination, nameColumn: Int32(names.count + entityColumns.count)))
        entityColumns.append("(SELECT e._entity FROM \(table) AS e WHERE e._pk = \(value.sql.text))")
      case .collection, .dictionary, .null, .unknown: return nil
      }
    }
    self.names = names
    self.readings = readings
    self.context = context
    self.entity = plan
    self.hasOpaque = hasOpaque
    count = columns.count
    sql = (columns + entityColumns).joined(separator: ", ")
  }

  func values(_ statement: SQLiteStatement) -> [FetchedValue] {
    let row = RowReader(
      statement: statement.handle, map: readings.indices.map { Int32($0) }, report: context.rowReport)
    return readings.enumerated().map { column, reading in
      switch reading {
      case .attribute(let cell): return .attribute(row.value(column, cell))
      case .object(let destination, let nameColumn):
        if row.isNull(column) { return .object(nil) }
        let name = nameColumn.flatMap { statement.string($0) } ?? destination.name
        guard let plan = context.model.entity(name) else { return .object(nil) }
        let scope = context.scopes[plan.index]
        return .object(
          ManagedObjectID(storeID: scope.storeID, entityName: name, key: statement.int64(Int32(column))))
      }
    }
  }

  /// Tells the context of values that could not be read.
  func report(to context: ManagedObjectContext) {
    let report = context.rowReport
    guard !report.isEmpty else { return }
    for column in report.columns { observe(.wrongType, column) }
    for (column, reason) in report.unreadable { observe(.unreadableFile(reason), column) }
    report.removeAll()
  }

  private func observe(_ reason: ObservedError.Reason, _ column: Int) {
    context.observe(
      ObservedError(
        reason: reason, entity: entity.name, property: column < names.count ? names[column] : nil,
        objectID: nil))
  }
}
