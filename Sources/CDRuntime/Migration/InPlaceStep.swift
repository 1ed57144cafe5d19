import CDModel

/// A step that SQLite makes within a file, whose rows stay where they are: columns and tables that come, go or take
/// another name.
///
/// On a copy of the file, which needs no journal and is thrown away where something fails, rows get other values too,
/// and columns other rules. That takes a third of the time of a new table, above all because indexes stay.
struct InPlaceStep {
  /// What becomes of a table.
  struct Change {
    var old: TableLayout
    var new: TableLayout
    /// Old name and new name of each column that stays.
    var kept: [(old: String, new: String)] = []
    var added: [(column: ColumnLayout, value: AttributeValue)] = []
    var dropped: [String] = []
    /// Columns, new ones among them, whose values are made of those of their rows.
    var computed: [Computed] = []

    /// Whether what is there is renamed or rewritten. Columns that are only added leave the rows alone, and to
    /// count these would take longer than the step itself.
    var isTouched: Bool { isAltered || !computed.isEmpty }

    /// Whether the table or columns that are there take another name, or go.
    var isAltered: Bool {
      old.name != new.name || !dropped.isEmpty || kept.contains { $0.old != $0.new }
    }

    /// Whether a column that stays may be without a value now, or may not any more.
    var hasOtherRules: Bool {
      kept.contains { names in
        old.columns.first { $0.name == names.old }?.isNotNull
          != new.columns.first { $0.name == names.new }?.isNotNull
      }
    }

    var needsCopy: Bool { !computed.isEmpty || hasOtherRules }
  }

  /// A column whose values are made of those of their rows.
  struct Computed {
    let column: ColumnLayout
    /// For a row `t0` with the old names.
    let value: SQLText
    /// The column of this name that the table has; nil where it is new.
    let old: ColumnLayout?
  }

  private(set) var changes: [Change] = []
  private(set) var created: [TableLayout] = []
  private(set) var dropped: [String] = []
  /// Old and new names of inheritance roots whose keys go on.
  private(set) var roots: [(old: String, new: String)] = []
  let plan: StepPlan
  let oldSchema: SQLiteSchema
  let newSchema: SQLiteSchema

  /// Nil where rows have to be written anew.
  ///
  /// - Parameter onCopy: Whether the file is a copy, whose rows can be given other values.
  init?(_ plan: StepPlan, onCopy: Bool = false) {
    self.plan = plan
    oldSchema = SQLiteSchema(plan.source, store: 0)
    newSchema = SQLiteSchema(plan.destination, store: 0)
    guard plan.keepsKeys, !plan.hasCustom, plan.mapping.duplicates.isEmpty,
      plan.sourceMappings.allSatisfy({ $0.isUnrestricted && $0.evaluations.isEmpty }), findTables(),
      findJoins(),
      referencesStay(), onCopy || !changes.contains(where: \.needsCopy)
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
      // To drop a column writes all rows once more.
      if !change.computed.isEmpty, !change.dropped.isEmpty { return false }
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
    case expression(SQLText)

    /// The value for a row `t0`.
    var sql: SQLText {
      switch self {
      case .column(let name): "t0.\(raw: SQLite.quoted(name))"
      case .constant(let value): "\(bind: value)"
      case .expression(let sql): sql
      }
    }
  }

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
          guard let place = sourceMapping.destination.columns.firstIndex(where: { $0.name == column.name })
          else {
            continue
          }
          guard let origin = origin(of: sourceMapping.destination.columns[place], for: sourceMapping) else {
            return nil
          }
          origins.append((sourceMapping, origin))
        }
      }
      guard add(column, origins, to: &change) else { return nil }
    }
    return Set(change.kept.map(\.old)).count == change.kept.count ? change : nil
  }

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
      // A column with a foreign key can be added without a value only.
      if column.reference != nil, value != .null { return false }
      change.added.append((column, value))
      return true
    default:
      return compute(column, origins, in: &change)
    }
  }

  /// Has all rows write a column: the one of its name, or a new one.
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
        value = "\(value) WHEN \(raw: SQLite.literal(sourceMapping.source.name)) THEN \(origin.sql)"
      }
      value = "\(value) END"
    }
    change.computed.append(Computed(column: column, value: value, old: old))
    return true
  }

  private func origin(of column: ColumnPlan, for sourceMapping: StepPlan.SourceMapping) -> Origin? {
    if column.isReference {
      guard let relationship = sourceMapping.destination.slots[column.slot].relationship else { return nil }
      let text = plan.reference(relationship, for: sourceMapping).text
      if text == "NULL" { return .constant(.null) }
      guard case .objects(let value)? = plan.objects(of: sourceMapping, relationship.name),
        let plain = plan.plainRelationship(value, of: sourceMapping.source),
        case .reference(let old) = plain.storage,
        text == "t0." + SQLite.quoted(sourceMapping.source.columns[old].name)
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
    case .constant(.value(let constant)): return column.cell.fitted(constant).map { .constant($0) }
    case .function(.now, _) where column.cell == .date: return .constant(.date(plan.now))
    default:
      // What looks at other tables would find these changed already, or not yet.
      guard let sql = plan.sql(value, for: column, of: sourceMapping), !sql.text.contains("SELECT") else {
        return nil
      }
      return .expression(sql)
    }
  }

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
}
