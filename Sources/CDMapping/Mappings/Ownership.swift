package import CDModel

/// Which objects of a step's source stay behind because their owners do.
///
/// An object owns the objects of its relationships whose delete rule is `cascade`. A filter of an entity mapping leaves
/// objects behind, and the word `owned` of the mapping says what becomes of the objects that they own.
package struct Ownership {
  /// A relationship that owns, with the entity of the owners.
  package struct Link {
    package let owner: String
    package let relationship: RelationshipDescription
  }

  private let mappings: [String: [EntityMapping]]
  /// The entities whose filters leave objects behind.
  package private(set) var filtered: [String] = []
  /// The relationships along which objects stay behind with their owners.
  package private(set) var links: [Link] = []
  /// The relationships along which none may: the migration ends with an error where it meets one.
  package private(set) var refused: [Link] = []
  /// The entities of which objects may stay behind with their owners, each with the relationships that lead to it.
  package private(set) var reached: [String: [PropertyName]] = [:]

  /// - Parameters:
  ///   - source: The version that the step starts from.
  ///   - mappings: The mappings that take objects.
  ///   - holds: Whether the store holds the objects of an entity.
  package init(
    in source: EntityGraph, _ mappings: some Sequence<EntityMapping>, holds: (String) -> Bool = { _ in true }
  ) {
    self.mappings = Dictionary(grouping: mappings) { $0.source ?? "" }
    filtered = source.version.entities.map(\.name).filter { holds($0) && isFiltered($0) }
    var waiting = filtered
    var seen = Set(waiting)
    while let owner = waiting.popLast() {
      let rule = rule(of: owner)
      if rule == .keep { continue }
      for relationship in source.relationships(of: owner)
      where relationship.deleteRule == .cascade && holds(relationship.destination) {
        let link = Link(owner: owner, relationship: relationship)
        if rule == .refuse {
          refused.append(link)
          continue
        }
        links.append(link)
        let declaring = source.declaringEntity(of: relationship.name, in: owner)?.name ?? owner
        let name = PropertyName(declaring, relationship.name)
        for target in source.concrete(relationship.destination) where !isCustom(target) {
          if reached[target]?.contains(name) != true { reached[target, default: []].append(name) }
          if seen.insert(target).inserted { waiting.append(target) }
        }
      }
    }
  }

  /// Whether filters decide which objects of an entity go on.
  private func isFiltered(_ entity: String) -> Bool {
    guard let all = mappings[entity] else { return false }
    return all.allSatisfy { $0.filter != nil && $0.kind != .custom }
  }

  /// Whether the app's own code says what becomes of an entity's objects.
  private func isCustom(_ entity: String) -> Bool {
    mappings[entity]?.contains { $0.kind == .custom } ?? false
  }

  /// What becomes of the objects that those of an entity own. Of several mappings the most careful one decides.
  private func rule(of entity: String) -> OwnedObjects {
    let all = (mappings[entity] ?? []).map(\.owned)
    return all.contains(.refuse) ? .refuse : all.contains(.keep) ? .keep : .drop
  }

  /// Whether some objects of an entity may stay behind: by a filter, or with their owners.
  func mayLeave(_ entity: String) -> Bool {
    reached[entity] != nil || mappings[entity]?.allSatisfy { $0.filter != nil } ?? true
  }

  /// Whether a filter leaves objects of an entity behind without those that they own.
  func parts(_ entity: String) -> Bool { isFiltered(entity) && rule(of: entity) != .drop }

  /// Whether an object stays behind with the one that a relationship of its own leads to.
  ///
  /// - Parameter inverse: The owner's relationship on the other side.
  func follows(_ inverse: RelationshipDescription, to owner: String) -> Bool {
    inverse.deleteRule == .cascade && rule(of: owner) == .drop && !isCustom(owner)
  }
}

extension EntityGraph {
  /// The entities, the given one or below, that have objects.
  func concrete(_ entity: String) -> [String] {
    ([self.entity(entity)].compactMap { $0 } + descendants(of: entity)).filter { !$0.isAbstract }.map(\.name)
  }
}
