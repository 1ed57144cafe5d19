import CDMapping
import CDModel

/// Creates the views of a version's objects from its entities.
struct ViewResolver {
  /// The type that contains the views, such as `ToDoModel.NewVersion2`.
  private let viewNamespace: String
  /// The type that contains the enumerations and composites, such as `ToDoModel.Version2`.
  let namespace: String

  private let graph: EntityGraph
  private let modelTypeName: String
  private let types: Resolver

  /// - Parameter isNew: Whether the views are of created objects, instead of objects that are read.
  init(_ graph: EntityGraph, modelName: String, modelTypeName: String, isNew: Bool) {
    let number = graph.version.number
    self.graph = graph
    self.modelTypeName = modelTypeName
    namespace = modelTypeName + "." + VersionDeclaration.name(number)
    viewNamespace =
      isNew ? modelTypeName + "." + VersionDeclaration.nameOfNew(number) : namespace
    types = Resolver(graph.version, modelName: modelName, imports: [], namespace: namespace)
  }

  /// The view of an entity, in the form for type positions.
  func typeName(_ entity: String) -> String? {
    graph.entity(entity).map { viewNamespace + "." + ownName($0) }
  }

  /// The name of a view. Inside it, all other types are qualified by the model's name, so a view must not have that
  /// name and hide the model.
  private func ownName(_ entity: EntityDescription) -> String {
    let name = entity.swiftName
    return name == modelTypeName ? name + "_" : SwiftName.escaped(name)
  }

  // MARK: Snapshots

  func snapshot(_ name: String) -> ViewDeclaration? {
    guard let entity = graph.entity(name) else { return nil }
    return ViewDeclaration(
      entity: SwiftLiteral.string(name), typeName: ownName(entity),
      properties: graph.slots(of: name).compactMap { property($0, isWritable: false) }, initializers: [],
      doc: "An object of `\(name)` as version \(graph.version.number) had it, to be read alone."
        + (entity.doc.map { "\n\n" + $0 } ?? ""))
  }

  // MARK: Created objects

  func created(_ name: String, by mappings: [CustomMappingDeclaration]) -> ViewDeclaration? {
    guard let entity = graph.entity(name) else { return nil }
    var initializers: [ViewDeclaration.Initializer] = []
    if !entity.isAbstract {
      for each in mappings {
        guard let source = each.mapping.source, let sourceType = each.sourceType else { continue }
        let origin = ViewDeclaration.Initializer.Origin(
          label: each.originLabel, type: sourceType, mapping: each.name)
        let known = KnownValues(each.mapping)
        let names = known.kept.isEmpty ? "" : " and " + known.kept.map { "`\($0)`" }.joined(separator: ", ")
        initializers.append(
          .init(
            origin: origin, parameters: each.unknown,
            doc: "Creates the object for a source object of `\(source)`. It keeps the identifier\(names)"
              + (known.calculated.isEmpty ? "." : ", and has the values of rules and inference.")))
      }
      initializers.append(
        .init(
          origin: nil, parameters: graph.slots(of: name).compactMap(requiredParameter),
          doc:
            "Makes one that comes of no object of before. A mandatory relationship may be nil until the step ends."
        ))
    }
    return ViewDeclaration(
      entity: SwiftLiteral.string(name), typeName: ownName(entity),
      properties: graph.slots(of: name).compactMap { property($0, isWritable: true) },
      initializers: initializers,
      doc: "An object of `\(name)` of version \(graph.version.number) that a migration is making."
        + (entity.doc.map { "\n\n" + $0 } ?? ""))
  }

  /// The values that the author must supply for an object created by a mapping, because neither rules nor inference
  /// give them.
  func unknown(of mapping: EntityMapping) -> [ViewDeclaration.Parameter] {
    guard let name = mapping.destination, mapping.source != nil else { return [] }
    let given = Set(mapping.attributes.map(\.name))
    let related = Set(mapping.relationships.map(\.name))
    return graph.slots(of: name).compactMap { slot in
      switch slot.property {
      case .attribute(let attribute):
        guard attribute.isStored, attribute.derivation == nil else { return nil }
        if case .composite(let type) = attribute.type {
          let fields = (graph.composite(type)?.fields ?? []).filter(\.isStored)
          if fields.allSatisfy({ given.contains("\(attribute.name).\($0.name)") }) { return nil }
        } else if given.contains(attribute.name) {
          return nil
        }
        return parameter(attribute)
      case .relationship(let relationship):
        return related.contains(relationship.name) ? nil : parameter(relationship)
      case .fetched: return nil
      }
    }
  }

  private func requiredParameter(_ slot: PropertySlot) -> ViewDeclaration.Parameter? {
    switch slot.property {
    case .attribute(let attribute):
      guard attribute.isStored, attribute.derivation == nil, !attribute.isOptional,
        attribute.defaultValue == nil
      else { return nil }
      return parameter(attribute)
    case .relationship(let relationship):
      return relationship.isOptional || relationship.isToMany ? nil : parameter(relationship)
    case .fetched: return nil
    }
  }

  private func parameter(_ attribute: AttributeDescription) -> ViewDeclaration.Parameter? {
    valueType(attribute).map { type in
      let name = SwiftName.escaped(attribute.swiftName)
      return ViewDeclaration.Parameter(
        key: attribute.name, name: name, type: attribute.isOptional ? type.name + "?" : type.name,
        property: name,
        isRelationship: false, needsFoundation: type.needsFoundation)
    }
  }

  private func parameter(_ relationship: RelationshipDescription) -> ViewDeclaration.Parameter? {
    typeName(relationship.destination).map { type in
      let name = SwiftName.escaped(relationship.swiftName)
      return ViewDeclaration.Parameter(
        key: relationship.name, name: name, type: relationship.isToMany ? "[\(type)]" : type + "?",
        property: name,
        isRelationship: true, needsFoundation: false)
    }
  }

  // MARK: Properties

  /// The type of an attribute in a view. A codable is shown as JSON data, because the type that it was encoded from may
  /// no longer exist.
  private func valueType(_ attribute: AttributeDescription) -> ValueType? {
    if case .codable = attribute.type { return .data }
    return types.valueType(attribute.type)
  }

  private func property(_ slot: PropertySlot, isWritable: Bool) -> ViewDeclaration.Property? {
    switch slot.property {
    case .attribute(let attribute):
      guard attribute.isStored, !(isWritable && attribute.derivation != nil) else { return nil }
      return property(attribute, slot.number, isWritable: isWritable)
    case .relationship(let relationship): return property(relationship, slot.number, isWritable: isWritable)
    case .fetched: return nil
    }
  }

  private func property(
    _ attribute: AttributeDescription, _ slot: Int, isWritable: Bool
  ) -> ViewDeclaration.Property? {
    guard let type = valueType(attribute) else { return nil }
    let isOptional = attribute.isOptional
    let read = "_object._" + type.accessor(isOptional: isOptional) + "(\(slot))"
    var getter = read
    var setter = "_object._set(newValue, \(slot))"
    if case .codable = attribute.type {
      getter = "_object._json(\(slot))" + (isOptional ? "" : " ?? " + type.empty)
      setter = "_object._setJSON(newValue, \(slot))"
    } else if type.kind == .enumeration {
      let fallback = types.fallback(attribute.type, default: attribute.defaultValue) ?? ""
      getter =
        isOptional
        ? "\(read).map { \(type.expression)(rawValue: $0) ?? \(fallback) }"
        : "\(type.expression)(rawValue: \(read)) ?? \(fallback)"
      setter = "_object._set(newValue\(isOptional ? "?" : "").rawValue, \(slot))"
    } else if type.kind == .composite {
      getter = "_object._fields(\(slot))" + (isOptional ? "" : " ?? ._empty")
      setter = "_object._setFields(newValue, \(slot))"
    }
    return ViewDeclaration.Property(
      property: SwiftName.escaped(attribute.swiftName), type: isOptional ? type.name + "?" : type.name,
      getter: getter, setter: isWritable ? setter : nil, adding: nil, needsFoundation: type.needsFoundation,
      doc: attribute.doc)
  }

  private func property(
    _ relationship: RelationshipDescription, _ slot: Int, isWritable: Bool
  ) -> ViewDeclaration.Property? {
    guard let type = typeName(relationship.destination) else { return nil }
    let name = relationship.swiftName
    let isSure = !relationship.isOptional && !isWritable
    let entity = SwiftLiteral.string(relationship.destination)
    return ViewDeclaration.Property(
      property: SwiftName.escaped(name),
      type: relationship.isToMany ? "[\(type)]" : isSure ? type : type + "?",
      getter: relationship.isToMany
        ? "_object._views(\(slot))" : isSure ? "_object._view(\(slot), \(entity))" : "_object._view(\(slot))",
      setter: !isWritable
        ? nil
        : relationship.isToMany
          ? "_object._setToMany(newValue.map { $0._object }, \(slot))"
          : "_object._setToOne(newValue?._object, \(slot))",
      adding: isWritable && relationship.isToMany
        ? ("addTo" + SwiftName.capitalized(name), type, "_object._add(object._object, \(slot))") : nil,
      needsFoundation: false, doc: relationship.doc)
  }
}
