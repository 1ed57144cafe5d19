import Foundation

@testable import CDRuntime

/// A store in memory, with rows that a test wrote by hand in the layout of the runtime.
struct StoredRows {
  let plan: ModelPlan
  private let store: SQLiteDatabase

  init(_ version: ModelVersion) throws {
    plan = try ModelPlan(
      ManagedObjectModel(name: "Test", id: UUID(), versions: [version], currentVersionNumber: version.number))
    store = try SQLiteDatabase([StoreSettings(location: .inMemory)], model: plan)
  }

  /// Writes rows: a table's columns and their values, in one transaction.
  func insert(_ rows: [(table: String, values: [String: AttributeValue])]) throws {
    try store.writer.use { connection in
      try connection.write {
        for row in rows {
          let columns = row.values.sorted { $0.key < $1.key }
          let names = columns.map { SQLText.quoted($0.key) }.joined(separator: ", ")
          let marks = columns.map { _ in "?" }.joined(separator: ", ")
          let statement = try connection.statement(
            "INSERT INTO \(SQLText.quoted(row.table)) (\(names)) VALUES (\(marks))")
          statement.bind(columns.map { Self.stored($0.value) })
          try statement.run()
        }
      }
    }
  }

  /// Calls a body with the connection.
  func inspect<R>(_ body: (SQLiteConnection) throws -> R) throws -> R { try store.writer.use(body) }

  /// The layout's form of a value.
  static func stored(_ value: AttributeValue) -> AttributeValue {
    switch value {
    case .bool(let flag): .int(flag ? 1 : 0)
    case .date(let date): .double(date.timeIntervalSinceReferenceDate)
    case .uuid(let uuid): .data(withUnsafeBytes(of: uuid.uuid) { Data($0) })
    case .url(let url): .string(url.absoluteString)
    case .decimal(let number): DecimalText.encode(number).map(AttributeValue.string) ?? .null
    default: value
    }
  }

  /// The keys of the rows that meet a condition, in the order of the keys or another one.
  func keys(of entity: String, where predicate: SQLPredicate, orderedBy order: String = "t0._pk") throws
    -> [Int64]
  {
    let table = SQLText.quoted(plan.entity(entity)?.table ?? "")
    return try store.writer.use { connection in
      let statement = try connection.statement(
        "SELECT t0._pk FROM \(table) AS t0 WHERE \(predicate.sql) ORDER BY \(order)")
      defer { statement.reset() }
      statement.bind(predicate.bindings)
      var keys: [Int64] = []
      while try statement.step() { keys.append(statement.int64(0)) }
      return keys
    }
  }

  /// The plan by which SQLite would look for the rows.
  func queryPlan(of entity: String, where predicate: SQLPredicate) throws -> [String] {
    let table = SQLText.quoted(plan.entity(entity)?.table ?? "")
    return try store.writer.use { connection in
      let statement = try connection.statement(
        "EXPLAIN QUERY PLAN SELECT t0._pk FROM \(table) AS t0 WHERE \(predicate.sql)")
      defer { statement.reset() }
      var lines: [String] = []
      while try statement.step() { lines.append(statement.string(3) ?? "") }
      return lines
    }
  }
}
