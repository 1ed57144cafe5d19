import CDRuntime
import Foundation

/// A model with a relationship of every kind, for random changes of its objects.
enum EveryRelationshipModel {
  static let model = ManagedObjectModel(
    name: "Random", id: UUID(), versions: [version], currentVersionNumber: 1)

  static let version = ModelVersion(
    number: 1, entities: [node, leaf, twig, group, owner, badge, item, mark])

  private static func many(
    _ name: String, _ destination: String, _ inverse: String?, _ rule: DeleteRule = .nullify,
    ordered: Bool = false
  ) -> RelationshipDescription {
    RelationshipDescription(
      name: name, destination: destination, isToMany: true, inverse: inverse, deleteRule: rule,
      isOrdered: ordered)
  }

  private static func one(
    _ name: String, _ destination: String, _ inverse: String?, _ rule: DeleteRule = .nullify,
    optional: Bool = true
  ) -> RelationshipDescription {
    RelationshipDescription(
      name: name, destination: destination, isOptional: optional, inverse: inverse, deleteRule: rule)
  }

  private static let node = EntityDescription(
    name: "Node",
    attributes: [
      AttributeDescription(name: "name", type: .string, isOptional: true),
      AttributeDescription(name: "rank", type: .int64, defaultValue: .value(.int(7))),
      AttributeDescription(name: "code", type: .string, isOptional: true),
    ],
    relationships: [
      one("parent", "Node", "children"), many("children", "Node", "parent", .cascade, ordered: true),
      many("peers", "Node", "peers"), one("spouse", "Node", "spouse"),
      one("next", "Node", "previous"), one("previous", "Node", "next"),
      many("groups", "Group", "members", ordered: true), one("owner", "Owner", "nodes"),
    ],
    uniquenessConstraints: [["code"]])

  // The one-sided relationships of these two have the same place and lead to different entities.
  private static let leaf = EntityDescription(
    name: "Leaf", parent: "Node",
    attributes: [AttributeDescription(name: "weight", type: .int64, isOptional: true)],
    relationships: [many("extras", "Mark", nil, ordered: true)])

  private static let twig = EntityDescription(
    name: "Twig", parent: "Node",
    attributes: [AttributeDescription(name: "bend", type: .int64, isOptional: true)],
    relationships: [many("others", "Group", nil)])

  private static let group = EntityDescription(
    name: "Group", attributes: [AttributeDescription(name: "title", type: .string)],
    relationships: [many("members", "Node", "groups", ordered: true)])

  private static let owner = EntityDescription(
    name: "Owner", attributes: [AttributeDescription(name: "name", type: .string, isOptional: true)],
    relationships: [
      many("nodes", "Node", "owner"), many("items", "Item", "owner", .deny),
      many("loose", "Item", "looseOwner", .noAction), one("badge", "Badge", "owner", .cascade),
    ])

  private static let badge = EntityDescription(
    name: "Badge", attributes: [AttributeDescription(name: "label", type: .string, isOptional: true)],
    relationships: [one("owner", "Owner", "badge", optional: false)])

  private static let item = EntityDescription(
    name: "Item",
    attributes: [AttributeDescription(name: "title", type: .string, defaultValue: .value(.string("t")))],
    relationships: [
      one("owner", "Owner", "items", optional: false), one("looseOwner", "Owner", "loose"),
      one("mark", "Mark", nil), many("marks", "Mark", nil, ordered: true),
      many("parts", "Item", "wholes", .cascade), many("wholes", "Item", "parts"),
    ])

  private static let mark = EntityDescription(
    name: "Mark",
    attributes: [
      AttributeDescription(name: "x", type: .int64, isOptional: true),
      AttributeDescription(name: "y", type: .int64, isOptional: true),
    ],
    uniquenessConstraints: [["x", "y"]])
}
