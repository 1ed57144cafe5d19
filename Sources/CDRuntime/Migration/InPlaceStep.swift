import CDModel

/// A step that SQLite makes within a store without writing its rows anew: columns and tables that come, go or take
/// another name.
struct InPlaceStep {
  /// What becomes of a table.
  private struct Change {
    var old: TableLayout
    var new: TableLayout
    /// Old name and new name of each column that stays.
    var kept: [(old: String, new: String)] = []
    var added: [(column: ColumnLayout, value: AttributeValue)] = []
    var dropped: [String] = []

    /// Whether what is there is renamed or rewritten. Columns that are only added leave the rows alone, and to
    /// count these would take longer than the step itself.
    var isTouched: Bool {
      old.name != new.name || !dropped.isEmpty || kept.contains { $0.old != $0.new }
    }
  }

  private var changes: [Change] = []
  private var created: [TableLayout] = []
  private var dropped: [String] = []
  /// Old and new names of inheritance roots whose keys go on.
  private var roots: [(old: String, new: String)] = []
  private let plan: StepPlan
  private let oldSchema: SQLiteSchema
  let newSchema: SQLiteSchema

  /// Nil where rows have to be written anew.
  init?(_ plan: StepPlan) {
    self.plan = plan
    oldSchema = SQLiteSchema(plan.source, store: 0)
    newSchema = SQLiteSchema(plan.destination, store: 0)
    guard plan.keepsKeys, !plan.hasCustom, plan.mapping.duplicates.isEmpty,
      plan.takers.allSatisfy({ $0.isUnrestricted && $0.evaluations.isEmpty }), findTables(), findJoins(),
      referencesStay()
    else { return nil }
    let used = Set(changes.map(\.old.name))
    dropped = oldSchema.layouts.map(\.name).filter { !used.contains($0) }
  }

  /// The new names of the tables that stay, by their old ones.
  private var renames: [String: String] {
    Dictionary(changes.map { ($0.old.name, $0.new.name) }, uniquingKeysWith: { first, _ in first })
  }

  // MARK: Planning

  private mutating func findTables() -> Bool {
    var used: Set<Int> = []
    for root in plan.destination.entities where root.root == root.index && root.home == 0 {
      guard let new = newSchema.layouts.first(where: { $0.name == root.table }) else { return false }
      let takers = plan.takers.filter { $0.destination.root == root.index }
      guard let first = takers.first else {
        created.append(new)
        continue
      }
      let oldRoot = plan.source.entities[first.source.root]
      guard let old = oldSchema.layouts.first(where: { $0.name == oldRoot.table }),
        used.insert(oldRoot.index).inserted, takers.allSatisfy({ $0.source.root == oldRoot.index }),
        Set(takers.map(\.source.index)).count == takers.count,
        oldRoot.hasEntityColumn == root.hasEntityColumn, old.constraints == new.constraints,
        !root.hasEntityColumn || takers.allSatisfy({ $0.source.name == $0.destination.name }),
        oldRoot.kinds.allSatisfy({ kind in
          plan.source.entities[kind].description.isAbstract || takers.contains { $0.source.index == kind }
        }), var change = columns(from: old, to: new, takers, root)
      else { return false }
      let kept = Set(change.kept.map(\.old))
      change.dropped = old.columns.map(\.name).filter { !kept.contains($0) }
      // A check reads its columns by name, and would follow a rename.
      if !old.constraints.isEmpty, change.kept.contains(where: { $0.old != $0.new }) { return false }
      changes.append(change)
      roots.append((oldRoot.name, root.name))
    }
    return true
  }

  private enum Origin {
    case column(String)
    case constant(AttributeValue)
  }

  private func columns(
    from old: TableLayout, to new: TableLayout, _ takers: [StepPlan.Taker], _ root: EntityPlan
  ) -> Change? {
    var change = Change(old: old, new: new)
    let positions = plan.positions(in: root)
    for column in new.columns {
      if ["_pk", "_version", "_entity"].contains(column.name) {
        change.kept.append((column.name, column.name))
        continue
      }
      var origins: [Origin] = []
      if let relationship = positions.first(where: { $0.column == column.name })?.relationship {
        for taker in takers {
          if let name = plan.copiedPosition(relationship, for: taker) {
            origins.append(.column(name))
          } else if plan.position(relationship, for: taker) == "NULL" {
            origins.append(.constant(.null))
          } else {
            return nil
          }
        }
      } else {
        for taker in takers {
          guard let place = taker.destination.columns.firstIndex(where: { $0.name == column.name }) else {
            continue
          }
          guard let origin = origin(of: taker.destination.columns[place], for: taker) else { return nil }
          origins.append(origin)
        }
      }
      guard add(column, origins, to: &change) else { return nil }
    }
    return Set(change.kept.map(\.old)).count == change.kept.count ? change : nil
  }

  private func add(_ column: ColumnLayout, _ origins: [Origin], to change: inout Change) -> Bool {
    var names: Set<String> = []
    var values: Set<AttributeValue> = []
    for origin in origins {
      switch origin {
      case .column(let name): names.insert(name)
      case .constant(let value): values.insert(value)
      }
    }
    switch (names.count, values.count) {
    case (1, 0):
      guard let name = names.first, let old = change.old.columns.first(where: { $0.name == name }),
        old.type == column.type, old.isNotNull == column.isNotNull
      else { return false }
      change.kept.append((name, column.name))
      return true
    case (0, 0), (0, 1):
      let value = values.first ?? .null
      if column.isNotNull, value == .null { return false }
      // A column with a foreign key can be added without a value only.
      if column.reference != nil, value != .null { return false }
      change.added.append((column, value))
      return true
    default: return false
    }
  }

  private func origin(of column: ColumnPlan, for taker: StepPlan.Taker) -> Origin? {
    if column.isReference {
      guard let relationship = taker.destination.slots[column.slot].relationship else { return nil }
      let text = plan.reference(relationship, for: taker).text
      if text == "NULL" { return .constant(.null) }
      guard case .objects(let value)? = plan.objects(of: taker, relationship.name),
        let plain = plan.plainRelationship(value, of: taker.source), case .reference(let old) = plain.storage,
        text == "t0." + SQLite.quoted(taker.source.columns[old].name)
      else { return nil }
      return .column(taker.source.columns[old].name)
    }
    if plan.isDerived(column, in: taker.destination) {
      return plan.copiedDerived(column, for: taker).map { .column($0.name) }
    }
    let path = plan.path(of: column, in: taker.destination)
    guard let value = taker.mapping.attributes.first(where: { $0.name == path })?.value else { return nil }
    if let old = plan.copiedColumn(value, for: column, of: taker) { return .column(old.name) }
    switch value.kind {
    case .constant(.value(let constant)): return column.cell.fitted(constant).map { .constant($0) }
    case .function(.now, _) where column.cell == .date: return .constant(.date(plan.now))
    default: return nil
    }
  }

  private mutating func findJoins() -> Bool {
    for join in plan.destination.joins where plan.destination.entities[join.source].home == 0 {
      guard let new = newSchema.layouts.first(where: { $0.name == join.table }) else { return false }
      var found: Set<String> = []
      for taker in plan.takers {
        for case let relationship? in taker.destination.relationships {
          guard case .join(let number, let isSource) = relationship.storage,
            plan.destination.joins[number].table == join.table,
            case .objects(let value)? = plan.objects(of: taker, relationship.name)
          else { continue }
          guard let plain = plan.plainRelationship(value, of: taker.source),
            case .join(let oldNumber, let wasSource) = plain.storage, wasSource == isSource,
            plan.keepsAll(
              plan.source.entities[plain.destination], as: plan.destination.entities[relationship.destination]
            )
          else { return false }
          found.insert(plan.source.joins[oldNumber].table)
        }
      }
      guard found.count <= 1 else { return false }
      guard let name = found.first else {
        created.append(new)
        continue
      }
      guard let old = oldSchema.layouts.first(where: { $0.name == name }),
        old.columns.map(\.name) == new.columns.map(\.name), !changes.contains(where: { $0.old.name == name })
      else { return false }
      changes.append(Change(old: old, new: new, kept: old.columns.map { ($0.name, $0.name) }))
    }
    return true
  }

  /// Whether the foreign keys of what stays are those that the new version wants.
  private func referencesStay() -> Bool {
    let renames = self.renames
    return changes.allSatisfy { change in
      change.kept.allSatisfy { kept in
        var old = change.old.columns.first { $0.name == kept.old }?.reference
        if let table = old?.table { old?.table = renames[table] ?? "" }
        return old == change.new.columns.first { $0.name == kept.new }?.reference
      }
    }
  }

  // MARK: Running

  /// Makes the step, within a transaction of the caller's and without foreign keys being enforced.
  func run(_ session: MigrationSession) throws {
    let counts = try changes.map { change in
      change.isTouched ? try session.number("SELECT count(*) FROM \(SQLite.quoted(change.old.name))") : 0
    }
    try dropIndexes(session)
    for name in dropped { try session.execute("DROP TABLE \(SQLite.quoted(name))") }
    for change in changes { try alter(change, session) }
    try renameTables(session)
    for table in created { try session.execute(table.sql()) }
    try renameKeys(session)
    for (change, count) in zip(changes, counts) where change.isTouched {
      let found = try session.number("SELECT count(*) FROM \(SQLite.quoted(change.new.name))")
      guard found == count else {
        throw plan.error(.verificationFailed("\(found) rows were made of \(count)"), change.new.name)
      }
    }
    try makeIndexes(session)
    for table in changes.filter(\.isTouched).map(\.new.name) + created.map(\.name) {
      let rows = try session.rows(
        "SELECT \"table\", rowid FROM pragma_foreign_key_check(\(SQLite.literal(table))) LIMIT 1")
      if let row = rows.first {
        throw plan.error(.danglingReference(table: row[0] ?? ""), nil, row[1].flatMap { Int64($0) })
      }
    }
  }

  /// Those that the new version does not have just so, and all whose tables lose or rename columns.
  private func dropIndexes(_ session: MigrationSession) throws {
    let wanted = Dictionary(
      newSchema.indexes.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let touched = Set(
      changes.filter {
        $0.old.name != $0.new.name || !$0.dropped.isEmpty || $0.kept.contains { $0.old != $0.new }
      }
      .map(\.old.name) + dropped)
    let rows = try session.rows(
      "SELECT name, sql, tbl_name FROM main.sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    for row in rows {
      guard let name = row[0], wanted[name] != row[1] || touched.contains(row[2] ?? "") else { continue }
      try session.execute("DROP INDEX \(SQLite.quoted(name))")
    }
  }

  private func alter(_ change: Change, _ session: MigrationSession) throws {
    let table = SQLite.quoted(change.old.name)
    session.entity = change.new.name
    defer { session.entity = nil }
    for name in change.dropped {
      try session.execute("ALTER TABLE \(table) DROP COLUMN \(SQLite.quoted(name))")
    }
    // Names may go round in a circle, or differ only in case: each takes a third one on the way.
    let renamed = change.kept.filter { $0.old != $0.new }
    for (number, names) in renamed.enumerated() {
      try session.execute(
        "ALTER TABLE \(table) RENAME COLUMN \(SQLite.quoted(names.old)) TO \"_cdgen_renamed_\(number)\"")
    }
    for (number, names) in renamed.enumerated() {
      try session.execute(
        "ALTER TABLE \(table) RENAME COLUMN \"_cdgen_renamed_\(number)\" TO \(SQLite.quoted(names.new))")
    }
    for (column, value) in change.added {
      let literal = try value == .null ? nil : self.literal(value, session)
      try session.execute(
        "ALTER TABLE \(table) ADD COLUMN \(column.sql)" + (literal.map { " DEFAULT \($0)" } ?? ""))
    }
  }

  /// A value as the text that a column's default takes, made by SQLite itself.
  private func literal(_ value: AttributeValue, _ session: MigrationSession) throws -> String {
    do {
      let statement = try session.connection.makeStatement("SELECT quote(?)")
      session.bind([value], to: statement)
      guard try statement.step(), let text = statement.string(0) else { return "NULL" }
      // Text with a zero byte would end there.
      return text
    } catch { throw session.wrapped(error) }
  }

  private func renameTables(_ session: MigrationSession) throws {
    let renamed = changes.filter { $0.old.name != $0.new.name }
    for (number, change) in renamed.enumerated() {
      try session.execute(
        "ALTER TABLE \(SQLite.quoted(change.old.name)) RENAME TO \"_cdgen_renamed_\(number)\"")
    }
    for (number, change) in renamed.enumerated() {
      try session.execute(
        "ALTER TABLE \"_cdgen_renamed_\(number)\" RENAME TO \(SQLite.quoted(change.new.name))")
    }
  }

  private func renameKeys(_ session: MigrationSession) throws {
    let rows = try session.rows("SELECT entity, next FROM main._cdgen_keys")
    var next: [String: String] = [:]
    for row in rows { if let name = row[0], let key = row[1] { next[name] = key } }
    guard
      roots.contains(where: { $0.old != $0.new })
        || next.keys.contains(where: { name in
          !roots.contains { $0.old == name }
        })
    else { return }
    try session.execute("DELETE FROM main._cdgen_keys")
    for (old, new) in roots {
      guard let key = next[old].flatMap({ Int64($0) }) else { continue }
      try session.run(
        "INSERT INTO main._cdgen_keys (entity, next) VALUES (\(bind: .string(new)), \(bind: .int(key)))")
    }
  }

  private func makeIndexes(_ session: MigrationSession) throws {
    let present = Set(
      try session.rows("SELECT name FROM main.sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        .compactMap { $0[0] })
    for index in newSchema.indexes where !present.contains(index.name) {
      do {
        try session.execute(index.sql)
      } catch {
        guard (error as? MigrationError)?.isConstraintViolation == true else { throw error }
        if let log = session.log {
          try log.findDuplicates(index.name, of: plan, session, schema: "main")
          continue
        }
        throw try plan.duplicate(index.name, session, schema: "main")
      }
    }
  }
}
