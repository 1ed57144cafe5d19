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
    for rootPlan in destination.entities where rootPlan.root == rootPlan.index && rootPlan.storeIndex == 0 {
      let own = ordered.filter { destination.entity($0.destination ?? "")?.root == rootPlan.index }
      let name = rootPlan.description.renamedFrom ?? rootPlan.name
      let first =
        own.first { $0.destination == rootPlan.name && $0.source == name }
        ?? own.first { $0.source.flatMap(source.entity).map { source.entities[$0.root].name } == name }
        ?? own.first { goesOn($0) } ?? own.first
      if let first, let plan = source.entity(first.source ?? "") {
        groups[rootPlan.index] = [GroupKey(root: plan.root, turn: 0)]
      }
    }
    for each in ordered {
      guard let from = each.source.flatMap(source.entity),
        let to = each.destination.flatMap(destination.entity),
        from.storeIndex == 0, to.storeIndex == 0
      else { continue }
      let turn = seen[SeenKey(entity: from.index, table: to.root), default: 0]
      seen[SeenKey(entity: from.index, table: to.root)] = turn + 1
      let key = GroupKey(root: from.root, turn: turn)
      var known = groups[to.root] ?? []
      if !known.contains(key) { known.append(key) }
      groups[to.root] = known
      sourceMappings.append(
        SourceMapping(
          number: sourceMappings.count, mapping: each, source: from, destination: to,
          group: known.firstIndex(of: key) ?? 0))
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
