import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A step that is made without writing rows to new tables: columns and tables are added, dropped or renamed.
///
/// On a copy of the file, the step can also compute values and change whether a column is mandatory. The copy needs no
/// journal, because it is thrown away if something fails. This takes a third of the time of writing new tables, mainly
/// because indexes stay.
struct InPlaceStep {
  typealias Change = TableChanges.Change
  typealias Computed = TableChanges.Computed

  /// What the step can do with the tables.
  enum Means {
    /// In a SQLite file, in one transaction.
    case file
    /// In a copy of a SQLite file.
    case copy
    /// On a server whose statements can also add and remove rules of columns.
    case server(any SQLDialect)

    var dialect: any SQLDialect {
      if case .server(let dialect) = self { dialect } else { SQLiteDialect() }
    }

    fileprivate var isServer: Bool { if case .server = self { true } else { false } }
  }

  private(set) var changes: [Change] = []
  private(set) var created: [TableLayout] = []
  private(set) var dropped: [String] = []
  /// The old and new names of inheritance roots that continue their keys.
  private(set) var roots: [(old: String, new: String)] = []
  let plan: StepPlan
  let oldSchema: SQLSchema
  let newSchema: SQLSchema

  private let means: Means

  /// Plans the step. Nil if rows must be written to new tables.
  @_optimize(none)
  init?(_ plan: StepPlan, _ means: Means = .file) {
    self.plan = plan
    self.means = means
    oldSchema = SQLSchema(plan.source, store: 0, means.dialect)
    newSchema = SQLSchema(plan.destination, store: 0, means.dialect)
    guard plan.keepsKeys, !plan.hasCustom, plan.mapping.duplicates.isEmpty,
      plan.sourceMappings.allSatisfy({ $0.isUnrestricted && $0.evaluations.isEmpty }), findTables(),
      findJoins(),
      keepsReferences(), changes.allSatisfy(isPossible), keepsDerivedValues(),
      // Only a step in a file looks for objects and references that no other store would get.
      !means.isServer || plan.leaving.isEmpty && plan.lostTargets.isEmpty && plan.relationshipError == nil
    else { return nil }
    let used = Set(changes.map(\.old.name))
    dropped = oldSchema.layouts.map(\.name).filter { !used.contains($0) }
  }

  private func isPossible(_ change: Change) -> Bool {
    switch means {
    case .file: change.computed.isEmpty && !change.hasOtherRules
    case .copy: true
    case .server: change.computed.isEmpty
    }
  }

  /// Whether a step in a new file computes derived values that this step leaves as they are.
  var leavesDerivedValues: Bool {
    if case .file = means { plan.needsDerivation } else { false }
  }

  /// The changes of the tables, for an engine with statements of its own.
  var tables: TableChanges {
    TableChanges(
      step: plan.routeStep.name, changed: changes, created: created, dropped: dropped, old: oldSchema,
      new: newSchema)
  }

  /// The new names of the tables that stay, by their old names.
  @_optimize(none)
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
        oldRoot.hasEntityColumn == root.hasEntityColumn,
        means.isServer || old.constraints == new.constraints,
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
      if !means.isServer, change.hasOtherChecks { return false }
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
    @_optimize(none)
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
        if leavesValues(origins, sourceMappings) { return nil }
      }
      guard add(column, origins, to: &change) else { return nil }
    }
    return Set(change.kept.map(\.old)).count == change.kept.count ? change : nil
  }

  /// Whether rows of an entity that loses a property would keep its values in a column that other entities keep.
  ///
  /// Joins and foreign keys would follow the references. A value whose loss was confirmed would stay in the store, and so
  /// would its file.
  @_optimize(none)
  private func leavesValues(
    _ origins: [(sourceMapping: StepPlan.SourceMapping, origin: Origin)],
    _ sourceMappings: [StepPlan.SourceMapping]
  ) -> Bool {
    let kept = Set(
      origins.compactMap { each -> String? in
        if case .column(let name) = each.origin { name } else { nil }
      })
    return sourceMappings.contains { sourceMapping in
      !origins.contains { $0.sourceMapping.source.index == sourceMapping.source.index }
        && sourceMapping.source.columns.contains { kept.contains($0.name) }
    }
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
      // A default is a part of the statement, which would end at the character U+0000. No server stores it.
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
      // Columns of two types may be the same ones for a server.
      if means.isServer, let old = columnName(sql, of: sourceMapping.source) { return .column(old) }
      return .expression(sql)
    }
  }

  /// The column of a source's row that a text consists of; nil for another text.
  @_optimize(none)
  private func columnName(_ sql: SQLText, of entity: EntityPlan) -> String? {
    entity.columns.first { sql.text == "t0." + SQLText.quoted($0.name) }?.name
  }

  @_optimize(none)
  private mutating func findJoins() -> Bool {
    for join in plan.destination.joins where plan.destination.entities[join.source].storeIndex == 0 {
      guard let new = newSchema.layouts.first(where: { $0.name == join.table }) else { return false }
      var found: Set<Int> = []
      // The source entities that keep their pairs, by the side of the join table.
      var keeping: [Bool: Set<Int>] = [:]
      for sourceMapping in plan.sourceMappings {
        for case let relationship? in sourceMapping.destination.relationships {
          guard case .join(let number, let isSource) = relationship.storage,
            plan.destination.joins[number].table == join.table,
            case .objects(let value)? = plan.objects(of: sourceMapping, relationship.name)
          else { continue }
          guard let plain = plan.plainRelationship(value, of: sourceMapping.source),
            case .join(let oldNumber, let wasSource) = plain.storage, wasSource == isSource,
            // The table may lack the reversed pairs.
            plain.isSymmetric || !relationship.isSymmetric,
            plan.keepsAll(
              plan.source.entities[plain.destination], as: plan.destination.entities[relationship.destination]
            )
          else { return false }
          found.insert(oldNumber)
          keeping[wasSource, default: []].insert(sourceMapping.source.index)
        }
      }
      guard found.count <= 1 else { return false }
      guard let oldNumber = found.first else {
        created.append(new)
        continue
      }
      if leavesPairs(in: oldNumber, keeping) { return false }
      let name = plan.source.joins[oldNumber].table
      guard let old = oldSchema.layouts.first(where: { $0.name == name }),
        old.columns.map(\.name) == new.columns.map(\.name), !changes.contains(where: { $0.old.name == name })
      else { return false }
      changes.append(Change(old: old, new: new, kept: old.columns.map { ($0.name, $0.name) }))
    }
    return true
  }

  /// Whether a join table that stays would keep the pairs of an entity that loses the relationship.
  ///
  /// - Parameter keeping: The source entities that keep their pairs, by the side of the join table.
  @_optimize(none)
  private func leavesPairs(in join: Int, _ keeping: [Bool: Set<Int>]) -> Bool {
    plan.source.entities.contains { entity in
      entity.storeIndex == 0 && !entity.description.isAbstract
        && entity.relationships.contains { relationship in
          guard case .join(let number, let isSource)? = relationship?.storage, number == join,
            let kept = keeping[isSource]
          else { return false }
          return !kept.contains(entity.index)
        }
    }
  }

  /// Whether the foreign keys of the columns that stay are those of the new version.
  @_optimize(none)
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

// The derived values.
extension InPlaceStep {
  /// Whether the derived values that stay in their rows are correct after the step.
  ///
  /// Nothing computes them again after a step in the store itself. So every property that a derivation may read must keep
  /// its values. After a step in a copy, `StepDerivation` computes them.
  @_optimize(none)
  private func keepsDerivedValues() -> Bool {
    if case .copy = means { return true }
    guard plan.destination.hasDerivedSlots else { return true }
    return plan.sourceMappings.allSatisfy { sourceMapping in
      sourceMapping.mapping.attributes.allSatisfy { keepsValues($0, of: sourceMapping) }
        && sourceMapping.mapping.relationships.allSatisfy { keepsObjects($0, of: sourceMapping) }
    }
  }

  @_optimize(none)
  private func keepsValues(_ attribute: PropertyMapping, of sourceMapping: StepPlan.SourceMapping) -> Bool {
    let own = ValueExpression.keyPath(attribute.name)
    if attribute.value == own { return true }
    // A value of another type that stays in its column is the same value. Only a date has another text than its number.
    if case .cast(let inner, let type, _) = attribute.value.kind, inner == own {
      let wasDate = plan.sourceColumn(inner, of: sourceMapping.source)?.storageType == .date
      return wasDate == (type == .attribute(.date))
    }
    // A derivation that both versions have cannot read a property that only the new version has.
    let names = attribute.name.split(separator: ".").map(String.init)
    guard let name = names.first, let slot = sourceMapping.source.slot(name) else { return true }
    guard names.count > 1, case .composite(_, let fields) = slot.kind else { return false }
    return !fields.contains { $0.description.name == names[1] }
  }

  private func keepsObjects(
    _ relationship: RelationshipMapping, of sourceMapping: StepPlan.SourceMapping
  ) -> Bool {
    guard let slot = sourceMapping.source.slot(relationship.name) else { return true }
    guard relationship.value == .objects(.keyPath(relationship.name)), let old = slot.relationship,
      let new = sourceMapping.destination.slot(relationship.name)?.relationship
    else { return false }
    return plan.keepsAll(
      plan.source.entities[old.destination], as: plan.destination.entities[new.destination])
  }
}

// The keys.
extension InPlaceStep {
  /// The next keys of the new version's root entities.
  ///
  /// - Parameters:
  ///   - next: The next key of each root entity of the old version that has one.
  ///   - firstKey: Returns the first key for a root entity that is new or had another name.
  @_optimize(none)
  func renamedKeys(
    _ next: [String: ObjectKey], firstKey: (EntityPlan) -> ObjectKey
  ) -> [String: ObjectKey] {
    var wanted: [String: ObjectKey] = [:]
    for root in plan.destination.entities where root.root == root.index && root.storeIndex == 0 {
      let old = roots.first { $0.new == root.name }?.old
      let key = old == root.name ? 1 : firstKey(root)
      wanted[root.name] = old.flatMap { next[$0] }.map { max($0, key) } ?? (key > 1 ? key : nil)
    }
    return wanted
  }

  /// The record of keys after the step.
  @_optimize(none)
  func record(after record: KeyRecord) -> KeyRecord {
    var result = record
    var nextKeys: [Int: ObjectKey] = [:]
    for root in plan.source.entities where root.root == root.index && root.storeIndex == 0 {
      nextKeys[root.index] = max(record.next[root.name] ?? 1, (record.greatest[root.name] ?? 0) + 1)
    }
    result.next = renamedKeys(record.next) { plan.firstKey(of: $0, record.origins, nextKeys: nextKeys) }
    result.origins = plan.migratedOrigins(record.origins, nextKeys: nextKeys, saves: record.saves)
    result.moved = plan.movedKeys(after: record.moved)
    result.greatest = roots.reduce(into: [:]) { $0[$1.new] = record.greatest[$1.old] }
    return result
  }
}
