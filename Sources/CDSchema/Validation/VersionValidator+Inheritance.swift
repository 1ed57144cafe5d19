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
    var reported: Set<String> = []
    for entity in version.entities where !reported.contains(entity.name) {
      guard let cycle = cycle(from: entity), cycle.count > 1 else { continue }
      reported.formUnion(cycle)
      let path = (cycle + [entity.name]).joined(separator: " → ")
      error(entityElement(entity), "parent", "entities cannot inherit in a circle: \(path)")
    }
    for entity in version.entities where entity.isAbstract && !isInCycle(entity) {
      if graph.descendants(of: entity.name).allSatisfy(\.isAbstract) {
        warning(
          entityElement(entity), "abstract",
          "'\(entity.name)' is abstract and no entity below it is concrete, so there can be no objects of it")
      }
    }
  }

  /// The names from an entity along its parents back to itself; nil where it is in no circle.
  private func cycle(from entity: EntityDescription) -> [String]? {
    var path = [entity.name]
    var next = entity.parent
    while let name = next, path.count <= version.entities.count {
      if name == entity.name { return path }
      path.append(name)
      next = graph.entity(name)?.parent
    }
    return nil
  }

  func isInCycle(_ entity: EntityDescription) -> Bool { cycle(from: entity) != nil }
}
