import CDModel

extension Resolver {
  /// The unique constraints for which a class gets a function that finds an object.
  mutating func uniqueKeys(of entity: EntityDescription) -> [UniqueKeyDeclaration] {
    var result: [UniqueKeyDeclaration] = []
    var seen: Set<[String]> = []
    for constraint in entity.uniquenessConstraints where seen.insert(constraint).inserted {
      let parts = constraint.compactMap { uniqueKeyPart($0, of: entity.name) }
      guard parts.count == constraint.count, !parts.isEmpty else { continue }
      let hidesContext = parts.contains { $0.name == "context" }
      result.append(
        UniqueKeyDeclaration(parts: parts, contextName: hidesContext ? SwiftName.otherContext : "context"))
    }
    return result
  }

  private mutating func uniqueKeyPart(_ key: String, of entity: String) -> UniqueKeyDeclaration.Part? {
    switch graph.property(key, of: entity) {
    case .attribute(let attribute)?:
      guard let type = valueType(attribute.type) else { return nil }
      if attribute.isTransient || type.kind == .codable || type.kind == .composite {
        report(.unsupportedType(type.name), type: entity, member: key)
        return nil
      }
      let name = SwiftName.escaped(attribute.swiftName)
      return .init(
        key: SwiftLiteral.string(key), name: name, type: type.name, value: "_constant(\(name))",
        needsFoundation: type.needsFoundation)
    case .relationship(let relationship)?:
      guard !relationship.isToMany, let destination = classNames(of: relationship.destination) else {
        report(.unsupportedType(relationship.destination), type: entity, member: key)
        return nil
      }
      let name = SwiftName.escaped(relationship.swiftName)
      return .init(
        key: SwiftLiteral.string(key), name: name, type: destination.type, value: "_constant(\(name))",
        needsFoundation: false)
    case .fetched?, nil:
      report(.unknownProperty(key), type: entity)
      return nil
    }
  }

  mutating func templates(of entity: EntityDescription) -> [TemplateDeclaration] {
    var result: [TemplateDeclaration] = []
    var seen: Set<String> = []
    for template in entity.fetchTemplates {
      checkName(template.name, of: entity.name, member: template.name, reserved: [])
      if !seen.insert(template.name).inserted {
        report(.duplicateName(template.name), type: entity.name, member: template.name)
      }
      let variables = variables(of: template, in: entity.name)
      let hidesContext = variables.contains { $0.name == "context" }
      result.append(
        TemplateDeclaration(
          key: SwiftLiteral.string(template.name), function: SwiftName.escaped(template.name),
          variables: variables, contextName: hidesContext ? SwiftName.otherContext : "context",
          doc: template.doc))
    }
    return result
  }

  /// The variables of a template's predicate, with their types.
  private mutating func variables(
    of template: FetchTemplate, in entity: String
  ) -> [TemplateDeclaration.Variable] {
    guard let predicate = template.predicate else { return [] }
    let checked = ExpressionChecker(graph: graph).check(predicate, on: entity, isTemplate: true)
    for diagnostic in checked.diagnostics where diagnostic.severity == .error {
      report(.invalidPredicate(diagnostic.description), type: entity, member: template.name)
    }
    if checked.hasErrors { return [] }
    return checked.variables.compactMap { variable in
      guard let type = swiftType(variable.type) else {
        report(.unsupportedType("$\(variable.name): \(variable.type)"), type: entity, member: template.name)
        return nil
      }
      if !SwiftName.isValid(variable.name) {
        report(.invalidName(variable.name), type: entity, member: template.name)
      }
      let name = SwiftName.escaped(variable.name)
      return .init(
        key: SwiftLiteral.string(variable.name), name: name,
        type: variable.isOptional ? type.name + "?" : type.name, value: "_constant(\(name))",
        needsFoundation: type.needsFoundation)
    }
  }

  /// The Swift type of a parameter; nil for a type that parameters cannot have.
  private func swiftType(_ type: ExpressionType) -> (name: String, needsFoundation: Bool)? {
    switch type {
    case .attribute(let type):
      guard let type = valueType(type), type.kind == .scalar || type.kind == .enumeration else { return nil }
      return (type.name, type.needsFoundation)
    case .object(let entity):
      return classNames(of: entity).map { ($0.type, false) }
    case .collection(let element):
      guard !element.isCollection, let element = swiftType(element) else { return nil }
      return ("[\(element.name)]", element.needsFoundation)
    case .dictionary, .null, .unknown:
      return nil
    }
  }
}
