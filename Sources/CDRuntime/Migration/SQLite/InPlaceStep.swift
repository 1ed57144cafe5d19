import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A step that SQLite makes within a file. Rows stay in their tables; columns and tables are added, dropped or renamed.
///
/// On a copy of the file, the step can also compute values and change whether a column is mandatory. The copy needs no
/// journal, because it is thrown away if something fails. This takes a third of the time of writing new tables, mainly
/// because indexes stay.
struct InPlaceStep {
  /// The change of one table.
  struct Change {
    var old: TableLayout
    var new: TableLayout
    /// The old name and the new name of each column that stays.
    var kept: [(old: String, new: String)] = []
    var added: [(column: ColumnLayout, value: AttributeValue)] = []
    var dropped: [String] = []
    /// The columns, including new ones, whose values are computed from other values of the row.
    var computed: [Computed] = []

    /// Whether existing columns are renamed, dropped or rewritten. Adding columns does not touch the rows, and counting
    /// the rows would take longer than such a step.
    var isTouched: Bool { isAltered || !computed.isEmpty }

    /// Whether the table is renamed, or existing columns are renamed or dropped.
    var isAltered: Bool {
      old.name != new.name || !dropped.isEmpty || kept.contains { $0.old != $0.new }
    }

    /// Whether a column that stays becomes optional or mandatory.
    var hasOtherRules: Bool {
      kept.contains { names in
        old.columns.first { $0.name == names.old }?.isNotNull
          != new.columns.first { $0.name == names.new }?.isNotNull
      }
    }

    var needsCopy: Bool { !computed.isEmpty || hasOtherRules }
  }

  /// A column whose values are computed from other values of the row.
  struct Computed {
    let column: ColumnLayout
    /// The value for a row `t0` with the old column names.
    let value: SQLText
    /// The existing column of this name; nil if the column is new.
    let old: ColumnLayout?
  }

  private(set) var changes: [Change] = []
  private(set) var created: [TableLayout] = []
  private(set) var dropped: [String] = []
  /// The old and new names of inheritance roots that continue their keys.
  private(set) var roots: [(old: String, new: String)] = []
  let plan: StepPlan
  let oldSchema: SQLSchema
  let newSchema: SQLSchema

  /// Plans the step. Nil if rows must be written to new tables.
  ///
  /// - Parameter onCopy: Whether the file is a copy, in which the step may change values.
  init?(_ plan: StepPlan, onCopy: Bool = false) {
    self.plan = plan
    oldSchema = SQLSchema(plan.source, store: 0)
    newSchema = SQLSchema(plan.destination, store: 0)
    guard plan.keepsKeys, !plan.hasCustom, plan.mapping.duplicates.isEmpty,
      plan.sourceMappings.allSatisfy({ $0.isUnrestricted && $0.evaluations.isEmpty }), findTables(),
      findJoins(),
      keepsReferences(), onCopy || !changes.contains(where: \.needsCopy)
    else { return nil }
    let used = Set(changes.map(\.old.name))
    dropped = oldSchema.layouts.map(\.name).filter { !used.contains($0) }
  }

  /// The new names of the tables that stay, by their old names.
  private var renames: [String: String] {
    Dictionary(changes.map { ($0.old.name, $0.new.name) }, uniquingKeysWith: { first, _ in first })
  }

  // MARK: Planning

  @_optimize(none)
  private mutating func findTables() -> Bool {
    var used: Set<Int> = []
    for root in plan.destination.entities where root.root == root.index && root.storeIndex == 0 {
      guard let new = newSchema.layouts.first(where: { $0.name == root.table }) else { return false }
      let sourceMappings = plan.sourceMappings.filter { $0.destination.root == root.index }
      guard let first = sourceMappings.first else {
        created.append(new)
        continue
      }
      let oldRoot = plan.source.entities[first.source.root]
      guard let old = oldSchema.layouts.first(where: { $0.name == oldRoot.table }),
        used.insert(oldRoot.index).inserted, sourceMappings.allSatisfy({ $0.source.root == oldRoot.index }),
        Set(sourceMappings.map(\.source.index)).count == sourceMappings.count,
        oldRoot.hasEntityColumn == root.hasEntityColumn, old.constraints == new.constraints,
        !root.hasEntityColumn || sourceMappings.allSatisfy({ $0.source.name == $0.destination.name }),
        oldRoot.subtree.allSatisfy({ kind in
          plan.source.entities[kind].description.isAbstract
            || sourceMappings.contains { $0.source.index == kind }
        }), var change = columns(from: old, to: new, sourceMappings, root)
      else { return false }
      let kept = Set(change.kept.map(\.old))
      change.dropped = old.columns.map(\.name).filter { !kept.contains($0) }
      // Dropping a column rewrites all rows once more.
      if !change.computed.isEmpty, !change.dropped.isEmpty { return false }
      // A CHECK constraint reads its columns by name, and SQLite would change the names in it with a rename.
      if !old.constraints.isEmpty, change.kept.contains(where: { $0.old != $0.new }) { return false }
      changes.append(change)
      roots.append((oldRoot.name, root.name))
    }
    return true
  }

  private enum Origin {
    case column(String)
    case constant(AttributeValue)
    case expression(SQLText)

    /// The value for a row `t0`.
    var sql: SQLText {
      switch self {
      case .column(let name): "t0.\(raw: SQLText.quoted(name))"
      case .constant(let value): "\(bind: value)"
      case .expression(let sql): sql
      }
    }
  }

  @_optimize(none)
  private func columns(
    from old: TableLayout, to new: TableLayout, _ sourceMappings: [StepPlan.SourceMapping], _ root: EntityPlan
  ) -> Change? {
    var change = Change(old: old, new: new)
    let positions = plan.positions(in: root)
    for column in new.columns {
      if ["_pk", "_version", "_entity"].contains(column.name) {
        change.kept.append((column.name, column.name))
        continue
      }
      var origins: [(sourceMapping: StepPlan.SourceMapping, origin: Origin)] = []
      if let relationship = positions.first(where: { $0.column == column.name })?.relationship {
        for sourceMapping in sourceMappings {
          if let name = plan.copiedPosition(relationship, for: sourceMapping) {
            origins.append((sourceMapping, .column(name)))
          } else if plan.position(relationship, for: sourceMapping) == "NULL" {
            origins.append((sourceMapping, .constant(.null)))
          } else {
            return nil
          }
        }
      } else {
        for sourceMapping in sourceMappings {
          guard let index = sourceMapping.destination.columns.firstIndex(where: { $0.name == column.name })
          else {
            continue
          }
          guard let origin = origin(of: sourceMapping.destination.columns[index], for: sourceMapping) else {
            return nil
          }
          origins.append((sourceMapping, origin))
        }
      }
      guard add(column, origins, to: &change) else { return nil }
    }
    return Set(change.kept.map(\.old)).count == change.kept.count ? change : nil
  }

  @_optimize(none)
  private func add(
    _ column: ColumnLayout, _ origins: [(sourceMapping: StepPlan.SourceMapping, origin: Origin)],
    to change: inout Change
  ) -> Bool {
    var names: Set<String> = []
    var values: Set<AttributeValue> = []
    var isComputed = false
    for (_, origin) in origins {
      switch origin {
      case .column(let name): names.insert(name)
      case .constant(let value): values.insert(value)
      case .expression: isComputed = true
      }
    }
    switch (names.count, values.count, isComputed) {
    case (1, 0, false):
      guard let name = names.first, let old = change.old.columns.first(where: { $0.name == name }),
        old.type == column.type, old.isNotNull || !column.isNotNull
      else { return false }
      change.kept.append((name, column.name))
      return true
    case (0, 0, false), (0, 1, false):
      let value = values.first ?? .null
      if column.isNotNull, value == .null { return false }
      // SQLite adds a column with a foreign key only if its default is NULL.
      if column.reference != nil, value != .null { return false }
      // A default is a part of the statement, which would end at the character U+0000.
      if case .string(let text) = value, text.utf8.contains(0) {
        return compute(column, origins, in: &change)
      }
      change.added.append((column, value))
      return true
    default:
      return compute(column, origins, in: &change)
    }
  }

  /// Plans that all rows compute a column: an existing column of this name, or a new one.
  @_optimize(none)
  private func compute(
    _ column: ColumnLayout, _ origins: [(sourceMapping: StepPlan.SourceMapping, origin: Origin)],
    in change: inout Change
  ) -> Bool {
    guard column.reference == nil, !column.mayNameFile else { return false }
    let old = change.old.columns.first { $0.name == column.name }
    if let old {
      guard old.type == column.type, old.reference == nil else { return false }
      change.kept.append((column.name, column.name))
    } else if change.old.columns.contains(where: { $0.name.lowercased() == column.name.lowercased() }) {
      return false
    }
    var value: SQLText
    if let first = origins.first, !first.sourceMapping.destination.hasEntityColumn {
      value = first.origin.sql
    } else {
      value = "CASE t0.\"_entity\""
      for (sourceMapping, origin) in origins {
        value = "\(value) WHEN \(raw: SQLText.literal(sourceMapping.source.name)) THEN \(origin.sql)"
      }
      value = "\(value) END"
    }
    change.computed.append(Computed(column: column, value: value, old: old))
    return true
  }

  @_optimize(none)
  private func origin(of column: ColumnPlan, for sourceMapping: StepPlan.SourceMapping) -> Origin? {
    if column.isReference {
      guard let relationship = sourceMapping.destination.slots[column.slot].relationship else { return nil }
      let text = plan.reference(relationship, for: sourceMapping).text
      if text == "NULL" { return .constant(.null) }
      guard case .objects(let value)? = plan.objects(of: sourceMapping, relationship.name),
        let plain = plan.plainRelationship(value, of: sourceMapping.source),
        case .reference(let old) = plain.storage,
        text == "t0." + SQLText.quoted(sourceMapping.source.columns[old].name)
      else { return nil }
      return .column(sourceMapping.source.columns[old].name)
    }
    if plan.isDerived(column, in: sourceMapping.destination) {
      return plan.copiedDerived(column, for: sourceMapping).map { .column($0.name) }
    }
    let path = plan.path(of: column, in: sourceMapping.destination)
    guard let value = sourceMapping.mapping.attributes.first(where: { $0.name == path })?.value else {
      return nil
    }
    if let old = plan.copiedColumn(value, for: column, of: sourceMapping) { return .column(old.name) }
    switch value.kind {
    case .constant(.value(let constant)): return column.storageType.fitted(constant).map { .constant($0) }
    case .function(.now, _) where column.storageType == .date: return .constant(.date(plan.now))
    default:
      // A value that reads other tables could find them already changed, or not changed yet.
      guard let sql = plan.sql(value, for: column, of: sourceMapping), !sql.text.contains("SELECT") else {
        return nil
      }
      return .expression(sql)
    }
  }

  @_optimize(none)
  private mutating func findJoins() -> Bool {
    for join in plan.destination.joins where plan.destination.entities[join.source].storeIndex == 0 {
      guard let new = newSchema.layouts.first(where: { $0.name == join.table }) else { return false }
      var found: Set<String> = []
      for sourceMapping in plan.sourceMappings {
        for case let relationship? in sourceMapping.destination.relationships {
          guard case .join(let number, let isSource) = relationship.storage,
            plan.destination.joins[number].table == join.table,
            case .objects(let value)? = plan.objects(of: sourceMapping, relationship.name)
          else { continue }
          guard let plain = plan.plainRelationship(value, of: sourceMapping.source),
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

  /// Whether the foreign keys of the columns that stay are those of the new version.
  private func keepsReferences() -> Bool {
    let renames = self.renames
    return changes.allSatisfy { change in
      change.kept.allSatisfy { kept in
        var old = change.old.columns.first { $0.name == kept.old }?.reference
        if let table = old?.table { old?.table = renames[table] ?? "" }
        return old == change.new.columns.first { $0.name == kept.new }?.reference
      }
    }
  }
}

// The statements of a step within a file.
extension InPlaceStep {
  /// A row lacks a mandatory value. A step that writes new tables can find out which row.
  struct ValueMissing: Error {}

  /// Makes the step. The caller has opened a transaction and has turned off the enforcement of foreign keys.
  ///
  /// - Parameter keepsFiles: Whether files of large values are kept for a backup although nothing refers to them any
  ///   more.
  @_optimize(none)
  func run(_ session: MigrationSession, keepsFiles: Bool = false) throws {
    let counts = try changes.map { change in
      change.isTouched ? try session.number("SELECT count(*) FROM \(SQLText.quoted(change.old.name))") : 0
    }
    let nextKeys = try session.nextKeys(of: plan)
    let origins = try session.insertionOrigins()
    let lost = keepsFiles ? [] : lostFileColumns
    try session.listFiles(of: lost, in: "main", at: plan.now)
    try dropIndexes(session)
    for name in dropped { try session.execute("DROP TABLE \(SQLText.quoted(name))") }
    for change in changes {
      try compute(change, session)
      try alter(change, session)
    }
    try renameTables(session)
    for table in created { try session.execute(table.sql()) }
    for change in changes where change.needsCopy { try declare(change, session) }
    if !lost.isEmpty { try session.keepFiles(of: plan.destination.fileColumns(ofStore: 0), in: "main") }
    try renameKeys(session) { plan.firstKey(of: $0, origins, nextKeys: nextKeys) }
    try session.write(origins, nextKeys: nextKeys, after: plan, to: "main")
    for (change, count) in zip(changes, counts) where change.isTouched {
      let found = try session.number("SELECT count(*) FROM \(SQLText.quoted(change.new.name))")
      guard found == count else {
        throw plan.error(
          .verificationFailed("\(found) rows were created instead of \(count)"), change.new.name)
      }
    }
    try makeIndexes(session)
    for table in changes.filter(\.isTouched).map(\.new.name) + created.map(\.name) {
      let rows = try session.rows(
        "SELECT \"table\", rowid FROM pragma_foreign_key_check(\(SQLText.literal(table))) LIMIT 1")
      if let row = rows.first {
        throw plan.error(.danglingReference(table: row[0] ?? ""), nil, row[1].flatMap { Int64($0) })
      }
    }
  }

  /// The columns that may name files and that are dropped, with their tables or alone.
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
    let rows = try session.rows(
      "SELECT name, sql, tbl_name FROM main.sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    for row in rows {
      guard let name = row[0], let table = row[2] else { continue }
      let computed = written[table] ?? []
      guard
        try wanted[name] != row[1] || altered.contains(table)
          || !computed.isEmpty && !computed.isDisjoint(with: columns(ofIndex: name, session))
      else { continue }
      try session.execute("DROP INDEX \(SQLText.quoted(name))")
    }
  }

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
  private func literal(_ value: AttributeValue, _ session: MigrationSession) throws -> String {
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
    var wanted: [String: ObjectKey] = [:]
    for root in plan.destination.entities where root.root == root.index && root.storeIndex == 0 {
      let old = roots.first { $0.new == root.name }?.old
      let key = old == root.name ? 1 : firstKey(root)
      wanted[root.name] = old.flatMap { next[$0] }.map { max($0, key) } ?? (key > 1 ? key : nil)
    }
    guard wanted != next else { return }
    try session.execute("DELETE FROM main._cdgen_keys")
    for (new, key) in wanted {
      try session.run(
        "INSERT INTO main._cdgen_keys (entity, next) VALUES (\(bind: .string(new)), \(bind: .int(key)))")
    }
  }

  @_optimize(none)
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
