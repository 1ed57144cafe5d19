import CDModel
import CDTooling

/// Creates the declarations for a version of a model, and collects the problems that prevent valid Swift.
struct Resolver {
  let graph: EntityGraph
  let modelTypeName: String
  private(set) var problems: [GenerationProblem] = []
  /// See ``ModelDeclaration/codableTypes``.
  private(set) var codableTypes: [String: [String]] = [:]

  /// Whether classes have snapshots.
  let hasSnapshots: Bool
  /// Whether related objects can be present in snapshots as snapshots.
  let nestsSnapshots: Bool
  private let imports: [String]
  /// The type that contains the version's types; nil if the types are at module level.
  private let namespace: String?
  /// The Swift names of all properties and fetches of the version and of all types nested in the model's type. Inside a
  /// class or the model's type, they can hide other types.
  private let hidingNames: Set<String>
  private var enumTypes: [String: ValueType] = [:]
  private var compositeTypes: [String: ValueType] = [:]

  /// - Parameters:
  ///   - namespace: The type that contains the version's types, such as `ToDoModel.Version1`; nil for types at module
  ///     level.
  ///   - nestedNames: The names of the types nested in the model's type, which also lists the classes.
  ///   - hasSnapshots: Whether classes have snapshots.
  ///   - nestsSnapshots: Whether related objects can be present in snapshots as snapshots.
  init(
    _ version: ModelVersion, modelName: String, imports: [String], namespace: String? = nil,
    nestedNames: Set<String> = [], hasSnapshots: Bool = false, nestsSnapshots: Bool = false
  ) {
    graph = EntityGraph(version)
    modelTypeName = ManagedObjectModel.typeName(ofModel: modelName)
    self.imports = imports
    self.hasSnapshots = hasSnapshots
    self.nestsSnapshots = nestsSnapshots
    self.namespace = namespace
    // `model` is a static member of the type that lists the classes.
    var names = nestedNames.union(["model"])
    for entity in version.entities {
      for attribute in entity.attributes { names.insert(attribute.swiftName) }
      for relationship in entity.relationships { names.insert(relationship.swiftName) }
      for property in entity.fetchedProperties { names.insert(property.swiftName ?? property.name) }
      // A fetch is a static function of the class.
      for template in entity.fetchTemplates { names.insert(template.name) }
    }
    for composite in version.composites {
      for field in composite.fields { names.insert(field.swiftName) }
    }
    hidingNames = names
    if namespace == nil { checkTypeNames() } else { checkNestedTypeNames() }
    for each in version.enums where enumTypes[each.name] == nil {
      let raw = ValueType.scalar(each.rawType) ?? .string
      enumTypes[each.name] = ValueType(
        .enumeration, name: qualified(each.name), expression: expression(of: each.name),
        storage: raw.name, accessor: raw.accessor, empty: raw.empty, size: raw.size)
    }
    for each in version.composites where compositeTypes[each.name] == nil {
      let name = qualified(each.name)
      let expression = expression(of: each.name)
      compositeTypes[each.name] = ValueType(
        .composite, name: name, expression: expression, accessor: "composite", empty: expression + "._empty")
    }
  }

  mutating func report(_ reason: GenerationProblem.Reason, type: String? = nil, member: String? = nil) {
    problems.append(.init(reason, type: type, member: member))
  }

  // MARK: Names

  /// The types that properties and fetches may hide, with their aliases.
  var aliases: [(name: String, type: String)] {
    let version = graph.version
    let names =
      version.enums.map(\.name) + version.composites.map(\.name) + version.entities.map(\.swiftName)
    return names.filter(hidingNames.contains).map { (alias(of: $0), SwiftName.escaped($0)) }
  }

  /// The prefix is unique: no stored property starts with three underscores.
  private func alias(of name: String) -> String { "___" + name }

  func expression(of typeName: String) -> String {
    if namespace != nil { return qualified(typeName) }
    return hidingNames.contains(typeName) ? alias(of: typeName) : SwiftName.escaped(typeName)
  }

  private func qualified(_ typeName: String) -> String {
    (namespace.map { $0 + "." } ?? "") + SwiftName.escaped(typeName)
  }

  /// Nested types are qualified by the model's name, so a nested type must not have the same name and hide the model.
  private mutating func checkNestedTypeNames() {
    for name in graph.version.enums.map(\.name) + graph.version.composites.map(\.name)
    where name == modelTypeName { report(.reservedName(name), type: name) }
  }

  private mutating func checkTypeNames() {
    var seen: Set<String> = [modelTypeName]
    let version = graph.version
    if !SwiftName.isValid(modelTypeName) { report(.invalidName(modelTypeName)) }
    func names() -> [(owner: String, name: String)] {
      version.enums.map { ($0.name, $0.name) } + version.composites.map { ($0.name, $0.name) }
        + version.entities.map { ($0.name, $0.swiftName) }
    }
    for (owner, name) in names() {
      if !SwiftName.isValid(name) {
        report(.invalidName(name), type: owner)
      } else if ReservedNames.modules.contains(name) || imports.contains(name)
        || hasSnapshots && name == ReservedNames.snapshot
      {
        report(.reservedName(name), type: owner)
      } else if !seen.insert(name).inserted {
        report(.duplicateName(name), type: owner)
      }
    }
  }

  // MARK: Types

  mutating func noteCodable(_ type: String, of owner: String) {
    codableTypes[owner, default: []].append(type)
  }

  func enumType(_ name: String) -> ValueType? { enumTypes[name] }
  func compositeType(_ name: String) -> ValueType? { compositeTypes[name] }

  /// The class of an entity, in the form for type positions and in the form for expressions.
  func classNames(of entity: String) -> (type: String, expression: String)? {
    graph.entity(entity).map { (SwiftName.escaped($0.swiftName), expression(of: $0.swiftName)) }
  }

  /// The Swift type of an attribute or a field; nil if the version does not have the type.
  func valueType(_ type: AttributeType) -> ValueType? {
    switch type {
    case .enumeration(let name): enumTypes[name]
    case .composite(let name): compositeTypes[name]
    case .codable(let name, _):
      ValueType(
        .codable, name: name, storage: "CDRuntime.CodableStorage<\(name)>", accessor: "codable",
        empty: "CDRuntime.CodableStorage<\(name)>()")
    default: ValueType.scalar(type)
    }
  }

  /// A constant in Swift syntax for an attribute's storage. For an enumeration, it is the raw value.
  func storageLiteral(_ value: AttributeValue, of type: AttributeType) -> String? {
    switch type {
    case .enumeration(let name):
      graph.enumeration(name).flatMap { Literal.text(value, of: $0.rawType) }
    case .composite(let name):
      compositeLiteral(value, of: name)
    case .codable: nil
    default: Literal.text(value, of: type)
    }
  }

  /// A constant in Swift syntax for setting a property. For an enumeration, it is the case.
  func propertyLiteral(_ value: AttributeValue, of type: AttributeType, isOptional: Bool) -> String? {
    if case .null = value { return isOptional ? "nil" : nil }
    if case .enumeration(let name) = type {
      guard let type = enumTypes[name], let each = caseName(value, of: name) else { return nil }
      return type.expression + "." + each
    }
    return storageLiteral(value, of: type)
  }

  /// A constant in Swift syntax for the default of a parameter. A case of an enumeration has no type there: it may have an
  /// alias, which is private, and a public declaration cannot use that.
  func argumentLiteral(_ value: AttributeValue, of type: AttributeType, isOptional: Bool) -> String? {
    guard case .enumeration(let name) = type, let each = caseName(value, of: name) else {
      return propertyLiteral(value, of: type, isOptional: isOptional)
    }
    return isOptional ? ".some(.\(each))" : ".\(each)"
  }

  private func caseName(_ value: AttributeValue, of enumeration: String) -> String? {
    let each = graph.enumeration(enumeration)?.cases.first { $0.rawValue == value }
    return each.map { SwiftName.escaped($0.name) }
  }

  private func compositeLiteral(_ value: AttributeValue, of name: String) -> String? {
    guard case .composite(let values) = value, let composite = graph.composite(name),
      let type = compositeTypes[name]
    else { return nil }
    var arguments: [String] = []
    for field in composite.fields {
      guard let value = values[field.name] else { continue }
      guard let text = propertyLiteral(value, of: field.type, isOptional: field.isOptional) else {
        return nil
      }
      arguments.append(SwiftName.label(field.swiftName) + ": " + text)
    }
    return "\(type.expression)(\(arguments.joined(separator: ", ")))"
  }

  /// The case for unknown raw values: the case of the default, or else the first case.
  func fallback(_ type: AttributeType, default value: DefaultValue?) -> String? {
    guard case .enumeration(let name) = type, let enumeration = graph.enumeration(name),
      let valueType = enumTypes[name]
    else { return nil }
    var chosen = enumeration.cases.first
    if case .value(let value)? = value, let match = enumeration.cases.first(where: { $0.rawValue == value }) {
      chosen = match
    }
    return chosen.map { valueType.expression + "." + SwiftName.escaped($0.name) }
  }

  /// The initial raw value of an enumeration's storage.
  func firstRawValue(_ type: AttributeType) -> String? {
    guard case .enumeration(let name) = type, let enumeration = graph.enumeration(name) else { return nil }
    return enumeration.cases.first.flatMap { Literal.text($0.rawValue, of: enumeration.rawType) }
  }
}
