import CDModel

/// Checks one version: its names, its references, and values that do not fit together.
///
/// It continues after every mistake. Mistakes that only follow from a reported one are not reported: elements in
/// `broken` count as correct.
struct VersionValidator {
  let modelName: String
  let version: ModelVersion
  let graph: EntityGraph
  let broken: Set<SchemaElement>
  /// Names of properties and types with wrong declarations. Expressions that use them cannot be checked.
  let suspectNames: Set<String>
  let circles: InheritanceCircles
  /// The number of ancestors of each entity, by the entity's index.
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
    validateComposedColumnNames()
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
        where decoded.broken.contains(.part(.enumeration(name), version: decoded.version.number)):
          names.insert(attribute.name)
        case .composite(let name)
        where decoded.broken.contains(.part(.composite(name), version: decoded.version.number)):
          names.insert(attribute.name)
        default: break
        }
      }
    }
    return names
  }

  /// Whether one of the entity's ancestors does not exist, so that its inherited properties are unknown.
  private func hasUnknownAncestor(_ entity: EntityDescription) -> Bool {
    graph.root(of: entity.name)?.parent != nil
  }

  // MARK: Elements

  private func entityElement(_ entity: EntityDescription) -> SchemaElement {
    .part(.entity(entity.name), version: version.number)
  }

  private func attributeElement(_ name: String, _ entity: EntityDescription) -> SchemaElement {
    .part(.attribute(entity: entity.name, name: name), version: version.number)
  }

  private func relationshipElement(_ name: String, _ entity: EntityDescription) -> SchemaElement {
    .part(.relationship(entity: entity.name, name: name), version: version.number)
  }

  private func fetchedElement(_ name: String, _ entity: EntityDescription) -> SchemaElement {
    .part(.fetchedProperty(entity: entity.name, name: name), version: version.number)
  }

  private func templateElement(_ name: String, _ entity: EntityDescription) -> SchemaElement {
    .part(.fetchTemplate(entity: entity.name, name: name), version: version.number)
  }

  // MARK: Reporting

  /// Reports an error at a value of an element, or at the element itself if it has no such value.
  func error(_ element: SchemaElement, _ key: String? = nil, _ message: String, suggestion: String? = nil) {
    guard let location = positions.nearest(to: element, key: key) else { return }
    diagnostics.error(location, message, suggestion: suggestion)
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
  private func reportUnknownEntity(_ name: String, _ element: SchemaElement, _ key: String) {
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

extension VersionValidator {
  /// An entity's own properties: attributes, relationships, then fetched properties.
  private func properties(of entity: EntityDescription) -> [NamedProperty] {
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

  // MARK: Entities, enums and composites

  /// Entities, enumerations and composites are all types, so they share one namespace.
  private func validateTypeNames() {
    struct TypeName {
      var noun: String
      var name: String
      var swiftName: String
      var element: SchemaElement
    }
    let enums = version.enums.map {
      TypeName(
        noun: "enum", name: $0.name, swiftName: $0.name,
        element: .part(.enumeration($0.name), version: version.number))
    }
    let composites = version.composites.map {
      TypeName(
        noun: "composite", name: $0.name, swiftName: $0.name,
        element: .part(.composite($0.name), version: version.number))
    }
    let entities = version.entities.map {
      TypeName(noun: "entity", name: $0.name, swiftName: $0.swiftName, element: entityElement($0))
    }
    let all = (enums + composites + entities).sorted {
      guard let left = positions[$0.element], let right = positions[$1.element] else { return false }
      return left < right
    }
    var firstByName: [String: TypeName] = [:]
    var firstBySwiftName: [String: TypeName] = [:]
    for type in all {
      if let problem = NameRules.problem(with: type.name) {
        error(type.element, nil, problem)
      } else if let first = firstByName[type.name] {
        error(type.element, nil, "'\(type.name)' is the name of \(first.noun.withArticle) already")
      } else if let first = firstBySwiftName[type.swiftName] {
        error(
          type.element, "class",
          "\(type.noun) '\(type.name)' and \(first.noun) '\(first.name)' are both '\(type.swiftName)' in Swift; "
            + "give an entity another name there with 'class'")
      }
      if firstByName[type.name] == nil { firstByName[type.name] = type }
      if firstBySwiftName[type.swiftName] == nil { firstBySwiftName[type.swiftName] = type }
      validateReserved(type.noun, type.name, swiftName: type.swiftName, type.element)
    }
    var firstFolded: [String: String] = [:]
    for entity in version.entities {
      let folded = entity.name.lowercased()
      if let first = firstFolded[folded] {
        error(
          entityElement(entity), nil,
          "'\(entity.name)' and '\(first)' differ only in case, so a store cannot have a table for each"
        )
      } else {
        firstFolded[folded] = entity.name
      }
    }
  }

  private func validateReserved(_ noun: String, _ name: String, swiftName: String, _ element: SchemaElement) {
    if noun == "entity", swiftName != name, !NameRules.isIdentifier(swiftName) {
      error(element, "class", "'\(swiftName)' is not a valid name of a Swift class")
      return
    }
    let problem: String
    if ReservedNames.types.contains(swiftName) {
      problem = "a type called '\(swiftName)' would hide the one of that name that generated code needs"
    } else if swiftName == modelName + "Model" {
      problem = "generated code itself declares '\(swiftName)'"
    } else {
      return
    }
    if noun != "entity" {
      error(element, nil, "\(problem); choose another name for the \(noun)")
    } else if swiftName != name {
      error(element, "class", "\(problem); choose another class")
    } else {
      error(element, nil, "\(problem); give the entity's class another name: class: \(name)Object")
    }
  }

  private func validateCases(of enumeration: EnumDescription) {
    for each in enumeration.cases {
      let element = SchemaElement.enumCase(
        version: version.number, enumeration: enumeration.name, name: each.name)
      if !NameRules.isIdentifier(each.name) {
        error(
          element, nil,
          "'\(each.name)' is not a valid name: a name is a letter and then letters, digits and underscores")
      } else if ReservedNames.cases.contains(each.name) {
        error(element, nil, "a case cannot be called '\(each.name)' in Swift; choose another name")
      }
    }
  }

  private func validateFields(of composite: CompositeDescription) {
    var folded: [String: String] = [:]
    var swiftNames: [String: String] = [:]
    for field in composite.fields {
      let element = SchemaElement.part(
        .field(composite: composite.name, name: field.name), version: version.number)
      if let problem = NameRules.problem(with: field.name) { error(element, nil, problem) }
      validateSwiftName(
        field.swiftName, of: field.name, element, reserved: ReservedNames.fields, owner: composite.name)
      if let first = folded[field.name.lowercased()] {
        error(
          element, nil,
          "'\(field.name)' and '\(first)' differ only in case, so a table cannot have a column for each"
        )
      }
      folded[field.name.lowercased()] = field.name
      if let first = swiftNames[field.swiftName] {
        error(element, "swiftName", "'\(first)' and '\(field.name)' are both '\(field.swiftName)' in Swift")
      }
      swiftNames[field.swiftName] = field.name
      validate(field, element)
    }
  }

  // MARK: Properties

  private func validatePropertyNames(of entity: EntityDescription) {
    var first: [String: NamedProperty] = [:]
    for property in properties(of: entity) {
      if let problem = NameRules.problem(with: property.name) {
        error(property.element, nil, problem)
        continue
      }
      if property.noun == "relationship", ReservedNames.relationships.contains(property.name) {
        error(
          property.element, nil,
          "a relationship cannot be called 'none', because 'inverse: none' means that there is no inverse")
      }
      if let other = first[property.name] {
        error(
          property.element, nil,
          "'\(property.name)' is \(other.noun.withArticle) of '\(entity.name)' already")
      } else {
        first[property.name] = property
      }
      if let parent = entity.parent, !isInCycle(entity), graph.property(property.name, of: parent) != nil,
        let owner = graph.declaringEntity(of: property.name, in: parent)
      {
        error(
          property.element, nil,
          "'\(entity.name)' inherits '\(property.name)' from '\(owner.name)' and cannot declare it again")
      }
    }
    validateTemplateNames(of: entity)
  }

  private func validateTemplateNames(of entity: EntityDescription) {
    let inherited = isInCycle(entity) ? [] : graph.lineage(of: entity.name).dropLast()
    for template in entity.fetchTemplates {
      let element = templateElement(template.name, entity)
      if let problem = NameRules.problem(with: template.name) {
        error(element, nil, problem)
      } else if ReservedNames.statics.contains(template.name) {
        error(
          element, nil,
          "every generated class has a static '\(template.name)'; choose another name for the fetch")
      } else if let owner = inherited.first(where: { $0.fetchTemplates.contains { $0.name == template.name } }
      ) {
        error(
          element, nil,
          "'\(entity.name)' inherits the fetch '\(template.name)' from '\(owner.name)' and cannot declare it again"
        )
      }
    }
  }

  /// Checks the Swift names of an entity's properties, including inherited ones.
  private func validateSwiftNames(of entity: EntityDescription) {
    var taken: [String: String] = [:]
    if !isInCycle(entity) {
      for ancestor in graph.lineage(of: entity.name).dropLast() {
        for property in properties(of: ancestor) { taken[property.swiftName] = property.name }
      }
    }
    let own = properties(of: entity)
    for property in own {
      validateSwiftName(
        property.swiftName, of: property.name, property.element, reserved: ReservedNames.properties,
        owner: entity.name)
      if let other = taken[property.swiftName], other != property.name {
        error(
          property.element, "swiftName",
          "'\(other)' and '\(property.name)' are both '\(property.swiftName)' in Swift; "
            + "give one of them another name there with 'swiftName'")
      }
      taken[property.swiftName] = property.name
    }
    let bySwiftName = Dictionary(own.map { ($0.swiftName, $0) }, uniquingKeysWith: { first, _ in first })
    for property in own where property.isToMany {
      let capitalised = property.swiftName.prefix(1).uppercased() + property.swiftName.dropFirst()
      for mutator in ["addTo", "removeFrom", "insertInto"].map({ $0 + capitalised }) {
        guard let other = bySwiftName[mutator] else { continue }
        error(
          other.element, nil,
          "'\(mutator)' is the method that changes '\(property.name)'; "
            + "give this another name in Swift with 'swiftName'")
      }
    }
  }

  private func validateSwiftName(
    _ swiftName: String, of name: String, _ element: SchemaElement, reserved: Set<String>, owner: String
  ) {
    if swiftName != name, !NameRules.isIdentifier(swiftName) {
      error(element, "swiftName", "'\(swiftName)' is not a valid name of a Swift property")
    } else if swiftName != name, swiftName.hasPrefix("_") {
      error(
        element, "swiftName",
        "'\(swiftName)' starts with an underscore; generated code needs such names for itself")
    } else if reserved.contains(swiftName) {
      let capitalised = swiftName.prefix(1).uppercased() + swiftName.dropFirst()
      let other = owner.prefix(1).lowercased() + owner.dropFirst() + capitalised
      error(
        element, swiftName == name ? nil : "swiftName",
        "'\(swiftName)' is taken in every generated type; "
          + "give this another name in Swift: swiftName: \(other)")
    }
  }

  /// Checks column names. All entities of an inheritance hierarchy share one table.
  private func validateColumnNames() {
    for root in version.entities where graph.root(of: root.name)?.name == root.name {
      var first: [String: String] = [:]
      for entity in [root] + graph.descendants(of: root.name) {
        for property in properties(of: entity) where property.hasColumn {
          let folded = property.name.lowercased()
          if let other = first[folded], other != property.name {
            error(
              property.element, nil,
              "'\(property.name)' and '\(other)' differ only in case, "
                + "so a table cannot have a column for each")
          }
          if first[folded] == nil { first[folded] = property.name }
        }
      }
    }
  }

  /// Checks the names of columns that are composed of two names.
  private func validateComposedColumnNames() {
    func text(_ column: StoredColumn) -> String { "'\(column.property.name)' of '\(column.entity)'" }
    for root in version.entities where graph.root(of: root.name)?.name == root.name {
      for conflict in ColumnConflicts(graph: graph, root: root).find() {
        let (entity, name) = (conflict.second.entity, conflict.second.property.name)
        let element: ModelElement =
          conflict.second.kind == .reference
          ? .relationship(entity: entity, name: name) : .attribute(entity: entity, name: name)
        error(
          .part(element, version: version.number), nil,
          "\(text(conflict.second)) and \(text(conflict.first)) both need a column '\(conflict.name)' "
            + "in the table of '\(root.name)'; rename one of them")
      }
    }
  }
}

extension String {
  /// The word with `a` or `an` in front.
  var withArticle: String {
    guard let first else { return self }
    return ("aeiou".contains(first.lowercased()) ? "an " : "a ") + self
  }
}

extension VersionValidator {
  /// Checks an attribute of an entity or a field of a composite.
  private func validate(_ attribute: AttributeDescription, _ element: SchemaElement) {
    if broken.contains(element) { return }
    validateKind(attribute, element)
    validateBounds(attribute, element)
    validateLength(attribute, element)
    validatePattern(attribute, element)
    guard case .value(let value)? = attribute.defaultValue else { return }
    validateDefault(value, of: attribute, element)
    guard case .composite(let name) = attribute.type, case .composite(let values) = value else { return }
    for field in graph.composite(name)?.fields ?? [] {
      // A field's own default is checked with the field.
      guard let value = values[field.name], field.defaultValue != .value(value),
        !broken.contains(.part(.field(composite: name, name: field.name), version: version.number))
      else { continue }
      validateDefault(value, of: field, element, owner: " of '\(field.name)'")
    }
  }

  private func validateKind(_ attribute: AttributeDescription, _ element: SchemaElement) {
    if attribute.storesExternally {
      switch attribute.type {
      case .data, .codable: break
      default:
        error(
          element, "external",
          "'external' is allowed for Data and codable values, not for \(attribute.type.schemaName)")
      }
      if attribute.isTransient {
        error(element, "external", "a transient attribute is not stored, so it cannot be external")
      }
    }
    guard attribute.derivation != nil else { return }
    if attribute.isTransient {
      error(element, "transient", "a derived attribute is stored, and so cannot be transient")
    }
    if attribute.defaultValue != nil {
      error(element, "default", "a derived attribute is always computed, so it cannot have a default")
    }
    switch attribute.type {
    case .composite, .codable:
      error(element, "type", "an expression cannot have a value of type \(attribute.type.schemaName)")
    default: break
    }
  }

  private func validateBounds(_ attribute: AttributeDescription, _ element: SchemaElement) {
    if let minimum = attribute.minimum, let maximum = attribute.maximum,
      AttributeOrder.isLess(maximum, minimum)
    {
      error(
        element, "max",
        "the maximum \(maximum.excerpt) is below the minimum \(minimum.excerpt); raise the maximum or lower the minimum"
      )
    }
  }

  private func validateLength(_ attribute: AttributeDescription, _ element: SchemaElement) {
    guard attribute.minimumLength != nil || attribute.maximumLength != nil else { return }
    guard attribute.type.hasLength else {
      for (key, value) in [("minLength", attribute.minimumLength), ("maxLength", attribute.maximumLength)]
      where value != nil {
        let remedy = attribute.type.isOrdered ? "; the bounds of a value are 'min' and 'max'" : ""
        error(
          element, key,
          "'\(key)' is allowed for a String or a Data, but this attribute has the type "
            + "\(attribute.type.schemaName)\(remedy)")
      }
      return
    }
    if let minimum = attribute.minimumLength, let maximum = attribute.maximumLength, minimum > maximum {
      error(element, "maxLength", "the maximum length is below the minimum length")
    }
  }

  private func validatePattern(_ attribute: AttributeDescription, _ element: SchemaElement) {
    guard let pattern = attribute.pattern else { return }
    guard attribute.type == .string else {
      error(
        element, "pattern",
        "'pattern' is allowed for a String, but this attribute has the type \(attribute.type.schemaName)")
      return
    }
    if PatternMatch.expression(pattern) == nil {
      error(element, "pattern", "'\(pattern)' is not a regular expression")
    }
  }

  /// Checks a default by the rules of its attribute, or of its field in a composite. Mistakes in the rules are reported
  /// elsewhere.
  ///
  /// - Parameters:
  ///   - element: The attribute or the field that declares the default.
  ///   - owner: The words for the field, if the default is that of a composite attribute.
  private func validateDefault(
    _ value: AttributeValue, of attribute: AttributeDescription, _ element: SchemaElement, owner: String = ""
  ) {
    validateBounds(ofDefault: value, of: attribute, element, owner: owner)
    validateLength(ofDefault: value, of: attribute, element, owner: owner)
    validatePattern(ofDefault: value, of: attribute, element, owner: owner)
  }

  private func validateBounds(
    ofDefault value: AttributeValue, of attribute: AttributeDescription, _ element: SchemaElement,
    owner: String
  ) {
    let (minimum, maximum) = (attribute.minimum, attribute.maximum)
    if let minimum, let maximum, AttributeOrder.isLess(maximum, minimum) { return }
    if let minimum, AttributeOrder.isLess(value, minimum) {
      error(
        element, "default", "the default \(value.excerpt)\(owner) is below the minimum \(minimum.excerpt)")
    }
    if let maximum, AttributeOrder.isLess(maximum, value) {
      error(
        element, "default", "the default \(value.excerpt)\(owner) is above the maximum \(maximum.excerpt)")
    }
  }

  private func validateLength(
    ofDefault value: AttributeValue, of attribute: AttributeDescription, _ element: SchemaElement,
    owner: String
  ) {
    guard attribute.type.hasLength else { return }
    let minimum = attribute.minimumLength ?? 0
    let maximum = attribute.maximumLength ?? Int.max
    if minimum > maximum { return }
    let length: Int
    switch value {
    case .string(let text): length = text.count
    case .data(let data): length = data.count
    default: return
    }
    if length < minimum {
      error(element, "default", "the default\(owner) is shorter than the minimum length")
    }
    if length > maximum {
      error(element, "default", "the default\(owner) is longer than the maximum length")
    }
  }

  private func validatePattern(
    ofDefault value: AttributeValue, of attribute: AttributeDescription, _ element: SchemaElement,
    owner: String
  ) {
    guard let pattern = attribute.pattern, attribute.type == .string, case .string(let text) = value,
      PatternMatch.expression(pattern) != nil
    else { return }
    switch PatternMatch(text, pattern) {
    case .matches: break
    case .differs, .malformed: error(element, "default", "the default\(owner) does not match the pattern")
    case .tooCostly:
      error(
        element, "pattern",
        "matching the default\(owner) with '\(pattern)' takes too many steps, so objects with such a value could not be "
          + "saved; rewrite the pattern without repetitions within repetitions")
    }
  }
}

extension VersionValidator {
  private func validate(_ relationship: RelationshipDescription, of entity: EntityDescription) {
    let element = relationshipElement(relationship.name, entity)
    if broken.contains(element) { return }
    if let minimum = relationship.minimumCount, let maximum = relationship.maximumCount, minimum > maximum {
      error(element, "count", "the greatest count is below the least")
    } else if relationship.maximumCount == 0 {
      error(element, "count", "a relationship of at most 0 objects could never have any")
    }
    guard graph.entity(relationship.destination) != nil else {
      reportUnknownEntity(relationship.destination, element, "destination")
      return
    }
    guard let name = relationship.inverse else { return }
    validateInverse(name, of: relationship, entity, element)
    if let inverse = graph.inverse(of: relationship, in: entity.name) {
      validateDeleteRules(relationship, entity, inverse, element)
    }
  }

  private func validateInverse(
    _ name: String, of relationship: RelationshipDescription, _ entity: EntityDescription,
    _ element: SchemaElement
  ) {
    let destination = relationship.destination
    let inverse: RelationshipDescription
    switch graph.property(name, of: destination) {
    case .relationship(let found): inverse = found
    case .some:
      error(element, "inverse", "'\(name)' of '\(destination)' is not a relationship")
      return
    case nil:
      // A relationship with a wrong declaration is missing in the model, and is already reported.
      if graph.lineage(of: destination).contains(where: { broken.contains(relationshipElement(name, $0)) }) {
        return
      }
      if let entity = graph.entity(destination), hasUnknownAncestor(entity) { return }
      error(
        element, "inverse", "'\(destination)' has no relationship '\(name)'",
        suggestion: closestName(to: name, in: graph.relationships(of: destination).map(\.name)))
      return
    }
    let back = inverse.destination
    guard graph.entity(back) != nil else { return }
    if !graph.isKind(entity.name, of: back) && !graph.isKind(back, of: entity.name) {
      error(
        element, "inverse",
        "'\(name)' of '\(destination)' leads to '\(back)' and not back to '\(entity.name)'")
    } else if inverse.inverse == nil {
      error(
        element, "inverse",
        "'\(name)' of '\(destination)' does not name '\(relationship.name)' as its inverse; both sides must")
    } else if let other = inverse.inverse, other != relationship.name {
      error(
        element, "inverse",
        "'\(name)' of '\(destination)' has '\(other)' as its inverse and not '\(relationship.name)'")
    }
  }

  /// Reports two delete rules that are valid alone, but not together.
  private func validateDeleteRules(
    _ relationship: RelationshipDescription, _ entity: EntityDescription, _ inverse: RelationshipDescription,
    _ element: SchemaElement
  ) {
    let other = "'\(inverse.name)' of '\(relationship.destination)'"
    switch (relationship.deleteRule, inverse.deleteRule) {
    case (.cascade, .cascade) where relationship.isToMany || inverse.isToMany:
      warning(
        element, "onDelete",
        "this and \(other) both cascade, so that deleting one object deletes "
          + "all objects that are related to it, directly or indirectly")
    case (.deny, .deny):
      warning(
        element, "onDelete",
        "this and \(other) both deny, so that neither of two related objects can be deleted")
    case (.nullify, _) where !inverse.isToMany && !inverse.isOptional:
      warning(
        element, "onDelete",
        "\(other) is mandatory, so that a deletion that nullifies it cannot be saved; use cascade or deny")
    default: break
    }
  }
}

extension VersionValidator {
  private func validateInheritance() {
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

  /// Whether an entity has more ancestors than allowed. Checks of inherited properties would then take too long.
  var isTooDeep: Bool { depths.contains { $0 > EntityGraph.mostAncestors } }

  /// Reports the first entity that is too deep, but not its subentities.
  private func validateDepths() {
    for (entity, depth) in zip(version.entities, depths)
    where depth == EntityGraph.mostAncestors + 1 && !isInCycle(entity) {
      error(
        entityElement(entity), "parent",
        "'\(entity.name)' has more than \(EntityGraph.mostAncestors) ancestors, which is the maximum; "
          + "let the entity inherit from an entity higher up")
    }
  }

  /// The names along a path. The middle of a long path is left out.
  private static func path(_ names: [String]) -> String {
    guard names.count > 24 else { return names.joined(separator: " → ") }
    return
      (names.prefix(10) + ["… \(names.count - 20) more …"] + names.suffix(10)).joined(separator: " → ")
  }

  private func isInCycle(_ entity: EntityDescription) -> Bool { circles.names.contains(entity.name) }
}

/// The cycles of entities that inherit from each other.
struct InheritanceCircles {
  /// Each cycle along the parents, starting at the entity that is declared first.
  private(set) var all: [[EntityDescription]] = []
  private(set) var names: Set<String> = []

  init(_ graph: EntityGraph) {
    // The walk that first visited each entity. A walk that reaches its own entity again has found a cycle.
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
    // A walk may enter a cycle at any of its entities, so each cycle is rotated to start at the one that is declared
    // first.
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

extension VersionValidator {
  private func validateIndexes(of entity: EntityDescription) {
    var seen: [IndexDescription] = []
    for (place, index) in entity.indexes.enumerated() {
      let element = SchemaElement.index(version: version.number, entity: entity.name, index: place)
      if broken.contains(element) { continue }
      if seen.contains(index) {
        error(element, nil, "the same index is repeated here")
        continue
      }
      seen.append(index)
      validate(index.elements.map(\.keyPath), element, of: entity, noun: "an index", allowsFields: true)
    }
  }

  private func validateUniqueness(of entity: EntityDescription) {
    var seen: Set<Set<String>> = []
    for (place, names) in entity.uniquenessConstraints.enumerated() {
      let element = SchemaElement.uniquenessConstraint(
        version: version.number, entity: entity.name, index: place)
      if broken.contains(element) { continue }
      if !seen.insert(Set(names)).inserted {
        error(element, nil, "the same properties are repeated here")
        continue
      }
      validate(names, element, of: entity, noun: "a unique constraint", allowsFields: false)
    }
  }

  /// Checks the elements of an index or a unique constraint. Each must be a column of the table.
  private func validate(
    _ keyPaths: [String], _ element: SchemaElement, of entity: EntityDescription, noun: String,
    allowsFields: Bool
  ) {
    var seen: Set<String> = []
    for (place, keyPath) in keyPaths.enumerated() {
      let key = "elements[\(place)]"
      if !seen.insert(keyPath).inserted {
        error(element, key, step: 0, "'\(keyPath)' is repeated here")
        continue
      }
      let steps = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      switch graph.property(steps[0], of: entity.name) {
      case .attribute(let attribute):
        validateColumn(attribute, steps, element, key, owner: entity, noun: noun, allowsFields: allowsFields)
      case .relationship(let relationship):
        if relationship.isToMany {
          error(
            element, key, step: 0,
            "'\(relationship.name)' is a to-many relationship, which has no column for \(noun)")
        } else if steps.count > 1 {
          error(
            element, key, step: 1, "\(noun) can only contain properties of '\(entity.name)', not '\(keyPath)'"
          )
        } else {
          validateReference(
            relationship, element, key, owner: entity, noun: noun, allowsFields: allowsFields)
        }
      case .fetched:
        error(element, key, step: 0, "'\(steps[0])' is a fetched property, which has no column for \(noun)")
      case nil:
        reportUnknownProperty(steps[0], of: entity, element, key)
      }
    }
  }

  /// Warns of a one-to-one relationship whose other side stores the reference, so that it has no column in this table. This
  /// is no error, because a locked version cannot be changed.
  private func validateReference(
    _ relationship: RelationshipDescription, _ element: SchemaElement, _ key: String,
    owner: EntityDescription, noun: String, allowsFields: Bool
  ) {
    guard !graph.holdsReference(relationship, owner.name),
      let inverse = graph.inverse(of: relationship, in: owner.name)
    else { return }
    let holder = graph.declaringEntity(of: inverse.name, in: relationship.destination)?.name
    let effect =
      allowsFields
      ? "\(noun) has no column for it; remove it from the list"
      : "\(noun) with it has no effect; remove the constraint"
    warning(
      element, key,
      "'\(relationship.name)' is one-to-one and stored with '\(holder ?? relationship.destination)', so \(effect)"
    )
  }

  private func validateColumn(
    _ attribute: AttributeDescription, _ steps: [String], _ element: SchemaElement, _ key: String,
    owner: EntityDescription, noun: String, allowsFields: Bool
  ) {
    if isBroken(attribute.name, of: owner) { return }
    if attribute.isTransient {
      error(
        element, key, step: 0, "'\(attribute.name)' is transient and not stored, so \(noun) cannot contain it"
      )
      return
    }
    if attribute.storesExternally {
      error(
        element, key, step: 0, "'\(attribute.name)' is stored outside the table, so \(noun) cannot contain it"
      )
      return
    }
    switch attribute.type {
    case .composite(let name):
      guard let composite = graph.composite(name) else { return }
      let fields = composite.fields.map(\.name)
      if !allowsFields {
        error(element, key, step: 0, "'\(attribute.name)' is a composite, which \(noun) cannot contain")
      } else if steps.count == 1 {
        error(
          element, key, step: 0,
          "'\(attribute.name)' is a composite; \(noun) covers its fields, such as \(attribute.name).\(fields.first ?? "")"
        )
      } else if steps.count > 2 || !fields.contains(steps[1]) {
        error(
          element, key, step: 1, "composite '\(name)' has no field '\(steps[1...].joined(separator: "."))'",
          suggestion: closestName(to: steps[1], in: fields))
      }
    case .codable:
      error(
        element, key, step: 0,
        "'\(attribute.name)' is a codable value, which has no order, so \(noun) cannot contain it")
    default:
      if steps.count > 1 {
        error(
          element, key, step: 1,
          "'\(attribute.name)' is of type \(attribute.type.schemaName) and has no '\(steps[1])'"
        )
      }
    }
  }

  /// Whether the declaration of a property has a mistake.
  private func isBroken(_ name: String, of entity: EntityDescription) -> Bool {
    graph.lineage(of: entity.name).contains {
      broken.contains(attributeElement(name, $0)) || broken.contains(relationshipElement(name, $0))
        || broken.contains(fetchedElement(name, $0))
    }
  }

  private func reportUnknownProperty(
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
}

extension VersionValidator {
  /// Checks the key paths of a `sort`: any number of to-one relationships, followed by an attribute.
  private func validateSort(_ keys: [SortKey], _ element: SchemaElement, of entity: EntityDescription) {
    var seen: Set<String> = []
    for (place, sortKey) in keys.enumerated() {
      let key = "sort[\(place)]"
      if !seen.insert(sortKey.keyPath).inserted {
        error(element, key, step: 0, "'\(sortKey.keyPath)' is repeated here")
      } else {
        validateSortPath(sortKey.keyPath, element, key, of: entity)
      }
    }
  }

  private func validateSortPath(
    _ keyPath: String, _ element: SchemaElement, _ key: String, of start: EntityDescription
  ) {
    var entity = start
    let steps = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    for (place, step) in steps.enumerated() {
      switch graph.property(step, of: entity.name) {
      case .relationship(let relationship):
        if isBroken(step, of: entity) { return }
        if relationship.isToMany {
          error(
            element, key, step: place,
            "'\(step)' is a to-many relationship, along which nothing can be sorted")
          return
        }
        guard let next = graph.entity(relationship.destination) else { return }
        entity = next
      case .attribute(let attribute):
        if isBroken(step, of: entity) { return }
        validateSortAttribute(attribute, rest: steps[(place + 1)...], element, key)
        return
      case .fetched:
        error(element, key, step: place, "'\(step)' is a fetched property, along which nothing can be sorted")
        return
      case nil:
        reportUnknownProperty(step, of: entity, element, key, step: place)
        return
      }
    }
    error(
      element, key, step: steps.count - 1,
      "'\(keyPath)' leads to objects; name an attribute of theirs to sort by")
  }

  private func validateSortAttribute(
    _ attribute: AttributeDescription, rest: ArraySlice<String>, _ element: SchemaElement, _ key: String
  ) {
    let place = rest.startIndex
    switch attribute.type {
    case .composite(let name):
      let fields = graph.composite(name)?.fields.map(\.name) ?? []
      guard let field = rest.first else {
        error(element, key, step: place - 1, "'\(attribute.name)' is a composite; sort by one of its fields")
        return
      }
      if rest.count > 1 || !fields.contains(field) {
        error(
          element, key, step: place, "composite '\(name)' has no field '\(rest.joined(separator: "."))'",
          suggestion: closestName(to: field, in: fields))
      }
    case .codable:
      error(element, key, step: place - 1, "'\(attribute.name)' is a codable value, which has no order")
    default:
      if let step = rest.first {
        error(
          element, key, step: place,
          "'\(attribute.name)' is of type \(attribute.type.schemaName) and has no '\(step)'")
      }
    }
  }
}

extension VersionValidator {
  private func validate(_ template: FetchTemplate, of entity: EntityDescription) {
    let element = templateElement(template.name, entity)
    validateSort(template.sort, element, of: entity)
    if let predicate = template.predicate {
      let checked = ExpressionChecker(graph: graph).check(predicate, on: entity.name, isTemplate: true)
      report(checked.diagnostics, element, "where", of: entity)
      reportVariables(
        checked.variables.map(\.name).filter { $0.hasPrefix("_") }, element, "where",
        "starts with an underscore; generated code needs such names for itself")
    }
  }

  private func validate(_ fetched: FetchedPropertyDescription, of entity: EntityDescription) {
    let element = fetchedElement(fetched.name, entity)
    guard let destination = graph.entity(fetched.entity) else {
      reportUnknownEntity(fetched.entity, element, "entity")
      return
    }
    validateSort(fetched.sort, element, of: destination)
    if let predicate = fetched.predicate {
      let checked = ExpressionChecker(graph: graph).check(
        predicate, on: destination.name, fetchSource: entity.name)
      report(checked.diagnostics, element, "where", of: destination)
      reportVariables(
        checked.variables.map(\.name).filter { $0 != "FETCH_SOURCE" }, element, "where", Self.hasNoValue)
    }
  }

  private func validateConfigurations() {
    for configuration in version.configurations {
      let element = SchemaElement.part(.configuration(configuration.name), version: version.number)
      if configuration.name.isEmpty { error(element, nil, "a configuration needs a name") }
      for (place, name) in configuration.entities.enumerated() where graph.entity(name) == nil {
        reportUnknownEntity(name, element, "entities[\(place)]")
      }
    }
  }
}

extension VersionValidator {
  /// Checks the expression of a derived attribute. It must have a value of the attribute's type for every object.
  private func validateDerivation(of attribute: AttributeDescription, _ entity: EntityDescription) {
    let element = attributeElement(attribute.name, entity)
    guard let derivation = attribute.derivation, !broken.contains(element) else { return }
    switch attribute.type {
    case .composite, .codable: return  // reported
    default: break
    }
    let checked = ExpressionChecker(graph: graph).check(
      derivation, on: entity.name, expecting: .attribute(attribute.type), allowsNil: attribute.isOptional)
    report(checked.diagnostics, element, "derived", of: entity)
    reportVariables(checked.variables.map(\.name), element, "derived", Self.hasNoValue)
    if checked.hasErrors || isSuspect(element, "derived", of: entity) { return }
    if !checked.isStorable {
      error(
        element, "derived",
        "a derived attribute is stored, so it cannot depend on values that are not stored: "
          + "a transient attribute or a FUNCTION")
    } else if !checked.isTotal {
      error(
        element, "derived",
        "the conversion may fail; write the value for that case as the third argument: CAST(x, 'Int64', else)"
      )
    }
  }

  private func validateDerivationCycles() {
    for circle in DerivationCycles(graph: graph).find() {
      let first = circle[0]
      let path = Self.path((circle + [first]).map { "\($0.entity).\($0.attribute)" })
      error(
        .part(.attribute(entity: first.entity, name: first.attribute), version: version.number), "derived",
        "derived attributes cannot depend on themselves: \(path)")
    }
  }

  /// Only fetch templates may have variables, where they become parameters.
  private static let hasNoValue = "has no value here; only 'fetches' have variables"

  /// Reports variables, each where the text first names it.
  private func reportVariables(
    _ names: [String], _ element: SchemaElement, _ key: String, _ mistake: String
  ) {
    for name in names {
      let text = positions.node(of: element, key: key)?.text ?? ""
      let offset = text.firstRange(of: "$" + name).map {
        text.utf8.distance(from: text.startIndex, to: $0.lowerBound)
      }
      let place = positions.location(of: element, key: key, utf8Offset: offset ?? 0)
      guard let place = place ?? positions.nearest(to: element, key: key) else { continue }
      diagnostics.error(place, "the variable '$\(name)' \(mistake)")
    }
  }

  /// Reports the checker's diagnostics, each at its position in the file.
  private func report(
    _ found: [ExpressionDiagnostic], _ element: SchemaElement, _ key: String, of entity: EntityDescription
  ) {
    if isSuspect(element, key, of: entity) { return }
    for diagnostic in found {
      let place =
        diagnostic.span.flatMap { positions.location(of: element, key: key, utf8Offset: $0.lowerBound) }
        ?? positions.nearest(to: element, key: key)
      guard let place else { continue }
      switch diagnostic.severity {
      case .error, .mistake:
        diagnostics.error(place, diagnostic.message, suggestion: diagnostic.suggestion)
      case .warning:
        diagnostics.warning(place, diagnostic.message, suggestion: diagnostic.suggestion)
      }
    }
  }

  /// Whether an expression uses a name whose declaration is wrong. Its own mistakes may then only follow from that.
  private func isSuspect(_ element: SchemaElement, _ key: String, of entity: EntityDescription) -> Bool {
    if hasUnknownAncestor(entity) { return true }
    guard !suspectNames.isEmpty, let text = positions.node(of: element, key: key)?.text else { return false }
    let words = text.split { !($0.isLetter || $0.isNumber || $0 == "_") }
    return words.contains { suspectNames.contains(String($0)) }
  }
}
