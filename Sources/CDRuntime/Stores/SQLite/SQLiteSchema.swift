/// The tables and indexes of a model's store, as <doc:SQLiteLayout> describes them.
struct SQLiteSchema {
  /// The tables, in the order of the model.
  private(set) var layouts: [TableLayout] = []
  /// The names of the indexes and their `CREATE INDEX` statements.
  private(set) var indexes: [(name: String, sql: String)] = []

  private let model: ModelPlan

  /// `CREATE TABLE` for each table, in the order of the model.
  var tables: [String] { layouts.map { $0.sql() } }

  /// The tables that each store has.
  static let systemTables = [
    "CREATE TABLE \"_cdgen_metadata\" (\"key\" TEXT NOT NULL PRIMARY KEY, \"value\" TEXT NOT NULL) "
      + "STRICT, WITHOUT ROWID",
    "CREATE TABLE \"_cdgen_keys\" (\"entity\" TEXT NOT NULL PRIMARY KEY, \"next\" INTEGER NOT NULL) "
      + "STRICT, WITHOUT ROWID",
    "CREATE TABLE \"_cdgen_history\" (\"id\" INTEGER PRIMARY KEY AUTOINCREMENT, \"time\" REAL NOT NULL, "
      + "\"origin\" TEXT NOT NULL, \"author\" TEXT, \"changes\" TEXT NOT NULL) STRICT",
    "CREATE TABLE \"_cdgen_files\" (\"name\" TEXT NOT NULL PRIMARY KEY, \"time\" REAL NOT NULL) "
      + "STRICT, WITHOUT ROWID",
  ]

  /// - Parameter store: The index of the store whose tables are needed; nil for the tables of entities that have no
  ///   store.
  @inline(never)
  init(_ model: ModelPlan, store: Int?) {
    self.model = model
    for plan in model.entities where plan.root == plan.index && plan.storeIndex == store { addTable(plan) }
    for join in model.joins where model.entities[join.source].storeIndex == store { addJoin(join) }
  }

  /// `CREATE TEMP TABLE` for each table that is in none of the given stores.
  static func tables(outside stores: Set<Int>, of model: ModelPlan) -> [String] {
    let storeIndices = Set(model.entities.map(\.storeIndex)).filter { index in
      index.map { !stores.contains($0) } ?? true
    }
    return storeIndices.flatMap { SQLiteSchema(model, store: $0).layouts.map { $0.sql(schema: "temp") } }
  }

  // MARK: Tables

  @_optimize(none)
  private mutating func addTable(_ root: EntityPlan) {
    var names: [String] = []
    var columns: [String: ColumnLayout] = [:]
    var checks: [String] = []
    func add(_ name: String, _ column: ColumnLayout) {
      if columns[name] == nil {
        names.append(name)
        columns[name] = column
      }
    }
    for kind in root.subtree.map({ model.entities[$0] }) {
      for column in kind.columns where columns[column.name] == nil {
        let owner = model.entities.first { $0.name == kind.slots[column.slot].owner } ?? kind
        var declared = ColumnLayout(name: column.name, type: Self.type(of: column, in: kind))
        if column.isMandatory, isUnconditional(column, in: kind) {
          if owner.index == root.index {
            declared.isNotNull = true
          } else {
            checks.append(
              "CHECK (\"_entity\" NOT IN (\(entityList(owner))) OR \(SQLText.quoted(column.name)) IS NOT NULL)"
            )
          }
        }
        if let relationship = kind.slots[column.slot].relationship {
          declared.reference = reference(relationship)
        }
        add(column.name, declared)
      }
    }
    for name in positionColumns(of: root) { add(name, ColumnLayout(name: name, type: "INTEGER")) }

    var system = [
      ColumnLayout(name: "_pk", type: "INTEGER", key: " PRIMARY KEY"),
      ColumnLayout(name: "_version", type: "INTEGER", isNotNull: true),
    ]
    if root.hasEntityColumn { system.append(ColumnLayout(name: "_entity", type: "TEXT", isNotNull: true)) }
    layouts.append(
      TableLayout(
        name: root.table, columns: system + names.compactMap { columns[$0] }, constraints: checks,
        options: "STRICT"))
    if root.hasEntityColumn {
      addIndex("\(root.table)._entity", table: root.table, columns: ["\"_entity\""])
    }
    addReferenceIndexes(root)
    addDeclaredIndexes(root)
  }

  /// The type of a column's values. A column of an externally stored attribute holds a BLOB, or the name of a file as
  /// TEXT.
  private static func type(of column: ColumnPlan, in entity: EntityPlan) -> String {
    if entity.slots[column.slot].attribute?.storesExternally == true { return "ANY" }
    return switch column.storageType.storageClass {
    case .text: "TEXT"
    case .integer: "INTEGER"
    case .real: "REAL"
    case .bytes: "BLOB"
    }
  }

  /// Whether each row of the declaring entity has a value. A derived attribute has no value before the save computes
  /// it.
  private func isUnconditional(_ column: ColumnPlan, in entity: EntityPlan) -> Bool {
    entity.slots[column.slot].attribute?.derivation == nil
  }

  private func reference(_ relationship: RelationshipPlan) -> ColumnLayout.Reference? {
    guard relationship.isGuaranteed else { return nil }
    // A relationship without an inverse has no other code that clears the reference.
    return ColumnLayout.Reference(
      table: model.entities[relationship.destination].table,
      action: relationship.inverse == nil && relationship.description.isOptional ? " ON DELETE SET NULL" : "")
  }

  /// The position columns of ordered to-many relationships that are stored as references in this table.
  @_optimize(none)
  private func positionColumns(of root: EntityPlan) -> [String] {
    var names: [String] = []
    for plan in model.entities {
      for slot in plan.slots {
        guard let relationship = slot.relationship, slot.owner == plan.name,
          let position = model.positionColumn(of: relationship),
          model.entities[relationship.destination].root == root.index, !names.contains(position)
        else { continue }
        names.append(position)
      }
    }
    return names
  }

  @_optimize(none)
  private mutating func addJoin(_ join: JoinPlan) {
    func column(_ name: String, _ entity: Int, isGuaranteed: Bool) -> ColumnLayout {
      let reference = ColumnLayout.Reference(
        table: model.entities[entity].table, action: " ON DELETE CASCADE")
      return ColumnLayout(
        name: name, type: "INTEGER", isNotNull: true, reference: isGuaranteed ? reference : nil)
    }
    // A foreign key cannot refer to another store.
    let isWithin = model.entities[join.source].storeIndex == model.entities[join.target].storeIndex
    var columns = [
      column("_source", join.source, isGuaranteed: true),
      column("_target", join.target, isGuaranteed: isWithin),
    ]
    if join.isOrdered { columns.append(ColumnLayout(name: "_position", type: "INTEGER")) }
    if join.isInverseOrdered { columns.append(ColumnLayout(name: "_inverse_position", type: "INTEGER")) }
    layouts.append(
      TableLayout(
        name: join.table, columns: columns, constraints: ["PRIMARY KEY (\"_source\", \"_target\")"],
        options: "STRICT, WITHOUT ROWID"))
    addIndex("\(join.table)._target", table: join.table, columns: ["\"_target\""])
  }

  // MARK: Indexes

  @inline(never)
  @_optimize(none)
  private mutating func addIndex(
    _ name: String, table: String, columns: [String], isUnique: Bool = false, condition: String? = nil
  ) {
    guard !indexes.contains(where: { $0.name == name }) else { return }
    let sql =
      "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(SQLText.quoted(name)) ON \(SQLText.quoted(table)) "
      + "(\(columns.joined(separator: ", ")))" + (condition.map { " WHERE \($0)" } ?? "")
    indexes.append((name, sql))
  }

  @_optimize(none)
  private mutating func addReferenceIndexes(_ root: EntityPlan) {
    for kind in root.subtree.map({ model.entities[$0] }) {
      for column in kind.columns where column.isReference {
        var columns = [SQLText.quoted(column.name)]
        let relationship = kind.slots[column.slot].relationship
        if let relationship, let slot = relationship.inverseSlot,
          let inverse = model.entities[relationship.destination].slots[slot].relationship,
          let position = model.positionColumn(of: inverse)
        {
          columns.append(SQLText.quoted(position))
        }
        // A unique index allows any number of NULLs. So the index covers all rows and also serves `== nil`.
        addIndex(
          "\(root.table).\(column.name)", table: root.table, columns: columns,
          isUnique: relationship?.isOneToOne == true)
      }
    }
  }

  @_optimize(none)
  private mutating func addDeclaredIndexes(_ root: EntityPlan) {
    for kind in root.subtree.map({ model.entities[$0] }) {
      // The root's constraints and indexes apply to all rows. Those of a subentity apply only to its own rows and those
      // of its subentities.
      let condition = kind.index == root.index ? nil : "\"_entity\" IN (\(entityList(kind)))"
      for constraint in kind.description.uniquenessConstraints {
        let columns = constraint.flatMap { columnNames($0, in: kind) }
        guard !columns.isEmpty else { continue }
        addIndex(
          "\(kind.name).unique.\(constraint.joined(separator: "."))", table: root.table,
          columns: columns.map(SQLText.quoted), isUnique: true, condition: condition)
      }
      for index in kind.description.indexes {
        let columns = index.elements.flatMap { element in
          columnNames(element.keyPath, in: kind).map {
            SQLText.quoted($0) + (element.isAscending ? "" : " DESC")
          }
        }
        guard !columns.isEmpty else { continue }
        let name = index.elements.map { ($0.isAscending ? "" : "-") + $0.keyPath }.joined(separator: ".")
        addIndex(
          "\(kind.name).index.\(name)", table: root.table, columns: columns, condition: condition)
      }
    }
  }

  /// The columns of a property, or of a field given as `composite.field`.
  private func columnNames(_ key: String, in entity: EntityPlan) -> [String] {
    entity.columnNumbers(key).map { entity.columns[$0].name }
  }

  private func entityList(_ entity: EntityPlan) -> String {
    entity.subtree.map { SQLText.literal(model.entities[$0].name) }.joined(separator: ", ")
  }
}

extension SQLiteSchema {
  /// Returns whether a database has exactly these tables and indexes. The order of the columns does not matter, nor do
  /// defaults for rows that are older than a column.
  @_optimize(none)
  func isSame(as connection: SQLiteConnection) throws -> Bool {
    let model = try SQLiteConnection(path: ":memory:", of: connection.stores)
    for sql in Self.systemTables + tables + indexes.map(\.sql) { try model.execute(sql) }
    for query in Self.queries {
      guard try Set(model.rows(query)) == Set(connection.rows(query)) else { return false }
    }
    // SQLite has no table that lists CHECK constraints.
    let definitions = try connection.rows("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    return layouts.allSatisfy { layout in
      let sql = definitions.first { $0[0] == layout.name }?[1] ?? ""
      let start = layout.constraints.isEmpty ? ") " : ", " + layout.constraints.joined(separator: ", ") + ") "
      return sql.hasSuffix(start + layout.options)
    }
  }

  /// Queries for the contents of a schema, without SQLite's internal objects.
  private static let queries = [
    "SELECT name, sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL",
    """
    SELECT m.name, c.name, c.type, c."notnull", c.pk, c.hidden
    FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c
    WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite|_%' ESCAPE '|'
    """,
    """
    SELECT m.name, k."from", k."table", k."to", k.on_update, k.on_delete, k."match"
    FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS k
    WHERE m.type = 'table'
    """,
  ]
}
