import CDModel

// Checks the names in rules before any rule is applied.
extension StepBuilder {
  func checkRules() {
    for (ruleIndex, drop) in rules.drops.enumerated() { checkDrop(drop, ruleIndex) }
    var names: Set<String> = []
    for (ruleIndex, rule) in rules.entities.enumerated() {
      if let name = rule.name, !names.insert(name).inserted {
        problem(at: .name(entity: ruleIndex), "another mapping is called '\(name)' already")
      }
      checkEntity(rule, ruleIndex)
    }
    for (ruleIndex, rule) in rules.duplicates.enumerated() { checkDuplicateRule(rule, ruleIndex) }
  }

  @inline(never)
  func problem(
    _ severity: MappingProblem.Severity = .error, at location: MappingProblem.Location,
    span: SourceSpan? = nil,
    _ message: String, suggestion: String? = nil
  ) {
    problems.add(MappingProblem(severity, at: location, span: span, message, suggestion: suggestion))
  }

  var sourceName: String { "version \(source.version.number)" }
  private var destinationName: String { "version \(destination.version.number)" }

  private func checkDrop(_ name: String, _ index: Int) {
    // The name of a configuration may contain dots.
    if let dot = name.lastIndex(of: ".") {
      let entity = String(name[name.index(after: dot)...])
      if source.entity(entity) != nil, source.configurations(of: entity).contains(String(name[..<dot])) {
        return
      }
      problem(at: .drop(index), "\(sourceName) has no configuration with an entity '\(name)'")
    } else if source.entity(name) == nil {
      problem(
        at: .drop(index), "\(sourceName) has no entity '\(name)'",
        suggestion: closestName(to: name, in: source.version.entities.map(\.name)))
    }
  }

  // MARK: Entities

  private func checkEntity(_ rule: EntityRule, _ ruleIndex: Int) {
    guard let entity = destination.entity(rule.destination) else {
      problem(
        at: .entity(ruleIndex), "\(destinationName) has no entity '\(rule.destination)'",
        suggestion: closestName(to: rule.destination, in: destination.version.entities.map(\.name)))
      return
    }
    checkSource(of: rule, entity, ruleIndex)
    checkOwned(rule, entity, ruleIndex)
    if entity.isAbstract {
      let text = "'\(entity.name)' is abstract and has no objects: write this for its subentities"
      if rule.isCustom { problem(at: .policy(entity: ruleIndex), text) }
      if rule.filter != nil { problem(at: .filter(entity: ruleIndex), text) }
    }
    for (number, each) in rule.attributes.enumerated() {
      checkAttributeName(each.name, of: entity.name, at: .attributeName(entity: ruleIndex, number))
    }
    for (number, each) in rule.relationships.enumerated() {
      checkRelationshipName(each.name, of: entity.name, at: .relationshipName(entity: ruleIndex, number))
    }
    for (number, each) in rule.undecided.enumerated() {
      checkUndecided(each, of: entity, at: .undecided(entity: ruleIndex, number), ruleIndex)
    }
    checkRepeats(rule, ruleIndex)
  }

  /// Records an undecided part. A rule or the app's own code does not resolve it: the person who writes them must
  /// delete the entry.
  private func checkUndecided(
    _ part: UndecidedPart, of entity: EntityDescription, at location: MappingProblem.Location,
    _ ruleIndex: Int
  ) {
    let name = part.name
    let owner =
      destination.declaringEntity(
        of: name.split(separator: ".").first.map(String.init) ?? "", in: entity.name)?.name ?? entity.name
    let element: ModelElement
    if case .relationship? = destination.property(name, of: entity.name) {
      element = .relationship(entity: owner, name: name)
    } else if name == UndecidedPart.filter, destination.property(name, of: entity.name) == nil {
      element = .entity(entity.name)
    } else {
      let count = problems.list.count
      checkAttributeName(name, of: entity.name, at: location)
      guard problems.list.count == count else { return }
      element = .attribute(entity: owner, name: name)
    }
    undecided.append((ruleIndex, part, element))
    changes.add(.undecided(element, note: part.note), .needsRule, .open)
  }

  private func checkSource(of rule: EntityRule, _ entity: EntityDescription, _ ruleIndex: Int) {
    if let from = rule.source {
      guard let old = source.entity(from) else {
        problem(
          at: .source(entity: ruleIndex), "\(sourceName) has no entity '\(from)'",
          suggestion: closestName(to: from, in: source.version.entities.map(\.name)))
        return
      }
      if old.isAbstract, !entity.isAbstract {
        let subentities = source.descendants(of: from).filter { !$0.isAbstract }.map(\.name)
        problem(
          at: .source(entity: ruleIndex),
          "'\(from)' of \(sourceName) is abstract and has no objects; those are of "
            + (subentities.isEmpty ? "no entity" : subentities.joined(separator: ", ")))
      }
    } else if match.entities[entity.name] == nil, !entity.isAbstract, !rule.isCustom {
      problem(
        at: .entity(ruleIndex),
        "'\(entity.name)' does not exist in \(sourceName), and no rule names the entity that its objects come "
          + "from: write "
          + "'from:' and an entity")
    }
  }

  private func checkRepeats(_ rule: EntityRule, _ ruleIndex: Int) {
    var seen: Set<String> = []
    for (number, each) in rule.attributes.enumerated() where !seen.insert(each.name).inserted {
      problem(
        at: .attributeName(entity: ruleIndex, number), "there is a rule for '\(each.name)' already")
    }
    seen = []
    for (number, each) in rule.undecided.enumerated() where !seen.insert(each.name).inserted {
      problem(at: .undecided(entity: ruleIndex, number), "'\(each.name)' is repeated here")
    }
    seen = []
    for (number, each) in rule.relationships.enumerated() where !seen.insert(each.name).inserted {
      problem(
        at: .relationshipName(entity: ruleIndex, number), "there is a rule for '\(each.name)' already")
    }
  }

  // MARK: Properties

  private func checkAttributeName(_ name: String, of entity: String, at location: MappingProblem.Location) {
    let steps = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard case .attribute(let attribute)? = destination.property(steps[0], of: entity) else {
      if case .relationship? = destination.property(steps[0], of: entity) {
        problem(at: location, "'\(steps[0])' is a relationship: write its rule under 'relationships'")
        return
      }
      let names = destination.attributes(of: entity).filter(\.isStored).map(\.name)
      return problem(
        at: location, "'\(entity)' of \(destinationName) has no attribute '\(steps[0])'",
        suggestion: closestName(to: steps[0], in: names))
    }
    if !attribute.isStored {
      problem(at: location, "'\(steps[0])' is transient, so it is not stored")
    } else if attribute.derivation != nil {
      problem(at: location, "'\(steps[0])' is derived: its value is computed from other values")
    } else if steps.count > 1 {
      guard case .composite(let type) = attribute.type, let composite = destination.composite(type),
        steps.count == 2
      else {
        return problem(at: location, "'\(steps[0])' is not a composite and has no fields")
      }
      if !composite.fields.contains(where: { $0.name == steps[1] }) {
        problem(
          at: location, "composite '\(type)' has no field '\(steps[1])'",
          suggestion: closestName(to: steps[1], in: composite.fields.map(\.name)))
      }
    }
  }

  private func checkRelationshipName(_ name: String, of entity: String, at location: MappingProblem.Location)
  {
    switch destination.property(name, of: entity) {
    case .relationship?: break
    case .attribute?: problem(at: location, "'\(name)' is an attribute: write its rule under 'attributes'")
    case .fetched?: problem(at: location, "'\(name)' is a fetched property, which is not stored")
    case nil:
      problem(
        at: location, "'\(entity)' of \(destinationName) has no relationship '\(name)'",
        suggestion: closestName(to: name, in: destination.relationships(of: entity).map(\.name)))
    }
  }

  private func checkDuplicateRule(_ rule: DuplicateRule, _ index: Int) {
    guard let entity = destination.entity(rule.entity) else {
      return problem(
        at: .duplicate(index), "\(destinationName) has no entity '\(rule.entity)'",
        suggestion: closestName(to: rule.entity, in: destination.version.entities.map(\.name)))
    }
    let wanted = Set(rule.properties)
    if entity.uniquenessConstraints.contains(where: { Set($0) == wanted }) { return }
    // The references of a one-to-one relationship are unique without a constraint.
    if rule.properties.count == 1,
      case .relationship(let relationship)? = destination.property(rule.properties[0], of: rule.entity),
      isOneToOneReference(relationship, of: rule.entity)
    {
      return
    }
    let known = entity.uniquenessConstraints.map { $0.joined(separator: ", ") }
    problem(
      at: .duplicate(index),
      "'\(rule.entity)' has no unique constraint over \(rule.properties.joined(separator: ", "))"
        + (known.isEmpty ? "" : "; it has one over " + known.joined(separator: "; one over ")))
  }

  // MARK: Unnecessary rules

  /// Reports drops of data that is not lost. Such a drop is probably a mistake, and would hide a later loss.
  func reportUselessDrops() {
    let isWrong = Set(problems.list.map(\.location))
    for (index, name) in rules.drops.enumerated() where !usedDrops.contains(.drop(index)) {
      if isWrong.contains(.drop(index)) { continue }
      problem(.warning, at: .drop(index), "the step loses no objects of '\(name)': remove it from 'drop'")
    }
    for (ruleIndex, rule) in rules.entities.enumerated() {
      for (number, name) in rule.drops.enumerated() {
        checkEntityDrop(name, rule, at: .entityDrop(entity: ruleIndex, number), ruleIndex)
      }
    }
  }

  private func checkEntityDrop(
    _ name: String, _ rule: EntityRule, at drop: MappingProblem.Location, _ ruleIndex: Int
  ) {
    if usedDrops.contains(drop) { return }
    // If the sources of a rule are unknown, their properties are unknown too.
    let sources =
      rule.source.map { [$0] }
      ?? mappings.filter { $0.ruleChain.contains(ruleIndex) }.compactMap(\.mapping.source)
    guard destination.entity(rule.destination) != nil, !sources.isEmpty,
      sources.allSatisfy({ source.entity($0) != nil })
    else { return }
    let steps = name.split(separator: ".").map(String.init)
    if sources.contains(where: { source.property(steps.first ?? "", of: $0) != nil }) {
      problem(.warning, at: drop, "the step does not lose '\(name)': remove it from 'drop'")
      return
    }
    let names = sources.flatMap { entity in
      source.attributes(of: entity).map(\.name) + source.relationships(of: entity).map(\.name)
    }
    problem(
      at: drop, "'\(sources[0])' of \(sourceName) has no '\(name)'",
      suggestion: closestName(to: name, in: names))
  }
}

extension StepBuilder {
  /// Reports the stored values and relationships of each source entity that its objects lose.
  func findLostProperties() {
    for entity in source.version.entities {
      guard let mappingIndices = mappingsBySource[entity.name], !mappingIndices.isEmpty else { continue }
      findLostAttributes(of: entity.name, mappingIndices)
      findLostRelationships(of: entity.name, mappingIndices)
    }
  }

  /// The mappings whose objects lose a property. If another mapping keeps it, it is lost only for the objects that the
  /// filter of this mapping may exclude.
  private func losers(_ mappingIndices: [Int], _ keeps: (Int) -> Bool) -> [Int] {
    let keepers = mappingIndices.filter(keeps)
    return mappingIndices.filter { !cover(keepers, $0) }
  }

  private func findLostAttributes(of entity: String, _ mappingIndices: [Int]) {
    var kept: [Int: Set<String>] = [:]
    for mappingIndex in mappingIndices {
      var paths = mappings[mappingIndex].keptValues
      if let filter = mappings[mappingIndex].mapping.filter {
        // All objects that the filter selects have the same value, which the rule itself tells.
        paths.formUnion(fixedPaths(filter, in: entity))
      }
      kept[mappingIndex] = paths
    }
    let values = source.storedValues(of: entity)
    var lost: [String: [Int]] = [:]
    for stored in values {
      lost[stored.path] = losers(mappingIndices) { mappingIndex in
        let paths = kept[mappingIndex] ?? []
        return paths.contains(stored.path) || paths.contains(stored.attribute.name)
      }
    }
    var reported: Set<String> = []
    for stored in values {
      guard let losers = lost[stored.path], !losers.isEmpty else { continue }
      // If all fields of a composite are lost, the loss is reported once for the composite.
      let isWhole =
        stored.field != nil
        && values.allSatisfy { $0.attribute.name != stored.attribute.name || lost[$0.path] == losers }
      let path = isWhole ? stored.attribute.name : stored.path
      guard reported.insert(path).inserted else { continue }
      reportLost(stored, path, of: losers)
    }
  }

  func readPaths(_ predicate: FetchPredicate, in entity: String) -> Set<String> {
    // Wraps the predicate in an expression, because `readPaths` takes an expression.
    readPaths(.ternary(predicate, .null, .null), in: entity)
  }

  private func reportLost(_ stored: StoredValue, _ path: String, of mappingIndices: [Int]) {
    let name = PropertyName(stored.owner, path)
    guard let first = mappingIndices.first else { return }
    if stored.isDerived { return changes.add(.attributeRemoved(name), .automatic, .automatic) }
    // The attribute may still exist, but as a transient attribute.
    if case .attribute(let now)? = destination.property(
      stored.attribute.name, of: mappings[first].destinationName), now.isTransient
    {
      let newName = destination.declaredName(of: stored.attribute.name, in: mappings[first].destinationName)
      return add(.attributeBecameTransient(newName), path, mappingIndices)
    }
    add(
      .attributeRemoved(name), path, mappingIndices, candidates: candidates(for: stored, path, mappingIndices)
    )
  }

  /// Records a loss for the objects of some mappings. A drop for one mapping confirms it for the others that use the same
  /// objects, and the app's own code resolves it for them.
  @inline(never)
  private func add(
    _ kind: ModelChange.Kind, _ path: String, _ mappingIndices: [Int], candidates: [String] = [],
    isMeant: Bool = false
  ) {
    let custom = mappingIndices.filter { mappings[$0].isCustom }
    let dropping = mappingIndices.filter { isDropped(path, of: $0) }
    for mappingIndex in mappingIndices {
      var resolution = ModelChange.Resolution.open
      if custom.contains(where: { covers($0, mappingIndex) }) { resolution = .custom }
      if isMeant || dropping.contains(where: { covers($0, mappingIndex) }) { resolution = .confirmed }
      changes.add(kind, .losesData, resolution, mappings[mappingIndex].mapping, candidates: candidates)
    }
  }

  /// New attributes that may be a removed attribute under another name.
  private func candidates(for stored: StoredValue, _ path: String, _ mappingIndices: [Int]) -> [String] {
    var same: [String] = []
    var fitting: [String] = []
    for mappingIndex in mappingIndices {
      for new in mappings[mappingIndex].newValues where new.field == nil && stored.field == nil {
        guard mayCompare() else { break }
        // Inference cannot know which value belongs to which case.
        if case .enumeration = new.type, stored.type != new.type { continue }
        switch TypeConversion(from: stored.type, in: source, to: new.type, in: destination) {
        case .identical: same.append(new.attribute.name)
        // Every type converts to a string, so this is no evidence of a rename.
        case .lossless where new.type != .string: fitting.append(new.attribute.name)
        default: break
        }
      }
    }
    return same.isEmpty ? fitting : same
  }

  // MARK: Relationships

  private func findLostRelationships(of entity: String, _ all: [Int]) {
    for relationship in source.relationships(of: entity) {
      let mappingIndices = losers(all) {
        mappings[$0].keptRelationships.contains(relationship.name)
      }
      if mappingIndices.isEmpty { continue }
      let name = source.declaredName(of: relationship.name, in: entity)
      let isKeptByInverse = isKeptByInverse(relationship, of: entity)
      let isDeclared = mappingIndices.contains { mappingIndex in
        mappings[mappingIndex].properties[relationship.name] == relationship.name
      }
      if isKeptByInverse, !losesOrder(relationship, mappingIndices) {
        changes.add(.relationshipRemoved(name, isDeclared: isDeclared))
        continue
      }
      let candidates = mappingIndices.flatMap { mappingIndex in
        mappings[mappingIndex].newRelationships.filter { new in
          mayCompare() && new.isToMany == relationship.isToMany
            && match.entities[new.destination] == relationship.destination
        }
        .map(\.name)
      }
      add(
        .relationshipRemoved(name, losesOnlyOrder: isKeptByInverse, isDeclared: isDeclared),
        relationship.name, mappingIndices,
        candidates: candidates, isMeant: isInverseDropped(relationship, of: entity))
    }
  }

  /// Whether a drop for the inverse confirms the loss of the relationship.
  private func isInverseDropped(_ relationship: RelationshipDescription, of entity: String) -> Bool {
    guard let inverse = source.inverse(of: relationship, in: entity) else { return false }
    return mappings(fromHierarchyOf: relationship.destination).contains { isDropped(inverse.name, of: $0) }
  }

  /// Whether the order of a relationship is lost because no mapping uses the relationship. If the
  /// relationship still exists but is not ordered any more, this is a change of its own.
  private func losesOrder(_ relationship: RelationshipDescription, _ mappingIndices: [Int]) -> Bool {
    guard relationship.isToMany, relationship.isOrdered else { return false }
    return !mappingIndices.contains { mappingIndex in
      destination.relationships(of: mappings[mappingIndex].destinationName).contains {
        !($0.isToMany && $0.isOrdered) && mappings[mappingIndex].properties[$0.name] == relationship.name
      }
    }
  }

  /// Whether the inverse still keeps the related objects. It does not keep their order.
  private func isKeptByInverse(_ relationship: RelationshipDescription, of entity: String) -> Bool {
    guard let inverse = source.inverse(of: relationship, in: entity) else { return false }
    return mappings(fromHierarchyOf: relationship.destination).contains {
      mappings[$0].keptRelationships.contains(inverse.name)
    }
  }
}

extension StepBuilder {
  /// The remedies for an unresolved change. The app's own code comes first, because it is always possible.
  ///
  /// - Parameters:
  ///   - entities: The affected entities of the destination.
  ///   - candidates: Elements that may be the lost one under a new name.
  func remedies(
    for kind: ModelChange.Kind, _ entities: [String], _ candidates: [String]
  ) -> [Remedy] {
    switch kind {
    case .undecided(let element, let note): decisions(element, note)
    case .entityRemoved(let name):
      renames(name, candidates) + [.from(name), .dropEntity(name)]
    case .entityUnmapped(let name), .entityBecameAbstract(let name):
      [.from(match.entities[name] ?? name), .dropEntity(match.entities[name] ?? name)]
    case .entityLeftConfiguration(let name, let configuration):
      [.dropEntity("\(configuration).\(sourceLeaving(configuration, into: name) ?? name)")]
    case .attributeRemoved(let name):
      renames(name.name, candidates) + [
        .drop(entity: destinationEntity(of: name.entity, entities), property: name.name)
      ]
    case .relationshipRemoved(let name, _, _):
      renames(name.name, candidates) + [
        .drop(entity: destinationEntity(of: name.entity, entities), property: name.name)
      ]
    case .renameUnresolved(_, let old): [.from(String(old.prefix { $0 != "." }))]
    case .attributeAdded(let name), .attributeBecameStored(let name):
      customs(entities) + [.attributeRule(entity: name.entity, attribute: name.name, example: nil)]
        + [.giveDefault, .makeOptional]
    case .attributeBecameMandatory(let name):
      customs(entities) + [
        .attributeRule(
          entity: name.entity, attribute: name.name,
          example: oldName(of: name, entities).map { "\($0) ?? …" }),
        .giveDefault, .makeOptional,
      ]
    case .attributeTypeChanged(let name, _, let to, .partial):
      customs(entities) + [conversion(of: name, to, entities)]
    case .attributeTypeChanged(let name, _, _, .inexact), .attributeBecameTransient(let name),
      .attributeBecameDerived(let name):
      [.drop(entity: name.entity, property: oldName(of: name, entities) ?? name.name)]
    case .attributeTypeChanged(let name, _, _, _):
      customs(entities) + [.attributeRule(entity: name.entity, attribute: name.name, example: nil)]
    case .codableChanged(let name, _, _), .becameEnumeration(let name, _):
      customs(entities) + [
        .attributeRule(
          entity: name.entity, attribute: name.name, example: oldName(of: name, entities) ?? name.name)
      ]
    case .casesRemoved(let name, _, let cases), .caseValuesChanged(let name, _, let cases):
      customs(entities) + [
        .attributeRule(
          entity: name.entity, attribute: name.name, example: choice(of: name, cases, entities))
      ]
    default: relationshipRemedies(for: kind, entities)
    }
  }

  private func relationshipRemedies(for kind: ModelChange.Kind, _ entities: [String]) -> [Remedy] {
    switch kind {
    case .inverseChanged(let name, _, _, _) where isToOneOwnInverse(name),
      .relationshipBecameToOne(let name, nil) where isToOneOwnInverse(name):
      customs(entities)
    case .relationshipAdded(let name), .relationshipBecameMandatory(let name, nil):
      customs(entities) + [
        .relationshipRule(entity: name.entity, relationship: name.name, example: nil), .makeOptional,
      ]
    case .relationshipBecameMandatory(let name, _?):
      [.filter(entity: name.entity, condition: "\(oldName(of: name, entities) ?? name.name) != nil")]
        + customs(entities) + [
          .relationshipRule(entity: name.entity, relationship: name.name, example: nil), .makeOptional,
        ]
    case .relationshipBecameToOne(let name, _?):
      customs(entities) + [
        .relationshipRule(
          entity: name.entity, relationship: name.name,
          example: formerInverse(of: name, entities).map { "\($0)[FIRST]" })
      ]
    case .relationshipBecameToOne(let name, nil):
      customs(entities) + [
        .relationshipRule(
          entity: name.entity, relationship: name.name,
          example: "\(oldName(of: name, entities) ?? name.name)[FIRST]")
      ]
    case .inverseChanged(let name, _, _, _):
      customs(entities) + [
        .relationshipRule(
          entity: name.entity, relationship: name.name, example: oldName(of: name, entities) ?? name.name)
      ]
    case .relationshipDestinationChanged(let name, _, _, _):
      destination.entity(name.entity)?.relationships.first { $0.name == name.name }?.isMandatoryToOne ?? false
        ? customs(entities) + [
          .relationshipRule(entity: name.entity, relationship: name.name, example: nil)
        ] + owners(of: name, entities).map { .dropOwned(owner: $0) }
        : customs(entities) + [.drop(entity: name.entity, property: oldName(of: name, entities) ?? name.name)]
    case .relationshipBecameUnordered(let name):
      [.drop(entity: name.entity, property: oldName(of: name, entities) ?? name.name)]
    case .uniqueConstraintAdded(let name, let properties):
      [.duplicateRule(entity: name, properties: properties)]
    default: []
    }
  }

  /// Whether a to-one relationship is its own inverse. No rule can give it objects that another relationship had, because
  /// several objects may have had the same one.
  private func isToOneOwnInverse(_ name: PropertyName) -> Bool {
    guard case .relationship(let relationship)? = destination.property(name.name, of: name.entity) else {
      return false
    }
    return !relationship.isToMany && isOwnInverse(relationship, name)
  }

  private func formerInverse(of name: PropertyName, _ entities: [String]) -> String? {
    guard let builder = mappings.first(where: { $0.hasObjects && entities.contains($0.destinationName) }),
      case .relationship(let relationship)? = destination.property(name.name, of: builder.destinationName)
    else { return nil }
    return formerInverse(of: relationship, in: builder.destinationName)
  }

  /// The entities whose rules have an `owned` other than drop, if a mandatory relationship refers to their objects and
  /// a filter may exclude these.
  private func owners(of name: PropertyName, _ entities: [String]) -> [String] {
    guard let old = oldName(of: name, entities),
      let builder = mappings.first(where: { $0.hasObjects && entities.contains($0.destinationName) }),
      case .relationship(let relationship)? = source.property(old, of: builder.sourceName),
      source.inverse(of: relationship, in: builder.sourceName)?.deleteRule.owns == true
    else { return [] }
    let owners = concrete(relationship.destination).filter(ownership.separatesOwnedObjects)
    var result: [String] = []
    for mappingIndex in owners.flatMap({ mappingsBySource[$0] ?? [] })
    where mappings[mappingIndex].mapping.owned != .drop {
      let name = mappings[mappingIndex].destinationName
      if !result.contains(name) { result.append(name) }
    }
    return result
  }

  private func decisions(_ element: ModelElement, _ note: String) -> [Remedy] {
    guard let found = undecided.first(where: { $0.element == element && $0.part.note == note }) else {
      return []
    }
    return [.decided(entity: rules.entities[found.rule].destination, name: found.part.name)]
  }

  private func customs(_ entities: [String]) -> [Remedy] { entities.prefix(1).map { .custom(entity: $0) } }

  private func renames(_ name: String, _ candidates: [String]) -> [Remedy] {
    candidates.isEmpty ? [] : [.renamed(from: name, to: candidates)]
  }

  /// The entity of the destination whose rule must contain the drop for a source entity.
  private func destinationEntity(of entity: String, _ entities: [String]) -> String {
    let candidates = destinationEntities[entity] ?? []
    // A parent's rule applies to its subentities, so it fits if all affected entities are subentities of the parent.
    let holds = candidates.first { each in entities.allSatisfy { destination.isKind($0, of: each) } }
    return holds ?? entities.first ?? candidates.first ?? entity
  }

  /// The name in the source of a property of the destination; nil if there is none.
  private func oldName(of name: PropertyName, _ entities: [String]) -> String? {
    let steps = name.name.split(separator: ".").map(String.init)
    guard let first = steps.first,
      let builder = mappings.first(where: { $0.hasObjects && entities.contains($0.destinationName) }),
      let old = builder.properties[first]
    else { return nil }
    guard steps.count > 1 else { return old }
    return "\(old).\(oldField(steps[1], of: first, builder) ?? steps[1])"
  }

  /// The name in the source of a field of a composite attribute of the destination; nil if there is none.
  private func oldField(_ field: String, of attribute: String, _ builder: MappingBuilder) -> String? {
    guard let old = builder.properties[attribute],
      case .attribute(let before)? = source.property(old, of: builder.sourceName),
      case .attribute(let now)? = destination.property(attribute, of: builder.destinationName),
      case .composite(let oldType) = before.type, case .composite(let newType) = now.type
    else { return nil }
    return match.fields(of: newType, from: oldType)[field]
  }

  private func conversion(of name: PropertyName, _ type: AttributeType, _ entities: [String]) -> Remedy {
    let raw = TypeRules.rawType(type, in: destination)
    let stored = entities.first.flatMap { entity in
      destination.storedValues(of: entity).first { $0.path == name.name }
    }
    let isOptional = stored?.isOptional ?? false
    let old = oldName(of: name, entities) ?? name.name
    // CAST of nil gives nil, which a mandatory attribute does not allow.
    let origin = mappings.first { $0.hasObjects && entities.contains($0.destinationName) }.flatMap {
      builder in
      source.storedValues(of: builder.sourceName).first { $0.path == old }
    }
    let standIn = !isOptional && origin?.isOptional ?? false ? " ?? …" : ""
    return .attributeRule(
      entity: name.entity, attribute: name.name,
      example: "CAST(\(old), \"\(raw.schemaName)\", \(isOptional ? "nil" : "…"))\(standIn)")
  }

  /// An example of a rule that replaces one raw value by another.
  private func choice(of name: PropertyName, _ cases: [String], _ entities: [String]) -> String? {
    guard let old = oldName(of: name, entities), let first = cases.first else { return nil }
    return "TERNARY(\(old) == \"\(first)\", …, \(old))"
  }
}
