import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The statements of a step within a file.
extension InPlaceStep {
  /// Some row lacks a value that it must have; which one, a step that writes rows anew can tell.
  struct ValueMissing: Error {}

  /// Makes the step, within a transaction of the caller's and without foreign keys being enforced.
  ///
  /// - Parameter keepsFiles: Whether the files of large values that nothing refers to any more stay, for a backup.
  func run(_ session: MigrationSession, keepsFiles: Bool = false) throws {
    let counts = try changes.map { change in
      change.isTouched ? try session.number("SELECT count(*) FROM \(SQLite.quoted(change.old.name))") : 0
    }
    let lost = keepsFiles ? [] : lostFileColumns
    try session.listFiles(of: lost, in: "main", at: plan.now)
    try dropIndexes(session)
    for name in dropped { try session.execute("DROP TABLE \(SQLite.quoted(name))") }
    for change in changes {
      try compute(change, session)
      try alter(change, session)
    }
    try renameTables(session)
    for table in created { try session.execute(table.sql()) }
    for change in changes where change.needsCopy { try declare(change, session) }
    if !lost.isEmpty { try session.keepFiles(of: plan.destination.fileColumns(ofStore: 0), in: "main") }
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

  /// The columns that go and may name files.
  private var lostFileColumns: [FileColumn] {
    plan.source.fileColumns(ofStore: 0).filter { column in
      dropped.contains(column.table)
        || changes.contains { $0.old.name == column.table && $0.dropped.contains(column.name) }
    }
  }

  /// Those that the new version does not have just so, all whose tables lose or rename columns, and those of columns
  /// that get other values: to sort them once is less than to move each row's entry.
  private func dropIndexes(_ session: MigrationSession) throws {
    let wanted = Dictionary(
      newSchema.indexes.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let altered = Set(changes.filter(\.isAltered).map(\.old.name) + dropped)
    let written = Dictionary(
      changes.map { ($0.old.name, Set($0.computed.map(\.column.name))) },
      uniquingKeysWith: { first, _ in first })
    let rows = try session.rows(
      "SELECT name, sql, tbl_name FROM main.sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    for row in rows {
      guard let name = row[0], let table = row[2] else { continue }
      let computed = written[table] ?? []
      guard
        try wanted[name] != row[1] || altered.contains(table)
          || !computed.isEmpty && !computed.isDisjoint(with: columns(ofIndex: name, session))
      else { continue }
      try session.execute("DROP INDEX \(SQLite.quoted(name))")
    }
  }

  private func columns(ofIndex name: String, _ session: MigrationSession) throws -> [String] {
    try session.rows("SELECT name FROM pragma_index_info(\(SQLite.literal(name)))").compactMap { $0[0] }
  }

  /// Adds the columns that are new, and has each row write its values.
  private func compute(_ change: Change, _ session: MigrationSession) throws {
    guard !change.computed.isEmpty else { return }
    let table = SQLite.quoted(change.old.name)
    session.entity = change.new.name
    defer { session.entity = nil }
    for each in change.computed where each.old == nil {
      // Every row gets a value of its own; SQLite adds no mandatory column without one.
      let passing = ["INTEGER": "0", "REAL": "0.0", "TEXT": "''", "BLOB": "x''"][each.column.type]
      try session.execute(
        "ALTER TABLE \(table) ADD COLUMN \(each.column.sql)"
          + (each.column.isNotNull ? " DEFAULT \(passing ?? "0")" : ""))
    }
    let assignments = change.computed.map { each -> SQLText in
      "\(raw: SQLite.quoted(each.column.name)) = \(each.value)"
    }
    try session.run("UPDATE \(raw: table) AS t0 SET \(SQLText.joined(assignments, ", "))")
    // That a column must have values is declared afterwards.
    for each in change.computed where each.column.isNotNull && each.old?.isNotNull == false {
      let name = SQLite.quoted(each.column.name)
      guard try session.rows("SELECT 1 FROM \(table) WHERE \(name) IS NULL LIMIT 1").isEmpty else {
        throw ValueMissing()
      }
    }
  }

  /// Writes a table's definition as the new version has it, but for the order of the columns.
  ///
  /// SQLite has no statement for rules that come or go. That the rows keep to them is known, and checked when the file is
  /// finished: this is the way that SQLite's own documentation describes, and the file is nobody's store yet.
  private func declare(_ change: Change, _ session: MigrationSession) throws {
    let name = SQLite.literal(change.new.name)
    let computed = Set(change.computed.filter { $0.old == nil }.map(\.column.name))
    let columns = try session.rows("SELECT name, dflt_value FROM pragma_table_xinfo(\(name)) ORDER BY cid")
    let definitions = columns.compactMap { row -> String? in
      guard let column = change.new.columns.first(where: { $0.name == row[0] }) else { return nil }
      // Rows that were there before the column have no other value.
      let standIn = computed.contains(column.name) ? nil : row[1]
      return column.sql + (standIn.map { " DEFAULT \($0)" } ?? "")
    }
    guard definitions.count == change.new.columns.count, definitions.count == columns.count else {
      throw plan.error(.verificationFailed("its columns are not those of the model"), change.new.name)
    }
    let sql =
      "CREATE TABLE \(SQLite.quoted(change.new.name)) (\((definitions + change.new.constraints).joined(separator: ", "))) "
      + change.new.options
    try session.execute("PRAGMA writable_schema = ON")
    try session.run(
      "UPDATE sqlite_master SET sql = \(bind: .string(sql)) WHERE type = 'table' AND name = \(raw: name)")
    try session.execute("PRAGMA writable_schema = RESET")
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
