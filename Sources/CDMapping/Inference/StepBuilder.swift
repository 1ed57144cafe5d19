import CDModel

/// Puts inference and rules together: what differs between two versions, and what becomes of objects.
///
/// It looks at the entities that have objects one by one, each with all that it inherits, so that an attribute
/// that moved within a hierarchy is right for each of them. What is found of several is one change where they
/// are declared.
///
/// A class because its parts fill the same tables; it never leaves the call that made it.
final class StepBuilder {
  let match: ModelMatch
  let rules: MappingRules
  /// The source with the destination's enumerations beside its own, for expressions to be checked against.
  let checking: CheckingGraph
  var mappings: [WorkMapping] = []
  /// The mappings that take the objects of a source entity.
  private(set) var takers: [String: [Int]] = [:]
  var changes = ChangeCollector()
  var problems = ProblemCollector()
  /// Relationships whose objects are told by both sides in different ways, by mapping.
  var conflicts: [(place: Int, name: String)] = []
  /// The drops that something needed, to tell which were of no use.
  var usedDrops: Set<MappingProblem.Place> = []
  /// What rules leave open, with the places of the rules.
  var undecided: [(rule: Int, part: UndecidedPart, element: VersionElement)] = []
  /// The entities of the destination that each of the source is now.
  private(set) lazy var heirs: [String: [String]] = {
    var heirs: [String: [String]] = [:]
    for entity in destination.version.entities {
      if let old = match.entities[entity.name] { heirs[old, default: []].append(entity.name) }
    }
    return heirs
  }()
  /// Which objects of the source stay behind because their owners do.
  private(set) lazy var ownership = Ownership(
    in: source, mappings.lazy.filter(\.hasObjects).map(\.mapping))
  /// How many pairs of removed and added elements may still be compared to find renames. Nobody reads thousands of
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
    for place in mappings.indices where mappings[place].hasObjects {
      takers[mappings[place].sourceName, default: []].append(place)
    }
    compareEntities()
    compareOwned()
    for place in mappings.indices where mappings[place].hasObjects { resolveRules(of: place) }
    for place in mappings.indices where mappings[place].hasObjects { mapAttributes(of: place) }
    for place in mappings.indices where mappings[place].hasObjects { mapOwnRelationships(of: place) }
    for place in mappings.indices where mappings[place].hasObjects { mapOtherRelationships(of: place) }
    removeConflicts()
    findLostProperties()
    compareUniqueness()
    compareRest()
    for place in mappings.indices { finishKind(of: place) }
    reportUselessDrops()
  }

  /// True if another pair of a removed and an added element may be compared to find a rename.
  func mayCompare() -> Bool {
    comparisonsLeft -= 1
    return comparisonsLeft >= 0
  }

  /// The mappings of the objects of a source entity and of those of its subentities.
  func takers(ofKind entity: String) -> [Int] {
    ([entity] + source.descendants(of: entity).map(\.name)).flatMap { takers[$0] ?? [] }
  }

  /// The source entities, the given one or below, that have objects.
  func concrete(_ entity: String) -> [String] { source.concrete(entity) }

  var mappingModel: MappingModel {
    var result = MappingModel(
      source: source.version.number, destination: destination.version.number,
      entityMappings: mappings.map(\.mapping), duplicates: rules.duplicates)
    for entity in source.version.entities where !entity.isAbstract && takers[entity.name] == nil {
      result.entityMappings.append(
        EntityMapping(kind: .remove, name: "Remove\(entity.name)", source: entity.name))
    }
    return result
  }

  /// Rows stay as they are where both versions store the same and no rule says otherwise.
  private func finishKind(of place: Int) {
    let work = mappings[place]
    guard work.mapping.kind == .transform, work.keepsEverything, ownership.reached[work.sourceName] == nil,
      let name = work.mapping.source,
      name == work.mapping.destination
    else { return }
    if storesSame(name) { mappings[place].mapping.kind = .copy }
  }
}

/// An entity mapping in the making.
struct WorkMapping {
  var mapping: EntityMapping
  /// The place of the rule that it is of; nil where it is inferred.
  var rule: Int?
  /// The places of rules for the entity and its ancestors, the nearest first, that hold for it.
  var ruleChain: [Int] = []
  /// The properties of the source that those of the destination were.
  var properties: [String: String] = [:]
  /// The rules for stored values, by path.
  var attributeRules: [String: RuleReference] = [:]
  var relationshipRules: [String: RuleReference] = [:]
  /// Stored values of the source, by path, of which the mapping makes something.
  var keptLeaves: Set<String> = []
  var keptRelationships: Set<String> = []
  /// Stored values of the destination that are new.
  var newLeaves: [StoredLeaf] = []
  var newRelationships: [RelationshipDescription] = []

  var hasObjects: Bool { mapping.source != nil && mapping.destination != nil }
  var isCustom: Bool { mapping.kind == .custom }
  var sourceName: String { mapping.source ?? "" }
  var destinationName: String { mapping.destination ?? "" }

  /// Whether all objects are taken, with the values that they have.
  var keepsEverything: Bool {
    mapping.filter == nil && mapping.attributes.allSatisfy { $0.value == .keyPath($0.name) }
      && mapping.relationships.allSatisfy { $0.value == .objects(.keyPath($0.name)) }
  }
}

/// A rule of a property and where it stands.
struct RuleReference {
  /// The place of the entity's rule.
  let entity: Int
  /// The place of the property's in it.
  let property: Int
  let value: ValueExpression
  /// Whether the rule is for a composite as a whole.
  var isWhole = false
}

/// Problems, each once, in the order of their finding.
struct ProblemCollector {
  private(set) var list: [MappingProblem] = []
  private var seen: Set<MappingProblem> = []

  mutating func add(_ problem: MappingProblem) {
    if seen.insert(problem).inserted { list.append(problem) }
  }
}

extension StepBuilder {
  // MARK: Mappings

  /// Says for each entity of the destination that has objects where they come from.
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

  /// The source entity with objects that a destination entity was; nil where there is none.
  private func origin(of entity: String) -> String? {
    match.entities[entity].flatMap { source.entity($0) }.flatMap { $0.isAbstract ? nil : $0.name }
  }

  private func makeInferredMapping(of name: String) {
    guard let origin = origin(of: name) else {
      mappings.append(
        WorkMapping(mapping: EntityMapping(kind: .add, name: "Add\(name)", destination: name)))
      return
    }
    add(
      EntityMapping(kind: .transform, name: "\(origin)To\(name)", source: origin, destination: name),
      rule: nil)
  }

  private func makeMapping(of name: String, _ place: Int) {
    let rule = rules.entities[place]
    var from = rule.source
    if let written = from {
      // The mistake was reported already. No other source is guessed.
      if source.entity(written).map(\.isAbstract) ?? true { from = nil }
    } else {
      from = origin(of: name)
    }
    let kind: EntityMapping.Kind = rule.isCustom ? .custom : from == nil ? .add : .transform
    let defaultName = from.map { "\($0)To\(name)" } ?? "Add\(name)"
    add(
      EntityMapping(
        kind: kind, name: rule.name ?? defaultName, source: from, destination: name, filter: rule.filter,
        owned: rule.owned, drops: rule.drops), rule: place)
  }

  @inline(never)
  private func add(_ mapping: EntityMapping, rule: Int?) {
    var work = WorkMapping(mapping: mapping, rule: rule)
    if let from = mapping.source, let to = mapping.destination {
      work.properties = match.properties(of: to, from: from)
      work.ruleChain = ruleChain(of: to, from: from, own: rule)
    }
    mappings.append(work)
  }

  /// The rules that hold for a mapping: its own, and those of its entity's ancestors.
  private func ruleChain(of name: String, from: String, own: Int?) -> [Int] {
    var result = [own].compactMap { $0 }
    for ancestor in destination.lineage(of: name).dropLast().reversed() {
      result += rules.entities.indices.filter { place in
        let rule = rules.entities[place]
        return rule.destination == ancestor.name
          && (rule.source.map { source.isKind(from, of: $0) } ?? true)
      }
    }
    return result
  }

  /// Gives each mapping a name of its own; names that a rule gives were checked.
  private func nameMappings() {
    var seen = Set(mappings.compactMap { work in work.rule.flatMap { rules.entities[$0].name } })
    for place in mappings.indices {
      if mappings[place].rule.map({ rules.entities[$0].name != nil }) ?? false { continue }
      let name = mappings[place].mapping.name
      var unique = name
      var number = 2
      while !seen.insert(unique).inserted {
        unique = "\(name)\(number)"
        number += 1
      }
      mappings[place].mapping.name = unique
    }
  }

  // MARK: Differences

  private func compareEntities() {
    for entity in destination.version.entities { compare(entity) }
    let matched = Set(match.entities.values)
    for entity in source.version.entities {
      if !matched.contains(entity.name) {
        compareRemoved(entity)
      } else if !entity.isAbstract, takers[entity.name] == nil {
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

  /// Whether the loss of an entity's objects is meant.
  private func isDropped(_ entity: String) -> Bool {
    guard let place = rules.drops.firstIndex(of: entity) else { return false }
    usedDrops.insert(.drop(place))
    return true
  }

  /// What there is for the objects of a source entity that no entity of the destination is by name.
  @inline(never)
  private func resolution(ofLeft entity: String) -> ModelChange.Resolution {
    let places = takers[entity] ?? []
    if !places.isEmpty { return places.allSatisfy { mappings[$0].isCustom } ? .custom : .mapped }
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
    let now = heirs[entity.name]?.first.flatMap { destination.entity($0) }
    let kind: ModelChange.Kind =
      now.map { $0.isAbstract ? .entityBecameAbstract($0.name) : .entityUnmapped(entity.name) }
      ?? .entityUnmapped(entity.name)
    changes.add(kind, .losesData, resolution(ofLeft: entity.name))
  }

  /// A filter is written to choose; what it leaves is a loss all the same, and the plan shows it.
  private func compareFilters(_ entity: EntityDescription) {
    let places = takers[entity.name] ?? []
    guard !places.isEmpty, places.allSatisfy({ mappings[$0].mapping.filter != nil }) else { return }
    let isCustom = places.contains { mappings[$0].isCustom }
    for place in places {
      changes.add(
        .objectsFiltered(entity.name), .losesData, isCustom ? .custom : .mapped, mappings[place].mapping)
    }
    _ = isDropped(entity.name)
  }

  private func compareConfigurations() {
    for old in source.version.configurations {
      guard let new = destination.version.configurations.first(where: { $0.name == old.name }) else {
        continue
      }
      for name in old.entities {
        guard let now = heirs[name]?.first.flatMap({ destination.entity($0) }),
          !now.isAbstract, !new.entities.contains(now.name)
        else { continue }
        let drop = rules.drops.firstIndex(of: "\(old.name).\(name)")
        if let drop { usedDrops.insert(.drop(drop)) }
        changes.add(
          .entityLeftConfiguration(entity: now.name, configuration: old.name), .losesData,
          drop == nil ? .open : .confirmed)
      }
    }
  }

  /// New entities that a removed one may have become: at least half of its attributes are there by name.
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
  /// Whether both versions keep the objects of an entity in the same columns of the same table, and mean the
  /// same by them.
  private func storesSame(_ entity: String) -> Bool {
    let (old, new) = (source.lineage(of: entity), destination.lineage(of: entity))
    guard old.map(\.name) == new.map(\.name), old.map(\.hashModifier) == new.map(\.hashModifier) else {
      return false
    }
    return !isThinnedOut(entity) && hasSameLeaves(entity) && hasSameRelationships(entity)
  }

  private func hasSameLeaves(_ entity: String) -> Bool {
    let before = Dictionary(
      source.leaves(of: entity).map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    let after = destination.leaves(of: entity)
    return before.count == after.count
      && after.allSatisfy { leaf in before[leaf.path].map { isSame($0, leaf) } ?? false }
  }

  private func isSame(_ old: StoredLeaf, _ new: StoredLeaf) -> Bool {
    TypeConversion(from: old.type, in: source, to: new.type, in: destination) == .identical
      && old.owner == new.owner && old.isOptional == new.isOptional
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
        return isSame(old, new) && isSamePair(old, new, of: entity) && keepsAll(of: new.destination)
      }
  }

  /// Whether every object that a relationship to an entity can lead to goes on: a reference to one that does
  /// not has to go or to change.
  private func keepsAll(of entity: String) -> Bool {
    concrete(entity).allSatisfy { name in
      ownership.reached[name] == nil
        && (takers[name] ?? []).contains {
          mappings[$0].mapping.filter == nil && mappings[$0].destinationName == name && !isThinnedOut(name)
        }
    }
  }

  /// Whether a rule deletes objects of an entity that are equal to others.
  private func isThinnedOut(_ entity: String) -> Bool {
    rules.duplicates.contains { destination.isKind(entity, of: $0.entity) }
  }

  private func isSame(_ old: RelationshipDescription, _ new: RelationshipDescription) -> Bool {
    old.destination == new.destination && match.entities[new.destination] == old.destination
      && old.isToMany == new.isToMany && old.isOrdered == new.isOrdered
      && old.isOptional == new.isOptional && old.hashModifier == new.hashModifier
  }

  /// Whether the other side is the same: it has a part in where references stand, and in whether a store sees
  /// to it that they lead somewhere.
  private func isSamePair(
    _ old: RelationshipDescription, _ new: RelationshipDescription, of entity: String
  ) -> Bool {
    switch (source.inverse(of: old, in: entity), destination.inverse(of: new, in: entity)) {
    case (nil, nil): (old.deleteRule == .noAction) == (new.deleteRule == .noAction)
    case (let before?, let after?):
      before.name == after.name && isSame(before, after)
        && [old, before].contains { $0.deleteRule == .noAction }
          == [new, after].contains { $0.deleteRule == .noAction }
    default: false
    }
  }
}

// What becomes of the objects that belong to objects which a filter leaves behind.
extension StepBuilder {
  /// Whether an object of a mapping stays behind with the one that a relationship of its source leads to.
  func follows(_ relationship: RelationshipDescription, to owner: String, of place: Int) -> Bool {
    guard !mappings[place].isCustom,
      let inverse = source.inverse(of: relationship, in: mappings[place].sourceName)
    else { return false }
    return ownership.follows(inverse, to: owner)
  }

  /// Notes as losses which objects stay behind with their owners. The loss is confirmed: the rule that leaves the owners
  /// behind says so.
  private func compareOwned() {
    for entity in source.version.entities {
      guard let owners = ownership.reached[entity.name] else { continue }
      for place in takers[entity.name] ?? [] {
        changes.add(
          .ownedObjectsLeft(entity.name, owners: owners), .losesData, .mapped, mappings[place].mapping)
      }
    }
  }

  /// Reports an `owned` that decides nothing: the entity owns no objects, or the app's own code decides.
  func checkOwned(_ rule: EntityRule, _ entity: EntityDescription, _ place: Int) {
    guard rule.owned != .drop else { return }
    if rule.isCustom {
      return problem(
        at: .owned(entity: place),
        "with 'policy: custom' the app's own code decides what becomes of other objects")
    }
    guard let from = rule.source ?? match.entities[entity.name],
      !source.relationships(of: from).contains(where: { $0.deleteRule == .cascade })
    else { return }
    problem(
      .warning, at: .owned(entity: place),
      "'\(from)' of \(sourceName) owns nothing: none of its relationships has the rule 'cascade'")
  }
}

extension StepBuilder {
  /// Finds the unique constraints that objects of the source need not meet.
  private func compareUniqueness() {
    for entity in destination.version.entities {
      for properties in entity.uniquenessConstraints where !holds(properties, of: entity.name) {
        let hasRule = rules.duplicates.contains {
          $0.entity == entity.name && Set($0.properties) == Set(properties)
        }
        let places = mappings.indices.filter {
          mappings[$0].hasObjects && destination.isKind(mappings[$0].destinationName, of: entity.name)
        }
        let isCustom = places.allSatisfy { mappings[$0].isCustom }
        changes.add(
          .uniqueConstraintAdded(entity: entity.name, properties: properties), .needsRule,
          hasRule ? .mapped : isCustom ? .custom : .open)
      }
    }
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

  /// Whether all objects that are to meet a constraint are sure to.
  private func holds(_ properties: [String], of entity: String) -> Bool {
    let places = mappings.indices.filter {
      mappings[$0].hasObjects && destination.isKind(mappings[$0].destinationName, of: entity)
    }
    if places.isEmpty { return true }
    // A new value that differs from object to object, or nil, which is equal to nothing, is all it takes.
    if places.allSatisfy({ place in properties.contains { isDistinct($0, of: place) } }) { return true }
    // Otherwise a constraint of before must see to it: over one object each, and over the same values.
    let sources = places.map { mappings[$0].sourceName }
    guard Set(sources).count == sources.count, let first = sources.first else { return false }
    return source.lineage(of: first).contains { old in
      sources.allSatisfy { source.isKind($0, of: old.name) }
        && old.uniquenessConstraints.contains { constraint in
          places.allSatisfy { place in
            constraint.allSatisfy { name in properties.contains { isCopy($0, of: name, in: place) } }
          }
        }
    }
  }

  private func isDistinct(_ property: String, of place: Int) -> Bool {
    guard let value = mappings[place].mapping.attributes.first(where: { $0.name == property })?.value else {
      return mappings[place].mapping.relationships.contains { $0.name == property && $0.value == .none }
    }
    return value == .null || value == .function(.uuid, [])
  }

  /// Whether a property has the very values that one of the source has.
  private func isCopy(_ property: String, of name: String, in place: Int) -> Bool {
    let value =
      mappings[place].mapping.attributes.first { $0.name == property }?.value
      ?? mappings[place].mapping.relationships.first { $0.name == property }.flatMap {
        if case .objects(let value) = $0.value { value } else { nil }
      }
    return value == .keyPath([name])
  }

  /// Reports changes without an effect on stored objects, some of which were likely meant to have one.
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

  /// Finds a `renamedFrom` that speaks of an entity whose objects go elsewhere, so that it has no effect.
  private func compareRename(
    _ name: String, _ renamedFrom: String?, _ element: VersionElement, of entity: String
  ) {
    // Over several versions the old name may be that of a version between.
    guard match.isDirect, let renamedFrom, let dot = renamedFrom.firstIndex(of: ".") else { return }
    let (owner, old) = (String(renamedFrom[..<dot]), String(renamedFrom[renamedFrom.index(after: dot)...]))
    guard source.property(old, of: owner) != nil else { return }
    let places = mappings.indices.filter {
      mappings[$0].hasObjects && destination.isKind(mappings[$0].destinationName, of: entity)
    }
    if places.contains(where: { source.isKind(mappings[$0].sourceName, of: owner) }) { return }
    let hasRule = places.contains {
      mappings[$0].attributeRules.keys.contains { $0 == name || $0.hasPrefix(name + ".") }
        || mappings[$0].relationshipRules[name] != nil
    }
    let isCustom = places.contains { mappings[$0].isCustom }
    changes.add(
      .renameUnresolved(element, from: renamedFrom), .needsRule,
      hasRule ? .mapped : isCustom ? .custom : .open)
  }
}
