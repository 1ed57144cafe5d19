import CDModel

extension VersionValidator {
  func validateInheritance() {
    for entity in version.entities {
      guard let parent = entity.parent else { continue }
      if parent == entity.name {
        error(entityElement(entity), "parent", "'\(parent)' cannot be its own parent")
      } else if graph.entity(parent) == nil {
        reportUnknownEntity(parent, entityElement(entity), "parent")
      }
    }
    for circle in circles.all {
      guard let first = circle.first, circle.count > 1 else { continue }
      error(
        entityElement(first), "parent",
        "entities cannot inherit in a circle: \(Self.path(circle.map(\.name) + [first.name]))")
    }
    validateDepths()
    if isTooDeep { return }
    for entity in version.entities where entity.isAbstract && !isInCycle(entity) {
      if graph.descendants(of: entity.name).allSatisfy(\.isAbstract) {
        warning(
          entityElement(entity), "abstract",
          "'\(entity.name)' is abstract and no entity below it is concrete, so there can be no objects of it")
      }
    }
  }

  /// Whether there is an entity with more: what looks at all that entities inherit would take too long.
  var isTooDeep: Bool { depths.contains { $0 > EntityGraph.mostAncestors } }

  /// Reports the first entity that is too deep, not those below it.
  private func validateDepths() {
    for (entity, depth) in zip(version.entities, depths)
    where depth == EntityGraph.mostAncestors + 1 && !isInCycle(entity) {
      error(
        entityElement(entity), "parent",
        "'\(entity.name)' has more than \(EntityGraph.mostAncestors) ancestors, which is the most that an entity can have; "
          + "let entities inherit from one further up")
    }
  }

  /// Names along a way, without the middle of a long one.
  static func path(_ names: [String]) -> String {
    guard names.count > 24 else { return names.joined(separator: " → ") }
    return
      (names.prefix(10) + ["… \(names.count - 20) more …"] + names.suffix(10)).joined(separator: " → ")
  }

  func isInCycle(_ entity: EntityDescription) -> Bool { circles.names.contains(entity.name) }
}

/// The circles in which entities inherit from each other.
struct InheritanceCircles {
  /// Each circle from its first declared entity on, along the parents.
  private(set) var all: [[EntityDescription]] = []
  private(set) var names: Set<String> = []

  init(_ graph: EntityGraph) {
    // The walk that first came by an entity: one that comes by itself again has closed a circle.
    var walks: [String: Int] = [:]
    for (number, start) in graph.version.entities.enumerated() {
      var path: [EntityDescription] = []
      var next = graph.entity(start.name)
      while let entity = next, walks[entity.name] == nil {
        walks[entity.name] = number
        path.append(entity)
        next = entity.parent.flatMap { graph.entity($0) }
      }
      guard let end = next, walks[end.name] == number,
        let place = path.firstIndex(where: { $0.name == end.name })
      else { continue }
      all.append(Array(path[place...]))
      names.formUnion(path[place...].map(\.name))
    }
    // A walk may have come from outside, and by another than the first one.
    guard !all.isEmpty else { return }
    let order = Dictionary(
      zip(graph.version.entities.map(\.name), 0...), uniquingKeysWith: { first, _ in first })
    func place(_ entity: EntityDescription) -> Int { order[entity.name] ?? 0 }
    all = all.map { circle in
      let first = circle.indices.min { place(circle[$0]) < place(circle[$1]) } ?? 0
      return Array(circle[first...] + circle[..<first])
    }
    .sorted { left, right in place(left[0]) < place(right[0]) }
  }
}
