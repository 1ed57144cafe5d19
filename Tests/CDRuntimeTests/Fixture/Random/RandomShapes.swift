import CDRuntime
import SeededRandom

/// Small random models: few entities, with relationships of any shape and any delete rule between them.
enum RandomShapes {
  static func version(seed: UInt64) -> ModelVersion {
    var random = SplitMix(seed: seed &* 7919)
    let attributes = [
      AttributeDescription(name: "name", type: .string, isOptional: true),
      AttributeDescription(name: "rank", type: .int64, defaultValue: .value(.int(7))),
    ]
    var entities = [
      EntityDescription(name: "A", attributes: attributes),
      EntityDescription(name: "B", attributes: attributes),
      EntityDescription(
        name: "C", parent: "B",
        attributes: [AttributeDescription(name: "weight", type: .int64, isOptional: true)]),
    ]
    for place in 0..<Int.random(in: 1...4, using: &random) {
      relate("r\(place)", &entities, &random)
    }
    return ModelVersion(number: 1, entities: entities)
  }

  private static func relate(_ name: String, _ entities: inout [EntityDescription], _ random: inout SplitMix)
  {
    let source = Int.random(in: 0..<entities.count, using: &random)
    let target = Int.random(in: 0..<entities.count, using: &random)
    func side(_ name: String, _ destination: Int, _ inverse: String?) -> RelationshipDescription {
      let isToMany = Bool.random(using: &random)
      let rules: [DeleteRule] = [.nullify, .nullify, .cascade, .deny]
      return RelationshipDescription(
        name: name, destination: entities[destination].name, isToMany: isToMany, inverse: inverse,
        deleteRule: rules.randomElement(using: &random) ?? .nullify,
        isOrdered: isToMany && inverse != name && Bool.random(using: &random))
    }
    switch Int.random(in: 0..<6, using: &random) {
    case 0: entities[source].relationships.append(side(name, target, nil))
    case 1: entities[source].relationships.append(side(name, source, name))
    default:
      let (own, other) = (side(name, target, name + "i"), side(name + "i", source, name))
      entities[source].relationships.append(own)
      entities[target].relationships.append(other)
    }
  }

  /// The relationships of a model, a line each.
  static func text(_ version: ModelVersion) -> String {
    version.entities.flatMap { entity in
      entity.relationships.map { relationship in
        "\(entity.name).\(relationship.name): \(relationship.isToMany ? "many " : "")\(relationship.destination), "
          + "inverse \(relationship.inverse ?? "none"), \(relationship.deleteRule)"
          + (relationship.isOrdered ? ", ordered" : "")
      }
    }.joined(separator: "\n")
  }
}
