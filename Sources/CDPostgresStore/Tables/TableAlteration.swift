import CDModel
import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The statements that change the tables of a store without moving rows. PostgreSQL changes only its catalog, except for
/// new indexes and checks, for which it reads the rows of their table.
///
/// The tables have the same columns, constraints and indexes afterwards, with the same names, as those of a new store. Only
/// the order of the columns differs.
struct TableAlteration {
  /// The statements of each step. They are run in the schema that is searched first.
  private(set) var statements: [[String]] = []
  /// The indexes of the last version that are still missing. No statement depends on them.
  private(set) var missingIndexes: [IndexLayout] = []
  private var names: TableNames

  /// - Parameter names: The names of the store's indexes and constraints.
  init(_ steps: [TableChanges], _ names: TableNames) {
    self.names = names
    for step in steps { add(step) }
    guard let last = steps.last else { return }
    missingIndexes = last.new.indexes.filter { !self.names.indexes.contains(PostgresTables.name($0.name)) }
  }

  private static func quoted(_ name: String) -> String { SQLText.quoted(name) }

  /// One statement with all changes of a table; none without changes.
  private static func alter(_ table: String, _ actions: [String]) -> [String] {
    actions.isEmpty ? [] : ["ALTER TABLE \(quoted(table)) " + actions.joined(separator: ", ")]
  }

  private mutating func add(_ step: TableChanges) {
    var list: [String] = []
    let indexNames = moveIndexes(step, &list)
    for change in step.changed { list += removals(change) }
    if !step.dropped.isEmpty {
      list.append("DROP TABLE " + step.dropped.map(Self.quoted).joined(separator: ", "))
      for name in step.dropped { names.remove(name) }
    }
    for change in step.changed {
      let table = Self.quoted(change.old.name)
      let present = Set(change.old.columns.map(\.name)).subtracting(change.dropped)
      list += Self.renames(change.kept, present) {
        "ALTER TABLE \(table) RENAME COLUMN \(Self.quoted($0)) TO \(Self.quoted($1))"
      }
    }
    let present = Set(step.old.layouts.map(\.name)).subtracting(step.dropped)
    list += Self.renames(step.changed.map { ($0.old.name, $0.new.name) }, present) {
      "ALTER TABLE \(Self.quoted($0)) RENAME TO \(Self.quoted($1))"
    }
    list += renameConstraints(step)
    list += Self.renames(indexNames, Set(indexNames.map(\.old)).union(names.indexes)) {
      "ALTER INDEX \(Self.quoted($0)) RENAME TO \(Self.quoted($1))"
    }
    names.indexes = names.indexes.subtracting(indexNames.map(\.old)).union(indexNames.map(\.new))
    for layout in step.created {
      list.append(PostgresTables.table(layout))
      names.add(layout)
    }
    for change in step.changed { list += additions(change) }
    for layout in step.created { list += PostgresTables.references(of: layout) }
    list += addIndexes(step)
    statements.append(list)
  }

  // MARK: Columns

  /// Removes what the new version does not have.
  private mutating func removals(_ change: TableChanges.Change) -> [String] {
    var actions: [String] = []
    if change.hasOtherChecks {
      actions += names.checks(of: change.old.name).map { "DROP CONSTRAINT \(Self.quoted($0))" }
      names.removeChecks(of: change.old.name)
    }
    actions += change.dropped.map { "DROP COLUMN \(Self.quoted($0))" }
    for column in change.dropped { names.removeReference(column, of: change.old.name) }
    actions += change.loosened.map { "ALTER COLUMN \(Self.quoted($0)) DROP NOT NULL" }
    return Self.alter(change.old.name, actions)
  }

  /// Adds what the old version does not have.
  private mutating func additions(_ change: TableChanges.Change) -> [String] {
    // Rows that exist get the default without being written. New rows have all values.
    let added = change.added.map { column, value in
      "ADD COLUMN \(column.sql)" + (Self.literal(value).map { " DEFAULT \($0)" } ?? "")
    }
    let filled = change.added.filter { Self.literal($0.value) != nil }.map {
      "ALTER COLUMN \(Self.quoted($0.column.name)) DROP DEFAULT"
    }
    for (column, _) in change.added where column.reference != nil {
      names.addReference(column.name, of: change.new.name)
    }
    var checks: [String] = []
    if change.hasOtherChecks {
      checks = change.new.constraints.map { "ADD \($0)" }
      names.addChecks(of: change.new)
    }
    return Self.alter(change.new.name, added) + Self.alter(change.new.name, filled)
      + Self.alter(change.new.name, checks)
  }

  /// A value as the text of a default; nil for NULL.
  private static func literal(_ value: AttributeValue) -> String? {
    switch value {
    case .null, .composite: nil
    case .bool(let value): value ? "TRUE" : "FALSE"
    case .int(let number): String(number)
    case .double(let number): literal(number)
    case .decimal(let number): "CAST('\(number.canonicalText)' AS numeric)"
    case .string(let text): literal(text)
    case .uuid(let uuid): "CAST('\(uuid.uuidString)' AS uuid)"
    case .data(let data): "decode('\(data.map(hexadecimal).joined())', 'hex')"
    default: literal(value.stored)
    }
  }

  private static func literal(_ number: Double) -> String {
    let text = number.isInfinite ? (number < 0 ? "-Infinity" : "Infinity") : "\(number)"
    return "CAST('\(text)' AS double precision)"
  }

  // Independent of the setting standard_conforming_strings.
  private static func literal(_ text: String) -> String {
    let literal = SQLText.literal(text)
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return literal }
    return "E" + literal.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\")
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  // MARK: Names

  /// The statements that change names. Names may be exchanged, so names in use are given up first.
  private static func renames(
    _ names: [(old: String, new: String)], _ present: Set<String>, _ statement: (String, String) -> String
  ) -> [String] {
    let changed = names.filter { $0.old != $0.new }
    guard changed.contains(where: { present.contains($0.new) }) else {
      return changed.map { statement($0.old, $0.new) }
    }
    return changed.enumerated().map { statement($1.old, "_cdgen_renamed_\($0)") }
      + changed.enumerated().map { statement("_cdgen_renamed_\($0)", $1.new) }
  }

  /// Gives the constraints the names that they have in a new store.
  private mutating func renameConstraints(_ step: TableChanges) -> [String] {
    var list: [String] = []
    var keys: [(table: String, old: String, new: String)] = []
    var renamed: [(old: String, new: String, names: Set<String>, checks: [String])] = []
    for change in step.changed {
      let present = names.constraints[change.old.name] ?? []
      var own: [(old: String, new: String)] = []
      var new: [String: String] = [:]
      for (old, name) in TableNames.renames(change) where old != name && present.contains(old) {
        new[old] = name
        if old == TableNames.key(of: change.old.name) {
          keys.append((change.new.name, old, name))
        } else {
          own.append((old, name))
        }
      }
      renamed.append(
        (
          change.old.name, change.new.name, Set(present.map { new[$0] ?? $0 }),
          names.checks(of: change.old.name).map { new[$0] ?? $0 }
        ))
      let table = Self.quoted(change.new.name)
      list += Self.renames(own, present) {
        "ALTER TABLE \(table) RENAME CONSTRAINT \(Self.quoted($0)) TO \(Self.quoted($1))"
      }
    }
    // A primary key is an index with the same name, and the indexes of a schema have different names.
    let used = Set(names.constraints.values.flatMap { $0 })
    let tables = Dictionary(keys.map { ($0.old, $0.table) }) { first, _ in first }
    var current: [String: String] = tables
    list += Self.renames(keys.map { ($0.old, $0.new) }, used) { old, new in
      let table = current[old] ?? ""
      current[new] = table
      return "ALTER TABLE \(Self.quoted(table)) RENAME CONSTRAINT \(Self.quoted(old)) TO \(Self.quoted(new))"
    }
    for each in renamed { names.remove(each.old) }
    for each in renamed { names.set(each.names, checks: each.checks, of: each.new) }
    return list
  }

  // MARK: Indexes

  /// Drops the indexes that the new version does not have.
  ///
  /// - Returns: The old and the new names of the indexes that get other names.
  private mutating func moveIndexes(
    _ step: TableChanges, _ list: inout [String]
  ) -> [(old: String, new: String)] {
    var moved: [(old: String, new: String)] = []
    var kept: Set<String> = []
    var used: Set<String> = []
    for index in step.old.indexes {
      let name = PostgresTables.name(index.name)
      guard names.indexes.contains(name) else { continue }
      guard let change = step.changed.first(where: { $0.old.name == index.table }) else {
        // It is dropped with its table.
        names.indexes.remove(name)
        continue
      }
      let columns = Dictionary(change.kept.map { ($0.old, $0.new) }) { first, _ in first }
      let renamed = index.renamed(table: change.new.name, columns: columns)
      let new = renamed.flatMap { renamed in
        let same = step.new.indexes.filter { $0.isSame(as: renamed) && !used.contains($0.name) }
        return same.first { $0.name == index.name } ?? same.first
      }
      guard let new else { continue }
      used.insert(new.name)
      kept.insert(name)
      if new.name != index.name { moved.append((name, PostgresTables.name(new.name))) }
    }
    for name in names.indexes.union(names.invalidIndexes).subtracting(kept).sorted() {
      list.append("DROP INDEX \(Self.quoted(name))")
    }
    names.indexes = kept
    names.invalidIndexes = []
    return moved
  }

  /// Creates the indexes of new tables, which have no rows, and those that refuse rows.
  private mutating func addIndexes(_ step: TableChanges) -> [String] {
    let created = Set(step.created.map(\.name))
    var list: [String] = []
    for index in step.new.indexes where index.isUnique || created.contains(index.table) {
      let name = PostgresTables.name(index.name)
      guard names.indexes.insert(name).inserted else { continue }
      list.append(PostgresTables.creation(of: index))
    }
    return list
  }
}

/// The names of a store's indexes and constraints.
struct TableNames {
  /// The indexes, without those of constraints.
  var indexes: Set<String> = []
  /// The indexes whose creation was interrupted. No query uses them.
  var invalidIndexes: Set<String> = []
  /// The constraints of each table.
  private(set) var constraints: [String: Set<String>] = [:]
  /// The checks of each table, in order.
  private var checks: [String: [String]] = [:]

  /// Creates no names.
  init() {}

  /// The names in a new store.
  init(of schema: SQLSchema) {
    indexes = Set(schema.indexes.map { PostgresTables.name($0.name) })
    for layout in schema.layouts { add(layout) }
  }

  mutating func add(_ layout: TableLayout) {
    addChecks(of: layout)
    constraints[layout.name, default: []].insert(Self.key(of: layout.name))
    for column in layout.columns where column.reference != nil {
      addReference(column.name, of: layout.name)
    }
  }

  mutating func addReference(_ column: String, of table: String) {
    constraints[table, default: []].insert(Self.reference(column, of: table))
  }

  mutating func removeReference(_ column: String, of table: String) {
    constraints[table]?.remove(Self.reference(column, of: table))
  }

  mutating func set(_ constraints: Set<String>, checks: [String], of table: String) {
    self.constraints[table] = constraints
    self.checks[table] = checks
  }

  /// Adds a constraint that the database has.
  mutating func add(_ name: String, isCheck: Bool, of table: String) {
    constraints[table, default: []].insert(name)
    if isCheck { checks[table, default: []].append(name) }
  }

  mutating func remove(_ table: String) {
    constraints[table] = nil
    checks[table] = nil
  }

  func checks(of table: String) -> [String] { checks[table] ?? [] }

  mutating func removeChecks(of table: String) {
    let names = checks(of: table)
    constraints[table]?.subtract(names)
    checks[table] = nil
  }

  mutating func addChecks(of layout: TableLayout) {
    let names = Self.checks(of: layout)
    if names.isEmpty { return }
    checks[layout.name] = names
    constraints[layout.name, default: []].formUnion(names)
  }

  // MARK: The names that PostgreSQL gives

  static func key(of table: String) -> String { name(table, nil, "pkey") }

  static func reference(_ column: String, of table: String) -> String { name(table, column, "fkey") }

  private static func checks(of layout: TableLayout) -> [String] {
    let count = layout.constraints.count { $0.hasPrefix("CHECK ") }
    return (0..<count).map { name(layout.name, nil, $0 == 0 ? "check" : "check\($0)") }
  }

  /// The names of a table's constraints before and after a change, without the checks that are added again.
  static func renames(_ change: TableChanges.Change) -> [(old: String, new: String)] {
    var result = [(old: key(of: change.old.name), new: key(of: change.new.name))]
    for column in change.kept {
      result.append((reference(column.old, of: change.old.name), reference(column.new, of: change.new.name)))
    }
    if !change.hasOtherChecks {
      result += zip(checks(of: change.old), checks(of: change.new)).map { ($0, $1) }
    }
    return result
  }

  /// A name of at most 63 bytes: the longer one of the parts is cut.
  private static func name(_ table: String, _ column: String?, _ label: String) -> String {
    var (first, second) = (table.utf8.count, column?.utf8.count ?? 0)
    let room = PostgresTables.longestName - label.utf8.count - 1 - (column == nil ? 0 : 1)
    while first + second > room { if first > second { first -= 1 } else { second -= 1 } }
    let parts = [cut(table, first)] + (column.map { [cut($0, second)] } ?? [])
    return (parts + [label]).joined(separator: "_")
  }

  /// The whole characters among the first bytes of a text.
  private static func cut(_ text: String, _ count: Int) -> String {
    var result = String.UnicodeScalarView()
    var length = 0
    for scalar in text.unicodeScalars {
      length += UTF8.width(scalar)
      if length > count { break }
      result.append(scalar)
    }
    return String(result)
  }
}
