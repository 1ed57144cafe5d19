import CDModel

extension Resolver {
  mutating func enums() -> [EnumDeclaration] {
    var problems: [GenerationProblem] = []
    let result = graph.version.enums.map { EnumDeclaration($0, problems: &problems) }
    for problem in problems { report(problem.reason, type: problem.type, member: problem.member) }
    return result
  }

  mutating func composites() -> [CompositeDeclaration] {
    var result: [CompositeDeclaration] = []
    for composite in graph.version.composites {
      var seen: Set<String> = []
      if composite.fields.isEmpty { report(.unfittingValue, type: composite.name) }
      var fields: [CompositeDeclaration.Field] = []
      for field in composite.fields {
        checkName(field.swiftName, of: composite.name, member: field.name, reserved: ReservedNames.fields)
        if !seen.insert(field.swiftName).inserted {
          report(.duplicateName(field.swiftName), type: composite.name, member: field.name)
        }
        if let declaration = declaration(of: field, in: composite.name) { fields.append(declaration) }
      }
      result.append(
        CompositeDeclaration(
          plainName: composite.name, typeName: SwiftName.escaped(composite.name),
          expression: expression(of: composite.name), fields: fields, doc: composite.doc))
    }
    return result
  }

  private mutating func declaration(
    of field: AttributeDescription, in composite: String
  ) -> CompositeDeclaration.Field? {
    guard let type = valueType(field.type) else {
      report(.unknownType(field.type.schemaName), type: composite, member: field.name)
      return nil
    }
    if type.kind == .composite || type.kind == .codable {
      report(.unsupportedType(field.type.schemaName), type: composite, member: field.name)
      return nil
    }
    var defaultArgument: String? = field.isOptional ? "nil" : nil
    switch field.defaultValue {
    case .value(let value)?:
      defaultArgument = argumentLiteral(value, of: field.type, isOptional: field.isOptional)
      if defaultArgument == nil { report(.unfittingValue, type: composite, member: field.name) }
    case .now?: defaultArgument = "Foundation.Date()"
    case .uuid?: defaultArgument = "Foundation.UUID.random()"
    case nil: break
    }
    let fallback = fallback(field.type, default: field.defaultValue)
    return CompositeDeclaration.Field(
      key: SwiftLiteral.string(field.name), property: SwiftName.escaped(field.swiftName),
      label: SwiftName.label(field.swiftName),
      storage: type.kind == .scalar ? SwiftName.escaped(field.swiftName) : "_" + field.swiftName, type: type,
      isOptional: field.isOptional, defaultArgument: defaultArgument,
      emptyArgument: defaultArgument == nil ? fallback ?? type.empty : nil, fallback: fallback, doc: field.doc
    )
  }

  /// Reports a property's name that Swift or generated code does not allow.
  mutating func checkName(_ name: String, of owner: String, member: String, reserved: Set<String>) {
    if !SwiftName.isValid(name) {
      report(.invalidName(name), type: owner, member: member)
    } else if ReservedNames.modules.contains(name) || reserved.contains(name) {
      report(.reservedName(name), type: owner, member: member)
    }
  }
}
