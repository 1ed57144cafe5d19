import CDModel
import CDSchema

extension VersionImporter {
  /// Reads a relationship. Returns nil if its destination is not an entity of the model.
  func relationship(_ element: MarkupElement, name: String) -> RelationshipDescription? {
    guard let destination = element["destinationEntity"].flatMap({ names.entities[$0] }) else { return nil }
    var result = RelationshipDescription(name: name, destination: destination)
    let maximum = element["maxCount"].flatMap { Int($0) }
    result.isToMany = element.flag("toMany") || (maximum ?? 1) > 1
    result.isOptional = element.flag("optional")
    result.hashModifier = element["versionHashModifier"].flatMap { $0.isEmpty ? nil : $0 }
    result.deleteRule = DeleteRule.allCases.first { $0.xcodeName == element["deletionRule"] } ?? .nullify
    if result.isToMany {
      result.isOrdered = element.flag("ordered")
      let minimum = element["minCount"].flatMap { Int($0) }
      result.minimumCount = minimum.flatMap { (0...Int(Int32.max)).contains($0) ? $0 : nil }
      result.maximumCount = maximum.flatMap { (1...Int(Int32.max)).contains($0) ? $0 : nil }
      if let least = result.minimumCount, let most = result.maximumCount, least > most {
        (result.minimumCount, result.maximumCount) = (nil, nil)
      }
      // Core Data checks only the counts: without a minimum it saves an object without related objects, whatever
      // 'optional' says. Xcode's value is stored for the export.
      if result.minimumCount ?? 0 == 0 { result.isOptional = true }
    }
    // The name of the inverse is resolved in the entity on the other side, which may inherit it.
    result.inverse = element["inverseName"].map { inverse in
      names.property(inverse, of: element["inverseEntity"] ?? element["destinationEntity"] ?? "")
    }
    return result
  }

  private func subject(_ place: Int, _ number: Int) -> String {
    "relationship '\(version.entities[place].relationships[number].name)' of '\(version.entities[place].name)'"
  }

  /// Removes inverses that do not name each other. Removing one also removes the inverse of the other side.
  mutating func checkInverses() {
    var hasChanged = true
    while hasChanged {
      hasChanged = false
      let graph = EntityGraph(version)
      for place in version.entities.indices {
        for number in version.entities[place].relationships.indices {
          let relationship = version.entities[place].relationships[number]
          guard let inverse = relationship.inverse,
            !isPair(relationship, inverse, of: version.entities[place].name, graph)
          else { continue }
          hasChanged = true
          version.entities[place].relationships[number].inverse = nil
          guard let element = origins[.relationship(place, number)] else { continue }
          remark(
            subject(place, number),
            "'\(inverse)' of '\(relationship.destination)' does not name it as its inverse, so that it has no inverse in cdgen",
            at: element)
        }
      }
    }
  }

  private func isPair(
    _ relationship: RelationshipDescription, _ inverse: String, of entity: String, _ graph: EntityGraph
  ) -> Bool {
    guard case .relationship(let back)? = graph.property(inverse, of: relationship.destination) else {
      return false
    }
    return back.inverse == relationship.name
      && (graph.isKind(entity, of: back.destination) || graph.isKind(back.destination, of: entity))
  }

  // MARK: Entities

  /// Removes parents that do not exist, and parents that are descendants of their own children.
  mutating func checkParents() {
    var parents: [String: String] = [:]
    for entity in version.entities { parents[entity.name] = entity.parent }
    let known = Set(version.entities.map(\.name))
    // Entities whose ancestors lead to a root.
    var rooted: Set<String> = []
    for place in version.entities.indices {
      guard let parent = version.entities[place].parent else { continue }
      var ancestor: String? = parent
      var seen: Set<String> = [version.entities[place].name]
      while let name = ancestor, !rooted.contains(name), seen.insert(name).inserted {
        ancestor = parents[name]
      }
      let isCircle = ancestor.map { !rooted.contains($0) } ?? false
      if !isCircle, known.contains(parent) {
        rooted.formUnion(seen)
        continue
      }
      guard let element = origins[.entity(place)] else { continue }
      remark(
        "entity '\(version.entities[place].name)'",
        known.contains(parent)
          ? "its parent '\(parent)' inherits from it, so that it becomes an entity without a parent"
          : "there is no entity '\(parent)' to inherit from", at: element)
      version.entities[place].parent = nil
      parents[version.entities[place].name] = nil
    }
    dropRepeatedProperties()
  }

  /// Removes properties that an ancestor already declares.
  private mutating func dropRepeatedProperties() {
    let graph = EntityGraph(version)
    for place in version.entities.indices {
      let entity = version.entities[place]
      guard let parent = entity.parent else { continue }
      let own =
        entity.attributes.map(\.name) + entity.relationships.map(\.name)
        + entity.fetchedProperties.map(\.name)
      for (name, element) in drop(own.filter { graph.property($0, of: parent) != nil }, from: place) {
        remark(
          "\(element.name) '\(name)' of '\(entity.name)'",
          "an entity that it inherits from declares it already; the element is kept under 'info' of the entity",
          at: element)
      }
    }
  }

  /// Removes properties from the version and stores their XML elements under `info`.
  ///
  /// - Returns: The names with the elements.
  mutating func drop(_ names: [String], from place: Int) -> [(name: String, element: MarkupElement)] {
    if names.isEmpty { return [] }
    let former = Set(names)
    let entity = version.entities[place]
    /// Removes the elements, and gives the others their new numbers in one pass, because there may be thousands.
    func move(
      _ all: [String], _ key: (Int) -> ElementIndex
    ) -> [(name: String, element: MarkupElement)] {
      var dropped: [(name: String, element: MarkupElement)] = []
      var next = 0
      for (number, name) in all.enumerated() {
        let element = origins.removeValue(forKey: key(number))
        if former.contains(name) {
          if let element { dropped.append((name: name, element: element)) }
        } else {
          origins[key(next)] = element
          next += 1
        }
      }
      return dropped
    }
    var dropped = move(entity.attributes.map(\.name)) { .attribute(place, $0) }
    dropped += move(entity.relationships.map(\.name)) { .relationship(place, $0) }
    dropped += move(entity.fetchedProperties.map(\.name)) { .fetched(place, $0) }
    _ = move(entity.fetchedProperties.map(\.name)) { .fetchedRequest(place, $0) }
    for each in dropped { keep(each.element, of: .entity(place)) }
    version.entities[place].attributes.removeAll { former.contains($0.name) }
    version.entities[place].relationships.removeAll { former.contains($0.name) }
    version.entities[place].fetchedProperties.removeAll { former.contains($0.name) }
    return dropped
  }

  /// Gives classes different names that do not hide types of generated code. Entities that can keep their name are
  /// handled first.
  mutating func checkClasses() {
    var taken = Set(version.composites.map(\.name))
    func isClassName(_ name: String) -> Bool { NameRules.isClassName(name, ofModel: modelName) }
    var others: [(place: Int, isShared: Bool)] = []
    for hasOwnName in [true, false] {
      for (place, entity) in version.entities.enumerated() where (entity.className == nil) == hasOwnName {
        let isAllowed = isClassName(entity.swiftName)
        if !isAllowed || !taken.insert(entity.swiftName).inserted { others.append((place, isAllowed)) }
      }
    }
    for (place, isShared) in others.sorted(by: { $0.place < $1.place }) {
      let entity = version.entities[place]
      var name = isShared && entity.className != nil ? entity.name : entity.name + "Object"
      while !isClassName(name) || !taken.insert(name).inserted { name += "Object" }
      version.entities[place].className = name == entity.name ? nil : name
      guard let element = origins[.entity(place)] else { continue }
      remark(
        "entity '\(entity.name)'",
        isShared
          ? "several entities have the class '\(entity.swiftName)'; this one's is '\(name)'"
          : "a class '\(entity.swiftName)' would hide a declaration that generated code needs, so that it is '\(name)' in Swift",
        at: element)
    }
  }
}
