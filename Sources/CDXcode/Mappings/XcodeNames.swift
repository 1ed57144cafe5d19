import CDModel
import CDXcodeNames

/// Finds the elements of an imported version by their names in Xcode. If the import had to change a name, it has kept
/// the original one under `info`.
struct XcodeNames {
  private let graph: EntityGraph
  /// The names of the entities in the version, by their names in Xcode.
  private var entities: [String: String] = [:]
  /// The names of each entity's own properties, by the entity's name in the version and then by their names in Xcode.
  private var properties: [String: [String: String]] = [:]

  init(_ graph: EntityGraph) {
    self.graph = graph
    for entity in graph.version.entities {
      entities[XcodeName.of(entity)] = entity.name
      var own: [String: String] = [:]
      for each in entity.attributes { own[XcodeName.of(each)] = each.name }
      for each in entity.relationships { own[XcodeName.of(each)] = each.name }
      for each in entity.fetchedProperties { own[XcodeName.of(.fetched(each))] = each.name }
      properties[entity.name] = own
    }
  }

  /// A checker of Xcode's expressions. The checked ones have the names of the version.
  var checker: ExpressionChecker {
    ExpressionChecker(graph: graph) { key, owner in
      let name = self.key(key, of: owner)
      return (name: name, key: name)
    }
  }

  /// The name that an entity has in the version; nil if there is no such entity.
  func entity(_ name: String) -> String? { entities[name] }

  /// The property that an entity declares or inherits; nil if there is none.
  ///
  /// - Parameters:
  ///   - name: The property's name in Xcode.
  ///   - entity: The entity's name in the version.
  func property(_ name: String, of entity: String) -> PropertyDescription? {
    for each in graph.lineage(of: entity).reversed() {
      if let own = properties[each.name]?[name] { return graph.property(own, of: each.name) }
    }
    return nil
  }

  /// A key path with the names of the version; nil for a text that is not a path of properties.
  func path(_ path: String, of entity: String) -> String? {
    var names: [String] = []
    var owner: String? = entity
    var composite: String?
    for part in path.split(separator: ".", omittingEmptySubsequences: false) {
      if let name = composite {
        guard let field = field(String(part), of: name) else { return nil }
        names.append(field)
        composite = nil
        continue
      }
      guard let holder = owner, let property = property(String(part), of: holder) else { return nil }
      names.append(property.name)
      owner = nil
      switch property {
      case .relationship(let relationship): owner = relationship.destination
      case .attribute(let attribute):
        if case .composite(let name) = attribute.type { composite = name }
      case .fetched: return nil
      }
    }
    return names.joined(separator: ".")
  }

  /// The name in the version of a key that is applied to an object or to a composite. Any other key stays as it is.
  func key(_ name: String, of owner: ExpressionType) -> String {
    switch owner {
    case .object(let entity): property(name, of: entity)?.name ?? name
    case .attribute(.composite(let composite)): field(name, of: composite) ?? name
    default: name
    }
  }

  /// The name of a composite's field.
  private func field(_ name: String, of composite: String) -> String? {
    let fields = graph.composite(composite)?.fields ?? []
    return fields.first { XcodeName.of($0, of: composite, in: graph.version) == name }?.name
  }
}
