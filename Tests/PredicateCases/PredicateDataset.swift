package import CDModel
import Foundation

/// A dataset of `datasets.json`, which cases ask: the description of its entities, and their rows as the file has them.
package struct PredicateDataset {
  package let version: ModelVersion
  /// The rows by the names of their entities.
  package let rows: [String: [[String: Any]]]

  /// All datasets by name.
  package static func all() throws -> [String: PredicateDataset] {
    guard let folder = PredicateCase.folder else { return [:] }
    let data = try Data(contentsOf: folder.appending(path: "datasets.json"))
    let file = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    return (file["datasets"] as? [String: [String: Any]] ?? [:]).mapValues { PredicateDataset($0) }
  }

  private init(_ source: [String: Any]) {
    let described = source["entities"] as? [String: [String: Any]] ?? [:]
    version = ModelVersion(
      number: 1, entities: described.sorted { $0.key < $1.key }.map { Self.entity($0.key, $0.value) })
    rows = source["rows"] as? [String: [[String: Any]]] ?? [:]
  }

  private static func entity(_ name: String, _ source: [String: Any]) -> EntityDescription {
    let attributes = source["attributes"] as? [String: [String: Any]] ?? [:]
    let relationships = source["relationships"] as? [String: [String: Any]] ?? [:]
    return EntityDescription(
      name: name,
      attributes: attributes.sorted { $0.key < $1.key }.map { key, value in
        AttributeDescription(
          name: key, type: types[value["type"] as? String ?? ""] ?? .codable(type: "Value", codec: 1),
          isOptional: value["optional"] as? Bool ?? true)
      },
      relationships: relationships.sorted { $0.key < $1.key }.map { key, value in
        RelationshipDescription(
          name: key, destination: value["destination"] as? String ?? "",
          isToMany: value["toMany"] as? Bool ?? false, inverse: value["inverse"] as? String,
          isOrdered: value["ordered"] as? Bool ?? false)
      })
  }

  private static let types: [String: AttributeType] = [
    "Integer 16": .int16, "Integer 32": .int32, "Integer 64": .int64, "Decimal": .decimal,
    "Double": .double, "Float": .float, "String": .string, "Boolean": .bool, "Date": .date,
    "Binary": .data, "UUID": .uuid,
  ]
}
