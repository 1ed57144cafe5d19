import CDModel

/// Finds information under `info` that no longer fits the declaration of its element.
///
/// An import keeps attributes that the export would write differently, such as a type that Xcode does not know. If the
/// declaration changes later, such an attribute must not take its place. So an export is read again: what it says about an
/// element must be the element's declaration. The names of other elements are compared first, because a relationship with a
/// wrong destination cannot be read.
struct OutdatedInfo {
  private let version: ModelVersion
  private let graph: EntityGraph
  private let xcodeNames: XcodeNames
  private let modelName: String

  init(_ version: ModelVersion, modelName: String) {
    self.version = version
    self.modelName = modelName
    graph = EntityGraph(version)
    xcodeNames = XcodeNames(graph)
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
  /// - Parameter exporter: The exporter of the version.
  func names(in exporter: VersionExporter) -> [ElementIndex: Set<String>] {
    var result = wrongReferences
    var kept: [ElementIndex: Set<String>] = [:]
    for key in keys {
      let (info, prefix) = version.info(of: key)
      let own = Self.names.filter { info[prefix + $0] != nil }
      if !own.isEmpty { kept[key] = own }
    }
    if kept.isEmpty { return result }
    let root = exporter.root(without: result)
    // Nobody knows how the model was imported, so that either way may be right.
    let readings = XcodeImportOptions.Scalars.allCases.map { EntityGraph(reading(of: root, $0)) }
    for (key, own) in kept {
      let outdated = readings.map { changes(of: key, in: $0).intersection(own) }
      if let least = outdated.min(by: { $0.count < $1.count }), !least.isEmpty {
        result[key, default: []].formUnion(least)
      }
    }
    return result
  }

  /// A line for each outdated attribute, in the order of the elements.
  ///
  /// - Parameters:
  ///   - exporter: The exporter of the version.
  ///   - declared: The version with the names that its elements had in Xcode's model before they were renamed.
  func messages(in exporter: VersionExporter, declared: ModelVersion) -> [String] {
    let outdated = names(in: exporter)
    var result: [String] = []
    for key in keys {
      let (info, prefix) = version.info(of: key)
      var names = (outdated[key] ?? []).map { prefix + $0 }
      names += declared.info(of: key).info.keys.filter { $0.hasPrefix(prefix) && info[$0] == nil }
      let subject = version.element(at: key).map(\.description) ?? "the model"
      result += names.sorted().map { "\(subject): '\($0)' is out of date and left out" }
    }
    return result
  }

  /// The elements whose information is compared with their declarations.
  private var keys: [ElementIndex] {
    var result: [ElementIndex] = []
    for (place, composite) in version.composites.enumerated() {
      result += composite.fields.indices.map { ElementIndex.field(place, $0) }
    }
    for (place, entity) in version.entities.enumerated() {
      result.append(.entity(place))
      result += entity.attributes.indices.map { ElementIndex.attribute(place, $0) }
      result += entity.relationships.indices.map { ElementIndex.relationship(place, $0) }
      for number in entity.fetchedProperties.indices {
        result += [.fetched(place, number), .fetchedRequest(place, number)]
      }
      result += entity.fetchTemplates.indices.map { ElementIndex.template(place, $0) }
    }
    return result
  }

  // MARK: Names of other elements

  /// The attributes that name another element than the declaration does, by element.
  private var wrongReferences: [ElementIndex: Set<String>] {
    var result: [ElementIndex: Set<String>] = [:]
    for key in keys {
      let names = wrongNames(of: key)
      if !names.isEmpty { result[key] = names }
    }
    return result
  }

  private func wrongNames(of key: ElementIndex) -> Set<String> {
    switch key {
    case .entity(let place):
      let parent = kept("parentEntity", of: key)
      return parent.map { isParent($0, of: version.entities[place]) } ?? true ? [] : ["parentEntity"]
    case .relationship(let place, let number):
      let entity = version.entities[place]
      return wrongEnds(of: key, entity.relationships[number], in: entity)
    case .fetchedRequest(let place, let number):
      return wrongEntity(of: key, version.entities[place].fetchedProperties[number].entity)
    case .template(let place, _): return wrongEntity(of: key, version.entities[place].name)
    default: return []
    }
  }

  /// The value of an attribute of Xcode's element that is stored under `info`.
  private func kept(_ name: String, of key: ElementIndex) -> String? {
    let (info, prefix) = version.info(of: key)
    return info[prefix + name]
  }

  private func wrongEntity(of key: ElementIndex, _ entity: String) -> Set<String> {
    guard let kept = kept("entity", of: key) else { return [] }
    return xcodeNames.entity(kept) == entity ? [] : ["entity"]
  }

  /// Whether a name fits the declaration of an entity's parent. The import keeps the name of a parent that does not exist,
  /// and of one that inherits from the entity.
  private func isParent(_ name: String, of entity: EntityDescription) -> Bool {
    let named = xcodeNames.entity(name)
    if let parent = entity.parent { return named == parent }
    return named.map { graph.isKind($0, of: entity.name) } ?? true
  }

  private func wrongEnds(
    of key: ElementIndex, _ relationship: RelationshipDescription, in entity: EntityDescription
  ) -> Set<String> {
    var result: Set<String> = []
    let destination = relationship.destination
    if let kept = kept("destinationEntity", of: key), xcodeNames.entity(kept) != destination {
      result.insert("destinationEntity")
    }
    let name = kept("inverseName", of: key)
    var side = kept("inverseEntity", of: key)
    if side == XcodeInfo.absent { side = nil }
    let owner = side.flatMap { xcodeNames.entity($0) }
    if let inverse = relationship.inverse {
      if let name, xcodeNames.property(name, of: destination)?.name != inverse {
        result.insert("inverseName")
      }
      // An entity that inherits the inverse can name it, and so can the one from which the destination inherits it.
      let declaring = graph.declaringEntity(of: inverse, in: destination)?.name
      let found = owner.flatMap { graph.declaringEntity(of: inverse, in: $0)?.name }
      if side != nil, found != declaring { result.insert("inverseEntity") }
      return result
    }
    // The import keeps an inverse that does not name this relationship as its own inverse. It must still lead to the
    // destination, and must not become an inverse that the declaration does not have.
    let leadsElsewhere = side != nil && !(owner.map { isRelated($0, destination) } ?? false)
    let wouldBePair = name.map { isPair(relationship, $0, in: entity.name) } ?? false
    if !result.isEmpty || leadsElsewhere || wouldBePair || name == nil {
      if name != nil { result.insert("inverseName") }
      if side != nil { result.insert("inverseEntity") }
    }
    return result
  }

  /// Whether a relationship without an inverse and the one with a name would be a pair in the export.
  private func isPair(_ relationship: RelationshipDescription, _ name: String, in entity: String) -> Bool {
    guard case .relationship(let other)? = xcodeNames.property(name, of: relationship.destination),
      other.inverse == nil, let back = other.info["xcode.inverseName"],
      xcodeNames.property(back, of: other.destination)?.name == relationship.name
    else { return false }
    return isRelated(entity, other.destination)
  }

  private func isRelated(_ one: String, _ other: String) -> Bool {
    graph.isKind(one, of: other) || graph.isKind(other, of: one)
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
