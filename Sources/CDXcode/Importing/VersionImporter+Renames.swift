import CDModel

extension VersionImporter {
  /// Finds what had another name in the version before: elements are the same if their identifiers are.
  mutating func readRenames(from base: VersionImporter) {
    let graph = EntityGraph(base.version)
    let own = EntityGraph(version)
    var sources: [String: Int] = [:]
    for place in base.version.entities.indices {
      if let id = base.identifier(of: .entity(place)), sources[id] == nil { sources[id] = place }
    }
    var claimed: Set<Int> = []
    for place in version.entities.indices {
      guard let id = identifier(of: .entity(place)), let element = origins[.entity(place)] else { continue }
      let name = version.entities[place].name
      guard let source = sources[id], claimed.insert(source).inserted else {
        if base.version.entities.contains(where: { $0.name == name }) {
          remarkOnChange("entity '\(name)'", element)
        }
        continue
      }
      let old = base.version.entities[source].name
      if old != name, !version.entities.contains(where: { $0.name == old }) {
        version.entities[place].renamedFrom = old
      }
      readRenames(of: place, own, from: old, base, graph)
    }
  }

  private mutating func readRenames(
    of place: Int, _ graph: EntityGraph, from old: String, _ base: VersionImporter, _ baseGraph: EntityGraph
  ) {
    let lineage = Set(baseGraph.lineage(of: old).map(\.name))
    var attributes: [String: String] = [:]
    var relationships: [String: String] = [:]
    for (number, entity) in base.version.entities.enumerated() where lineage.contains(entity.name) {
      for (at, attribute) in entity.attributes.enumerated() {
        if let id = base.identifier(of: .attribute(number, at)) { attributes[id] = attribute.name }
      }
      for (at, relationship) in entity.relationships.enumerated() {
        if let id = base.identifier(of: .relationship(number, at)) { relationships[id] = relationship.name }
      }
    }
    let entity = version.entities[place]
    let own = Set(graph.attributes(of: entity.name).map(\.name))
      .union(graph.relationships(of: entity.name).map(\.name))
    for number in entity.attributes.indices {
      let key = ElementKey.attribute(place, number)
      let name = entity.attributes[number].name
      guard let id = identifier(of: key), let element = origins[key] else { continue }
      if let source = attributes[id] {
        if source != name, !own.contains(source) {
          version.entities[place].attributes[number].renamedFrom = source
        }
      } else if attributes.values.contains(name) {
        remarkOnChange("attribute '\(name)' of '\(entity.name)'", element)
      }
    }
    for number in entity.relationships.indices {
      let key = ElementKey.relationship(place, number)
      let name = entity.relationships[number].name
      guard let id = identifier(of: key), let element = origins[key] else { continue }
      if let source = relationships[id] {
        if source != name, !own.contains(source) {
          version.entities[place].relationships[number].renamedFrom = source
        }
      } else if relationships.values.contains(name) {
        remarkOnChange("relationship '\(name)' of '\(entity.name)'", element)
      }
    }
  }

  private mutating func remarkOnChange(_ subject: String, _ element: MarkupElement) {
    remark(
      subject,
      "by its renaming identifier it is not what has its name in the version before, and here it is: names count",
      at: element)
  }

  /// What Core Data knows an element by.
  func identifier(of key: ElementKey) -> String? {
    guard let element = origins[key] else { return nil }
    if let id = element["elementID"], !id.isEmpty { return id }
    return element["name"]
  }
}
