/// References to rows that are not there, in the tables that a step has created or changed. A program that does not check
/// references can have left them in the old store.
struct BrokenReferences {
  let plan: StepPlan
  let session: MigrationSession
  /// The database that has the new tables.
  let schema: String

  /// The name of a column with the name of its table.
  static func path(_ entity: EntityPlan, _ column: ColumnPlan) -> String {
    "\(entity.table)\u{0}\(column.name)"
  }

  private func name(of table: String) -> String { "\(schema).\(SQLText.quoted(table))" }

  /// Removes pairs that lead to no row, and sets optional references that lead to no row to nil.
  @_optimize(none)
  func clear() throws {
    try removePairs { _ in true }
    for (entity, column, other) in guaranteed where !column.isMandatory {
      let name = SQLText.quoted(column.name)
      try session.execute(
        "UPDATE \(self.name(of: entity.table)) AS r SET \(name) = NULL WHERE r.\(name) IS NOT NULL AND "
          + isMissing(other, name))
    }
  }

  /// Removes pairs of which a side has no row.
  ///
  /// - Parameter isChecked: Whether objects of an entity may be missing.
  @_optimize(none)
  func removePairs(_ isChecked: (EntityPlan) -> Bool) throws {
    let model = plan.destination
    for join in model.joins where model.entities[join.source].storeIndex == 0 {
      for (column, side) in [("_source", join.source), ("_target", join.target)] {
        let entity = model.entities[side]
        guard entity.storeIndex == 0, isChecked(entity) else { continue }
        try session.execute(
          "DELETE FROM \(name(of: join.table)) AS r WHERE \(isMissing(entity, column))")
      }
    }
  }

  /// The references of which the store guarantees that they lead to objects, each with the entity of these objects. The
  /// entities of a hierarchy share columns, which are listed once.
  @_optimize(none)
  var guaranteed: [(entity: EntityPlan, column: ColumnPlan, other: EntityPlan)] {
    var seen: Set<String> = []
    var found: [(entity: EntityPlan, column: ColumnPlan, other: EntityPlan)] = []
    for entity in plan.destination.entities where entity.storeIndex == 0 {
      for column in entity.columns where column.isReference {
        guard let relationship = entity.slots[column.slot].relationship, relationship.isGuaranteed,
          seen.insert(Self.path(entity, column)).inserted
        else { continue }
        found.append((entity, column, plan.destination.entities[relationship.destination]))
      }
    }
    return found
  }

  /// A condition: no object of an entity has the key that is in a column of the row `r`.
  func isMissing(_ entity: EntityPlan, _ column: String) -> String {
    "NOT EXISTS (SELECT 1 FROM \(name(of: entity.table)) AS d WHERE d._pk = r.\(column))"
  }
}
