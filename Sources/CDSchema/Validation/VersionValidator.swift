import CDModel

/// Checks one version: names, references and values that do not fit together.
///
/// It goes on after every mistake. What follows from a mistake that was reported is not reported again:
/// elements in `broken` are taken to be right.
struct VersionValidator {
  let modelName: String
  let version: ModelVersion
  let graph: EntityGraph
  let broken: Set<ModelElement>
  /// Names of properties and types whose declarations are wrong: what an expression with one of them means
  /// cannot be said.
  let suspectNames: Set<String>
  let circles: InheritanceCircles
  /// How many ancestors each entity has, by its place.
  let depths: [Int]
  let positions: ElementPositions
  let diagnostics: DiagnosticCollector

  init(
    modelName: String, decoded: DecodedVersion, positions: ElementPositions, diagnostics: DiagnosticCollector
  ) {
    self.modelName = modelName
    version = decoded.version
    graph = EntityGraph(decoded.version)
    broken = decoded.broken
    suspectNames = Self.suspectNames(decoded, graph)
    circles = InheritanceCircles(graph)
    depths = graph.depths
    self.positions = positions
    self.diagnostics = diagnostics
  }

  func validate() {
    validateTypeNames()
    for enumeration in version.enums { validateCases(of: enumeration) }
    for composite in version.composites { validateFields(of: composite) }
    validateInheritance()
    if isTooDeep { return }
    validateColumnNames()
    for entity in version.entities {
      validatePropertyNames(of: entity)
      validateSwiftNames(of: entity)
      for attribute in entity.attributes {
        validate(attribute, attributeElement(attribute.name, entity))
        validateDerivation(of: attribute, entity)
      }
      for relationship in entity.relationships { validate(relationship, of: entity) }
      for fetched in entity.fetchedProperties { validate(fetched, of: entity) }
      for template in entity.fetchTemplates { validate(template, of: entity) }
      validateIndexes(of: entity)
      validateUniqueness(of: entity)
    }
    validateDerivationCycles()
    validateConfigurations()
  }

  private static func suspectNames(_ decoded: DecodedVersion, _ graph: EntityGraph) -> Set<String> {
    var names = Set(decoded.broken.compactMap(\.propertyName))
    for entity in decoded.version.entities {
      for relationship in entity.relationships where graph.entity(relationship.destination) == nil {
        names.insert(relationship.name)
      }
      for attribute in entity.attributes {
        switch attribute.type {
        case .enumeration(let name)
        where decoded.broken.contains(.enumeration(version: decoded.version.number, name: name)):
          names.insert(attribute.name)
        case .composite(let name)
        where decoded.broken.contains(.composite(version: decoded.version.number, name: name)):
          names.insert(attribute.name)
        default: break
        }
      }
    }
    return names
  }

  /// Whether an entity inherits from one that is not there, so that what it has altogether is not known.
  func hasUnknownAncestor(_ entity: EntityDescription) -> Bool {
    graph.root(of: entity.name)?.parent != nil
  }

  // MARK: Elements

  func entityElement(_ entity: EntityDescription) -> ModelElement {
    .entity(version: version.number, name: entity.name)
  }

  func attributeElement(_ name: String, _ entity: EntityDescription) -> ModelElement {
    .attribute(version: version.number, entity: entity.name, name: name)
  }

  func relationshipElement(_ name: String, _ entity: EntityDescription) -> ModelElement {
    .relationship(version: version.number, entity: entity.name, name: name)
  }

  func fetchedElement(_ name: String, _ entity: EntityDescription) -> ModelElement {
    .fetchedProperty(version: version.number, entity: entity.name, name: name)
  }

  func templateElement(_ name: String, _ entity: EntityDescription) -> ModelElement {
    .fetchTemplate(version: version.number, entity: entity.name, name: name)
  }

  // MARK: Reporting

  /// Reports at a value of an element, or at the element where it has no such value.
  func error(_ element: ModelElement, _ key: String? = nil, _ message: String, suggestion: String? = nil) {
    guard let location = positions.nearest(to: element, key: key) else { return }
    diagnostics.error(location, message, suggestion: suggestion)
  }

  func warning(_ element: ModelElement, _ key: String? = nil, _ message: String) {
    guard let location = positions.nearest(to: element, key: key) else { return }
    diagnostics.warning(location, message)
  }

  /// Reports at a step of a key path, `author.name` having two.
  func error(
    _ element: ModelElement, _ key: String, step: Int, _ message: String, suggestion: String? = nil
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

  /// What a name stands for that is no entity, to say in place of "unknown".
  func reportUnknownEntity(_ name: String, _ element: ModelElement, _ key: String) {
    if graph.enumeration(name) != nil {
      error(element, key, "'\(name)' is an enum and no entity; an attribute can have it as its type")
    } else if graph.composite(name) != nil {
      error(element, key, "'\(name)' is a composite and no entity; an attribute can have it as its type")
    } else {
      error(
        element, key, "unknown entity '\(name)'",
        suggestion: closestName(to: name, in: version.entities.map(\.name)))
    }
  }
}
