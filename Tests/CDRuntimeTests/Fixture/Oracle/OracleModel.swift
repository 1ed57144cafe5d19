import CDRuntime

/// What the oracle has to know of a model, looked up by names.
struct OracleModel: Sendable {
  /// A relationship as it is seen from one of its sides.
  struct Relation: Hashable, Sendable {
    let name: String
    let destination: String
    let inverse: String?
    let isToMany: Bool
    let isOrdered: Bool
    let isOptional: Bool
    let rule: DeleteRule
  }

  let version: ModelVersion
  private let entities: [String: EntityDescription]
  private let relations: [String: [Relation]]
  private let attributesByEntity: [String: [AttributeDescription]]
  private let lineages: [String: [String]]

  init(_ version: ModelVersion) {
    self.version = version
    let entities = Dictionary(
      version.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.entities = entities
    func line(_ name: String) -> [String] {
      (entities[name]?.parent.map(line) ?? []) + [name]
    }
    lineages = entities.mapValues { line($0.name) }
    relations = entities.mapValues { entity in
      line(entity.name).flatMap { entities[$0]?.relationships ?? [] }.map {
        Relation(
          name: $0.name, destination: $0.destination, inverse: $0.inverse, isToMany: $0.isToMany,
          isOrdered: $0.isOrdered, isOptional: $0.isOptional, rule: $0.deleteRule)
      }
    }
    attributesByEntity = entities.mapValues { entity in
      line(entity.name).flatMap { entities[$0]?.attributes ?? [] }
    }
  }

  var entityNames: [String] { version.entities.filter { !$0.isAbstract }.map(\.name) }

  func attributes(of entity: String) -> [AttributeDescription] { attributesByEntity[entity] ?? [] }
  func relations(of entity: String) -> [Relation] { relations[entity] ?? [] }
  func relation(_ name: String, of entity: String) -> Relation? {
    relations(of: entity).first { $0.name == name }
  }
  func inverse(of relation: Relation) -> Relation? {
    relation.inverse.flatMap { self.relation($0, of: relation.destination) }
  }
  func isKind(_ entity: String, of other: String) -> Bool { lineages[entity]?.contains(other) == true }

  /// The unique lists that hold for an entity's objects, each with the entity that declares it.
  func uniqueLists(of entity: String) -> [(entity: String, keys: [String])] {
    (lineages[entity] ?? []).flatMap { name in
      (entities[name]?.uniquenessConstraints ?? []).map { (name, $0) }
    }
  }

  func isRoot(_ entity: String) -> Bool { entities[entity]?.parent == nil }
}
