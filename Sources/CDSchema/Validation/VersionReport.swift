import CDModel

/// What the checks of a version share: its elements, and how their mistakes are reported.
///
/// Mistakes that only follow from a reported one are not reported: elements in `broken` count as correct.
struct VersionReport {
  let version: ModelVersion
  let graph: EntityGraph
  /// Elements whose own declaration has a mistake.
  let broken: Set<SchemaElement>
  /// Whether the version is locked, so that nobody can correct it.
  let isLocked: Bool
  let positions: ElementPositions
  let diagnostics: DiagnosticCollector

  init(
    _ decoded: DecodedVersion, isLocked: Bool, positions: ElementPositions, diagnostics: DiagnosticCollector
  ) {
    self.isLocked = isLocked
    version = decoded.version
    graph = EntityGraph(decoded.version)
    broken = decoded.broken
    self.positions = positions
    self.diagnostics = diagnostics
  }

  /// Whether one of the entity's ancestors does not exist, so that its inherited properties are unknown.
  func hasUnknownAncestor(_ entity: EntityDescription) -> Bool {
    graph.root(of: entity.name)?.parent != nil
  }

  /// Whether the declaration of a property has a mistake.
  func isBroken(_ name: String, of entity: EntityDescription) -> Bool {
    graph.lineage(of: entity.name).contains {
      broken.contains(attributeElement(name, $0)) || broken.contains(relationshipElement(name, $0))
        || broken.contains(fetchedElement(name, $0))
    }
  }

  // MARK: Elements

  func entityElement(_ entity: EntityDescription) -> SchemaElement {
    .part(.entity(entity.name), version: version.number)
  }

  func attributeElement(_ name: String, _ entity: EntityDescription) -> SchemaElement {
    .part(.attribute(entity: entity.name, name: name), version: version.number)
  }

  func relationshipElement(_ name: String, _ entity: EntityDescription) -> SchemaElement {
    .part(.relationship(entity: entity.name, name: name), version: version.number)
  }

  func fetchedElement(_ name: String, _ entity: EntityDescription) -> SchemaElement {
    .part(.fetchedProperty(entity: entity.name, name: name), version: version.number)
  }

  func templateElement(_ name: String, _ entity: EntityDescription) -> SchemaElement {
    .part(.fetchTemplate(entity: entity.name, name: name), version: version.number)
  }

  func fieldElement(_ name: String, _ composite: String) -> SchemaElement {
    .part(.field(composite: composite, name: name), version: version.number)
  }

  /// An entity's own properties: attributes, relationships, then fetched properties.
  func properties(of entity: EntityDescription) -> [NamedProperty] {
    let attributes = entity.attributes.map {
      NamedProperty(
        name: $0.name, swiftName: $0.swiftName, element: attributeElement($0.name, entity), noun: "attribute",
        hasColumn: $0.isStored)
    }
    let relationships = entity.relationships.map {
      NamedProperty(
        name: $0.name, swiftName: $0.swiftName, element: relationshipElement($0.name, entity),
        noun: "relationship", hasColumn: true, isToMany: $0.isToMany)
    }
    let fetched = entity.fetchedProperties.map {
      NamedProperty(
        name: $0.name, swiftName: $0.swiftName ?? $0.name, element: fetchedElement($0.name, entity),
        noun: "fetched property", hasColumn: false)
    }
    return attributes + relationships + fetched
  }

  // MARK: Reporting

  /// Reports an error at a value of an element, or at the element itself if it has no such value.
  func error(_ element: SchemaElement, _ key: String? = nil, _ message: String, suggestion: String? = nil) {
    guard let location = positions.nearest(to: element, key: key) else { return }
    diagnostics.error(location, message, suggestion: suggestion)
  }

  /// Reports a mistake with which stores and programs can exist already. In a locked version it is a warning.
  func mistake(_ element: SchemaElement, _ key: String?, _ message: String) {
    if isLocked { warning(element, key, message) } else { error(element, key, message) }
  }

  func warning(_ element: SchemaElement, _ key: String? = nil, _ message: String) {
    guard let location = positions.nearest(to: element, key: key) else { return }
    diagnostics.warning(location, message)
  }

  /// Reports an error at one step of a key path. For example, `author.name` has two steps.
  func error(
    _ element: SchemaElement, _ key: String, step: Int, _ message: String, suggestion: String? = nil
  ) {
    let text = positions.node(of: element, key: key)?.text ?? ""
    var offset = text.hasPrefix("-") ? 1 : 0
    for earlier in text.dropFirst(offset).split(separator: ".", omittingEmptySubsequences: false).prefix(step)
    {
      offset += earlier.utf8.count + 1
    }
    let place = positions.location(of: element, key: key, utf8Offset: offset)
    guard let place = place ?? positions.nearest(to: element, key: key) else { return }
    diagnostics.error(place, message, suggestion: suggestion)
  }

  /// Reports a name that is not an entity. If it is another element's name, the message says so instead of "unknown".
  func unknownEntity(_ name: String, _ element: SchemaElement, _ key: String) {
    if graph.enumeration(name) != nil {
      error(element, key, "'\(name)' is an enum, not an entity; an attribute can have it as its type")
    } else if graph.composite(name) != nil {
      error(element, key, "'\(name)' is a composite, not an entity; an attribute can have it as its type")
    } else {
      error(
        element, key, "unknown entity '\(name)'",
        suggestion: closestName(to: name, in: version.entities.map(\.name)))
    }
  }

  /// Reports a name that is not a property of the entity.
  func unknownProperty(
    _ name: String, of entity: EntityDescription, _ element: SchemaElement, _ key: String, step: Int = 0
  ) {
    // A relationship or fetched property with a wrong declaration is missing in the model, and is already reported.
    if isBroken(name, of: entity) || hasUnknownAncestor(entity) { return }
    let names = graph.lineage(of: entity.name).flatMap { properties(of: $0).map(\.name) }
    error(
      element, key, step: step, "'\(entity.name)' has no property '\(name)'",
      suggestion: closestName(to: name, in: names)
    )
  }

  /// The names along a path. The middle of a long path is left out.
  static func path(_ names: [String]) -> String {
    guard names.count > 24 else { return names.joined(separator: " → ") }
    return
      (names.prefix(10) + ["… \(names.count - 20) more …"] + names.suffix(10)).joined(separator: " → ")
  }
}

/// A property of any sort, as the checks of names use it.
struct NamedProperty {
  var name: String
  var swiftName: String
  var element: SchemaElement
  var noun: String
  /// Whether the property has a column or a join table.
  var hasColumn: Bool
  var isToMany = false
}
