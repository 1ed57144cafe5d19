import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A step between two versions in terms of their tables: which rows become which rows, and where their values come
/// from.
///
/// It is a class because the parts of one step share it. It never leaves the call that migrates.
final class StepPlan {
  let url: URL
  let routeStep: MigrationRoute.RouteStep
  let source: ModelPlan
  let destination: ModelPlan
  /// The current time, the same for the whole step.
  let now: Date
  /// The configuration of the store.
  private let configuration: String?
  /// The configurations of the stores in the source version, by the indexes of the stores.
  let sourceConfigurations: [String?]
  /// The mappings from an entity to another one, of any stores.
  let mapped: [Mapped]
  private(set) var sourceMappings: [SourceMapping] = []
  /// The entities whose objects are in this store before the step, but belong into another store after it. An entity is
  /// not in the list if a rule confirms that its objects are lost.
  ///
  /// No step moves objects between stores. So the step is refused if the store has objects of these entities.
  private(set) var leaving: [EntityPlan] = []
  /// The source entities whose objects may stay behind because their owners do.
  private(set) lazy var ownership = Ownership(in: source.graph, sourceMappings.lazy.map(\.mapping)) {
    [source] in
    source.entity($0)?.storeIndex == 0
  }
  /// The next free key of each source root, by its index. It is known after ``assignOffsets(nextKeys:)``.
  private(set) var nextSourceKeys: [Int: Int64] = [:]
  /// The indexes of the custom mappings that have objects with keys other than the source object's.
  var mappingsWithAssociations: Set<Int> = []
  /// The reference columns, each with its table, that may contain placeholders.
  var placeholderColumns: Set<String> = []
  /// Whether the app's own code has replaced to-many relationships as a whole.
  var hasReplacedRelationships = false
  /// Whether a calculation in SQL may have no result for some row, so that its statement fails.
  var mayFail = false
  /// Whether the evaluator makes all calculations that may fail. Its errors name the row.
  private(set) var evaluatesAll = false

  var step: MigrationStep { routeStep.step }
  /// Whether the step has custom entity mappings.
  var hasCustom: Bool { mapping.entityMappings.contains { $0.kind == .custom } }
  /// Whether the step's result can contain derived values that are missing or wrong.
  var needsDerivation: Bool {
    destination.hasDerivedSlots && !step.changesNoData && (!sourceMappings.isEmpty || hasCustom)
  }
  var mapping: MappingModel { routeStep.step.mapping }

  typealias Mapped = (mapping: EntityMapping, from: EntityPlan, to: EntityPlan)

  /// An entity mapping that has a source entity.
  struct SourceMapping {
    let number: Int
    let mapping: EntityMapping
    let source: EntityPlan
    let destination: EntityPlan
    /// The index of the source table among the sources of the destination table. Rows of different groups may have
    /// equal keys.
    let group: Int
    /// The number that is added to the keys of the source. It is 0 unless several sources go to one table.
    var offset: Int64 = 0
    /// Nil for the one mapping of a source whose objects keep the global identifiers of their source objects. Each other
    /// mapping appends this text to the entity name in them, so that a global identifier belongs to one object and is the
    /// same in each replica that migrates.
    let branch: String?
    /// Whether the app's own code creates the objects.
    var isCustom: Bool { mapping.kind == .custom }
    /// Whether objects of the source may stay behind with their owners.
    var mayBeExcludedWithOwner = false
    /// Whether rules migrate all objects of the source.
    var isUnrestricted: Bool { mapping.filter == nil && !isCustom && !mayBeExcludedWithOwner }
    /// The expressions that the evaluator computes for each object.
    var evaluations: [Evaluation] = []
  }

  /// A value that SQL cannot compute.
  struct Evaluation {
    let name: String
    let expression: ValueExpression
    /// The type of the value; nil for the objects of a relationship.
    let storageType: StorageType?
    /// The source entity of a relationship's objects; nil for a value.
    let target: EntityPlan?
    var isPair: Bool { storageType == nil }
  }

  /// - Parameters:
  ///   - configuration: The configuration of the store.
  ///   - sourceConfigurations: The configurations of all stores in the source version, this store first.
  @_optimize(none)
  init(
    _ routeStep: MigrationRoute.RouteStep, source: ModelPlan, destination: ModelPlan, url: URL,
    configuration: String?, sourceConfigurations: [String?], now: Date = Date()
  ) throws(MigrationError) {
    self.routeStep = routeStep
    self.source = source
    self.destination = destination
    self.url = url
    self.now = now
    self.configuration = configuration
    self.sourceConfigurations = sourceConfigurations
    mapped = routeStep.step.mapping.entityMappings.compactMap { each in
      guard let from = each.source.flatMap(source.entity),
        let to = each.destination.flatMap(destination.entity)
      else { return nil }
      return (mapping: each, from: from, to: to)
    }
    makeSourceMappings()
    findLeaving()
    for index in sourceMappings.indices where !sourceMappings[index].isCustom {
      sourceMappings[index].mayBeExcludedWithOwner =
        ownership.excludedWithOwners[sourceMappings[index].source.name] != nil
    }
    for index in sourceMappings.indices { findEvaluations(of: index) }
  }

  /// Makes the evaluator compute all calculations that may fail in SQL.
  func evaluateAll() {
    evaluatesAll = true
    for index in sourceMappings.indices { findEvaluations(of: index) }
  }

  func error(_ reason: MigrationError.Reason, _ entity: String? = nil, _ key: Int64? = nil) -> MigrationError
  {
    MigrationError(url, reason, step: routeStep.name, entity: entity, objectKey: key)
  }

  @_optimize(none)
  private func makeSourceMappings() {
    var groups: [Int: [GroupKey]] = [:]
    var seen: [SeenKey: Int] = [:]
    // If rows of several old tables come into one table, only those of one table can keep their keys. This is the table
    // whose keys another store contains, because that store does not learn of new ones. If there is none, it is the old
    // version of the new table.
    let branches = self.branches
    for rootPlan in destination.entities where rootPlan.root == rootPlan.index && rootPlan.storeIndex == 0 {
      let own = mapped.filter { $0.to.root == rootPlan.index }
      let name = step.origins[rootPlan.name] ?? rootPlan.name
      let first =
        referredMapping(among: own) ?? own.first { $0.to === rootPlan && $0.from.name == name }
        ?? own.first { source.entities[$0.from.root].name == name }
        ?? own.first { isContinuation($0.mapping) } ?? own.first
      if let first {
        let branch = own.first { $0.from === first.from }.flatMap { branches[$0.mapping.name] }
        groups[rootPlan.index] = [GroupKey(root: first.from.root, occurrence: 0, branch: branch)]
      }
    }
    for (each, from, to) in mapped where from.storeIndex == 0 && to.storeIndex == 0 {
      let occurrence = seen[SeenKey(entity: from.index, table: to.root), default: 0]
      seen[SeenKey(entity: from.index, table: to.root)] = occurrence + 1
      let key = GroupKey(root: from.root, occurrence: occurrence, branch: branches[each.name])
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

  @_optimize(none)
  private func findLeaving() {
    for (_, from, to) in mapped
    where from.storeIndex == 0 && to.storeIndex != 0 && !leaving.contains(where: { $0 === from }) {
      let isConfirmed = step.changes.contains { change in
        guard case .entityLeftConfiguration(to.name, let left) = change.kind else { return false }
        return left == configuration && !change.isOpen
      }
      if !isConfirmed { leaving.append(from) }
    }
  }

  /// Whether the mapping's source is the entity that the destination was in the old version: the entity of the same
  /// name, or the one that it was renamed from, also in a version in between.
  @_optimize(none)
  func isContinuation(_ mapping: EntityMapping) -> Bool {
    guard let destination = mapping.destination, let origin = step.origins[destination] else { return false }
    return mapping.source == origin
  }

  private struct GroupKey: Hashable {
    let root: Int
    let occurrence: Int
    let branch: String?
  }

  /// The ``SourceMapping/branch`` of each mapping that has one, by its name.
  @_optimize(none)
  private var branches: [String: String] {
    let own = mapped.filter { $0.from.storeIndex == 0 && $0.to.storeIndex == 0 }.map { $0.mapping }
    var result: [String: String] = [:]
    for list in Dictionary(grouping: own, by: \.source).values {
      let main = list.first(where: isContinuation) ?? list.first
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

  /// The source roots whose rows come to a table, by the index of the destination's root. The first source keeps its
  /// keys.
  private(set) var sources: [Int: [Int]] = [:]

  /// Whether every table has at most one source, so that all keys stay the same.
  var keepsKeys: Bool { sources.values.allSatisfy { $0.count <= 1 } }

  /// Sets the offset of each source's keys, so that no key occurs twice.
  ///
  /// - Parameter nextKeys: The next free keys of the source roots, by their indexes.
  /// - Returns: The next free key, by the index of the destination's root.
  @_optimize(none)
  func assignOffsets(nextKeys: [Int: ObjectKey]) throws -> [Int: Int64] {
    var result: [Int: Int64] = [:]
    for (root, list) in sources {
      var offset: Int64 = 0
      for (group, index) in list.enumerated() {
        let last = nextKeys[index] ?? 1
        nextSourceKeys[index] = last
        // The offset exceeds the keys of both sources, so that no old key is the same as a new key.
        if group > 0 { offset = max(offset, last) }
        guard offset <= KeyRanges.largestKey - last else {
          throw error(.store(.damagedKeys(url, entity: source.entities[index].name)))
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
    try checkOuterReferences()
    return result
  }

  // MARK: References of other stores

  /// A relationship of another store that contains keys of a source entity's objects, and leads to the destination entity
  /// after the step; nil if there is none.
  @_optimize(none)
  private func outerReference(to old: EntityPlan, as new: EntityPlan) -> RelationshipPlan? {
    guard Self.outerReference(to: old, in: source) != nil else { return nil }
    return Self.outerReference(to: new, in: destination)
  }

  @_optimize(none)
  private static func outerReference(to entity: EntityPlan, in model: ModelPlan) -> RelationshipPlan? {
    for other in model.entities where other.storeIndex != 0 {
      for case let relationship? in other.relationships
      where model.entities[relationship.destination].subtree.contains(entity.index) {
        switch relationship.storage {
        case .reference, .join(_, isSource: true): return relationship
        // This store contains the keys.
        case .inverseReference, .referencesOfOthers, .join: continue
        }
      }
    }
    return nil
  }

  /// A mapping of a table's only source whose objects another store refers to; nil if there is none, or if there are
  /// several sources.
  @_optimize(none)
  private func referredMapping(among mappings: [Mapped]) -> Mapped? {
    let found = mappings.filter { $0.from.storeIndex == 0 && outerReference(to: $0.from, as: $0.to) != nil }
    guard Set(found.map { $0.from.root }).count == 1 else { return nil }
    return found.first { isContinuation($0.mapping) } ?? found.first
  }

  /// Refuses to change keys that another store contains. That store has a migration of its own, which does not know the
  /// new keys.
  @_optimize(none)
  private func checkOuterReferences() throws(MigrationError) {
    for each in sourceMappings where each.offset != 0 && (nextSourceKeys[each.source.root] ?? 1) > 1 {
      guard let reference = outerReference(to: each.source, as: each.destination) else { continue }
      let new = destination.entities[reference.destination]
      let keepsKeys = sourceMappings.contains {
        $0.source.index == each.source.index && $0.offset == 0 && new.subtree.contains($0.destination.index)
      }
      if keepsKeys { continue }
      let root = destination.entities[each.destination.root].name
      let reason =
        "'\(reference.path)' of another store refers to objects of '\(each.source.name)', whose keys would change, "
        + "because objects of other entities keep theirs in the table of '\(root)'; leave '\(each.source.name)' in a "
        + "hierarchy of its own"
      throw error(.notProven([reason]), each.destination.name)
    }
  }

  // MARK: Relationships

  /// The error for a relationship whose references or pairs would have to go to another store, or come from there; nil if
  /// there is none. Also the errors for rules that need another store.
  ///
  /// The names and the kinds of both sides decide which store has them. This store cannot read what the other one has, so
  /// both refuse the step, whether they have references or not.
  @_optimize(none)
  var relationshipError: MigrationError? {
    for moved in mapping.movedRelationships(from: source.graph, to: destination.graph) {
      guard let old = source.entity(moved.before.holder), let new = destination.entity(moved.after.holder),
        isBetweenStores(old, moved.before.other, in: source),
        isBetweenStores(new, moved.after.other, in: destination)
      else { continue }
      return error(
        .relationshipLeavesStore(
          relationship: moved.name.name, from: configurationName(of: old, in: source),
          to: configurationName(of: new, in: destination)),
        moved.name.entity)
    }
    return inverseError ?? readError
  }

  /// The error for a relationship of this store that would follow the rule for an inverse of another store. That store
  /// cannot write the references here, and this one cannot read the objects there.
  @_optimize(none)
  private var inverseError: MigrationError? {
    for sourceMapping in sourceMappings where !sourceMapping.isCustom {
      let entity = sourceMapping.destination.name
      for each in sourceMapping.mapping.relationships where each.value == .inverse {
        guard let relationship = sourceMapping.destination.slot(each.name)?.relationship,
          !relationship.isWithinStore, let inverse = relationship.inverse,
          destination.graph.holdsRows(of: relationship.description, entity)
        else { continue }
        let other = destination.entities[relationship.destination].name
        let reason =
          "the rule for '\(inverse.name)' of '\(other)' reads another store; write a rule for '\(each.name)' of "
          + "'\(entity)' instead"
        return error(.notProven([reason]), entity)
      }
    }
    return nil
  }

  /// Whether one of two entities belongs to this store, and the other one to another store.
  private func isBetweenStores(_ entity: EntityPlan, _ name: String, in model: ModelPlan) -> Bool {
    guard let other = model.entity(name) else { return false }
    return (entity.storeIndex == 0) != (other.storeIndex == 0)
  }

  private func configurationName(of entity: EntityPlan, in model: ModelPlan) -> String? {
    entity.storeIndex == 0 ? configuration : model.graph.configurations(of: entity.name).first
  }

  /// The mapping of a relationship, by its name.
  @_optimize(none)
  func objects(of sourceMapping: SourceMapping, _ name: String) -> RelationshipMapping.Value? {
    sourceMapping.mapping.relationships.first { $0.name == name }?.value
  }

  /// The source's relationship, if an expression is the path of that relationship and nothing else.
  @_optimize(none)
  func plainRelationship(_ value: ValueExpression, of entity: EntityPlan) -> RelationshipPlan? {
    value.onlyKey.flatMap(entity.slot)?.relationship
  }

  @_optimize(none)
  private func findEvaluations(of index: Int) {
    let sourceMapping = sourceMappings[index]
    var found: [Evaluation] = []
    // The values of custom mappings are computed when their objects are created.
    for column in sourceMapping.destination.columns where !column.isReference && !sourceMapping.isCustom {
      let path = self.path(of: column, in: sourceMapping.destination)
      if isDerived(column, in: sourceMapping.destination) { continue }
      guard let value = sourceMapping.mapping.attributes.first(where: { $0.name == path })?.value else {
        continue
      }
      if sql(value, for: column, of: sourceMapping) == nil {
        found.append(
          Evaluation(name: path, expression: value, storageType: column.storageType, target: nil))
      }
    }
    for each in sourceMapping.mapping.relationships {
      guard case .objects(let value) = each.value, plainRelationship(value, of: sourceMapping.source) == nil
      else {
        continue
      }
      let target = objectEntity(of: value, in: sourceMapping.source)
      found.append(Evaluation(name: each.name, expression: value, storageType: nil, target: target))
    }
    sourceMappings[index].evaluations = found
  }

  /// The source entity of the objects that an expression leads to. The mappings cannot tell it: objects of several tables
  /// may become objects of the relationship's destination.
  @_optimize(none)
  private func objectEntity(of value: ValueExpression, in entity: EntityPlan) -> EntityPlan? {
    let type = ExpressionChecker(graph: source.graph).check(value, on: entity.name).type
    guard case .object(let name) = type.element ?? type else { return nil }
    return source.entity(name)
  }

  /// The path of a column: `attribute`, or `attribute.field`.
  func path(of column: ColumnPlan, in entity: EntityPlan) -> String {
    let slot = entity.slots[column.slot]
    guard case .composite(_, let fields) = slot.kind,
      let index = entity.columns[slot.columns].firstIndex(where: { $0.name == column.name }),
      fields.indices.contains(index - slot.columns.lowerBound)
    else { return slot.name }
    return "\(slot.name).\(fields[index - slot.columns.lowerBound].description.name)"
  }

  func isDerived(_ column: ColumnPlan, in entity: EntityPlan) -> Bool {
    entity.slots[column.slot].isDerived
  }
}

// The sources of attribute values.
extension StepPlan {
  /// The column of the source that holds an attribute or a field; nil for any other expression.
  @_optimize(none)
  func sourceColumn(_ value: ValueExpression, of entity: EntityPlan) -> ColumnPlan? {
    guard case .path(let base, let steps) = value.kind, case .object = base.kind,
      case .key(let key)? = steps.first, let slot = entity.slot(key), slot.isStored
    else { return nil }
    switch slot.kind {
    case .attribute: return steps.count == 1 ? entity.columns[slot.columns.lowerBound] : nil
    case .composite(_, let fields):
      guard steps.count == 2, case .key(let field) = steps[1],
        let index = fields.firstIndex(where: { $0.description.name == field }),
        slot.columns.lowerBound + index < slot.columns.upperBound
      else { return nil }
      return entity.columns[slot.columns.lowerBound + index]
    case .relationship: return nil
    }
  }

  /// Whether large values of a column are stored as files.
  func isExternal(_ column: ColumnPlan, in entity: EntityPlan) -> Bool {
    entity.slots[column.slot].mayNameFile
  }

  /// The source column whose value is copied without a change; nil if the value is not a copy.
  func copiedColumn(_ value: ValueExpression, for column: ColumnPlan, of sourceMapping: SourceMapping)
    -> ColumnPlan?
  {
    guard let old = sourceColumn(value, of: sourceMapping.source), old.storageType == column.storageType,
      !isExternal(old, in: sourceMapping.source) || isExternal(column, in: sourceMapping.destination)
    else { return nil }
    return old
  }

  /// The source column with the same derivation. Its value is correct until changes of other objects are derived.
  @_optimize(none)
  func copiedDerived(_ column: ColumnPlan, for sourceMapping: SourceMapping) -> ColumnPlan? {
    let new = sourceMapping.destination.slots[column.slot].attribute
    guard let slot = sourceMapping.source.slot(sourceMapping.destination.slots[column.slot].name),
      slot.columns.count == 1,
      slot.attribute?.derivation == new?.derivation, new?.derivation != nil,
      sourceMapping.source.columns[slot.columns.lowerBound].storageType == column.storageType
    else { return nil }
    return sourceMapping.source.columns[slot.columns.lowerBound]
  }
}

// The sources of related objects.
extension StepPlan {
  /// Whether all objects of a source entity become objects of a destination entity and keep their keys.
  @_optimize(none)
  func keepsAll(_ old: EntityPlan, as new: EntityPlan) -> Bool {
    guard old.storeIndex == 0, new.storeIndex == 0 else { return keepsOuterKeys(of: old, as: new) }
    return old.subtree.allSatisfy { kind in
      source.entities[kind].description.isAbstract
        || sourceMappings.contains {
          $0.source.index == kind && new.subtree.contains($0.destination.index) && $0.isUnrestricted
            && $0.group == 0
        }
    }
  }

  // MARK: What the app's own code makes

  /// The index of a custom mapping, by which the table of associations names it; nil if the mapping has no
  /// associations.
  @_optimize(none)
  func associationIndex(_ sourceMapping: SourceMapping) -> Int? {
    guard sourceMapping.isCustom, !mappingsWithAssociations.isEmpty else { return nil }
    return mapping.entityMappings.firstIndex { $0.name == sourceMapping.mapping.name }.flatMap {
      mappingsWithAssociations.contains($0) ? $0 : nil
    }
  }

  /// Whether a reference leads to objects that the app's own code has yet to create.
  @_optimize(none)
  func dependsOnCustomCode(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> Bool {
    let new = destination.entities[relationship.destination]
    let customMappings = sourceMappings.filter { $0.isCustom && new.subtree.contains($0.destination.index) }
    if customMappings.isEmpty { return false }
    switch objects(of: sourceMapping, relationship.name) {
    case .objects?:
      guard let old = pairs(of: sourceMapping, relationship.name)?.target else { return false }
      return customMappings.contains { old.subtree.contains($0.source.index) }
    case .none?: return false
    case .inverse?, nil: return hasInversePairs(relationship)
    }
  }

  /// Whether a mapping rule sets the relationship's inverse.
  @_optimize(none)
  func hasInversePairs(_ relationship: RelationshipPlan) -> Bool {
    guard let inverse = relationship.inverse else { return false }
    let subtree = destination.entities[relationship.destination].subtree
    return sourceMappings.contains {
      subtree.contains($0.destination.index) && pairs(of: $0, inverse.name) != nil
    }
  }

  /// The number that is added to the keys of a source entity's objects when they become objects of a destination
  /// entity. Nil if the numbers differ, or if not all objects are migrated by rules alone.
  @_optimize(none)
  func commonOffset(of old: EntityPlan, as new: EntityPlan) -> Int64? {
    guard old.storeIndex == 0, new.storeIndex == 0 else {
      return keepsOuterKeys(of: old, as: new) ? 0 : nil
    }
    var offsets: Set<Int64> = []
    for kind in old.subtree where !source.entities[kind].description.isAbstract {
      // A to-one relationship leads to the object of the first mapping.
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

  /// The to-many relationships whose order is stored in a table of the destination, with the columns.
  @_optimize(none)
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

  /// The source column that holds the order of a destination relationship, for a source mapping; nil if no single
  /// column does.
  @_optimize(none)
  func copiedPosition(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> String? {
    guard let owner = destination.entity(relationship.owner) else { return nil }
    var found: Set<String?> = []
    // The owner may be in another store. The positions are in the table of the references all the same.
    for (each, from, to) in mapped
    where (owner.storeIndex != 0 || from.storeIndex == 0) && owner.subtree.contains(to.index) {
      let objects = each.relationships.first { $0.name == relationship.name }?.value
      guard case .objects(let value)? = objects, let plain = plainRelationship(value, of: from),
        source.entities[plain.destination].root == sourceMapping.source.root
      else { return nil }
      found.insert(source.positionColumn(of: plain))
    }
    return found.count == 1 ? found.first ?? nil : nil
  }
}
