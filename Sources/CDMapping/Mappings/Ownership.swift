package import CDModel

/// Finds the source objects of a step that are left out because their owners are.
///
/// An object owns the objects of its relationships whose delete rule is `cascade`. The filter of an entity mapping
/// excludes objects, and the mapping's `owned` decides what happens to the objects that they own.
package struct Ownership {
  /// A relationship that owns its objects, with the owners' entity.
  package struct Link {
    package let owner: String
    package let relationship: RelationshipDescription
  }

  private let source: EntityGraph
  private let mappings: [String: [EntityMapping]]
  /// The entities whose filters exclude objects.
  package private(set) var filtered: [String] = []
  /// The relationships through which objects are left out together with their owners.
  package private(set) var links: [Link] = []
  /// The relationships whose objects must not lose their owner. The migration ends with an error if it finds such a
  /// case.
  package private(set) var refused: [Link] = []
  /// The entities whose objects may be left out with their owners, each with the relationships from these owners.
  package private(set) var excludedWithOwners: [String: [PropertyName]] = [:]

  /// - Parameters:
  ///   - source: The source version of the step.
  ///   - mappings: The mappings that have a source.
  ///   - holds: Whether the store contains objects of an entity.
  package init(
    in source: EntityGraph, _ mappings: some Sequence<EntityMapping>, holds: (String) -> Bool = { _ in true }
  ) {
    self.source = source
    self.mappings = Dictionary(grouping: mappings) { $0.source ?? "" }
    filtered = source.version.entities.map(\.name).filter { holds($0) && isFiltered($0) }
    var waiting = filtered
    var seen = Set(waiting)
    while let owner = waiting.popLast() {
      let rule = rule(of: owner)
      if rule == .keep { continue }
      for relationship in source.relationships(of: owner)
      where relationship.deleteRule.owns && holds(relationship.destination) {
        let link = Link(owner: owner, relationship: relationship)
        if rule == .refuse {
          refused.append(link)
          continue
        }
        links.append(link)
        let name = source.declaredName(of: relationship.name, in: owner)
        for target in source.concrete(relationship.destination) where !isCustom(target) {
          if excludedWithOwners[target]?.contains(name) != true {
            excludedWithOwners[target, default: []].append(name)
          }
          if seen.insert(target).inserted { waiting.append(target) }
        }
      }
    }
  }

  /// Whether the filters of an entity's mappings may exclude objects and no mapping is custom.
  private func isFiltered(_ entity: String) -> Bool {
    guard let all = mappings[entity], all.allSatisfy({ $0.kind != .custom }) else { return false }
    return !areComplete(all, entity)
  }

  /// Whether the filters of an entity's mappings together select all objects.
  private func areComplete(_ all: [EntityMapping], _ entity: String) -> Bool {
    FilterCoverage(of: entity, in: source).isComplete(all.map(\.filter))
  }

  /// Whether the app's own code decides what happens to an entity's objects.
  private func isCustom(_ entity: String) -> Bool {
    mappings[entity]?.contains { $0.kind == .custom } ?? false
  }

  /// The rule for objects that an entity's objects own. If there are several mappings, the most careful rule applies.
  private func rule(of entity: String) -> OwnedObjects {
    let all = (mappings[entity] ?? []).map(\.owned)
    return all.contains(.refuse) ? .refuse : all.contains(.keep) ? .keep : .drop
  }

  /// Whether some objects of an entity may be left out, by a filter or with their owners.
  func mayExcludeObjects(_ entity: String) -> Bool {
    excludedWithOwners[entity] != nil || mappings[entity].map { !areComplete($0, entity) } ?? true
  }

  /// Whether a filter may exclude objects of an entity, but the objects that they own must not be left out.
  func separatesOwnedObjects(_ entity: String) -> Bool { isFiltered(entity) && rule(of: entity) != .drop }

  /// Whether an object is left out together with its owner.
  ///
  /// - Parameter inverse: The owner's relationship to the object.
  func follows(_ inverse: RelationshipDescription, to owner: String) -> Bool {
    inverse.deleteRule.owns && rule(of: owner) == .drop && !isCustom(owner)
  }
}

extension EntityGraph {
  /// The entity and its subentities, without abstract ones.
  func concrete(_ entity: String) -> [String] {
    ([self.entity(entity)].compactMap { $0 } + descendants(of: entity)).filter { !$0.isAbstract }.map(\.name)
  }
}
