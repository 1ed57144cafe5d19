import CDModel

/// A property of any kind, as the checks of names see it.
struct NamedProperty {
  var name: String
  var swiftName: String
  var element: ModelElement
  var noun: String
  /// Whether a table has a column or a join table for it.
  var hasColumn: Bool
  var isToMany = false
}

extension VersionValidator {
  /// An entity's own properties in order of their kinds.
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

  // MARK: Entities, enums and composites

  /// Entities, enums and composites are all types, and so share one namespace.
  func validateTypeNames() {
    struct TypeName {
      var noun: String
      var name: String
      var swiftName: String
      var element: ModelElement
    }
    let enums = version.enums.map {
      TypeName(
        noun: "enum", name: $0.name, swiftName: $0.name,
        element: .enumeration(version: version.number, name: $0.name))
    }
    let composites = version.composites.map {
      TypeName(
        noun: "composite", name: $0.name, swiftName: $0.name,
        element: .composite(version: version.number, name: $0.name))
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
          "'\(entity.name)' and '\(first)' differ only in case, and the tables of a store do not tell them apart"
        )
      } else {
        firstFolded[folded] = entity.name
      }
    }
  }

  private func validateReserved(_ noun: String, _ name: String, swiftName: String, _ element: ModelElement) {
    if noun == "entity", swiftName != name, !NameRules.isIdentifier(swiftName) {
      error(element, "class", "'\(swiftName)' is no name of a Swift class")
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

  func validateCases(of enumeration: EnumDescription) {
    for each in enumeration.cases {
      let element = ModelElement.enumCase(
        version: version.number, enumeration: enumeration.name, name: each.name)
      if !NameRules.isIdentifier(each.name) {
        error(
          element, nil,
          "'\(each.name)' is no name: a name is a letter and then letters, digits and underscores")
      } else if ReservedNames.cases.contains(each.name) {
        error(element, nil, "a case cannot be called '\(each.name)' in Swift; choose another name")
      }
    }
  }

  func validateFields(of composite: CompositeDescription) {
    var folded: [String: String] = [:]
    var swiftNames: [String: String] = [:]
    for field in composite.fields {
      let element = ModelElement.field(version: version.number, composite: composite.name, name: field.name)
      if let problem = NameRules.problem(with: field.name) { error(element, nil, problem) }
      validateSwiftName(
        field.swiftName, of: field.name, element, reserved: ReservedNames.fields, owner: composite.name)
      if let first = folded[field.name.lowercased()] {
        error(
          element, nil,
          "'\(field.name)' and '\(first)' differ only in case, and the columns of a store do not tell them apart"
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

  func validatePropertyNames(of entity: EntityDescription) {
    var first: [String: NamedProperty] = [:]
    for property in properties(of: entity) {
      if let problem = NameRules.problem(with: property.name) {
        error(property.element, nil, problem)
        continue
      }
      if property.noun == "relationship", ReservedNames.relationships.contains(property.name) {
        error(
          property.element, nil,
          "a relationship cannot be called 'none', since 'inverse: none' says that there is no inverse")
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

  /// What properties are called in Swift, inherited ones among them.
  func validateSwiftNames(of entity: EntityDescription) {
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
    _ swiftName: String, of name: String, _ element: ModelElement, reserved: Set<String>, owner: String
  ) {
    if swiftName != name, !NameRules.isIdentifier(swiftName) {
      error(element, "swiftName", "'\(swiftName)' is no name of a Swift property")
    } else if reserved.contains(swiftName) {
      let capitalised = swiftName.prefix(1).uppercased() + swiftName.dropFirst()
      let other = owner.prefix(1).lowercased() + owner.dropFirst() + capitalised
      error(
        element, swiftName == name ? nil : "swiftName",
        "'\(swiftName)' is taken in every generated type; "
          + "give this another name in Swift: swiftName: \(other)")
    }
  }

  /// An inheritance root and all entities below it share one table.
  func validateColumnNames() {
    for root in version.entities where graph.root(of: root.name)?.name == root.name {
      var first: [String: String] = [:]
      for entity in [root] + graph.descendants(of: root.name) {
        for property in properties(of: entity) where property.hasColumn {
          let folded = property.name.lowercased()
          if let other = first[folded], other != property.name {
            error(
              property.element, nil,
              "'\(property.name)' and '\(other)' differ only in case, "
                + "and the columns of a store do not tell them apart")
          }
          if first[folded] == nil { first[folded] = property.name }
        }
      }
    }
  }
}

extension String {
  /// The word with `a` or `an` before it.
  var withArticle: String {
    guard let first else { return self }
    return ("aeiou".contains(first.lowercased()) ? "an " : "a ") + self
  }
}
