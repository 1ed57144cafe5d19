import CDModel
import CDSchema

extension VersionImporter {
  /// Gives a Swift name to each property whose own name is not allowed in Swift.
  mutating func nameProperties() {
    var table = SwiftNameTable(EntityGraph(version))
    for place in version.entities.indices {
      for property in properties(of: place) where !NameRules.isPropertyName(property.name) {
        let new = table.add(property.name, isToMany: property.isToMany, to: version.entities[place].name)
        rename(
          property.key, property.name, new, "'\(property.name)' is taken in every generated class")
      }
    }
    for place in version.entities.indices {
      let owner = version.entities[place].name
      for property in properties(of: place) {
        guard let changed = table.relationship(changedBy: property.swiftName, in: owner) else { continue }
        let new = table.add(property.swiftName, isToMany: property.isToMany, to: owner)
        rename(
          property.key, property.name, new,
          "'\(property.swiftName)' is the method that changes '\(changed)'")
      }
    }
  }

  private func properties(
    of place: Int
  ) -> [(key: ElementIndex, name: String, swiftName: String, isToMany: Bool)] {
    let entity = version.entities[place]
    return entity.attributes.enumerated().map { (.attribute(place, $0), $1.name, $1.swiftName, false) }
      + entity.relationships.enumerated().map {
        (.relationship(place, $0), $1.name, $1.swiftName, $1.isToMany)
      }
      + entity.fetchedProperties.enumerated().map {
        (.fetched(place, $0), $1.name, $1.swiftName ?? $1.name, false)
      }
  }

  private mutating func rename(_ key: ElementIndex, _ name: String, _ new: String, _ reason: String) {
    switch key {
    case .attribute(let place, let number): version.entities[place].attributes[number].propertyName = new
    case .relationship(let place, let number):
      version.entities[place].relationships[number].propertyName = new
    case .fetched(let place, let number): version.entities[place].fetchedProperties[number].swiftName = new
    default: return
    }
    guard let element = origins[key] else { return }
    remark(subject(of: key), "\(reason), so that it is '\(new)' in Swift", at: element)
  }
}

/// The Swift names of the members of a version's classes.
///
/// A class also has the members of its ancestors. The members of siblings do not matter.
struct SwiftNameTable {
  private struct Method {
    var owner: String
    var relationship: String
  }

  private let graph: EntityGraph
  /// The entities that have a property with a name.
  private var properties: [String: [String]] = [:]
  private var methods: [String: [Method]] = [:]

  init(_ graph: EntityGraph) {
    self.graph = graph
    for entity in graph.version.entities {
      for attribute in entity.attributes { insert(attribute.name, nil, entity.name) }
      for each in entity.relationships { insert(each.name, each.isToMany ? each.name : nil, entity.name) }
      for property in entity.fetchedProperties { insert(property.name, nil, entity.name) }
    }
  }

  /// The Swift name of a property that cannot keep its own: its owner's name followed by its own.
  static func name(_ name: String, of owner: String) -> String {
    owner.prefix(1).lowercased() + owner.dropFirst() + name.prefix(1).uppercased() + name.dropFirst()
  }

  /// Gives a property an unused name.
  mutating func add(_ name: String, isToMany: Bool, to owner: String) -> String {
    var new = Self.name(name, of: owner)
    while !NameRules.isPropertyName(new) || !isFree(new, isToMany: isToMany, in: owner) { new += "_" }
    insert(new, isToMany ? name : nil, owner)
    return new
  }

  /// The to-many relationship that a method with this name changes, in an entity, its ancestors or its descendants.
  func relationship(changedBy name: String, in entity: String) -> String? {
    methods[name]?.first { isRelated($0.owner, entity) }?.relationship
  }

  private mutating func insert(_ name: String, _ relationship: String?, _ owner: String) {
    properties[name, default: []].append(owner)
    guard let relationship else { return }
    for method in Self.methods(of: name) {
      methods[method, default: []].append(Method(owner: owner, relationship: relationship))
    }
  }

  private func isFree(_ name: String, isToMany: Bool, in entity: String) -> Bool {
    let names = isToMany ? [name] + Self.methods(of: name) : [name]
    return relationship(changedBy: name, in: entity) == nil
      && names.allSatisfy { properties[$0]?.contains { isRelated($0, entity) } != true }
  }

  private func isRelated(_ one: String, _ other: String) -> Bool {
    graph.isKind(one, of: other) || graph.isKind(other, of: one)
  }

  private static func methods(of relationship: String) -> [String] {
    let name = relationship.prefix(1).uppercased() + relationship.dropFirst()
    return ["addTo", "removeFrom", "insertInto"].map { $0 + name }
  }
}
