import CDModel
import CDRuntime

/// The views of a store: one for each entity, for people and for programs that make reports.
///
/// Nothing of the runtime reads them, and a store without them is complete. So whatever keeps them from being created is
/// no error: for example a user who may not create any, or another program's table with the name of one.
struct PostgresViews {
  private let schema: String
  private let views: [View]

  private struct View {
    let name: String
    let query: String

    /// The comment of the view on the server. It tells the view from those of other programs, and from one of another
    /// version of the model.
    var comment: String { PostgresViews.mark + PostgresTables.checksum(query) }
  }

  /// The beginning of each view's comment.
  private static let mark = "A view of a cdgen store, "

  init(_ model: ModelPlan, store: Int, schema: String) {
    self.schema = schema
    let tables = Set(SQLSchema(model, store: store, PostgresDialect()).layouts.map(\.name))
    views = model.entities.filter { $0.storeIndex == store }.compactMap { entity in
      let name = PostgresTables.name(entity.name + "_view")
      // An entity may have this name too.
      return tables.contains(name) ? nil : View(name: name, query: Self.query(entity, model, schema))
    }
  }

  // MARK: Definitions

  /// The objects of an entity and of its subentities, as a fetch of the entity gives them.
  private static func query(_ entity: EntityPlan, _ model: ModelPlan, _ schema: String) -> String {
    var columns = ["t0._pk"]
    if entity.hasEntityColumn { columns.append("t0._entity") }
    for slot in entity.slots {
      columns += Self.columns(slot, entity, model, schema).map { "\($0.value) AS \(SQLText.quoted($0.name))" }
    }
    let names = entity.subtree.map { SQLText.literal(model.entities[$0].name) }.joined(separator: ", ")
    return "SELECT \(columns.joined(separator: ", ")) "
      + "FROM \(PostgresTables.systemTable(entity.table, schema: schema)) AS t0"
      + (entity.hasEntityColumn ? " WHERE t0._entity IN (\(names))" : "")
  }

  private static func columns(
    _ slot: PropertyPlan, _ entity: EntityPlan, _ model: ModelPlan, _ schema: String
  ) -> [(name: String, value: String)] {
    func column(_ index: Int) -> String { "t0." + SQLText.quoted(entity.columns[index].name) }
    switch slot.kind {
    case .attribute(let attribute, let storageType):
      return slot.columns.first.map { [(slot.name, readable(column($0), attribute, storageType, model))] }
        ?? []
    case .composite(_, let fields):
      return zip(slot.columns, fields).map { index, field in
        (
          "\(slot.name).\(field.description.name)",
          readable(column(index), field.description, field.storageType, model)
        )
      }
    case .relationship(let relationship):
      switch relationship.storage {
      case .reference(let index): return [(slot.name, column(index))]
      case .inverseReference:
        let other = model.entities[relationship.destination]
        guard relationship.isWithinStore, let inverse = relationship.inverseSlot,
          case .reference(let index)? = other.relationships[inverse]?.storage
        else { return [] }
        // A key at most, because of a unique index.
        return [
          (
            slot.name,
            "(SELECT min(t1._pk) FROM \(PostgresTables.systemTable(other.table, schema: schema)) AS t1 "
              + "WHERE t1.\(SQLText.quoted(other.columns[index].name)) = t0._pk)"
          )
        ]
      case .referencesOfOthers, .join: return []
      }
    }
  }

  /// A value in the form that other programs expect.
  private static func readable(
    _ column: String, _ attribute: AttributeDescription, _ storageType: StorageType, _ model: ModelPlan
  ) -> String {
    if case .enumeration(let name) = attribute.type,
      let enumeration = model.version.enums.first(where: { $0.name == name }), enumeration.rawType != .string
    {
      let cases = enumeration.cases.compactMap { each -> String? in
        guard case .int(let number) = each.rawValue else { return nil }
        return "WHEN \(number) THEN \(SQLText.literal(each.name))"
      }
      if cases.isEmpty { return column }
      return "CASE \(column) \(cases.joined(separator: " ")) ELSE CAST(\(column) AS text) END"
    }
    guard storageType == .date else { return column }
    // The seconds from 1970 to 2001, and the first and the last second of a timestamp. A date outside of them is no error.
    let seconds = "\(column) + 978307200"
    return "CASE WHEN \(seconds) < -210866803200 THEN CAST('-infinity' AS timestamptz) "
      + "WHEN \(seconds) >= 9224318016000 THEN CAST('infinity' AS timestamptz) ELSE to_timestamp(\(seconds)) END"
  }

  // MARK: Creation

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

  /// The condition that a relation `c` of the server's catalog is a view of a store.
  static let isOwn =
    "c.relkind = 'v' AND pg_catalog.obj_description(c.oid, 'pg_class') LIKE \(SQLText.literal(mark + "%"))"

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
      """
      SELECT pg_catalog.format('GRANT %s ON %I.%I TO %s%s', a.privilege_type, n.nspname, c.relname,
        CASE a.grantee WHEN 0 THEN 'PUBLIC'
          ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END,
        CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
      FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace,
        pg_catalog.aclexplode(c.relacl) AS a
      WHERE n.nspname = ? AND \(isOwn) AND a.grantee <> c.relowner
      """, [.value(.string(schema))])
    return (0..<result.rowCount).compactMap { result.string($0, 0) }
  }
}
