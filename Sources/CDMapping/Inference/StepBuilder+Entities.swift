import CDModel

extension StepBuilder {
  // MARK: Mappings

  /// Says for each entity of the destination that has objects where they come from.
  func makeMappings() {
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
      // What is wrong with it was reported; what it would take is not guessed at.
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

  func compareEntities() {
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
