import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The statements of a step within a file.
extension InPlaceStep {
  /// A row lacks a mandatory value. A step that writes new tables can find out which row.
  struct ValueMissing: Error {}

  /// References of the old store led to no row, so derived values can be wrong. A step in a new file computes them.
  struct DerivationNeeded: Error {}

  /// Makes the step. The caller has opened a transaction and has turned off the enforcement of foreign keys.
  @_optimize(none)
  func run(_ session: MigrationSession) throws {
    try plan.checkLeaving(session)
    let counts = try changes.map { change in
      change.isTouched ? try session.number("SELECT count(*) FROM \(SQLText.quoted(change.old.name))") : 0
    }
    let nextKeys = try session.nextKeys(of: plan)
    let origins = try session.insertionOrigins()
    let lost = lostFileColumns
    try session.listFiles(of: lost, in: "main", at: plan.now)
    try dropIndexes(session)
    for name in dropped { try session.execute("DROP TABLE \(SQLText.quoted(name))") }
    for change in changes {
      try compute(change, session)
      try alter(change, session)
    }
    try renameTables(session)
    for table in created { try session.execute(table.sql()) }
    for change in changes where !change.computed.isEmpty || change.hasOtherRules {
      try declare(change, session)
    }
    if !lost.isEmpty { try session.keepFiles(of: plan.destination.fileColumns(ofStore: 0), in: "main") }
    try renameKeys(session) { plan.firstKey(of: $0, origins, nextKeys: nextKeys) }
    try renameMovedKeys(session)
    try session.write(origins, nextKeys: nextKeys, after: plan, to: "main")
    for (change, count) in zip(changes, counts) where change.isTouched {
      let found = try session.number("SELECT count(*) FROM \(SQLText.quoted(change.new.name))")
      guard found == count else {
        throw plan.error(
          .verificationFailed("\(found) rows were created instead of \(count)"), change.new.name)
      }
    }
    try StepUniqueness(plan: plan, session: session, schema: "main").makeIndexes(newSchema.indexes)
    guard try danglingReference(session) != nil else { return }
    // The old store may have it, from a program that did not check references.
    try BrokenReferences(plan: plan, session: session, schema: "main").clear()
    if let error = try danglingReference(session) { throw error }
    if leavesDerivedValues { throw DerivationNeeded() }
  }

  /// The error for the first reference of the step's tables that leads to no row.
  @_optimize(none)
  private func danglingReference(_ session: MigrationSession) throws -> MigrationError? {
    for table in changes.filter(\.isTouched).map(\.new.name) + created.map(\.name) {
      let rows = try session.rows(
        "SELECT \"table\", rowid FROM pragma_foreign_key_check(\(SQLText.literal(table))) LIMIT 1")
      if let row = rows.first {
        return plan.error(.danglingReference(table: row[0] ?? ""), nil, row[1].flatMap { Int64($0) })
      }
    }
    return nil
  }

  /// The columns that may name files and that are dropped, with their tables or alone.
  @_optimize(none)
  private var lostFileColumns: [FileColumn] {
    plan.source.fileColumns(ofStore: 0).filter { column in
      dropped.contains(column.table)
        || changes.contains { $0.old.name == column.table && $0.dropped.contains(column.name) }
    }
  }

  /// Drops the indexes that the new version does not have or defines differently, the indexes of tables that are
  /// dropped or altered, and the indexes of computed columns. Sorting an index once is faster than moving the entry of
  /// each row.
  @_optimize(none)
  private func dropIndexes(_ session: MigrationSession) throws {
    let wanted = Dictionary(
      newSchema.indexes.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let altered = Set(changes.filter(\.isAltered).map(\.old.name) + dropped)
    let written = Dictionary(
      changes.map { ($0.old.name, Set($0.computed.map(\.column.name))) },
      uniquingKeysWith: { first, _ in first })
    let stored: StoredSchema
    do { stored = try StoredSchema(session.connection) } catch { throw session.wrapped(error) }
    for index in stored.removableIndexes(oldSchema, for: newSchema) {
      let computed = written[index.table] ?? []
      guard
        try wanted[index.name] != index.sql || altered.contains(index.table)
          || !computed.isEmpty && !computed.isDisjoint(with: columns(ofIndex: index.name, session))
      else { continue }
      try session.execute("DROP INDEX \(SQLText.quoted(index.name))")
    }
  }

  @_optimize(none)
  private func columns(ofIndex name: String, _ session: MigrationSession) throws -> [String] {
    try session.rows("SELECT name FROM pragma_index_info(\(SQLText.literal(name)))").compactMap { $0[0] }
  }

  /// Adds the new columns, and computes the values of all rows.
  @_optimize(none)
  private func compute(_ change: Change, _ session: MigrationSession) throws {
    guard !change.computed.isEmpty else { return }
    let table = SQLText.quoted(change.old.name)
    session.entity = change.new.name
    defer { session.entity = nil }
    for each in change.computed where each.old == nil {
      // SQLite adds a mandatory column only with a default. Every row gets a value of its own afterwards.
      let passing = ["INTEGER": "0", "REAL": "0.0", "TEXT": "''", "BLOB": "x''"][each.column.type]
      try session.execute(
        "ALTER TABLE \(table) ADD COLUMN \(each.column.sql)"
          + (each.column.isNotNull ? " DEFAULT \(passing ?? "0")" : ""))
    }
    let assignments = change.computed.map { each -> SQLText in
      "\(raw: SQLText.quoted(each.column.name)) = \(each.value)"
    }
    try session.run("UPDATE \(raw: table) AS t0 SET \(SQLText.joined(assignments, ", "))")
    // The column is declared as mandatory afterwards, so its values are checked here.
    for each in change.computed where each.column.isNotNull && each.old?.isNotNull == false {
      let name = SQLText.quoted(each.column.name)
      guard try session.rows("SELECT 1 FROM \(table) WHERE \(name) IS NULL LIMIT 1").isEmpty else {
        throw ValueMissing()
      }
    }
  }

  /// Writes a table's definition as the new version has it, except for the order of the columns.
  ///
  /// SQLite has no statement that adds or removes constraints. SQLite's documentation describes this procedure. It is
  /// safe here: the rows are known to satisfy the constraints, the finished file is checked, and the file is not a
  /// store yet.
  @_optimize(none)
  private func declare(_ change: Change, _ session: MigrationSession) throws {
    let name = SQLText.literal(change.new.name)
    let computed = Set(change.computed.filter { $0.old == nil }.map(\.column.name))
    let columns = try session.rows("SELECT name, dflt_value FROM pragma_table_xinfo(\(name)) ORDER BY cid")
    let definitions = columns.compactMap { row -> String? in
      guard let column = change.new.columns.first(where: { $0.name == row[0] }) else { return nil }
      // Rows that existed before the column was added have no value except its default.
      let standIn = computed.contains(column.name) ? nil : row[1]
      return column.sql + (standIn.map { " DEFAULT \($0)" } ?? "")
    }
    guard definitions.count == change.new.columns.count, definitions.count == columns.count else {
      throw plan.error(.verificationFailed("its columns do not match the model"), change.new.name)
    }
    let sql =
      "CREATE TABLE \(SQLText.quoted(change.new.name)) (\((definitions + change.new.constraints).joined(separator: ", "))) "
      + change.new.options
    try session.execute("PRAGMA writable_schema = ON")
    try session.run(
      "UPDATE sqlite_master SET sql = \(bind: .string(sql)) WHERE type = 'table' AND name = \(raw: name)")
    try session.execute("PRAGMA writable_schema = RESET")
  }

  @_optimize(none)
  private func alter(_ change: Change, _ session: MigrationSession) throws {
    let table = SQLText.quoted(change.old.name)
    session.entity = change.new.name
    defer { session.entity = nil }
    for name in change.dropped {
      try session.execute("ALTER TABLE \(table) DROP COLUMN \(SQLText.quoted(name))")
    }
    // Names may be exchanged, or differ only in case, so each column first gets a temporary name.
    let renamed = change.kept.filter { $0.old != $0.new }
    for (number, names) in renamed.enumerated() {
      try session.execute(
        "ALTER TABLE \(table) RENAME COLUMN \(SQLText.quoted(names.old)) TO \"_cdgen_renamed_\(number)\"")
    }
    for (number, names) in renamed.enumerated() {
      try session.execute(
        "ALTER TABLE \(table) RENAME COLUMN \"_cdgen_renamed_\(number)\" TO \(SQLText.quoted(names.new))")
    }
    for (column, value) in change.added {
      let literal = try value == .null ? nil : self.literal(value, session)
      try session.execute(
        "ALTER TABLE \(table) ADD COLUMN \(column.sql)" + (literal.map { " DEFAULT \($0)" } ?? ""))
    }
  }

  /// A value as the text of a column's default, written by SQLite itself.
  @_optimize(none)
  private func literal(_ value: AttributeValue, _ session: MigrationSession) throws -> String {
    // SQLite writes an infinite number in a form that it does not read.
    if case .double(let number) = value.stored, number.isInfinite { return number < 0 ? "-9e999" : "9e999" }
    do {
      let statement = try session.connection.makeStatement("SELECT quote(?)")
      session.bind([value], to: statement)
      guard try statement.step(), let text = statement.string(0) else { return "NULL" }
      return text
    } catch { throw session.wrapped(error) }
  }

  @_optimize(none)
  private func renameTables(_ session: MigrationSession) throws {
    let renamed = changes.filter { $0.old.name != $0.new.name }
    for (number, change) in renamed.enumerated() {
      try session.execute(
        "ALTER TABLE \(SQLText.quoted(change.old.name)) RENAME TO \"_cdgen_renamed_\(number)\"")
    }
    for (number, change) in renamed.enumerated() {
      try session.execute(
        "ALTER TABLE \"_cdgen_renamed_\(number)\" RENAME TO \(SQLText.quoted(change.new.name))")
    }
  }

  /// - Parameter firstKey: Returns the first key for a root entity that is new or had another name.
  @_optimize(none)
  private func renameKeys(_ session: MigrationSession, firstKey: (EntityPlan) -> ObjectKey) throws {
    let rows = try session.rows("SELECT entity, next FROM main._cdgen_keys")
    var next: [String: ObjectKey] = [:]
    for row in rows { if let name = row[0], let key = row[1] { next[name] = ObjectKey(key) } }
    let wanted = renamedKeys(next, firstKey: firstKey)
    guard wanted != next else { return }
    try session.execute("DELETE FROM main._cdgen_keys")
    for (new, key) in wanted {
      try session.run(
        "INSERT INTO main._cdgen_keys (entity, next) VALUES (\(bind: .string(new)), \(bind: .int(key)))")
    }
  }

  /// Gives the records of keys that earlier steps changed the new names of their entities.
  @_optimize(none)
  private func renameMovedKeys(_ session: MigrationSession) throws {
    let key = MovedKeys.metadataKey
    let old = MovedKeys.list(try session.metadata(key) ?? "")
    let new = plan.movedKeys(after: old)
    guard new != old else { return }
    let text = MovedKeys.text(new)
    try session.run(
      "UPDATE main._cdgen_metadata SET value = \(bind: .string(text)) WHERE key = \(bind: .string(key))")
  }
}
