import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A step between two versions in terms of their tables: which rows become which, and where values come from.
///
/// A class because the parts of one step share it; it never leaves the call that migrates.
final class StepPlan {
  let url: URL
  let routeStep: MigrationRoute.RouteStep
  let source: ModelPlan
  let destination: ModelPlan
  /// One time for the whole step.
  let now: Date
  private(set) var sourceMappings: [SourceMapping] = []
  /// Which objects of the source stay behind because their owners do.
  private(set) lazy var ownership = Ownership(in: source.graph, sourceMappings.lazy.map(\.mapping)) {
    [source] in
    source.entity($0)?.storeIndex == 0
  }
  /// The key after the last that a source root has given, by its place; known when offsets are.
  private(set) var nextSourceKeys: [Int: Int64] = [:]
  /// The numbers of the mappings with objects that do not have their source's key.
  var furtherMappings: Set<Int> = []
  /// The columns of references, after their table, in which a placeholder may be left.
  var waiting: Set<String> = []
  /// Whether the app's own code has set to-many relationships as a whole.
  var hasReplaced = false
  /// Whether SQL calculates what has no result for some rows, at which its statement fails.
  var mayFail = false
  /// Whether all such calculations are left to the evaluator, whose errors name the row.
  private(set) var evaluatesAll = false

  var step: MigrationStep { routeStep.step }
  /// Whether the app's own code has a part in the step.
  var hasCustom: Bool { mapping.entityMappings.contains { $0.kind == .custom } }
  var mapping: MappingModel { routeStep.step.mapping }

  /// An entity mapping whose objects come from those of another entity.
  struct SourceMapping {
    let number: Int
    let mapping: EntityMapping
    let source: EntityPlan
    let destination: EntityPlan
    /// Which of the sources of its table it is: keys of different ones may be equal.
    let group: Int
    /// What is added to a key of the source; 0 unless two sources go to one table.
    var offset: Int64 = 0
    /// Nil for the one mapping of the source whose objects have the global identifiers of their source objects. Any other
    /// adds this to them: a global identifier is one object's, and the same in each replica that migrates.
    let branch: String?
    /// Whether the app's own code makes the objects.
    var isCustom: Bool { mapping.kind == .custom }
    /// Whether objects of the source may stay behind with their owners.
    var mayFollowOwner = false
    /// Whether all objects of the source are taken.
    var isUnrestricted: Bool { mapping.filter == nil && !isCustom && !mayFollowOwner }
    /// What has to be evaluated an object at a time.
    var evaluations: [Evaluation] = []
    /// The temporary table with the keys of the objects that are taken and their evaluated values; nil where
    /// neither is needed.
    var chosen: String? {
      isCustom || isUnrestricted && evaluations.allSatisfy { $0.isPair } ? nil : "temp.\"chosen_\(number)\""
    }
  }

  /// A value that SQL cannot give.
  struct Evaluation {
    let name: String
    let expression: ValueExpression
    /// The kind of value; nil for the objects of a relationship.
    let cell: StorageType?
    var isPair: Bool { cell == nil }
  }

  init(
    _ routeStep: MigrationRoute.RouteStep, source: ModelPlan, destination: ModelPlan, url: URL,
    now: Date = Date()
  ) throws(MigrationError) {
    self.routeStep = routeStep
    self.source = source
    self.destination = destination
    self.url = url
    self.now = now
    makeSourceMappings()
    for place in sourceMappings.indices where !sourceMappings[place].isCustom {
      sourceMappings[place].mayFollowOwner = ownership.reached[sourceMappings[place].source.name] != nil
    }
    for place in sourceMappings.indices { findEvaluations(of: place) }
  }

  /// Leaves to the evaluator all calculations at which a statement may fail.
  func evaluateAll() {
    evaluatesAll = true
    for place in sourceMappings.indices { findEvaluations(of: place) }
  }

  func error(_ reason: MigrationError.Reason, _ entity: String? = nil, _ key: Int64? = nil) -> MigrationError
  {
    MigrationError(url, reason, step: routeStep.name, entity: entity, objectKey: key)
  }

  private func makeSourceMappings() {
    var groups: [Int: [GroupKey]] = [:]
    var seen: [SeenKey: Int] = [:]
    // A table's own rows keep their keys; others that come to it may have to give way.
    let ordered = mapping.entityMappings.filter { $0.source != nil && $0.destination != nil }
    let branches = self.branches(of: ordered)
    for rootPlan in destination.entities where rootPlan.root == rootPlan.index && rootPlan.storeIndex == 0 {
      let own = ordered.filter { destination.entity($0.destination ?? "")?.root == rootPlan.index }
      let name = rootPlan.description.renamedFrom ?? rootPlan.name
      let first =
        own.first { $0.destination == rootPlan.name && $0.source == name }
        ?? own.first { $0.source.flatMap(source.entity).map { source.entities[$0.root].name } == name }
        ?? own.first { goesOn($0) } ?? own.first
      if let first, let plan = source.entity(first.source ?? "") {
        let branch = own.first { $0.source == first.source }.flatMap { branches[$0.name] }
        groups[rootPlan.index] = [GroupKey(root: plan.root, turn: 0, branch: branch)]
      }
    }
    for each in ordered {
      guard let from = each.source.flatMap(source.entity),
        let to = each.destination.flatMap(destination.entity),
        from.storeIndex == 0, to.storeIndex == 0
      else { continue }
      let turn = seen[SeenKey(entity: from.index, table: to.root), default: 0]
      seen[SeenKey(entity: from.index, table: to.root)] = turn + 1
      let key = GroupKey(root: from.root, turn: turn, branch: branches[each.name])
      var known = groups[to.root] ?? []
      if !known.contains(key) { known.append(key) }
      groups[to.root] = known
      sourceMappings.append(
        SourceMapping(
          number: sourceMappings.count, mapping: each, source: from, destination: to,
          group: known.firstIndex(of: key) ?? 0, branch: branches[each.name]))
    }
    sources = groups.mapValues { $0.map(\.root) }
  }

  /// Whether the objects of a mapping's source are those that its destination had before: by its name, or by the one
  /// that it was renamed from.
  func goesOn(_ mapping: EntityMapping) -> Bool {
    guard let entity = mapping.destination.flatMap(destination.entity)?.description else { return false }
    return mapping.source == entity.renamedFrom ?? entity.name
  }

  private struct GroupKey: Hashable {
    let root: Int
    let turn: Int
    let branch: String?
  }

  /// The ``SourceMapping/branch`` of each mapping that has one, by its name.
  private func branches(of mappings: [EntityMapping]) -> [String: String] {
    let own = mappings.filter { each in
      each.source.flatMap(source.entity)?.storeIndex == 0
        && each.destination.flatMap(destination.entity)?.storeIndex == 0
    }
    var result: [String: String] = [:]
    for list in Dictionary(grouping: own, by: \.source).values {
      let main = list.first(where: goesOn) ?? list.first
      for each in list where each.name != main?.name {
        result[each.name] = "\(step.destination).\(each.name)"
      }
    }
    return result
  }

  private struct SeenKey: Hashable {
    let entity: Int
    let table: Int
  }

  /// The source roots whose rows come to a table, by the place of the destination's root. The first keeps its keys.
  private(set) var sources: [Int: [Int]] = [:]

  /// Whether no two sources come to one table, so that all keys stay.
  var keepsKeys: Bool { sources.values.allSatisfy { $0.count <= 1 } }

  /// Sets what is added to the keys of each source, so that none is given twice.
  ///
  /// - Parameter next: The key after the last that a source root has given.
  /// - Returns: The key after the last, by the place of the destination's root.
  func assignOffsets(next: (EntityPlan) throws -> Int64) throws -> [Int: Int64] {
    var result: [Int: Int64] = [:]
    for (root, list) in sources {
      var offset: Int64 = 0
      for (group, place) in list.enumerated() {
        let last = try next(source.entities[place])
        nextSourceKeys[place] = last
        // Beyond the keys of both, so that a key of before is never one of now.
        if group > 0 { offset = max(offset, last) }
        guard offset <= SQLiteDatabase.largestKey - last else {
          throw error(.store(.damagedKeys(url, entity: source.entities[place].name)))
        }
        for sourceMapping in sourceMappings.indices
        where sourceMappings[sourceMapping].destination.root == root
          && sourceMappings[sourceMapping].group == group
        {
          sourceMappings[sourceMapping].offset = group == 0 ? 0 : offset
        }
        offset = group == 0 ? last : offset + last
      }
      result[root] = offset
    }
    return result
  }

  // MARK: Rows

  /// The condition that a row is of a source mapping's source and taken; nil where all rows of the table are.
  func condition(_ sourceMapping: SourceMapping, _ alias: String) -> String? {
    var parts: [String] = []
    if sourceMapping.source.hasEntityColumn {
      parts.append("\(alias)._entity = \(SQLite.literal(sourceMapping.source.name))")
    }
    if let chosen = sourceMapping.chosen { parts.append("\(alias)._pk IN (SELECT pk FROM \(chosen))") }
    if sourceMapping.isCustom {
      let table = "\(StepCopy.schema).\(SQLite.quoted(sourceMapping.destination.table))"
      let own =
        sourceMapping.destination.hasEntityColumn
        ? " AND m._entity = \(SQLite.literal(sourceMapping.destination.name))" : ""
      parts.append(
        "EXISTS (SELECT 1 FROM \(table) AS m WHERE m._pk = \(alias)._pk + \(sourceMapping.offset)\(own))")
    }
    return parts.isEmpty ? nil : parts.joined(separator: " AND ")
  }

  // MARK: Relationships

  /// The mapping of a relationship, by its name.
  func objects(of sourceMapping: SourceMapping, _ name: String) -> RelationshipMapping.Value? {
    sourceMapping.mapping.relationships.first { $0.name == name }?.value
  }

  /// The source's relationship that an expression is, and nothing more.
  func plainRelationship(_ value: ValueExpression, of entity: EntityPlan) -> RelationshipPlan? {
    guard case .path(let base, let steps) = value.kind, case .object = base.kind, steps.count == 1,
      case .key(let key) = steps[0]
    else { return nil }
    return entity.slot(key)?.relationship
  }

  private func findEvaluations(of place: Int) {
    let sourceMapping = sourceMappings[place]
    var found: [Evaluation] = []
    // The values of custom mappings are computed where their objects are made.
    for column in sourceMapping.destination.columns where !column.isReference && !sourceMapping.isCustom {
      let path = self.path(of: column, in: sourceMapping.destination)
      if isDerived(column, in: sourceMapping.destination) { continue }
      guard let value = sourceMapping.mapping.attributes.first(where: { $0.name == path })?.value else {
        continue
      }
      if sql(value, for: column, of: sourceMapping) == nil {
        found.append(Evaluation(name: path, expression: value, cell: column.cell))
      }
    }
    for each in sourceMapping.mapping.relationships {
      guard case .objects(let value) = each.value, plainRelationship(value, of: sourceMapping.source) == nil
      else {
        continue
      }
      found.append(Evaluation(name: each.name, expression: value, cell: nil))
    }
    sourceMappings[place].evaluations = found
  }

  /// `attribute`, or `attribute.field`.
  func path(of column: ColumnPlan, in entity: EntityPlan) -> String {
    let slot = entity.slots[column.slot]
    guard case .composite(_, let fields) = slot.kind,
      let place = entity.columns[slot.columns].firstIndex(where: { $0.name == column.name }),
      fields.indices.contains(place - slot.columns.lowerBound)
    else { return slot.name }
    return "\(slot.name).\(fields[place - slot.columns.lowerBound].description.name)"
  }

  func isDerived(_ column: ColumnPlan, in entity: EntityPlan) -> Bool {
    entity.slots[column.slot].attribute?.derivation != nil
  }
}

// Where the values of attributes come from.
extension StepPlan {
  /// The column of a source that holds an attribute or a field; nil for any other expression.
  func sourceColumn(_ value: ValueExpression, of entity: EntityPlan) -> ColumnPlan? {
    guard case .path(let base, let steps) = value.kind, case .object = base.kind,
      case .key(let key)? = steps.first, let slot = entity.slot(key), slot.isStored
    else { return nil }
    switch slot.kind {
    case .attribute: return steps.count == 1 ? entity.columns[slot.columns.lowerBound] : nil
    case .composite(_, let fields):
      guard steps.count == 2, case .key(let field) = steps[1],
        let place = fields.firstIndex(where: { $0.description.name == field }),
        slot.columns.lowerBound + place < slot.columns.upperBound
      else { return nil }
      return entity.columns[slot.columns.lowerBound + place]
    case .relationship: return nil
    }
  }

  /// Whether large values of a column are files.
  private func isExternal(_ column: ColumnPlan, in entity: EntityPlan) -> Bool {
    entity.slots[column.slot].attribute?.storesExternally == true
  }

  /// The column of the source that a value is taken from without a change.
  func copiedColumn(_ value: ValueExpression, for column: ColumnPlan, of sourceMapping: SourceMapping)
    -> ColumnPlan?
  {
    guard let old = sourceColumn(value, of: sourceMapping.source), old.cell == column.cell,
      !isExternal(old, in: sourceMapping.source) || isExternal(column, in: sourceMapping.destination)
    else { return nil }
    return old
  }

  /// A value as SQL; nil where it has to be evaluated an object at a time.
  func sql(_ value: ValueExpression, for column: ColumnPlan, of sourceMapping: SourceMapping) -> SQLText? {
    if let old = copiedColumn(value, for: column, of: sourceMapping) {
      return "t0.\(raw: SQLite.quoted(old.name))"
    }
    switch value.kind {
    case .constant(.value(let constant)):
      return column.cell.fitted(constant).map { "\(bind: $0)" }
    case .function(.now, _) where column.cell == .date:
      return "\(bind: .date(now))"
    case .cast(let inner, .attribute(let type), _):
      // The conversions that SQL makes without looking never need what stands for values that do not fit.
      if StorageType(type, in: destination.graph) == column.cell,
        let old = sourceColumn(inner, of: sourceMapping.source), !isExternal(old, in: sourceMapping.source),
        let converted = Self.converted("t0.\(raw: SQLite.quoted(old.name))", old.cell, to: column.cell)
      {
        return converted
      }
      return compiled(value, for: column, of: sourceMapping)
    case .coalesced(let values):
      var parts: [SQLText] = []
      for value in values {
        guard let part = sql(value, for: column, of: sourceMapping) else { return nil }
        parts.append(part)
      }
      guard parts.count > 1, parts.count <= 100 else { return parts.first }
      return "coalesce(\(SQLText.joined(parts, ", ")))"
    default:
      return compiled(value, for: column, of: sourceMapping)
    }
  }

  private func compiled(_ value: ValueExpression, for column: ColumnPlan, of sourceMapping: SourceMapping)
    -> SQLText?
  {
    var compiler = SQLCompiler(
      entity: sourceMapping.source, model: source, variables: [:], now: now,
      key: SQLPredicate.keys(in: source))
    // What the compiler throws the evaluator throws too, with the row.
    let operand: SQLOperand? = (try? compiler.operand(value)) ?? nil
    guard case .value(let result)? = operand,
      result.sql.parserDepth <= SQLPredicate.maximumTermDepth, result.sql.bindings.count <= 1000
    else { return nil }
    let sql: SQLText? =
      switch (result.kind, column.cell) {
      case (.int(let range), .int16):
        limited(result.sql, range, to: Int64(Int16.min)...Int64(Int16.max), &compiler)
      case (.int(let range), .int32):
        limited(result.sql, range, to: Int64(Int32.min)...Int64(Int32.max), &compiler)
      case (.int, .int64), (.int, .double), (.double, .double), (.float, .float), (.string, .string),
        (.date, .date), (.uuid, .uuid), (.decimal, .decimal), (.url, .url):
        result.sql
      case (.int(let range), .bool): range.lowerBound >= 0 && range.upperBound <= 1 ? result.sql : nil
      default: nil
      }
    guard let sql, compiler.mayFail else { return sql }
    mayFail = true
    return evaluatesAll ? nil : sql
  }

  /// Integers of a range as those of a narrower type.
  private func limited(
    _ sql: SQLText, _ range: ClosedRange<Int64>, to narrow: ClosedRange<Int64>, _ compiler: inout SQLCompiler
  ) -> SQLText {
    if narrow.contains(range.lowerBound), narrow.contains(range.upperBound) { return sql }
    compiler.mayFail = true
    return PredicateFunctions.limited(sql, to: narrow)
  }

  /// A conversion that SQL makes as the evaluator does.
  private static func converted(_ value: SQLText, _ old: StorageType, to new: StorageType) -> SQLText? {
    switch (old, new) {
    case (let old, let new) where old == new: value
    case (.bool, .int16), (.bool, .int32), (.bool, .int64), (.int16, .int32), (.int16, .int64),
      (.int32, .int64), (.int16, .double), (.int32, .double), (.float, .double), (.int16, .float),
      (.double, .date), (.float, .date), (.int16, .date), (.int32, .date), (.date, .double),
      (.uuid, .data):
      value
    case (.int16, .string), (.int32, .string), (.int64, .string): "CAST(\(value) AS TEXT)"
    default: nil
    }
  }

  /// The value of a column of the destination, for rows `t0` of a source mapping's source.
  func value(of column: ColumnPlan, for sourceMapping: SourceMapping) -> SQLText {
    if column.isReference {
      guard let relationship = sourceMapping.destination.slots[column.slot].relationship else {
        return "NULL"
      }
      return reference(relationship, for: sourceMapping)
    }
    if isDerived(column, in: sourceMapping.destination) {
      return copiedDerived(column, for: sourceMapping).map { "t0.\(raw: SQLite.quoted($0.name))" } ?? "NULL"
    }
    let path = self.path(of: column, in: sourceMapping.destination)
    if let place = sourceMapping.evaluations.firstIndex(where: { $0.name == path && !$0.isPair }) {
      return "e.c\(raw: "\(place)")"
    }
    guard let value = sourceMapping.mapping.attributes.first(where: { $0.name == path })?.value else {
      return "NULL"
    }
    return sql(value, for: column, of: sourceMapping) ?? "NULL"
  }

  /// The column with the same derivation in the source. It is right until other objects' changes are derived.
  func copiedDerived(_ column: ColumnPlan, for sourceMapping: SourceMapping) -> ColumnPlan? {
    let new = sourceMapping.destination.slots[column.slot].attribute
    guard let slot = sourceMapping.source.slot(sourceMapping.destination.slots[column.slot].name),
      slot.columns.count == 1,
      slot.attribute?.derivation == new?.derivation, new?.derivation != nil,
      sourceMapping.source.columns[slot.columns.lowerBound].cell == column.cell
    else { return nil }
    return sourceMapping.source.columns[slot.columns.lowerBound]
  }
}

// Where the objects of relationships come from.
extension StepPlan {
  /// Pairs of source keys: rows of `owner`, `target`, `position` and `inverse_position`.
  struct Pairs {
    let sql: String
    /// The entity of the source that the targets are of.
    let target: EntityPlan
    /// Whether a position can be other than NULL.
    var isOrdered = true
  }

  /// The rows that hold a relationship of a source mapping's objects; nil if the relationship has no rows of its own.
  func pairs(of sourceMapping: SourceMapping, _ name: String) -> Pairs? {
    guard case .objects(let value)? = objects(of: sourceMapping, name) else { return nil }
    if let relationship = plainRelationship(value, of: sourceMapping.source) {
      return pairs(relationship, of: sourceMapping.source)
    }
    // Targets of an evaluated expression are of one table, that of the mapped relationship's sources.
    guard let relationship = sourceMapping.destination.slot(name)?.relationship,
      let target = evaluatedTarget(of: relationship)
    else { return nil }
    return Pairs(
      sql:
        "SELECT owner, target, position, NULL AS inverse_position FROM temp.\"pairs_\(sourceMapping.number)_\(name)\"",
      target: target)
  }

  /// The root of the source whose objects become those that a relationship leads to.
  private func evaluatedTarget(of relationship: RelationshipPlan) -> EntityPlan? {
    let kinds = destination.entities[relationship.destination].subtree
    return sourceMappings.first { kinds.contains($0.destination.index) }.map {
      source.entities[$0.source.root]
    }
  }

  /// The pairs of a relationship of the source.
  func pairs(_ relationship: RelationshipPlan, of entity: EntityPlan) -> Pairs {
    let other = source.entities[relationship.destination]
    let (own, theirs) = (SQLite.quoted(entity.table), SQLite.quoted(other.table))
    let sql: String
    var isOrdered = relationship.isOrdered
    switch relationship.storage {
    case .reference(let column):
      let name = SQLite.quoted(entity.columns[column].name)
      sql =
        "SELECT _pk AS owner, \(name) AS target, NULL AS position, NULL AS inverse_position FROM \(own) "
        + "WHERE \(name) IS NOT NULL"
    case .inverseReference, .referencesOfOthers:
      let name = SQLite.quoted(source.referenceColumn(behind: relationship)?.name ?? "_pk")
      let position = source.positionColumn(of: relationship).map(SQLite.quoted) ?? "NULL"
      sql =
        "SELECT \(name) AS owner, _pk AS target, \(position) AS position, NULL AS inverse_position "
        + "FROM \(theirs) WHERE \(name) IS NOT NULL"
    case .join(let number, let isSource):
      isOrdered = true
      let join = source.joins[number]
      let first = join.isOrdered ? "_position" : "NULL"
      let second = join.isInverseOrdered ? "_inverse_position" : "NULL"
      sql =
        isSource
        ? "SELECT _source AS owner, _target AS target, \(first) AS position, \(second) AS inverse_position "
          + "FROM \(SQLite.quoted(join.table))"
        : "SELECT _target AS owner, _source AS target, \(second) AS position, \(first) AS inverse_position "
          + "FROM \(SQLite.quoted(join.table))"
    }
    return Pairs(sql: sql, target: other, isOrdered: isOrdered)
  }

  /// Whether all objects of a source entity become ones of a destination entity with the keys that they have.
  func keepsAll(_ old: EntityPlan, as new: EntityPlan) -> Bool {
    guard old.storeIndex == 0, new.storeIndex == 0 else { return true }
    return old.subtree.allSatisfy { kind in
      source.entities[kind].description.isAbstract
        || sourceMappings.contains {
          $0.source.index == kind && new.subtree.contains($0.destination.index) && $0.isUnrestricted
            && $0.group == 0
        }
    }
  }

  /// The key of what became of a source object; NULL where nothing did.
  ///
  /// - Parameter key: SQL of a key of the source.
  func resolved(_ key: String, _ old: EntityPlan, as new: EntityPlan) -> String {
    if keepsAll(old, as: new) { return key }
    let parts = sourceMappings.filter {
      old.subtree.contains($0.source.index) && new.subtree.contains($0.destination.index)
    }
    .flatMap { sourceMapping in
      let offset = sourceMapping.offset == 0 ? "" : " + \(sourceMapping.offset)"
      let condition = condition(sourceMapping, "s").map { " AND \($0)" } ?? ""
      let own =
        "(SELECT s._pk\(offset) FROM main.\(SQLite.quoted(sourceMapping.source.table)) AS s WHERE s._pk = \(key)\(condition))"
      guard let number = further(sourceMapping) else { return [own] }
      let kinds = new.subtree.map(String.init).joined(separator: ", ")
      return [
        own,
        "(SELECT f.destination FROM \(Associations.table) AS f WHERE f.source = \(key) AND f.mapping = \(number) "
          + "AND f.root = \(sourceMapping.source.root) AND f.entity IN (\(kinds)) ORDER BY f.id LIMIT 1)",
      ]
    }
    return switch parts.count {
    case 0: "NULL"
    case 1: parts[0]
    default: "coalesce(\(parts.joined(separator: ", ")))"
    }
  }

  /// The value of a reference column, for rows `t0` of a source mapping's source.
  func reference(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> SQLText {
    let new = destination.entities[relationship.destination]
    switch objects(of: sourceMapping, relationship.name) {
    case .objects(let value)?:
      if let plain = plainRelationship(value, of: sourceMapping.source),
        case .reference(let column) = plain.storage
      {
        var key = "t0." + SQLite.quoted(sourceMapping.source.columns[column].name)
        if relationship.isGuaranteed, !plain.isGuaranteed, plain.isWithinStore {
          // What nobody guaranteed before may lead nowhere.
          let table = SQLite.quoted(source.entities[plain.destination].table)
          key = "(SELECT x._pk FROM \(table) AS x WHERE x._pk = \(key))"
        }
        return SQLText(text: resolved(key, source.entities[plain.destination], as: new))
      }
      guard let pairs = pairs(of: sourceMapping, relationship.name) else { return "NULL" }
      return SQLText(
        text: "(SELECT r FROM (SELECT \(resolved("p.target", pairs.target, as: new)) AS r, p.position AS o "
          + "FROM (\(pairs.sql)) AS p WHERE p.owner = t0._pk) WHERE r IS NOT NULL ORDER BY o, r LIMIT 1)")
    case .none?: return "NULL"
    case .inverse?, nil: return inverseReference(relationship, for: sourceMapping)
    }
  }

  private func inverseReference(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> SQLText
  {
    guard let inverse = relationship.inverse else { return "NULL" }
    let kinds = destination.entities[relationship.destination].subtree
    var parts: [String] = []
    for owner in sourceMappings where kinds.contains(owner.destination.index) {
      guard let pairs = pairs(of: owner, inverse.name), pairs.target.root == sourceMapping.source.root else {
        continue
      }
      let condition = condition(owner, "o").map { " AND \($0)" } ?? ""
      parts.append(
        "(SELECT min(o._pk) + \(owner.offset) FROM (\(pairs.sql)) AS p JOIN main.\(SQLite.quoted(owner.source.table)) "
          + "AS o ON o._pk = p.owner WHERE p.target = t0._pk\(condition))")
      guard let number = further(owner) else { continue }
      parts.append(
        "(SELECT min(f.destination) FROM (\(pairs.sql)) AS p JOIN \(Associations.table) AS f "
          + "ON f.source = p.owner AND f.mapping = \(number) AND f.root = \(owner.source.root) "
          + "WHERE p.target = t0._pk)")
    }
    return switch parts.count {
    case 0: "NULL"
    case 1: SQLText(text: parts[0])
    default: SQLText(text: "coalesce(\(parts.joined(separator: ", ")))")
    }
  }

  // MARK: What the app's own code makes

  /// By which associations name a source mapping's mapping; nil where it has none.
  func further(_ sourceMapping: SourceMapping) -> Int? {
    guard sourceMapping.isCustom, !furtherMappings.isEmpty else { return nil }
    return mapping.entityMappings.firstIndex { $0.name == sourceMapping.mapping.name }.flatMap {
      furtherMappings.contains($0) ? $0 : nil
    }
  }

  /// Whether a reference leads to objects that are not there before the app's own code has made them.
  func followsCustom(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> Bool {
    let new = destination.entities[relationship.destination]
    let makers = sourceMappings.filter { $0.isCustom && new.subtree.contains($0.destination.index) }
    if makers.isEmpty { return false }
    switch objects(of: sourceMapping, relationship.name) {
    case .objects?:
      guard let old = pairs(of: sourceMapping, relationship.name)?.target else { return false }
      return makers.contains { old.subtree.contains($0.source.index) }
    case .none?: return false
    case .inverse?, nil: return hasInversePairs(relationship)
    }
  }

  /// Whether objects refer to those of a relationship by its inverse, as rules say.
  func hasInversePairs(_ relationship: RelationshipPlan) -> Bool {
    guard let inverse = relationship.inverse else { return false }
    let kinds = destination.entities[relationship.destination].subtree
    return sourceMappings.contains {
      kinds.contains($0.destination.index) && pairs(of: $0, inverse.name) != nil
    }
  }

  /// What is added to the keys of all objects of a source entity that become ones of a destination entity, where all
  /// do so by rules alone; nil otherwise.
  func commonOffset(of old: EntityPlan, as new: EntityPlan) -> Int64? {
    guard old.storeIndex == 0, new.storeIndex == 0 else { return 0 }
    var offsets: Set<Int64> = []
    for kind in old.subtree where !source.entities[kind].description.isAbstract {
      // The first is the one that a to-one leads to.
      guard
        let first = sourceMappings.first(where: {
          $0.source.index == kind && new.subtree.contains($0.destination.index)
        }), first.isUnrestricted
      else { return nil }
      offsets.insert(first.offset)
    }
    return offsets.count == 1 ? offsets.first : nil
  }

  // MARK: Positions

  /// The to-many relationships whose order stands in a table of the destination, with the columns.
  func positions(in root: EntityPlan) -> [(column: String, relationship: RelationshipPlan)] {
    var result: [(column: String, relationship: RelationshipPlan)] = []
    for plan in destination.entities {
      for case let relationship? in plan.relationships where relationship.owner == plan.name {
        guard let column = destination.positionColumn(of: relationship),
          destination.entities[relationship.destination].root == root.index,
          !result.contains(where: { $0.column == column })
        else { continue }
        result.append((column, relationship))
      }
    }
    return result
  }

  /// The column of a source mapping's source that keeps the order of what becomes a relationship.
  func copiedPosition(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> String? {
    guard let owner = destination.entity(relationship.owner) else { return nil }
    var found: Set<String?> = []
    for other in sourceMappings where owner.subtree.contains(other.destination.index) {
      guard case .objects(let value)? = objects(of: other, relationship.name),
        let plain = plainRelationship(value, of: other.source),
        source.entities[plain.destination].root == sourceMapping.source.root
      else { return nil }
      found.insert(source.positionColumn(of: plain))
    }
    return found.count == 1 ? found.first ?? nil : nil
  }

  /// The position of a row `t0` of a source mapping's source in a relationship that leads to it.
  func position(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> String {
    let new = destination.entities[relationship.destination]
    guard
      new.subtree.contains(sourceMapping.destination.index)
        || sourceMapping.destination.lineage.contains(new.index)
    else {
      return "NULL"
    }
    if let column = copiedPosition(relationship, for: sourceMapping) { return "t0." + SQLite.quoted(column) }
    guard let owner = destination.entity(relationship.owner) else { return "NULL" }
    let parts = sourceMappings.filter { owner.subtree.contains($0.destination.index) }.compactMap {
      other -> String? in
      guard let pairs = pairs(of: other, relationship.name), pairs.isOrdered,
        pairs.target.root == sourceMapping.source.root
      else {
        return nil
      }
      return "(SELECT p.position FROM (\(pairs.sql)) AS p WHERE p.target = t0._pk LIMIT 1)"
    }
    return switch parts.count {
    case 0: "NULL"
    case 1: parts[0]
    default: "coalesce(\(parts.joined(separator: ", ")))"
    }
  }
}
