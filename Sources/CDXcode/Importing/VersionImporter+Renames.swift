import CDModel

extension VersionImporter {
  /// Finds elements that had another name in the version before. Elements are the same if their identifiers are equal.
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
      var old = base.version.entities[source].name
      if old != name, !version.entities.contains(where: { $0.name == old }) {
        version.entities[place].renamedFrom = old
      } else if old != name {
        let isOld = base.version.entities.contains { $0.name == name }
        remarkOnExchange("entity '\(name)'", name, old, isOld: isOld, "objects", element)
        guard isOld else { continue }
        old = name
      }
      readRenames(of: place, own, from: old, base, graph)
    }
  }

  private mutating func readRenames(
    of place: Int, _ graph: EntityGraph, from old: String, _ base: VersionImporter, _ baseGraph: EntityGraph
  ) {
    let lineage = Set(baseGraph.lineage(of: old).map(\.name))
    var attributes: [String: [String]] = [:]
    var relationships: [String: [String]] = [:]
    for (number, entity) in base.version.entities.enumerated() where lineage.contains(entity.name) {
      for (at, attribute) in entity.attributes.enumerated() {
        if let id = base.identifier(of: .attribute(number, at)) {
          attributes[id, default: []].append(attribute.name)
        }
      }
      for (at, relationship) in entity.relationships.enumerated() {
        if let id = base.identifier(of: .relationship(number, at)) {
          relationships[id, default: []].append(relationship.name)
        }
      }
    }
    let entity = version.entities[place]
    var taken = Set(graph.attributes(of: entity.name).map(\.name))
      .union(graph.relationships(of: entity.name).map(\.name))
    for (number, attribute) in entity.attributes.enumerated() {
      version.entities[place].attributes[number].renamedFrom = source(
        of: .attribute(place, number), attribute.name, among: attributes, &taken)
    }
    for (number, relationship) in entity.relationships.enumerated() {
      version.entities[place].relationships[number].renamedFrom = source(
        of: .relationship(place, number), relationship.name, among: relationships, &taken)
    }
  }

  /// The name of a property in the version before. Nil if the name has not changed, or if the old name is already used.
  ///
  /// - Parameters:
  ///   - sources: The names in the version before, by identifier.
  ///   - taken: The names that properties have in this version, and old names that are already assigned.
  private mutating func source(
    of key: ElementIndex, _ name: String, among sources: [String: [String]], _ taken: inout Set<String>
  ) -> String? {
    guard let id = identifier(of: key), let element = origins[key] else { return nil }
    let names = sources[id] ?? []
    if names.contains(name) { return nil }
    if let source = names.first, taken.insert(source).inserted { return source }
    let isOld = sources.values.contains { $0.contains(name) }
    guard let source = names.first else {
      if isOld { remarkOnChange(subject(of: key), element) }
      return nil
    }
    remarkOnExchange(
      subject(of: key), name, source, isOld: isOld, "values", element)
    return nil
  }

  private mutating func remarkOnChange(_ subject: String, _ element: MarkupElement) {
    remark(
      subject,
      "its renaming identifier says that it is not the element of the same name in the version before; cdgen compares names, so it is the same element",
      at: element)
  }

  /// Adds a remark on a name that cannot be translated. Core Data compares identifiers, so it can exchange two names,
  /// or give an old name to a new element.
  private mutating func remarkOnExchange(
    _ subject: String, _ name: String, _ old: String, isOld: Bool, _ noun: String, _ element: MarkupElement
  ) {
    let end = isOld ? "it keeps the \(noun) of '\(name)'" : "it gets none of the \(noun) of '\(old)'"
    remark(
      subject,
      "its renaming identifier says that it was '\(old)' in the version before, but another element has or had that name; "
        + "cdgen compares names, and \(end)", at: element)
  }

  /// The identifier by which Core Data recognises an element.
  private func identifier(of key: ElementIndex) -> String? {
    guard let element = origins[key] else { return nil }
    if let id = element["elementID"], !id.isEmpty { return id }
    return element["name"]
  }
}
