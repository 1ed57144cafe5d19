/// The tables and indexes of a model's store in a database that speaks SQL. <doc:SQLiteLayout> describes them.
///
/// The statements are in the neutral form of ``SQLText``. The engine adds the tables for its own use.
package struct SQLSchema {
  /// The tables, in the order of the model.
  package private(set) var layouts: [TableLayout] = []
  package private(set) var indexes: [IndexLayout] = []

  private let model: ModelPlan
  private let dialect: any SQLDialect

  /// `CREATE TABLE` for each table, in the order of the model.
  package var tables: [String] { layouts.map { $0.sql() } }

  /// - Parameters:
  ///   - store: The index of the store whose tables are needed; nil for the tables of entities that have no store.
  ///   - dialect: The SQL of the database.
  @inline(never)
  package init(_ model: ModelPlan, store: Int?, _ dialect: any SQLDialect) {
    self.model = model
    self.dialect = dialect
    for plan in model.entities where plan.root == plan.index && plan.storeIndex == store { addTable(plan) }
    for join in model.joins where model.entities[join.source].storeIndex == store { addJoin(join) }
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
    for number in root.subtree {
      let kind = model.entities[number]
      for column in kind.columns where columns[column.name] == nil {
        let slot = kind.slots[column.slot]
        let owner = model.entity(slot.owner) ?? kind
        // The column of an external codable value names no file. It is declared as if it did, because a store whose
        // tables have another declaration is refused, and existing stores have this one.
        let isExternal = slot.attribute?.storesExternally ?? false
        var declared = ColumnLayout(
          name: column.name, type: dialect.columnType(column.storageType, mayNameFile: isExternal),
          mayNameFile: slot.mayNameFile)
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
    for name in positionColumns(of: root) { add(name, ColumnLayout(name: name, type: integer)) }

    var system = [
      ColumnLayout(name: "_pk", type: integer, key: " PRIMARY KEY"),
      ColumnLayout(name: "_version", type: integer, isNotNull: true),
    ]
    if root.hasEntityColumn {
      let text = dialect.columnType(.string, mayNameFile: false)
      system.append(ColumnLayout(name: "_entity", type: text, isNotNull: true))
    }
    layouts.append(
      TableLayout(
        name: root.table, columns: system + names.compactMap { columns[$0] }, constraints: checks,
        options: dialect.tableOptions(hasOwnKey: true)))
    if root.hasEntityColumn {
      addIndex("\(root.table)._entity", table: root.table, columns: ["\"_entity\""])
    }
    addReferenceIndexes(root)
    addDeclaredIndexes(root)
  }

  /// The type of keys, versions and positions.
  private var integer: String { dialect.columnType(.int64, mayNameFile: false) }

  /// Whether each row of the declaring entity has a value. A derived attribute has no value before the save computes
  /// it.
  private func isUnconditional(_ column: ColumnPlan, in entity: EntityPlan) -> Bool {
    !entity.slots[column.slot].isDerived
  }

  private func reference(_ relationship: RelationshipPlan) -> ColumnLayout.Reference? {
    guard relationship.isGuaranteed else { return nil }
    // A relationship without an inverse has no other code that clears the reference.
    return ColumnLayout.Reference(
      table: model.entities[relationship.destination].table,
      action: !relationship.hasInverse && relationship.description.isOptional ? " ON DELETE SET NULL" : "")
  }

  /// The position columns of ordered to-many relationships that are stored as references in this table.
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
        name: name, type: integer, isNotNull: true, reference: isGuaranteed ? reference : nil)
    }
    // A foreign key cannot refer to another store.
    let isWithin = model.entities[join.source].storeIndex == model.entities[join.target].storeIndex
    var columns = [
      column("_source", join.source, isGuaranteed: true),
      column("_target", join.target, isGuaranteed: isWithin),
    ]
    if join.isOrdered { columns.append(ColumnLayout(name: "_position", type: integer)) }
    if join.isInverseOrdered { columns.append(ColumnLayout(name: "_inverse_position", type: integer)) }
    layouts.append(
      TableLayout(
        name: join.table, columns: columns, constraints: ["PRIMARY KEY (\"_source\", \"_target\")"],
        options: dialect.tableOptions(hasOwnKey: false)))
    addIndex("\(join.table)._target", table: join.table, columns: ["\"_target\""])
  }

  // MARK: Indexes

  @inline(never)
  private mutating func addIndex(
    _ name: String, table: String, columns: [String], isUnique: Bool = false, condition: String? = nil
  ) {
    guard !indexes.contains(where: { $0.name == name }) else { return }
    indexes.append(
      IndexLayout(name: name, table: table, columns: columns, isUnique: isUnique, condition: condition))
  }

  private mutating func addReferenceIndexes(_ root: EntityPlan) {
    for number in root.subtree {
      let kind = model.entities[number]
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
    for number in root.subtree {
      let kind = model.entities[number]
      // The root's constraints and indexes apply to all rows. Those of a subentity apply only to its own rows and those
      // of its subentities.
      let condition = kind.index == root.index ? nil : "\"_entity\" IN (\(entityList(kind)))"
      for constraint in kind.description.uniquenessConstraints {
        let columns = kind.columnNames(ofUnique: constraint)
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
