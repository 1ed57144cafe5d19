import CDModel
import CDTooling

/// Checks the names of a version: those of types, cases, fields, properties, fetches and columns, and those in Swift.
struct NameValidator {
  private let modelName: String
  private let report: VersionReport
  private let version: ModelVersion
  private let graph: EntityGraph
  private let circles: InheritanceCircles

  init(_ report: VersionReport, modelName: String, circles: InheritanceCircles) {
    self.modelName = modelName
    self.report = report
    version = report.version
    graph = report.graph
    self.circles = circles
  }

  // MARK: Entities, enums and composites

  /// Entities, enumerations and composites are all types, so they share one namespace.
  func validateTypeNames() {
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
      TypeName(noun: "entity", name: $0.name, swiftName: $0.swiftName, element: report.entityElement($0))
    }
    let all = (enums + composites + entities).sorted {
      guard let left = report.positions[$0.element], let right = report.positions[$1.element] else {
        return false
      }
      return left < right
    }
    var firstByName: [String: TypeName] = [:]
    var firstBySwiftName: [String: TypeName] = [:]
    for type in all {
      if let problem = NameRules.problem(with: type.name) {
        report.error(type.element, nil, problem)
      } else if let first = firstByName[type.name] {
        report.error(type.element, nil, "'\(type.name)' is the name of \(first.noun.withArticle) already")
      } else if let first = firstBySwiftName[type.swiftName] {
        report.error(
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
        report.error(
          report.entityElement(entity), nil,
          "'\(entity.name)' and '\(first)' differ only in case, so a store cannot have a table for each"
        )
      } else {
        firstFolded[folded] = entity.name
      }
    }
  }

  private func validateReserved(_ noun: String, _ name: String, swiftName: String, _ element: SchemaElement) {
    if noun == "entity", swiftName != name, !NameRules.isIdentifier(swiftName) {
      report.error(element, "class", "'\(swiftName)' is not a valid name of a Swift class")
      return
    }
    let hidden = noun == "entity" ? ReservedNames.hiddenClasses : ReservedNames.hiddenValues
    // A hidden name compiles in some models, so that a locked version may have it.
    func mistake(_ key: String?, _ text: String) {
      if ReservedNames.types.contains(swiftName) || !hidden.contains(swiftName) {
        report.error(element, key, text)
      } else {
        report.mistake(element, key, text)
      }
    }
    let problem: String
    if ReservedNames.types.contains(swiftName) {
      problem = "a type called '\(swiftName)' would hide the one of that name that generated code needs"
    } else if ReservedNames.members.contains(swiftName) {
      problem = "every generated class has a member '\(swiftName)', which would hide the type"
    } else if hidden.contains(swiftName) {
      problem = "in generated code, '\(swiftName)' means another type"
    } else if swiftName == ManagedObjectModel.typeName(ofModel: modelName) {
      problem = "generated code itself declares '\(swiftName)'"
    } else {
      return
    }
    if noun != "entity" {
      mistake(nil, "\(problem); choose another name for the \(noun)")
    } else if swiftName != name {
      mistake("class", "\(problem); choose another class")
    } else {
      mistake(nil, "\(problem); give the entity's class another name: class: \(name)Object")
    }
  }

  func validateCases(of enumeration: EnumDescription) {
    // As keys, texts in two Unicode forms are equal, as they are for the enumeration in Swift.
    var rawTexts: [String: (name: String, text: String)] = [:]
    for each in enumeration.cases {
      let element = SchemaElement.enumCase(
        version: version.number, enumeration: enumeration.name, name: each.name)
      if !NameRules.isIdentifier(each.name) {
        report.error(
          element, nil,
          "'\(each.name)' is not a valid name: a name is a letter and then letters, digits and underscores")
      } else if ReservedNames.cases.contains(each.name) {
        report.error(element, nil, "a case cannot be called '\(each.name)' in Swift; choose another name")
      }
      guard case .string(let text) = each.rawValue else { continue }
      if let first = rawTexts[text] {
        // The decoder has reported a text that is the same byte by byte.
        if first.text.utf8.elementsEqual(text.utf8) { continue }
        report.mistake(
          element, "value",
          "case '\(each.name)' has the raw value of case '\(first.name)' in another Unicode form; "
            + "Swift takes the two for equal, so that this case is never read")
      } else {
        rawTexts[text] = (each.name, text)
      }
    }
  }

  func validateFields(of composite: CompositeDescription) {
    var folded: [String: String] = [:]
    var swiftNames: [String: String] = [:]
    for field in composite.fields {
      let element = report.fieldElement(field.name, composite.name)
      if let problem = NameRules.problem(with: field.name) { report.error(element, nil, problem) }
      validateSwiftName(
        field.swiftName, of: field.name, element, reserved: ReservedNames.fields, owner: composite.name)
      warnOfPathMember(field.name, field.propertyName, element)
      if let first = folded[field.name.lowercased()] {
        report.error(
          element, nil,
          "'\(field.name)' and '\(first)' differ only in case, so a table cannot have a column for each"
        )
      }
      folded[field.name.lowercased()] = field.name
      if let first = swiftNames[field.swiftName] {
        report.error(
          element, "swiftName", "'\(first)' and '\(field.name)' are both '\(field.swiftName)' in Swift")
      }
      swiftNames[field.swiftName] = field.name
    }
  }

  // MARK: Properties

  func validatePropertyNames(of entity: EntityDescription) {
    var first: [String: NamedProperty] = [:]
    for property in report.properties(of: entity) {
      if let problem = NameRules.problem(with: property.name) {
        report.error(property.element, nil, problem)
        continue
      }
      if property.noun == "relationship", ReservedNames.relationships.contains(property.name) {
        report.error(
          property.element, nil,
          "a relationship cannot be called 'none', because 'inverse: none' means that there is no inverse")
      }
      if let other = first[property.name] {
        report.error(
          property.element, nil,
          "'\(property.name)' is \(other.noun.withArticle) of '\(entity.name)' already")
      } else {
        first[property.name] = property
      }
      if let parent = entity.parent, !circles.contains(entity),
        graph.property(property.name, of: parent) != nil,
        let owner = graph.declaringEntity(of: property.name, in: parent)
      {
        report.error(
          property.element, nil,
          "'\(entity.name)' inherits '\(property.name)' from '\(owner.name)' and cannot declare it again")
      }
    }
    validateTemplateNames(of: entity)
  }

  private func validateTemplateNames(of entity: EntityDescription) {
    let inherited = circles.contains(entity) ? [] : graph.lineage(of: entity.name).dropLast()
    for template in entity.fetchTemplates {
      let element = report.templateElement(template.name, entity)
      if let problem = NameRules.problem(with: template.name) {
        report.error(element, nil, problem)
      } else if ReservedNames.statics.contains(template.name) {
        report.error(
          element, nil,
          "every generated class has a static '\(template.name)'; choose another name for the fetch")
      } else if let owner = inherited.first(where: { $0.fetchTemplates.contains { $0.name == template.name } }
      ) {
        report.error(
          element, nil,
          "'\(entity.name)' inherits the fetch '\(template.name)' from '\(owner.name)' and cannot declare it again"
        )
      }
    }
  }

  /// Checks the Swift names of an entity's properties, including inherited ones.
  func validateSwiftNames(of entity: EntityDescription) {
    var taken: [String: String] = [:]
    if !circles.contains(entity) {
      for ancestor in graph.lineage(of: entity.name).dropLast() {
        for property in report.properties(of: ancestor) { taken[property.swiftName] = property.name }
      }
    }
    let own = report.properties(of: entity)
    for property in own {
      validateSwiftName(
        property.swiftName, of: property.name, property.element, reserved: ReservedNames.properties,
        owner: entity.name)
      if let other = taken[property.swiftName], other != property.name {
        report.error(
          property.element, "swiftName",
          "'\(other)' and '\(property.name)' are both '\(property.swiftName)' in Swift; "
            + "give one of them another name there with 'swiftName'")
      }
      taken[property.swiftName] = property.name
    }
    for attribute in entity.attributes where attribute.isStored {
      // Conditions cannot use a codable, under any name.
      if case .codable = attribute.type { continue }
      warnOfPathMember(
        attribute.name, attribute.propertyName, report.attributeElement(attribute.name, entity))
    }
    for relationship in entity.relationships {
      warnOfPathMember(
        relationship.name, relationship.propertyName, report.relationshipElement(relationship.name, entity))
    }
    let bySwiftName = Dictionary(own.map { ($0.swiftName, $0) }, uniquingKeysWith: { first, _ in first })
    for property in own where property.isToMany {
      let capitalised = property.swiftName.prefix(1).uppercased() + property.swiftName.dropFirst()
      for mutator in ["addTo", "removeFrom", "insertInto"].map({ $0 + capitalised }) {
        guard let other = bySwiftName[mutator] else { continue }
        report.error(
          other.element, nil,
          "'\(mutator)' is the method that changes '\(property.name)'; "
            + "give this another name in Swift with 'swiftName'")
      }
    }
  }

  /// Warns of a name that conditions cannot use as a key path. A name with a `swiftName:` is not reported: whoever wrote it
  /// has chosen the name.
  private func warnOfPathMember(_ name: String, _ propertyName: String?, _ element: SchemaElement) {
    guard !report.isLocked, propertyName == nil, ReservedNames.pathMembers.contains(name) else { return }
    report.warning(
      element, nil,
      "every key path has its own '\(name)', which hides this one in conditions; "
        + "choose another name with 'swiftName:', or keep this one with 'swiftName: \(name)'")
  }

  private func validateSwiftName(
    _ swiftName: String, of name: String, _ element: SchemaElement, reserved: Set<String>, owner: String
  ) {
    if swiftName != name, !NameRules.isIdentifier(swiftName) {
      report.error(element, "swiftName", "'\(swiftName)' is not a valid name of a Swift property")
    } else if swiftName != name, swiftName.hasPrefix("_") {
      report.mistake(
        element, "swiftName",
        "'\(swiftName)' starts with an underscore; generated code needs such names for itself")
    } else if reserved.contains(swiftName) {
      let capitalised = swiftName.prefix(1).uppercased() + swiftName.dropFirst()
      let other = owner.prefix(1).lowercased() + owner.dropFirst() + capitalised
      report.error(
        element, swiftName == name ? nil : "swiftName",
        "'\(swiftName)' is taken in every generated type; "
          + "give this another name in Swift: swiftName: \(other)")
    }
  }

  /// Checks column names. All entities of an inheritance hierarchy share one table.
  func validateColumnNames() {
    for root in version.entities where graph.root(of: root.name)?.name == root.name {
      var first: [String: String] = [:]
      for entity in [root] + graph.descendants(of: root.name) {
        for property in report.properties(of: entity) where property.hasColumn {
          let folded = property.name.lowercased()
          if let other = first[folded], other != property.name {
            report.error(
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
  func validateComposedColumnNames() {
    func text(_ column: StoredColumn) -> String { "'\(column.property.name)' of '\(column.entity)'" }
    for root in version.entities where graph.root(of: root.name)?.name == root.name {
      for conflict in ColumnConflicts(graph: graph, root: root).find() {
        let (entity, name) = (conflict.second.entity, conflict.second.property.name)
        let element: ModelElement =
          conflict.second.kind == .reference
          ? .relationship(entity: entity, name: name) : .attribute(entity: entity, name: name)
        report.mistake(
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
