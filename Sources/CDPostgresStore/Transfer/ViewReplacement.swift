import CDModel
import CDRuntime

// How the views of a store are created and replaced.
extension PostgresViews {
  /// Creates the views, within a transaction. There are none yet.
  ///
  /// - Parameter rights: The result of ``rights(schema:_:)`` for the former views.
  func create(_ connection: PostgresConnection, rights: [String] = []) throws(PostgresFailure) {
    try replace(nil, rights, connection)
  }

  /// Brings the views up to date, within a transaction.
  ///
  /// - Parameter present: The result of ``present(schema:)``.
  func update(from present: PostgresResult, _ connection: PostgresConnection) throws(PostgresFailure) {
    var found: Set<[String]> = []
    for row in 0..<present.rowCount {
      found.insert([present.string(row, 0) ?? "", present.string(row, 1) ?? ""])
    }
    guard found != Set(views.map { [$0.name, $0.comment] }) else { return }
    let rights = found.isEmpty ? [] : try Self.rights(schema: schema, connection)
    try replace(Self.drop(present, schema: schema), rights, connection)
  }

  private func replace(
    _ drop: String?, _ rights: [String], _ connection: PostgresConnection
  ) throws(PostgresFailure) {
    // Whoever may drop the tables must be able to drop the views.
    let owner = try connection.run(
      "SELECT pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(c.relowner)) FROM pg_catalog.pg_class AS c "
        + "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = ? "
        + "AND c.relname = '_cdgen_metadata' AND pg_catalog.pg_get_userbyid(c.relowner) <> current_user",
      [.value(.string(schema))])
    // Whoever opens a store does not wait for a report.
    var list = drop.map { [PostgresConnection.lockLimit(seconds: 0.5).text, $0] } ?? []
    for view in views {
      let name = PostgresTables.systemTable(view.name, schema: schema)
      list.append("CREATE VIEW \(name) AS \(view.query)")
      list.append("COMMENT ON VIEW \(name) IS \(SQLText.literal(view.comment))")
      if let owner = owner.rowCount > 0 ? owner.string(0, 0) : nil {
        list.append("ALTER VIEW \(name) OWNER TO \(owner)")
      }
    }
    guard try isPossible(list, connection) else { return }
    for right in rights { _ = try isPossible([right], connection) }
  }

  /// Runs statements of which all or none have an effect.
  private func isPossible(
    _ list: [String], _ connection: PostgresConnection
  ) throws(PostgresFailure) -> Bool {
    func run(_ list: [String]) throws(PostgresFailure) {
      _ = try connection.run(list.map { PostgresStatement($0, isKept: false) })
    }
    do {
      try run(["SAVEPOINT _cdgen_views"] + list + ["RELEASE SAVEPOINT _cdgen_views"])
      return true
    } catch {
      guard connection.isOpen, !error.endsConnection, !error.isTransient else { throw error }
      try run(["ROLLBACK TO SAVEPOINT _cdgen_views", "RELEASE SAVEPOINT _cdgen_views"])
      return false
    }
  }

  // MARK: Present views

  /// The statement that lists the names and comments of a schema's views.
  static func present(schema: String) -> PostgresStatement {
    PostgresStatement(
      "SELECT CAST(c.relname AS text), pg_catalog.obj_description(c.oid, 'pg_class') FROM pg_catalog.pg_class AS c "
        + "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = ? AND \(isOwn) ORDER BY 1",
      [.value(.string(schema))])
  }

  /// Drops all views of a store, within a transaction.
  static func drop(schema: String, _ connection: PostgresConnection) throws(PostgresFailure) {
    let present = try connection.run([present(schema: schema)])
    if let drop = drop(present[0], schema: schema) {
      _ = try connection.run([PostgresStatement(drop, isKept: false)])
    }
  }

  /// The statement that drops the views; nil if there are none.
  private static func drop(_ present: PostgresResult, schema: String) -> String? {
    let names = (0..<present.rowCount).compactMap { present.string($0, 0) }
    if names.isEmpty { return nil }
    return "DROP VIEW "
      + names.map { PostgresTables.systemTable($0, schema: schema) }.joined(separator: ", ")
  }

  /// The statements that give the views the privileges that other users have now. They fail for a view that is gone then.
  static func rights(
    schema: String, _ connection: PostgresConnection
  ) throws(PostgresFailure) -> [String] {
    let result = try connection.run(
      PostgresTables.grants(onRelations: isOwn), [.value(.string(schema))])
    return (0..<result.rowCount).compactMap { result.string($0, 2) }
  }
}
