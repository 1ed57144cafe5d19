import CDModel
import Foundation
import SeededRandom

/// A random schema: entities with inheritance, attributes of every type and relationships of every shape.
///
/// The names of properties are unique in the whole schema, so that a name alone identifies one.
struct Schema: Sendable {
  struct Attribute: Sendable {
    var name: String
    var type: AttributeType
    var isOptional = true
    var defaultValue: AttributeValue?
    var minimum: AttributeValue?
    var maximum: AttributeValue?
    var maximumLength: Int?
    var storesExternally = false
    var derivation: Derivation?
  }

  /// The expression of a derived attribute.
  enum Derivation: Sendable, Hashable {
    /// `relationship.@count`
    case count(String)
    /// `relationship.@sum.attribute`
    case sum(String, String)
    /// `attribute + 1`
    case successor(String)
    /// `relationship.attribute`, along a to-one relationship.
    case path(String, String)

    var text: String {
      switch self {
      case .count(let relationship): "\(relationship).@count"
      case .sum(let relationship, let attribute): "\(relationship).@sum.\(attribute)"
      case .successor(let attribute): "\(attribute) + 1"
      case .path(let relationship, let attribute): "\(relationship).\(attribute)"
      }
    }

    var names: [String] {
      switch self {
      case .count(let relationship): [relationship]
      case .sum(let relationship, let attribute), .path(let relationship, let attribute):
        [relationship, attribute]
      case .successor(let attribute): [attribute]
      }
    }
  }

  struct Relationship: Sendable {
    var name: String
    /// The index of the entity that declares it.
    var entity: Int
    /// The index of the entity that it leads to.
    var destination: Int
    var isToMany = false
    var isOptional = true
    var inverse: String?
    var rule = DeleteRule.nullify
    var isOrdered = false
    var maximumCount: Int?

    var isSymmetric: Bool { inverse == name }
  }

  struct Entity: Sendable {
    var name: String
    var parent: Int?
    var isAbstract = false
    var attributes: [Attribute] = []
    var relationships: [Relationship] = []
    var unique: [[String]] = []
  }

  /// Which side keeps the fact that two objects are related.
  enum Storage: Sendable {
    /// A reference in the row of the relationship's own object.
    case ownColumn
    /// A reference in the row of the other object.
    case otherColumn
    /// Pairs that neither side's row keeps. The name is the one under which both sides keep them.
    case pairs(table: String, isSource: Bool)
  }

  var entities: [Entity] = [] { didSet { index() } }
  /// The roots of the entities that are in a second store; empty where there is one store.
  var rootsBeside: Set<String> = []
  private(set) var relationshipsByName: [String: Relationship] = [:]
  private(set) var attributesByName: [String: Attribute] = [:]
  private(set) var storages: [String: Storage] = [:]
  private var ancestry: [[Int]] = []

  // MARK: - Lookups

  private mutating func index() {
    relationshipsByName = [:]
    attributesByName = [:]
    ancestry = []
    for (number, entity) in entities.enumerated() {
      for attribute in entity.attributes { attributesByName[attribute.name] = attribute }
      for relationship in entity.relationships { relationshipsByName[relationship.name] = relationship }
      var line = [number]
      while let last = line.last, let parent = entities[last].parent { line.append(parent) }
      ancestry.append(line)
    }
    storages = relationshipsByName.mapValues(storage)
  }

  private func storage(of relationship: Relationship) -> Storage {
    guard let inverse = relationship.inverse.flatMap({ relationshipsByName[$0] }) else {
      return relationship.isToMany ? .pairs(table: relationship.name, isSource: true) : .ownColumn
    }
    if relationship.isSymmetric {
      return relationship.isToMany ? .pairs(table: relationship.name, isSource: true) : .ownColumn
    }
    switch (relationship.isToMany, inverse.isToMany) {
    case (false, true): return .ownColumn
    case (true, false): return .otherColumn
    case (true, true):
      let isSource = qualifiedName(relationship) < qualifiedName(inverse)
      return .pairs(table: isSource ? relationship.name : inverse.name, isSource: isSource)
    case (false, false):
      if relationship.isOptional != inverse.isOptional {
        return relationship.isOptional ? .otherColumn : .ownColumn
      }
      return qualifiedName(relationship) < qualifiedName(inverse) ? .ownColumn : .otherColumn
    }
  }

  private func qualifiedName(_ relationship: Relationship) -> String {
    "\(entities[relationship.entity].name).\(relationship.name)"
  }

  /// An entity and the entities above it, itself first.
  func line(of entity: Int) -> [Int] { ancestry[entity] }
  func root(of entity: Int) -> Int { ancestry[entity].last ?? entity }
  func isA(_ entity: Int, _ ancestor: Int) -> Bool { ancestry[entity].contains(ancestor) }

  /// All attributes of an entity, those of the root first.
  func attributes(of entity: Int) -> [Attribute] {
    ancestry[entity].reversed().flatMap { entities[$0].attributes }
  }
  func relationships(of entity: Int) -> [Relationship] {
    ancestry[entity].reversed().flatMap { entities[$0].relationships }
  }
  func uniqueLists(of entity: Int) -> [(entity: Int, keys: [String])] {
    ancestry[entity].flatMap { owner in entities[owner].unique.map { (owner, $0) } }
  }
  func relationship(_ name: String) -> Relationship? { relationshipsByName[name] }
  func inverse(of relationship: Relationship) -> Relationship? {
    relationship.inverse.flatMap { relationshipsByName[$0] }
  }

  /// The number that generated code has for a property: the properties of the root come first, of each entity the
  /// attributes before the relationships.
  func slot(of name: String, in entity: Int) -> Int? {
    var names: [String] = []
    for owner in ancestry[entity].reversed() {
      names += entities[owner].attributes.map(\.name) + entities[owner].relationships.map(\.name)
    }
    return names.firstIndex(of: name)
  }

  var concreteEntities: [Int] { entities.indices.filter { !entities[$0].isAbstract } }
  var roots: [Int] { entities.indices.filter { entities[$0].parent == nil } }

  // MARK: - Stores

  /// The roots, those together that relationships lead between. Objects of different groups have nothing to do with each
  /// other, and so may be in different stores.
  var groupsOfRoots: [Set<Int>] {
    var groups = roots.map { Set([$0]) }
    for relationship in relationshipsByName.values {
      let ends = Set([root(of: relationship.entity), root(of: relationship.destination)])
      let joined = groups.filter { !$0.isDisjoint(with: ends) }.reduce(into: Set()) { $0.formUnion($1) }
      groups = groups.filter { $0.isDisjoint(with: ends) } + [joined]
    }
    return groups.sorted { ($0.min() ?? 0) < ($1.min() ?? 0) }
  }

  /// The configuration that the second store holds.
  static let configurationBeside = "Beside"

  private var configurations: [ConfigurationDescription] {
    guard !rootsBeside.isEmpty else { return [] }
    let names = entities.indices.filter { rootsBeside.contains(entities[root(of: $0)].name) }
    return [
      ConfigurationDescription(name: Self.configurationBeside, entities: names.map { entities[$0].name })
    ]
  }

  // MARK: - Parts that a shrinker leaves out

  /// The schema without a property, and without what depends on it.
  func removing(property name: String) -> Schema {
    var gone: Set<String> = [name]
    if let inverse = relationshipsByName[name]?.inverse { gone.insert(inverse) }
    var changed = true
    while changed {
      changed = false
      for attribute in attributesByName.values where !gone.contains(attribute.name) {
        if let derivation = attribute.derivation, derivation.names.contains(where: gone.contains) {
          gone.insert(attribute.name)
          changed = true
        }
      }
    }
    var schema = self
    schema.entities = entities.map { entity in
      var entity = entity
      entity.attributes.removeAll { gone.contains($0.name) }
      entity.relationships.removeAll { gone.contains($0.name) }
      entity.unique.removeAll { $0.contains(where: gone.contains) }
      return entity
    }
    return schema
  }

  // MARK: - The runtime's model

  /// The model as the runtime takes it.
  var model: ManagedObjectModel {
    ManagedObjectModel(
      name: "Random", id: UUID(uuidString: "6B1F0C8E-57C0-4C69-9C3B-0D5D0A6B7E11") ?? UUID(),
      versions: [
        ModelVersion(number: 1, entities: entities.map(description), configurations: configurations)
      ], currentVersionNumber: 1)
  }

  private func description(of entity: Entity) -> EntityDescription {
    EntityDescription(
      name: entity.name, isAbstract: entity.isAbstract, parent: entity.parent.map { entities[$0].name },
      attributes: entity.attributes.map { attribute in
        AttributeDescription(
          name: attribute.name, type: attribute.type, isOptional: attribute.isOptional,
          defaultValue: attribute.defaultValue.map(DefaultValue.value),
          derivation: attribute.derivation.flatMap { try? ValueExpression(format: $0.text) },
          storesExternally: attribute.storesExternally, minimum: attribute.minimum,
          maximum: attribute.maximum,
          maximumLength: attribute.maximumLength)
      },
      relationships: entity.relationships.map { relationship in
        RelationshipDescription(
          name: relationship.name, destination: entities[relationship.destination].name,
          isToMany: relationship.isToMany, isOptional: relationship.isOptional, inverse: relationship.inverse,
          deleteRule: relationship.rule, isOrdered: relationship.isOrdered,
          minimumCount: relationship.isToMany && !relationship.isOptional ? 1 : nil,
          maximumCount: relationship.maximumCount)
      },
      uniquenessConstraints: entity.unique)
  }

  /// The model as Swift that makes it.
  var swift: String {
    var lines = ["let entities: [EntityDescription] = ["]
    for entity in entities {
      var arguments = ["name: \"\(entity.name)\""]
      if entity.isAbstract { arguments.append("isAbstract: true") }
      if let parent = entity.parent { arguments.append("parent: \"\(entities[parent].name)\"") }
      if !entity.attributes.isEmpty {
        let attributes = entity.attributes.map { attribute in
          var parts = ["name: \"\(attribute.name)\"", "type: .\(typeName(attribute.type))"]
          if attribute.isOptional { parts.append("isOptional: true") }
          if let value = attribute.defaultValue {
            parts.append("defaultValue: .value(\(Literal.text(value)))")
          }
          if let derivation = attribute.derivation {
            parts.append("derivation: try ValueExpression(format: \"\(derivation.text)\")")
          }
          if attribute.storesExternally { parts.append("storesExternally: true") }
          if let value = attribute.minimum { parts.append("minimum: \(Literal.text(value))") }
          if let value = attribute.maximum { parts.append("maximum: \(Literal.text(value))") }
          if let length = attribute.maximumLength { parts.append("maximumLength: \(length)") }
          return "    AttributeDescription(\(parts.joined(separator: ", ")))"
        }
        arguments.append("attributes: [\n\(attributes.joined(separator: ",\n"))]")
      }
      if !entity.relationships.isEmpty {
        let relationships = entity.relationships.map { relationship in
          var parts = [
            "name: \"\(relationship.name)\"", "destination: \"\(entities[relationship.destination].name)\"",
          ]
          if relationship.isToMany { parts.append("isToMany: true") }
          if !relationship.isOptional { parts.append("isOptional: false") }
          if let inverse = relationship.inverse { parts.append("inverse: \"\(inverse)\"") }
          if relationship.rule != .nullify { parts.append("deleteRule: .\(relationship.rule.rawValue)") }
          if relationship.isOrdered { parts.append("isOrdered: true") }
          if relationship.isToMany && !relationship.isOptional { parts.append("minimumCount: 1") }
          if let maximum = relationship.maximumCount { parts.append("maximumCount: \(maximum)") }
          return "    RelationshipDescription(\(parts.joined(separator: ", ")))"
        }
        arguments.append("relationships: [\n\(relationships.joined(separator: ",\n"))]")
      }
      if !entity.unique.isEmpty { arguments.append("uniquenessConstraints: \(entity.unique)") }
      lines.append("  EntityDescription(\(arguments.joined(separator: ", "))),")
    }
    lines.append("]")
    lines.append("let model = ManagedObjectModel(")
    let beside = configurations.map {
      "ConfigurationDescription(name: \"\($0.name)\", entities: \($0.entities))"
    }
    let version =
      beside.isEmpty ? "entities: entities" : "entities: entities, configurations: [\(beside[0])]"
    lines.append("  name: \"Random\", id: UUID(), versions: [ModelVersion(number: 1, \(version))],")
    lines.append("  currentVersionNumber: 1)")
    return lines.joined(separator: "\n")
  }

  private func typeName(_ type: AttributeType) -> String { type.schemaName.lowercased() }
}

/// Swift's text of values.
enum Literal {
  static func text(_ value: AttributeValue) -> String {
    switch value {
    case .null: ".null"
    case .bool(let value): ".bool(\(value))"
    case .int(let value): ".int(\(value == .min ? ".min" : "\(value)"))"
    case .double(let value): ".double(\(value))"
    case .decimal(let value): ".decimal(Decimal(string: \"\(value)\")!)"
    case .string(let value): ".string(\(value.debugDescription))"
    case .date(let value):
      ".date(Date(timeIntervalSinceReferenceDate: \(value.timeIntervalSinceReferenceDate)))"
    case .data(let value):
      value.count > 16
        ? ".data(Data(repeating: \(value.first ?? 0), count: \(value.count)))"
        : ".data(Data(\(Array(value))))"
    case .uuid(let value): ".uuid(UUID(uuidString: \"\(value.uuidString)\")!)"
    case .url(let value): ".url(URL(string: \"\(value.absoluteString)\")!)"
    case .composite(let fields): ".composite(\(fields))"
    }
  }
}
