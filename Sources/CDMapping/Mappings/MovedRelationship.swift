package import CDModel

/// A relationship whose references or pairs are in the table of one side before a step, and in that of the other side after
/// it.
///
/// A migration moves nothing between stores. So no store can make the step if the two sides are in different stores.
package struct MovedRelationship {
  /// The name in the destination.
  package let name: PropertyName
  /// The source entities: the side that has the references or pairs, and the other side.
  package let before: (holder: String, other: String)
  /// The destination entities: the side that has the references or pairs, and the other side.
  package let after: (holder: String, other: String)
}

extension MappingModel {
  /// The relationships whose references or pairs change sides.
  @_optimize(none)
  package func movedRelationships(
    from source: EntityGraph, to destination: EntityGraph
  ) -> [MovedRelationship] {
    var found: [MovedRelationship] = []
    for each in entityMappings {
      guard let from = each.source, let to = each.destination else { continue }
      let relationships = source.relationships(of: from)
      for mapping in each.relationships {
        guard case .objects(let value) = mapping.value,
          let old = relationships.first(where: { value == .keyPath([$0.name]) }),
          case .relationship(let new)? = destination.property(mapping.name, of: to)
        else { continue }
        let held = source.holdsRows(of: old, from)
        let holds = destination.holdsRows(of: new, to)
        if held == holds { continue }
        found.append(
          MovedRelationship(
            name: destination.declaredName(of: new.name, in: to),
            before: held
              ? (holder: from, other: old.destination) : (holder: old.destination, other: from),
            after: holds
              ? (holder: to, other: new.destination) : (holder: new.destination, other: to)))
      }
    }
    return found
  }
}
