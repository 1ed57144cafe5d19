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
  let leg: MigrationRoute.Leg
  let source: ModelPlan
  let destination: ModelPlan
  /// One time for the whole step.
  let now: Date
  private(set) var takers: [Taker] = []
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

  var step: MigrationStep { leg.step }
  /// Whether the app's own code has a part in the step.
  var hasCustom: Bool { mapping.entityMappings.contains { $0.kind == .custom } }
  var mapping: MappingModel { leg.step.mapping }

  /// An entity mapping whose objects come from those of another entity.
  struct Taker {
    let number: Int
    let mapping: EntityMapping
    let source: EntityPlan
    let destination: EntityPlan
    /// Which of the sources of its table it is: keys of different ones may be equal.
    let group: Int
    /// What is added to a key of the source; 0 unless two sources go to one table.
    var offset: Int64 = 0
    /// Whether the app's own code makes the objects.
    var isCustom: Bool { mapping.kind == .custom }
    /// Whether objects of the source may go with owners that a filter leaves behind.
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
    let cell: CellType?
    var isPair: Bool { cell == nil }
  }

  init(
    _ leg: MigrationRoute.Leg, source: ModelPlan, destination: ModelPlan, url: URL, now: Date = Date()
  ) throws(MigrationError) {
    self.leg = leg
    self.source = source
    self.destination = destination
    self.url = url
    self.now = now
    makeTakers()
    let owned = OwnedRows(self)
    for place in takers.indices where owned.reaches(takers[place].source) && !takers[place].isCustom {
      takers[place].mayFollowOwner = true
    }
    for place in takers.indices { findEvaluations(of: place) }
  }

  /// Leaves to the evaluator all calculations at which a statement may fail.
  func evaluateAll() {
    evaluatesAll = true
    for place in takers.indices { findEvaluations(of: place) }
  }

  func error(_ reason: MigrationError.Reason, _ entity: String? = nil, _ key: Int64? = nil) -> MigrationError
  {
    MigrationError(url, reason, step: leg.name, entity: entity, objectKey: key)
  }

  private func makeTakers() {
    var groups: [Int: [GroupKey]] = [:]
    var seen: [SeenKey: Int] = [:]
    // A table's own rows keep their keys; others that come to it may have to give way.
    let ordered = mapping.entityMappings.filter { $0.source != nil && $0.destination != nil }
    for rootPlan in destination.entities where rootPlan.root == rootPlan.index && rootPlan.home == 0 {
      let own = ordered.filter { destination.entity($0.destination ?? "")?.root == rootPlan.index }
      let first = own.first { $0.destination == rootPlan.name } ?? own.first { $0.source == rootPlan.name }
      if let first = first ?? own.first, let plan = source.entity(first.source ?? "") {
        groups[rootPlan.index] = [GroupKey(root: plan.root, turn: 0)]
      }
    }
    for each in ordered {
      guard let from = each.source.flatMap(source.entity),
        let to = each.destination.flatMap(destination.entity),
        from.home == 0, to.home == 0
      else { continue }
      let turn = seen[SeenKey(entity: from.index, table: to.root), default: 0]
      seen[SeenKey(entity: from.index, table: to.root)] = turn + 1
      let key = GroupKey(root: from.root, turn: turn)
      var known = groups[to.root] ?? []
      if !known.contains(key) { known.append(key) }
      groups[to.root] = known
      takers.append(
        Taker(
          number: takers.count, mapping: each, source: from, destination: to,
          group: known.firstIndex(of: key) ?? 0))
    }
    sources = groups.mapValues { $0.map(\.root) }
  }

  private struct GroupKey: Hashable {
    let root: Int
    let turn: Int
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
  func assignOffsets(next: (EntityPlan) throws -> Int64) rethrows -> [Int: Int64] {
    var result: [Int: Int64] = [:]
    for (root, list) in sources {
      var offset: Int64 = 0
      for (group, place) in list.enumerated() {
        let last = try next(source.entities[place])
        nextSourceKeys[place] = last
        // Beyond the keys of both, so that a key of before is never one of now.
        if group > 0 { offset = max(offset, last) }
        for taker in takers.indices
        where takers[taker].destination.root == root && takers[taker].group == group {
          takers[taker].offset = group == 0 ? 0 : offset
        }
        offset = group == 0 ? last : offset + last
      }
      result[root] = offset
    }
    return result
  }

  // MARK: Rows

  /// The condition that a row is of a taker's source and taken; nil where all rows of the table are.
  func condition(_ taker: Taker, _ alias: String) -> String? {
    var parts: [String] = []
    if taker.source.hasEntityColumn {
      parts.append("\(alias)._entity = \(SQLite.literal(taker.source.name))")
    }
    if let chosen = taker.chosen { parts.append("\(alias)._pk IN (SELECT pk FROM \(chosen))") }
    if taker.isCustom {
      let table = "\(StepCopy.schema).\(SQLite.quoted(taker.destination.table))"
      let own =
        taker.destination.hasEntityColumn ? " AND m._entity = \(SQLite.literal(taker.destination.name))" : ""
      parts.append(
        "EXISTS (SELECT 1 FROM \(table) AS m WHERE m._pk = \(alias)._pk + \(taker.offset)\(own))")
    }
    return parts.isEmpty ? nil : parts.joined(separator: " AND ")
  }

  // MARK: Relationships

  /// The mapping of a relationship, by its name.
  func objects(of taker: Taker, _ name: String) -> RelationshipMapping.Value? {
    taker.mapping.relationships.first { $0.name == name }?.value
  }

  /// The source's relationship that an expression is, and nothing more.
  func plainRelationship(_ value: ValueExpression, of entity: EntityPlan) -> RelationshipPlan? {
    guard case .path(let base, let steps) = value.kind, case .object = base.kind, steps.count == 1,
      case .key(let key) = steps[0]
    else { return nil }
    return entity.slot(key)?.relationship
  }

  private func findEvaluations(of place: Int) {
    let taker = takers[place]
    var found: [Evaluation] = []
    // The values of custom mappings are computed where their objects are made.
    for column in taker.destination.columns where !column.isReference && !taker.isCustom {
      let path = self.path(of: column, in: taker.destination)
      if isDerived(column, in: taker.destination) { continue }
      guard let value = taker.mapping.attributes.first(where: { $0.name == path })?.value else { continue }
      if sql(value, for: column, of: taker) == nil {
        found.append(Evaluation(name: path, expression: value, cell: column.cell))
      }
    }
    for each in taker.mapping.relationships {
      guard case .objects(let value) = each.value, plainRelationship(value, of: taker.source) == nil else {
        continue
      }
      found.append(Evaluation(name: each.name, expression: value, cell: nil))
    }
    takers[place].evaluations = found
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
