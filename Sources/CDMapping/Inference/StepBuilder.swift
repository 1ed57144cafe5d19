import CDModel

/// Combines inference and rules: finds the differences between two versions, and how objects are mapped.
///
/// It compares concrete entities one by one, each with its inherited properties, so that an attribute that moved within
/// a hierarchy is handled correctly for each entity. A difference that affects several entities is reported once, at
/// the entity that declares the element.
///
/// It is a class because its extensions fill the same tables. It never leaves the call that created it.
final class StepBuilder {
  let match: ModelMatch
  let rules: MappingRules
  /// The source version with the destination's enumerations added. Expressions are checked against it.
  let checking: CheckingGraph
  var mappings: [MappingBuilder] = []
  /// The indices of the mappings that use the objects of each source entity.
  private(set) var mappingsBySource: [String: [Int]] = [:]
  /// The indices of the mappings whose objects become objects of each destination entity or of its subentities.
  private var mappingsIntoHierarchy: [String: [Int]] = [:]
  var changes = ChangeCollector()
  var problems = ProblemCollector()
  /// Relationships for which both sides have different objects, with the index of the mapping.
  var conflicts: [(mappingIndex: Int, name: String)] = []
  /// The drops that confirm a loss. All other drops are reported as unnecessary.
  var usedDrops: Set<MappingProblem.Location> = []
  /// The undecided parts of rules, with the indices of the rules.
  var undecided: [(rule: Int, part: UndecidedPart, element: ModelElement)] = []
  /// The entities of the destination that each source entity became.
  private(set) lazy var destinationEntities: [String: [String]] = {
    var result: [String: [String]] = [:]
    for entity in destination.version.entities {
      if let old = match.entities[entity.name] { result[old, default: []].append(entity.name) }
    }
    return result
  }()
  /// The source objects that are left out because their owners are.
  private(set) lazy var ownership = Ownership(
    in: source, mappings.lazy.filter(\.hasObjects).map(\.mapping))
  /// The mandatory relationships of the source that may refer to deleted objects, because the inverse has the delete rule
  /// `noAction`. Each has the name of the entity that declares it.
  private(set) lazy var unenforced: Set<PropertyName> = {
    var result: Set<PropertyName> = []
    for entity in source.version.entities {
      for relationship in entity.relationships
      where relationship.isMandatoryToOne && source.holdsReference(relationship, entity.name)
        && source.inverse(of: relationship, in: entity.name)?.deleteRule.leavesReferences == true
      {
        result.insert(PropertyName(entity.name, relationship.name))
      }
    }
    return result
  }()
  /// The rules for duplicates, without those for constraints that nothing can violate.
  private(set) lazy var duplicateRules = rules.duplicates.filter {
    !isAlwaysUnique($0.properties, of: $0.entity)
  }
  /// How many pairs of a removed and an added element may still be compared to find renames. Nobody reads thousands of
  /// suggestions.
  private var comparisonsLeft = 1_000_000

  var source: EntityGraph { match.source }
  var destination: EntityGraph { match.destination }

  init(match: ModelMatch, rules: MappingRules?) {
    self.match = match
    self.rules =
      rules
      ?? MappingRules(source: match.source.version.number, destination: match.destination.version.number)
    checking = CheckingGraph(source: match.source, destination: match.destination)
  }

  func build() {
    checkRules()
    makeMappings()
    for mappingIndex in mappings.indices where mappings[mappingIndex].hasObjects {
      mappingsBySource[mappings[mappingIndex].sourceName, default: []].append(mappingIndex)
      for entity in destination.lineage(of: mappings[mappingIndex].destinationName) {
        mappingsIntoHierarchy[entity.name, default: []].append(mappingIndex)
      }
    }
    compareEntities()
    compareOwned()
    for mappingIndex in mappings.indices where mappings[mappingIndex].hasObjects {
      resolveRules(of: mappingIndex)
    }
    for mappingIndex in mappings.indices where mappings[mappingIndex].hasObjects {
      mapAttributes(of: mappingIndex)
    }
    for mappingIndex in mappings.indices where mappings[mappingIndex].hasObjects {
      mapOwnRelationships(of: mappingIndex)
    }
    for mappingIndex in mappings.indices where mappings[mappingIndex].hasObjects {
      mapOtherRelationships(of: mappingIndex)
    }
    removeConflicts()
    findLostProperties()
    compareUniqueness()
    compareRest()
    for mappingIndex in mappings.indices { finishKind(of: mappingIndex) }
    reportUselessDrops()
  }

  /// Whether another pair of a removed and an added element may be compared to find a rename.
  func mayCompare() -> Bool {
    comparisonsLeft -= 1
    return comparisonsLeft >= 0
  }

  /// The mappings that use the objects of a source entity or of its subentities.
  func mappings(fromHierarchyOf entity: String) -> [Int] {
    ([entity] + source.descendants(of: entity).map(\.name)).flatMap { mappingsBySource[$0] ?? [] }
  }

  /// The mappings whose objects become objects of a destination entity or of its subentities, in order.
  func mappings(intoHierarchyOf entity: String) -> [Int] { mappingsIntoHierarchy[entity] ?? [] }

  /// Whether a mapping is certain to use each object that another mapping of the same source entity uses. Two filters are
  /// compared as a whole: of two different ones, each may exclude objects that the other selects. So may two equal ones
  /// with random parts.
  func covers(_ mappingIndex: Int, _ other: Int) -> Bool {
    guard mappingIndex != other, let filter = mappings[mappingIndex].mapping.filter else { return true }
    return filter == mappings[other].mapping.filter && !filter.isRandom
  }

  /// Whether mappings of one source entity are certain to use, together, each object that another mapping of it uses.
  func cover(_ mappingIndices: [Int], _ other: Int) -> Bool {
    mappingIndices.contains { covers($0, other) } || coverAll(mappingIndices)
  }

  /// Whether mappings of one source entity are certain to use all of its objects. False for no mappings.
  func coverAll(_ mappingIndices: [Int]) -> Bool {
    guard let first = mappingIndices.first else { return false }
    return FilterCoverage(of: mappings[first].sourceName, in: source)
      .isComplete(mappingIndices.map { mappings[$0].mapping.filter })
  }

  /// Whether each object of a source entity that is migrated at all also becomes an object of a destination entity or of
  /// its subentities. False if no mapping leads there.
  func migratedObjects(of entity: String, become target: String) -> Bool {
    let all = mappingsBySource[entity] ?? []
    let fitting = all.filter { destination.isKind(mappings[$0].destinationName, of: target) }
    return !fitting.isEmpty && all.allSatisfy { cover(fitting, $0) }
  }

  /// The source entity and its subentities, without abstract ones.
  func concrete(_ entity: String) -> [String] { source.concrete(entity) }

  var mappingModel: MappingModel {
    var result = MappingModel(
      source: source.version.number, destination: destination.version.number,
      entityMappings: mappings.map(\.mapping), duplicates: duplicateRules)
    for entity in source.version.entities where !entity.isAbstract && mappingsBySource[entity.name] == nil {
      result.entityMappings.append(
        EntityMapping(kind: .remove, name: "Remove\(entity.name)", source: entity.name))
    }
    return result
  }

  /// The origins of each mapping's stored values and relationships, by the mapping's name.
  var propertyOrigins: [String: [String: String]] {
    Dictionary(mappings.map { ($0.mapping.name, $0.origins) }, uniquingKeysWith: { first, _ in first })
  }

  /// Marks a mapping as a copy if both versions store the same and no rule changes anything.
  private func finishKind(of mappingIndex: Int) {
    let builder = mappings[mappingIndex]
    guard builder.mapping.kind == .transform, builder.keepsEverything,
      ownership.excludedWithOwners[builder.sourceName] == nil,
      let name = builder.mapping.source,
      name == builder.mapping.destination
    else { return }
    if storesSame(name) { mappings[mappingIndex].mapping.kind = .copy }
  }
}

/// An entity mapping that is still being built.
///
/// It is a class because a step reads the parts of its mappings very often, and each time would copy all of them.
final class MappingBuilder {
  var mapping: EntityMapping
  /// The index of the rule for the mapping; nil if the mapping is inferred.
  let rule: Int?
  /// The indices of the rules for the entity and its ancestors that apply, the nearest first.
  var ruleChain: [Int] = []
  /// The source property of each destination property, by the destination's name.
  var properties: [String: String] = [:]
  /// The rules for stored values, by path.
  var attributeRules: [String: RuleReference] = [:]
  var relationshipRules: [String: RuleReference] = [:]
  /// The paths of stored values in the source that the mapping uses.
  var keptValues: Set<String> = []
  var keptRelationships: Set<String> = []
  /// The path in the source of each stored value and relationship that the source has too, by the destination's path.
  var origins: [String: String] = [:]
  /// The new stored values of the destination.
  var newValues: [StoredValue] = []
  var newRelationships: [RelationshipDescription] = []

  init(mapping: EntityMapping, rule: Int? = nil) {
    self.mapping = mapping
    self.rule = rule
  }

  var hasObjects: Bool { mapping.source != nil && mapping.destination != nil }
  var isCustom: Bool { mapping.kind == .custom }
  var sourceName: String { mapping.source ?? "" }
  var destinationName: String { mapping.destination ?? "" }

  /// Whether the mapping keeps all objects and their values unchanged.
  var keepsEverything: Bool {
    mapping.filter == nil && mapping.attributes.allSatisfy { $0.value == .keyPath($0.name) }
      && mapping.relationships.allSatisfy { $0.value == .objects(.keyPath($0.name)) }
  }
}

/// A rule for a property, with its position.
struct RuleReference {
  let location: MappingProblem.Location
  let value: ValueExpression
  /// Whether the rule is for a whole composite.
  var isWhole = false
}

/// Collects problems in the order in which they are found, each once.
struct ProblemCollector {
  private(set) var list: [MappingProblem] = []
  private var seen: Set<MappingProblem> = []

  mutating func add(_ problem: MappingProblem) {
    if seen.insert(problem).inserted { list.append(problem) }
  }
}

extension StepBuilder {
  // MARK: Mappings

  /// Creates the mappings of each concrete entity of the destination.
  private func makeMappings() {
    for entity in destination.version.entities where !entity.isAbstract {
      let own = rules.entities.indices.filter { rules.entities[$0].destination == entity.name }
      if own.isEmpty {
        makeInferredMapping(of: entity.name)
      } else {
        for rule in own { makeMapping(of: entity.name, rule) }
      }
    }
    nameMappings()
  }

  /// The concrete source entity that an entity of the destination was before; nil if there is none.
  private func origin(of entity: String) -> String? {
    match.entities[entity].flatMap { source.entity($0) }.flatMap { $0.isAbstract ? nil : $0.name }
  }

  private func makeInferredMapping(of name: String) {
    guard let origin = origin(of: name) else {
      mappings.append(
        MappingBuilder(mapping: EntityMapping(kind: .add, name: "Add\(name)", destination: name)))
      return
    }
    add(
      EntityMapping(kind: .transform, name: "\(origin)To\(name)", source: origin, destination: name),
      rule: nil)
  }

  private func makeMapping(of name: String, _ ruleIndex: Int) {
    let rule = rules.entities[ruleIndex]
    var from = rule.source
    if let written = from {
      // The validation reports a wrong source. The mapping then has no source, and the builder infers none.
      if source.entity(written).map(\.isAbstract) ?? true { from = nil }
    } else {
      from = origin(of: name)
    }
    let kind: EntityMapping.Kind = rule.isCustom ? .custom : from == nil ? .add : .transform
    let defaultName = from.map { "\($0)To\(name)" } ?? "Add\(name)"
    add(
      EntityMapping(
        kind: kind, name: rule.name ?? defaultName, source: from, destination: name, filter: rule.filter,
        owned: rule.owned, drops: rule.drops), rule: ruleIndex)
  }

  @inline(never)
  private func add(_ mapping: EntityMapping, rule: Int?) {
    let builder = MappingBuilder(mapping: mapping, rule: rule)
    if let from = mapping.source, let to = mapping.destination {
      builder.properties = match.properties(of: to, from: from)
      builder.ruleChain = ruleChain(of: to, from: from, own: rule)
    }
    mappings.append(builder)
  }

  /// The indices of the rules that apply to a mapping: its own, and those of its entity's ancestors.
  private func ruleChain(of name: String, from: String, own: Int?) -> [Int] {
    var result = [own].compactMap { $0 }
    for ancestor in destination.lineage(of: name).dropLast().reversed() {
      result += rules.entities.indices.filter { ruleIndex in
        let rule = rules.entities[ruleIndex]
        return rule.destination == ancestor.name
          && (rule.source.map { source.isKind(from, of: $0) } ?? true)
      }
    }
    return result
  }

  /// Makes the names of inferred mappings unique. Names from rules are already checked.
  private func nameMappings() {
    var seen = Set(mappings.compactMap { builder in builder.rule.flatMap { rules.entities[$0].name } })
    for mappingIndex in mappings.indices {
      if mappings[mappingIndex].rule.map({ rules.entities[$0].name != nil }) ?? false { continue }
      let name = mappings[mappingIndex].mapping.name
      var unique = name
      var number = 2
      while !seen.insert(unique).inserted {
        unique = "\(name)\(number)"
        number += 1
      }
      mappings[mappingIndex].mapping.name = unique
    }
  }

  // MARK: Differences

  private func compareEntities() {
    for entity in destination.version.entities { compare(entity) }
    let matched = Set(match.entities.values)
    for entity in source.version.entities {
      if !matched.contains(entity.name) {
        compareRemoved(entity)
      } else if !entity.isAbstract, mappingsBySource[entity.name] == nil {
        compareUnmapped(entity)
      } else {
        compareFilters(entity)
      }
    }
    compareConfigurations()
  }

  private func compare(_ entity: EntityDescription) {
    guard let old = match.entities[entity.name].flatMap({ source.entity($0) }) else {
      changes.add(.entityAdded(entity.name))
      return
    }
    if old.name != entity.name { changes.add(.entityRenamed(from: old.name, to: entity.name)) }
    let (oldParent, newParent) = (
      source.parent(of: old.name)?.name, destination.parent(of: entity.name)?.name
    )
    if newParent.flatMap({ match.entities[$0] }) != oldParent || (newParent == nil) != (oldParent == nil) {
      changes.add(.parentChanged(entity: entity.name, from: oldParent, to: newParent))
    }
    if old.isAbstract, !entity.isAbstract { changes.add(.entityBecameConcrete(entity.name)) }
    if old.hashModifier != entity.hashModifier { changes.add(.modifierChanged(.entity(entity.name))) }
  }

  /// Whether a drop confirms the loss of an entity's objects.
  private func isDropped(_ entity: String) -> Bool {
    guard let index = rules.drops.firstIndex(of: entity) else { return false }
    usedDrops.insert(.drop(index))
    return true
  }

  /// How the loss of a source entity is resolved if inference finds no destination for its objects.
  @inline(never)
  private func resolution(ofLeft entity: String) -> ModelChange.Resolution {
    let mappingIndices = mappingsBySource[entity] ?? []
    if !mappingIndices.isEmpty {
      return mappingIndices.allSatisfy { mappings[$0].isCustom } ? .custom : .mapped
    }
    return isDropped(entity) ? .confirmed : .open
  }

  private func compareRemoved(_ entity: EntityDescription) {
    if entity.isAbstract { return changes.add(.entityRemoved(entity.name)) }
    changes.add(
      .entityRemoved(entity.name), .losesData, resolution(ofLeft: entity.name), nil,
      candidates: candidates(for: entity))
    compareFilters(entity)
  }

  private func compareUnmapped(_ entity: EntityDescription) {
    let now = destinationEntities[entity.name]?.first.flatMap { destination.entity($0) }
    let kind: ModelChange.Kind =
      now.map { $0.isAbstract ? .entityBecameAbstract($0.name) : .entityUnmapped(entity.name) }
      ?? .entityUnmapped(entity.name)
    changes.add(kind, .losesData, resolution(ofLeft: entity.name))
  }

  /// Records the loss of the objects that filters exclude. The filter is intended, but the plan must show the loss.
  private func compareFilters(_ entity: EntityDescription) {
    let mappingIndices = mappingsBySource[entity.name] ?? []
    if mappingIndices.isEmpty || coverAll(mappingIndices) { return }
    let isCustom = mappingIndices.contains { mappings[$0].isCustom }
    for mappingIndex in mappingIndices {
      changes.add(
        .objectsFiltered(entity.name), .losesData, isCustom ? .custom : .mapped,
        mappings[mappingIndex].mapping)
    }
    _ = isDropped(entity.name)
  }

  /// Compares whole hierarchies, because a store holds all entities of a hierarchy. A rule may give objects to an entity
  /// of another hierarchy, so every mapping counts.
  private func compareConfigurations() {
    for old in source.version.configurations {
      guard let new = destination.version.configurations.first(where: { $0.name == old.name }) else {
        continue
      }
      let oldRoots = Set(old.entities.compactMap { source.root(of: $0)?.name })
      let newRoots = Set(new.entities.compactMap { destination.root(of: $0)?.name })
      for builder in mappings where builder.hasObjects {
        guard let from = source.root(of: builder.sourceName)?.name, oldRoots.contains(from),
          let to = destination.root(of: builder.destinationName)?.name, !newRoots.contains(to)
        else { continue }
        let drop = rules.drops.firstIndex(of: "\(old.name).\(builder.sourceName)")
        if let drop { usedDrops.insert(.drop(drop)) }
        changes.add(
          .entityLeftConfiguration(entity: builder.destinationName, configuration: old.name), .losesData,
          drop == nil ? .open : .confirmed, builder.mapping)
      }
    }
  }

  /// The source entity of a mapping to an entity that left a configuration, with an unconfirmed loss; nil if there is none.
  func sourceLeaving(_ configuration: String, into destinationName: String) -> String? {
    for builder in mappings where builder.hasObjects && builder.destinationName == destinationName {
      let name = builder.sourceName
      if rules.drops.contains("\(configuration).\(name)") { continue }
      if source.configurations(of: name).contains(configuration) { return name }
    }
    return nil
  }

  /// New entities that may be a removed entity under another name: at least half of its attributes exist there with the
  /// same name.
  private func candidates(for entity: EntityDescription) -> [String] {
    let names = Set(source.attributes(of: entity.name).map(\.name))
    var result: [String] = []
    for new in destination.version.entities where match.entities[new.name] == nil && !new.isAbstract {
      guard mayCompare() else { break }
      if rules.entities.contains(where: { $0.destination == new.name }) { continue }
      let shared = destination.attributes(of: new.name).count { names.contains($0.name) }
      if shared > 0, 2 * shared >= names.count { result.append(new.name) }
    }
    return result
  }
}

extension StepBuilder {
  /// Whether both versions store the objects of an entity in the same columns of the same table, with the same meaning.
  private func storesSame(_ entity: String) -> Bool {
    let (old, new) = (source.lineage(of: entity), destination.lineage(of: entity))
    guard old.map(\.name) == new.map(\.name), old.map(\.hashModifier) == new.map(\.hashModifier) else {
      return false
    }
    return !isDeduplicated(entity) && hasSameValues(entity) && hasSameRelationships(entity)
  }

  private func hasSameValues(_ entity: String) -> Bool {
    let before = Dictionary(
      source.storedValues(of: entity).map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    let after = destination.storedValues(of: entity)
    return before.count == after.count
      && after.allSatisfy { stored in before[stored.path].map { isSame($0, stored) } ?? false }
  }

  private func isSame(_ old: StoredValue, _ new: StoredValue) -> Bool {
    TypeConversion(from: old.type, in: source, to: new.type, in: destination) == .identical
      && old.owner == new.owner && old.isOptional == new.isOptional
      && !new.becomesMandatory(after: old)
      && old.storesExternally == new.storesExternally && old.hashModifier == new.hashModifier
      && old.attribute.derivation == new.attribute.derivation
  }

  private func hasSameRelationships(_ entity: String) -> Bool {
    let before = Dictionary(
      source.relationships(of: entity).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let after = destination.relationships(of: entity)
    return before.count == after.count
      && after.allSatisfy { new in
        guard let old = before[new.name] else { return false }
        return isSame(old, new) && isSamePair(old, new, of: entity) && migratesAllObjects(of: new.destination)
      }
  }

  /// Whether every object of an entity is migrated to the same entity. Otherwise references to some objects must be
  /// changed or removed.
  private func migratesAllObjects(of entity: String) -> Bool {
    concrete(entity).allSatisfy { name in
      ownership.excludedWithOwners[name] == nil
        && (mappingsBySource[name] ?? []).contains {
          mappings[$0].mapping.filter == nil && mappings[$0].destinationName == name && !isDeduplicated(name)
        }
    }
  }

  /// Whether a rule deletes duplicates among the objects of an entity.
  private func isDeduplicated(_ entity: String) -> Bool {
    duplicateRules.contains { destination.isKind(entity, of: $0.entity) }
  }

  private func isSame(_ old: RelationshipDescription, _ new: RelationshipDescription) -> Bool {
    old.destination == new.destination && match.entities[new.destination] == old.destination
      && old.isToMany == new.isToMany && old.isOrdered == new.isOrdered
      && old.isOptional == new.isOptional && old.hashModifier == new.hashModifier
  }

  /// Whether the inverse is the same. The inverse helps to decide which table stores the references, and whether a
  /// store enforces them.
  private func isSamePair(
    _ old: RelationshipDescription, _ new: RelationshipDescription, of entity: String
  ) -> Bool {
    switch (source.inverse(of: old, in: entity), destination.inverse(of: new, in: entity)) {
    case (nil, nil): old.deleteRule.leavesReferences == new.deleteRule.leavesReferences
    case (let before?, let after?):
      before.name == after.name && isSame(before, after)
        && [old, before].contains { $0.deleteRule.leavesReferences }
          == [new, after].contains { $0.deleteRule.leavesReferences }
    default: false
    }
  }
}

// Follows the objects whose owners a filter excludes.
extension StepBuilder {
  /// Whether an object of a mapping is left out together with the owner that the relationship refers to.
  func follows(_ relationship: RelationshipDescription, to owner: String, of mappingIndex: Int) -> Bool {
    guard !mappings[mappingIndex].isCustom,
      let inverse = source.inverse(of: relationship, in: mappings[mappingIndex].sourceName)
    else { return false }
    return ownership.follows(inverse, to: owner)
  }

  /// Records the loss of objects that are left out with their owners. The rule that excludes the owners resolves it.
  private func compareOwned() {
    for entity in source.version.entities {
      guard let owners = ownership.excludedWithOwners[entity.name] else { continue }
      for mappingIndex in mappingsBySource[entity.name] ?? [] {
        changes.add(
          .ownedObjectsLeft(entity.name, owners: owners), .losesData, .mapped, mappings[mappingIndex].mapping)
      }
    }
  }

  /// Reports an `owned` without an effect: the entity owns no objects, or the app's own code decides.
  func checkOwned(_ rule: EntityRule, _ entity: EntityDescription, _ ruleIndex: Int) {
    guard rule.owned != .drop else { return }
    if rule.isCustom {
      return problem(
        at: .owned(entity: ruleIndex),
        "with 'policy: custom' the app's own code decides about the other objects")
    }
    guard let from = rule.source ?? match.entities[entity.name],
      !source.relationships(of: from).contains(where: { $0.deleteRule.owns })
    else { return }
    problem(
      .warning, at: .owned(entity: ruleIndex),
      "'\(from)' of \(sourceName) owns nothing: none of its relationships has the rule 'cascade'")
  }
}

extension StepBuilder {
  /// Finds unique constraints that objects of the source may violate.
  private func compareUniqueness() {
    for entity in destination.version.entities {
      let constraints = entity.uniquenessConstraints.filter { !holds($0, of: entity.name) }
      for properties in constraints + mergedReferences(of: entity) {
        let hasRule = rules.duplicates.contains {
          $0.entity == entity.name && Set($0.properties) == Set(properties)
        }
        let mappingIndices = mappings(intoHierarchyOf: entity.name)
        let isCustom = mappingIndices.allSatisfy { mappings[$0].isCustom }
        changes.add(
          .uniqueConstraintAdded(entity: entity.name, properties: properties), .needsRule,
          hasRule ? .mapped : isCustom ? .custom : .open)
      }
    }
    checkMergedInverses()
    for entity in destination.version.entities {
      guard let old = match.entities[entity.name].flatMap({ source.entity($0) }) else { continue }
      let kept = Set(entity.uniquenessConstraints.map(Set.init))
      let origins = match.properties(of: entity.name, from: old.name)
      let news = Dictionary(origins.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
      for properties in old.uniquenessConstraints
      where !kept.contains(Set(properties.compactMap { news[$0] })) {
        changes.add(.uniqueConstraintRemoved(entity: entity.name, properties: properties))
      }
    }
  }

  /// The one-to-one references of an entity, each as a constraint, to objects of which a rule for duplicates keeps one.
  /// The references to the others then lead to this one too. Optional references become nil instead.
  private func mergedReferences(of entity: EntityDescription) -> [[String]] {
    if mappings(intoHierarchyOf: entity.name).isEmpty { return [] }
    return entity.relationships.filter { relationship in
      relationship.isMandatoryToOne && mayBeMerged(relationship.destination)
        && isOneToOneReference(relationship, of: entity.name)
    }
    .map { [$0.name] }
  }

  /// Reports rules for duplicates that may delete the object of a mandatory one-to-one relationship, if this object stores
  /// the reference. The object that stays has another partner. Duplicates of one partner leave it an object.
  private func checkMergedInverses() {
    for (index, rule) in rules.duplicates.enumerated()
    where duplicateRules.contains(rule) && !holds(rule.properties, of: rule.entity) {
      for entity in destination.version.entities where !mappings(intoHierarchyOf: entity.name).isEmpty {
        for relationship in entity.relationships {
          guard relationship.isMandatoryToOne, let inverse = relationship.inverse,
            !destination.holdsReference(relationship, entity.name), merges(rule, relationship.destination),
            !rule.properties.contains(inverse)
          else { continue }
          problem(
            at: .duplicate(index),
            "'\(relationship.name)' of '\(entity.name)' is mandatory, and this rule may delete its object: make "
              + "it optional, or make the objects of '\(rule.entity)' unique with \(sourceName)")
        }
      }
    }
  }

  /// Whether an entity's table stores the references of a one-to-one relationship, so that they must be unique.
  func isOneToOneReference(_ relationship: RelationshipDescription, of entity: String) -> Bool {
    destination.inverse(of: relationship, in: entity)?.isToMany == false
      && destination.holdsReference(relationship, entity)
  }

  /// Whether a rule for duplicates may change references to objects of an entity or of its subentities.
  private func mayBeMerged(_ entity: String) -> Bool {
    duplicateRules.contains { merges($0, entity) }
  }

  /// Whether a rule for duplicates may delete objects of an entity or of its subentities.
  private func merges(_ rule: DuplicateRule, _ entity: String) -> Bool {
    destination.isKind(rule.entity, of: entity) || destination.isKind(entity, of: rule.entity)
  }

  /// Whether all migrated objects are certain to meet a constraint.
  private func holds(_ properties: [String], of entity: String) -> Bool {
    let mappingIndices = mappings(intoHierarchyOf: entity)
    if mappingIndices.isEmpty || isAlwaysUnique(properties, of: entity) { return true }
    // One property is enough if its value is new for every object, or nil, because nil values are never duplicates.
    if mappingIndices.allSatisfy({ mappingIndex in properties.contains { isDistinct($0, of: mappingIndex) } })
    {
      return true
    }
    // Otherwise a constraint of the source must guarantee it: each mapping has its own source entity, and the values
    // are copied.
    let sources = mappingIndices.map { mappings[$0].sourceName }
    guard Set(sources).count == sources.count, let first = sources.first else { return false }
    return source.lineage(of: first).contains { old in
      sources.allSatisfy { source.isKind($0, of: old.name) }
        && old.uniquenessConstraints.contains { constraint in
          mappingIndices.allSatisfy { mappingIndex in
            constraint.allSatisfy { name in properties.contains { isCopy($0, of: name, in: mappingIndex) } }
          }
        }
    }
  }

  /// Whether nothing can violate a constraint, because it contains a one-to-one relationship whose other side stores the
  /// reference. Two objects never have the same partner. Stores have no index for the constraint.
  private func isAlwaysUnique(_ properties: [String], of entity: String) -> Bool {
    properties.contains {
      guard case .relationship(let relationship)? = destination.property($0, of: entity) else { return false }
      return !relationship.isToMany && !destination.holdsReference(relationship, entity)
    }
  }

  private func isDistinct(_ property: String, of mappingIndex: Int) -> Bool {
    guard let value = mappings[mappingIndex].mapping.attributes.first(where: { $0.name == property })?.value
    else {
      return mappings[mappingIndex].mapping.relationships.contains {
        $0.name == property && $0.value == .none
      }
    }
    return value == .null || value == .function(.uuid, [])
  }

  /// Whether a property is an unchanged copy of a property of the source. References to merged objects change.
  private func isCopy(_ property: String, of name: String, in mappingIndex: Int) -> Bool {
    if case .relationship(let relationship)? = destination.property(
      property, of: mappings[mappingIndex].destinationName), mayBeMerged(relationship.destination)
    {
      return false
    }
    let value =
      mappings[mappingIndex].mapping.attributes.first { $0.name == property }?.value
      ?? mappings[mappingIndex].mapping.relationships.first { $0.name == property }.flatMap {
        if case .objects(let value) = $0.value { value } else { nil }
      }
    guard let value else { return keepsDerivedValue(property, of: name, in: mappingIndex) }
    let path = ValueExpression.keyPath(name.split(separator: ".").map(String.init))
    if value == path { return true }
    guard case .cast(path, .attribute(let type), otherwise: nil) = value.kind,
      case .attribute(let old)? = source.property(name, of: mappings[mappingIndex].sourceName)
    else { return false }
    return Self.keepsDifferences(from: TypeRules.rawType(old.type, in: source), to: type)
  }

  /// Whether a conversion is known to give different values for different ones. Two dates may have the same text, for
  /// example.
  private static func keepsDifferences(from old: AttributeType, to new: AttributeType) -> Bool {
    TypeRules.isExact(old, as: new) || old == .float && new == .double || old == .uuid && new == .data
  }

  /// Whether a derived attribute keeps its values: both versions derive it in the same way, and the attributes of the object
  /// that the derivation reads are unchanged copies. Derivations that read other objects are not examined.
  ///
  /// - Parameter readers: The derived attributes that read this one. A model that was not checked may have a circle.
  private func keepsDerivedValue(
    _ property: String, of name: String, in mappingIndex: Int, for readers: Set<String> = []
  ) -> Bool {
    let builder = mappings[mappingIndex]
    guard case .attribute(let new)? = destination.property(property, of: builder.destinationName),
      case .attribute(let old)? = source.property(name, of: builder.sourceName), old.type == new.type,
      let derivation = new.derivation, derivation == old.derivation, derivation.isRepeatable,
      !readers.contains(property)
    else { return false }
    var walk = KeyPathWalk()
    walk.visit(derivation)
    return walk.paths.allSatisfy { steps in
      let keys = steps.compactMap { step -> String? in if case .key(let key) = step { key } else { nil } }
      guard let first = keys.first,
        case .attribute(let attribute)? = destination.property(first, of: builder.destinationName)
      else { return false }
      if attribute.derivation != nil {
        return keepsDerivedValue(first, of: first, in: mappingIndex, for: readers.union([property]))
      }
      var fields = [keys]
      if case .composite(let type) = attribute.type {
        guard let composite = destination.composite(type) else { return false }
        fields = composite.fields.filter { keys.count == 1 || $0.name == keys[1] }.map { [first, $0.name] }
      }
      return !fields.isEmpty
        && fields.allSatisfy { field in
          let path = field.joined(separator: ".")
          return builder.mapping.attributes.first { $0.name == path }?.value == .keyPath(field)
        }
    }
  }

  /// Reports changes that do not affect stored objects. Some of them were probably meant to.
  private func compareRest() {
    for entity in destination.version.entities {
      for each in entity.attributes {
        compareRename(
          each.name, each.renamedFrom, .attribute(entity: entity.name, name: each.name), of: entity.name)
      }
      for each in entity.relationships {
        compareRename(
          each.name, each.renamedFrom, .relationship(entity: entity.name, name: each.name), of: entity.name)
      }
      guard let old = match.entities[entity.name].flatMap({ source.entity($0) }) else { continue }
      if Set(old.indexes) != Set(entity.indexes) { changes.add(.indexesChanged(entity: entity.name)) }
    }
  }

  /// Finds a `renamedFrom` without an effect, because the objects of the named entity are not mapped to this entity.
  private func compareRename(
    _ name: String, _ renamedFrom: String?, _ element: ModelElement, of entity: String
  ) {
    // If the step spans several versions, the old name may come from a version in between.
    guard match.isDirect, let renamedFrom, let dot = renamedFrom.firstIndex(of: ".") else { return }
    let (owner, old) = (String(renamedFrom[..<dot]), String(renamedFrom[renamedFrom.index(after: dot)...]))
    guard source.property(old, of: owner) != nil else { return }
    let mappingIndices = mappings(intoHierarchyOf: entity)
    if mappingIndices.contains(where: { source.isKind(mappings[$0].sourceName, of: owner) }) { return }
    let hasRule = mappingIndices.contains {
      mappings[$0].attributeRules.keys.contains { $0 == name || $0.hasPrefix(name + ".") }
        || mappings[$0].relationshipRules[name] != nil
    }
    let isCustom = mappingIndices.contains { mappings[$0].isCustom }
    changes.add(
      .renameUnresolved(element, from: renamedFrom), .needsRule,
      hasRule ? .mapped : isCustom ? .custom : .open)
  }
}
