import CDModel
@_spi(Generated) import CDRuntime

/// The references between the tables of a server's stores that have no foreign keys, and what a transaction has changed of
/// them. It does what foreign keys that are checked at the end of a transaction do, on servers that lack them.
///
/// At its end, the transaction locks each row that new references lead to, as a foreign key does. So another transaction
/// that deletes such a row waits, and then finds the reference; or this one waits, and then finds no row.
struct ReferenceChecks {
  /// A column with references to the rows of a table.
  private struct Column {
    /// The table in statements.
    let table: String
    let name: String
    /// The index of the root entity whose rows it refers to.
    let target: Int
    let action: Action
  }

  /// What happens to a row whose reference leads to a deleted row.
  private enum Action {
    case refuse, clear, delete
  }

  private let columns: [Column]
  /// The tables of root entities in statements.
  private let tables: [Int: String]
  /// The keys in new references, by the index of the root entity.
  private var referenced: [Int: Set<ObjectKey>] = [:]
  /// The keys of deleted rows, by the index of the root entity.
  private var deleted: [Int: Set<ObjectKey>] = [:]

  init(_ model: ModelPlan, _ dialect: any SQLDialect, _ stores: StoreSet) {
    func isHere(_ entity: EntityPlan) -> Bool { stores.store(of: entity) != nil }
    var columns: [Column] = []
    for entity in model.entities where isHere(entity) {
      for case let relationship? in entity.relationships where relationship.owner == entity.name {
        let destination = model.entities[relationship.destination]
        guard case .reference(let column) = relationship.storage, relationship.isGuaranteed,
          isHere(destination)
        else { continue }
        columns.append(
          Column(
            table: dialect.table(entity.table), name: SQLText.quoted(entity.columns[column].name),
            target: destination.root,
            action: relationship.inverse == nil && relationship.description.isOptional ? .clear : .refuse))
      }
    }
    for join in model.joins {
      let (source, target) = (model.entities[join.source], model.entities[join.target])
      guard isHere(source) else { continue }
      let table = dialect.table(join.table)
      columns.append(Column(table: table, name: "_source", target: source.root, action: .delete))
      guard source.storeIndex == target.storeIndex else { continue }
      columns.append(Column(table: table, name: "_target", target: target.root, action: .delete))
    }
    self.columns = columns
    tables = Dictionary(
      Set(columns.map(\.target)).map { ($0, dialect.table(model.entities[$0].table)) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Forgets the noted changes.
  mutating func removeAll() {
    referenced = [:]
    deleted = [:]
  }

  // MARK: Changes

  /// Notes the references among the values of some columns of a row.
  mutating func note(
    _ values: ArraySlice<AttributeValue>, in columns: [Int], of entity: EntityPlan, _ model: ModelPlan
  ) {
    for (column, value) in zip(columns, values) {
      let plan = entity.columns[column]
      guard plan.isReference, case .int(let key) = value, key != 0,
        let relationship = entity.slots[plan.slot].relationship, relationship.isGuaranteed
      else { continue }
      note(key, to: model.entities[relationship.destination].root)
    }
  }

  /// Notes a reference to a row of a root entity.
  mutating func note(_ key: ObjectKey, to root: Int) {
    if tables[root] != nil { referenced[root, default: []].insert(key) }
  }

  /// Notes deleted rows of a root entity.
  ///
  /// - Returns: The statements that clear the references and remove the pairs that lead to the rows.
  mutating func noteDeleted(_ keys: [ObjectKey], of root: Int) -> [PostgresStatement] {
    guard !keys.isEmpty, tables[root] != nil else { return [] }
    deleted[root, default: []].formUnion(keys)
    return columns.compactMap { column in
      guard column.target == root else { return nil }
      return switch column.action {
      case .refuse: nil
      case .clear:
        PostgresStatement(
          "UPDATE \(column.table) AS c SET \(column.name) = NULL WHERE c.\(column.name) = ANY(?)",
          [.keys(keys)])
      case .delete:
        PostgresStatement("DELETE FROM \(column.table) AS c WHERE c.\(column.name) = ANY(?)", [.keys(keys)])
      }
    }
  }

  // MARK: The check

  /// The statements of the check: each selects keys. Nil for a transaction without anything to check.
  struct Check {
    let statements: [PostgresStatement]
    /// The root entities of the locked rows, in the order of the statements, which are the first ones.
    fileprivate let targets: [Int]
  }

  /// The first part of the check, which locks the rows that references lead to, and looks for references to deleted rows.
  var check: Check {
    let targets = referenced.keys.sorted()
    let locks = targets.map { root in
      PostgresStatement(
        "SELECT t._pk FROM \(tables[root] ?? "") AS t WHERE t._pk = ANY(?) ORDER BY t._pk FOR KEY SHARE",
        [.keys(referenced[root, default: []].sorted())])
    }
    let leftovers = deleted.keys.sorted().flatMap { root in
      referrers(to: deleted[root, default: []], of: root)
    }
    return Check(statements: locks + leftovers, targets: targets)
  }

  /// The statements that look for references to some keys.
  private func referrers(to keys: Set<ObjectKey>, of root: Int) -> [PostgresStatement] {
    columns.filter { $0.target == root }.map {
      PostgresStatement(
        "SELECT c.\($0.name) FROM \($0.table) AS c WHERE c.\($0.name) = ANY(?) LIMIT 1",
        [.keys(keys.sorted())])
    }
  }

  /// Whether references to deleted rows were found.
  func findsDanglingReferences(_ check: Check, _ results: [PostgresResult]) -> Bool {
    results.dropFirst(check.targets.count).contains { $0.rowCount > 0 }
  }

  /// The statements of the second part of the check: they look for references to rows that were not found. The references
  /// may have been changed again since they were noted.
  func missingReferences(_ check: Check, _ results: [PostgresResult]) -> [PostgresStatement] {
    zip(check.targets, results).flatMap { root, result -> [PostgresStatement] in
      let found = Set((0..<result.rowCount).map { result.int($0, 0) })
      let missing = referenced[root, default: []].subtracting(found)
      return missing.isEmpty ? [] : referrers(to: missing, of: root)
    }
  }
}
