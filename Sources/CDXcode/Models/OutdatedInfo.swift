import CDModel

/// Finds information under `info` that no longer fits the declaration of its element.
///
/// An import keeps attributes that the export would write differently, such as a type that Xcode does not know. If the
/// declaration changes later, such an attribute must not take its place. So an export is read again: what it says about an
/// element must be the element's declaration.
struct OutdatedInfo {
  private let version: ModelVersion
  private let graph: EntityGraph
  private let modelName: String

  init(_ version: ModelVersion, modelName: String) {
    self.version = version
    self.modelName = modelName
    graph = EntityGraph(version)
  }

  private static let types: Set<String> = [
    "attributeType", "composite", "valueTransformerName", "customClassName",
  ]
  private static let defaults: Set<String> = ["defaultValueString", "defaultDateTimeInterval"]
  private static let bounds: Set<String> = [
    "minValueString", "maxValueString", "minDateTimeInterval", "maxDateTimeInterval",
  ]
  private static let derivations: Set<String> = ["derived", "derivationExpression"]
  private static let counts: Set<String> = ["toMany", "minCount", "maxCount"]
  /// The attributes of Xcode's elements that the declarations determine.
  private static let names = types.union(defaults).union(bounds).union(derivations).union(counts).union([
    "optional", "transient", "allowsExternalBinaryDataStorage", "regularExpressionString", "deletionRule",
    "ordered",
  ])

  /// The names of the outdated attributes, by element.
  ///
  /// - Parameter root: The export of the version with all its information.
  func names(in root: MarkupElement) -> [ElementIndex: Set<String>] {
    var kept: [ElementIndex: Set<String>] = [:]
    for key in keys {
      let (info, prefix) = version.info(of: key)
      let own = Self.names.filter { info[prefix + $0] != nil }
      if !own.isEmpty { kept[key] = own }
    }
    if kept.isEmpty { return [:] }
    // Nobody knows how the model was imported, so that either way may be right.
    let readings = XcodeImportOptions.Scalars.allCases.map { EntityGraph(reading(of: root, $0)) }
    var result: [ElementIndex: Set<String>] = [:]
    for (key, own) in kept {
      let outdated = readings.map { changes(of: key, in: $0).intersection(own) }
      if let least = outdated.min(by: { $0.count < $1.count }), !least.isEmpty { result[key] = least }
    }
    return result
  }

  /// A line for each outdated attribute, in the order of the elements.
  func messages(in root: MarkupElement) -> [String] {
    let outdated = names(in: root)
    return keys.flatMap { key in
      (outdated[key] ?? []).sorted().map { name in
        let subject = version.element(at: key).map(\.description) ?? "the model"
        return "\(subject): '\(version.info(of: key).prefix)\(name)' is out of date and left out"
      }
    }
  }

  /// All attributes, relationships and fields of the version.
  private var keys: [ElementIndex] {
    var result: [ElementIndex] = []
    for (place, composite) in version.composites.enumerated() {
      result += composite.fields.indices.map { ElementIndex.field(place, $0) }
    }
    for (place, entity) in version.entities.enumerated() {
      result += entity.attributes.indices.map { ElementIndex.attribute(place, $0) }
      result += entity.relationships.indices.map { ElementIndex.relationship(place, $0) }
    }
    return result
  }

  // MARK: Reading

  private func reading(of root: MarkupElement, _ scalars: XcodeImportOptions.Scalars) -> ModelVersion {
    var codables: [String: String] = [:]
    for entity in version.entities {
      for attribute in entity.attributes {
        if case .codable(let type, _) = attribute.type { codables["\(entity.name).\(attribute.name)"] = type }
      }
    }
    var importer = VersionImporter(
      root, number: version.number, modelName: modelName, codables: codables,
      options: XcodeImportOptions(scalars: scalars))
    importer.read()
    return importer.version
  }

  // MARK: Comparing

  /// The attributes that would be different for the present declaration. Empty if the reading lacks the element.
  private func changes(of key: ElementIndex, in reading: EntityGraph) -> Set<String> {
    switch key {
    case .attribute(let place, let number):
      let entity = version.entities[place]
      return changes(reading.entity(entity.name)?.attributes, entity.attributes[number])
    case .field(let place, let number):
      let composite = version.composites[place]
      return changes(reading.composite(composite.name)?.fields, composite.fields[number])
    case .relationship(let place, let number):
      let entity = version.entities[place]
      let own = entity.relationships[number]
      let read = reading.entity(entity.name)?.relationships.first { $0.name == own.name }
      return read.map { changes($0, own) } ?? []
    default: return []
    }
  }

  private func changes(_ read: [AttributeDescription]?, _ own: AttributeDescription) -> Set<String> {
    read?.first { $0.name == own.name }.map { changes($0, own) } ?? []
  }

  private func changes(_ read: AttributeDescription, _ own: AttributeDescription) -> Set<String> {
    let type = plain(own.type)
    // The type also determines how the others are written.
    if plain(read.type) != type { return Self.names }
    var result: Set<String> = []
    if read.isOptional != own.isOptional { result.insert("optional") }
    if read.isTransient != own.isTransient { result.insert("transient") }
    if read.storesExternally != own.storesExternally { result.insert("allowsExternalBinaryDataStorage") }
    if read.pattern != own.pattern { result.insert("regularExpressionString") }
    if read.derivation != own.derivation { result.formUnion(Self.derivations) }
    if written(read, type) != written(own, type) { result.formUnion(Self.defaults) }
    // Xcode has no lengths of Data.
    let hasLengths = type != .data
    if read.minimum != own.minimum || read.maximum != own.maximum
      || hasLengths && read.minimumLength != own.minimumLength
      || hasLengths && read.maximumLength != own.maximumLength
    {
      result.formUnion(Self.bounds)
    }
    return result
  }

  private func changes(_ read: RelationshipDescription, _ own: RelationshipDescription) -> Set<String> {
    var result: Set<String> = []
    if read.isOptional != own.isOptional { result.insert("optional") }
    if read.isOrdered != own.isOrdered { result.insert("ordered") }
    if read.deleteRule != own.deleteRule { result.insert("deletionRule") }
    if read.isToMany != own.isToMany || read.minimumCount != own.minimumCount
      || read.maximumCount != own.maximumCount
    {
      result.formUnion(Self.counts)
    }
    return result
  }

  /// The type without what Xcode's format cannot express.
  private func plain(_ type: AttributeType) -> AttributeType {
    switch type {
    case .enumeration(let name): graph.enumeration(name)?.rawType ?? type
    case .codable(let name, _): .codable(type: name, codec: 1)
    default: type
    }
  }

  /// The text of the default; nil if there is none in Xcode's format.
  private func written(_ attribute: AttributeDescription, _ type: AttributeType) -> String? {
    guard case .value(let value)? = attribute.defaultValue else { return nil }
    return ValueText.text(of: value, type)
  }
}
