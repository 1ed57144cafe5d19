import CDModel
import Foundation
import PredicateCases

/// The collected facts about predicates that stand in a `shared/` folder beside the checkout, where there is one,
/// as a user of the command line would type them.
struct SharedCaseFile {
  struct Case {
    let json: JSONValue

    subscript(key: String) -> JSONValue? { json[key] }

    func text(_ key: String) -> String {
      if case .string(let text)? = json[key] { return text }
      return ""
    }

    /// The format string, which may be written as pieces with counts.
    var format: String {
      guard case .array(let pieces)? = json["format"]?["$concat"] else { return text("format") }
      return pieces.map { piece in
        switch piece {
        case .string(let text): return text
        case .array(let pair):
          guard case .string(let text)? = pair.first, case .int(let count)? = pair.last else { return "" }
          return String(repeating: text, count: Int(count))
        default: return ""
        }
      }.joined()
    }

    /// The request that asks the same of `cdstore`.
    func request(_ members: [JSONValue.Member]) -> JSONValue {
      var members = members
      members.append(.init("where", .string(format)))
      for key in ["args", "variables"] {
        if let value = json[key] { members.append(.init(key, SharedCaseFile.keyed(value))) }
      }
      return .object(members)
    }

    /// Whether an answer's error is one that the case expects, at the stage where it expects it.
    func isExpected(_ error: JSONValue) -> Bool {
      guard json["expected"] == .string("error") else { return false }
      return (error["stage"] == .string("parse")) == (json["error_stage"] == .string("parse"))
    }
  }

  let cases: [Case]
  let datasets: [JSONValue.Member]

  init() throws {
    guard let folder = PredicateCase.folder else {
      (cases, datasets) = ([], [])
      return
    }
    let lines = try String(contentsOf: folder.appending(path: "cases.jsonl"), encoding: .utf8)
    cases = try lines.split(whereSeparator: \.isNewline).map {
      Case(json: try JSONValue(parsing: String($0)))
    }
    let file = try JSONValue(
      parsing: try String(contentsOf: folder.appending(path: "datasets.json"), encoding: .utf8))
    datasets = file["datasets"]?.members ?? []
  }

  // MARK: Keys

  /// Keys of rows are those of the file: `Entity/id`, since each entity has its own. A `$ref` names the entity
  /// before the key.
  static func keyed(_ json: JSONValue) -> JSONValue {
    switch json {
    case .array(let elements): return .array(elements.map(keyed))
    case .object(let members):
      if members.count == 1, members[0].key == "$ref", case .string(let text) = members[0].value {
        return .object([.init("$ref", .string(text.prefix { $0 != "/" } + "/" + text))])
      }
      return .object(members.map { .init($0.key, keyed($0.value)) })
    default: return json
    }
  }

  // MARK: Datasets

  /// The attribute that keeps the rows' keys.
  static let idAttribute = "rowKey"

  static func model(_ name: String, _ dataset: JSONValue) -> ManagedObjectModel {
    let entities = (dataset["entities"]?.members ?? []).map { entity in
      EntityDescription(
        name: entity.key,
        attributes: (entity.value["attributes"]?.members ?? []).map { attribute in
          AttributeDescription(
            name: attribute.key, type: types[attribute.value.text("type")] ?? .data,
            isOptional: attribute.value["optional"] != .bool(false))
        } + [AttributeDescription(name: idAttribute, type: .string, isOptional: true)],
        relationships: (entity.value["relationships"]?.members ?? []).map { relationship in
          RelationshipDescription(
            name: relationship.key, destination: relationship.value.text("destination"),
            isToMany: relationship.value["toMany"] == .bool(true),
            inverse: relationship.value["inverse"].map { _ in relationship.value.text("inverse") },
            isOrdered: relationship.value["ordered"] == .bool(true))
        })
    }
    return ManagedObjectModel(
      name: name, id: UUID(), versions: [ModelVersion(number: 1, entities: entities)], currentVersionNumber: 1
    )
  }

  private static let types: [String: AttributeType] = [
    "Integer 16": .int16, "Integer 32": .int32, "Integer 64": .int64, "Decimal": .decimal,
    "Double": .double, "Float": .float, "String": .string, "Boolean": .bool, "Date": .date,
    "Binary": .data, "UUID": .uuid,
  ]

  /// The rows as `cdstore load` takes them.
  static func rows(_ dataset: JSONValue) -> JSONValue {
    .object(
      (dataset["rows"]?.members ?? []).map { entity in
        guard let description = dataset["entities"]?[entity.key], case .array(let rows) = entity.value else {
          return entity
        }
        return .init(
          entity.key,
          .array(rows.map { .object(($0.members).compactMap { row(entity.key, description, $0) }) }))
      })
  }

  private static func row(
    _ entity: String, _ description: JSONValue, _ member: JSONValue.Member
  ) -> JSONValue.Member? {
    func key(_ entity: String, _ json: JSONValue) -> JSONValue {
      switch json {
      case .string(let id): .string(entity + "/" + id)
      case .array(let ids): .array(ids.map { key(entity, $0) })
      default: json
      }
    }
    if member.key == "id" { return .init("@id", key(entity, member.value)) }
    if let relationship = description["relationships"]?[member.key] {
      return .init(member.key, key(relationship.text("destination"), member.value))
    }
    guard let attribute = description["attributes"]?[member.key] else { return nil }
    // What Core Data calls transformable has no place in a predicate, nor in the store.
    return types[attribute.text("type")] == nil ? nil : member
  }
}

extension JSONValue {
  fileprivate var members: [Member] {
    if case .object(let members) = self { return members }
    return []
  }

  fileprivate func text(_ key: String) -> String {
    if case .string(let text)? = self[key] { return text }
    return ""
  }
}
