import CDModel

extension Resolver {
  /// The lists of properties under `unique:` for which a class gets a function that finds an object.
  mutating func uniqueKeys(of entity: EntityDescription) -> [UniqueKeyDeclaration] {
    var result: [UniqueKeyDeclaration] = []
    var seen: Set<[String]> = []
    for constraint in entity.uniquenessConstraints where seen.insert(constraint).inserted {
      let parts = constraint.compactMap { uniqueKeyPart($0, of: entity.name) }
      guard parts.count == constraint.count, !parts.isEmpty else { continue }
      let hidesContext = parts.contains { $0.name == "context" }
      result.append(
        UniqueKeyDeclaration(parts: parts, contextName: hidesContext ? "_context" : "context"))
    }
    return result
  }

  private mutating func uniqueKeyPart(_ key: String, of entity: String) -> UniqueKeyDeclaration.Part? {
    switch graph.property(key, of: entity) {
    case .attribute(let attribute)?:
      guard let type = valueType(attribute.type) else { return nil }
      if attribute.isTransient || type.kind == .codable {
        report(.unsupportedType(type.name), type: entity, member: key)
        return nil
      }
      let name = SwiftName.escaped(attribute.swiftName)
      return .init(
        key: SwiftLiteral.string(key), name: name, type: type.name, value: name + ".attributeValue",
        needsFoundation: type.needsFoundation)
    case .relationship(let relationship)?:
      guard !relationship.isToMany, let destination = classNames(of: relationship.destination) else {
        report(.unsupportedType(relationship.destination), type: entity, member: key)
        return nil
      }
      let name = SwiftName.escaped(relationship.swiftName)
      return .init(
        key: SwiftLiteral.string(key), name: name, type: destination.type, value: name + ".attributeValue",
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
          variables: variables, contextName: hidesContext ? "_context" : "context", doc: template.doc))
    }
    return result
  }

  private mutating func variables(
    of template: FetchTemplate, in entity: String
  ) -> [TemplateDeclaration.Variable] {
    []
  }
}
