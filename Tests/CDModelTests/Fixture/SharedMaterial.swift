import CDModel
import Foundation

/// The collected facts about predicates that stand in a `shared/` folder beside the checkout, where there is
/// one. The tests that need it are skipped without it.
enum SharedMaterial {
  static let folder: URL? = {
    if let path = ProcessInfo.processInfo.environment["CDGEN_SHARED"] {
      return URL(fileURLWithPath: path)
    }
    var folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    while folder.path != "/" {
      let candidate = folder.appendingPathComponent("shared")
      let cases = candidate.appendingPathComponent("predicates/cases.jsonl")
      if FileManager.default.fileExists(atPath: cases.path) { return candidate }
      folder.deleteLastPathComponent()
    }
    return nil
  }()

  /// One case of `predicates/cases.jsonl`.
  struct PredicateCase {
    let id: String
    let mode: String
    let format: String
    let arguments: [(any FormatArgument)?]
    let expected: Any?
    let errorStage: String?
    let errorOffset: Int?
    let isDisputed: Bool
    let dataset: String?
    let entity: String?
  }

  static func predicateCases() throws -> [PredicateCase] {
    guard let folder else { return [] }
    let text = try String(
      contentsOf: folder.appendingPathComponent("predicates/cases.jsonl"), encoding: .utf8)
    return try text.split(whereSeparator: \.isNewline).map { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
      return PredicateCase(
        id: object["id"] as? String ?? "", mode: object["mode"] as? String ?? "",
        format: format(object["format"]),
        arguments: (object["args"] as? [Any] ?? []).map { constant($0) },
        expected: object["expected"], errorStage: object["error_stage"] as? String,
        errorOffset: (object["error_at"] as? [String: Any])?["utf16"] as? Int,
        isDisputed: object["disputed"] != nil, dataset: object["dataset"] as? String,
        entity: object["entity"] as? String)
    }
  }

  /// The versions that `predicates/datasets.json` describes, by the dataset's name.
  static func datasetVersions() throws -> [String: ModelVersion] {
    guard let folder else { return [:] }
    let data = try Data(contentsOf: folder.appendingPathComponent("predicates/datasets.json"))
    let root = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    return (root["datasets"] as? [String: [String: Any]] ?? [:]).mapValues { dataset in
      let entities = dataset["entities"] as? [String: [String: Any]] ?? [:]
      return ModelVersion(
        number: 1, entities: entities.keys.sorted().map { entity($0, entities[$0] ?? [:]) })
    }
  }

  private static func entity(_ name: String, _ description: [String: Any]) -> EntityDescription {
    let types: [String: AttributeType] = [
      "Integer 16": .int16, "Integer 32": .int32, "Integer 64": .int64, "Decimal": .decimal,
      "Double": .double, "Float": .float, "String": .string, "Boolean": .bool, "Date": .date,
      "Binary": .data, "UUID": .uuid, "Transformable": .codable(type: "Value", codec: 1),
    ]
    let attributes = description["attributes"] as? [String: [String: Any]] ?? [:]
    let relationships = description["relationships"] as? [String: [String: Any]] ?? [:]
    return EntityDescription(
      name: name,
      attributes: attributes.keys.sorted().map { key in
        AttributeDescription(
          name: key, type: types[attributes[key]?["type"] as? String ?? ""] ?? .string,
          isOptional: attributes[key]?["optional"] as? Bool ?? true)
      },
      relationships: relationships.keys.sorted().map { key in
        RelationshipDescription(
          name: key, destination: relationships[key]?["destination"] as? String ?? "",
          isToMany: relationships[key]?["toMany"] as? Bool ?? false)
      })
  }

  private static func format(_ value: Any?) -> String {
    if let text = value as? String { return text }
    let pieces = (value as? [String: Any])?["$concat"] as? [Any] ?? []
    return pieces.map { piece in
      if let pair = piece as? [Any], let text = pair.first as? String, let count = pair.last as? Int {
        return String(repeating: text, count: count)
      }
      return piece as? String ?? ""
    }.joined()
  }

  /// A value as the `_readme` of datasets.json tags them.
  static func constant(_ value: Any) -> ExpressionConstant {
    if value is NSNull { return .null }
    if let text = value as? String { return .value(.string(text)) }
    if let list = value as? [Any] { return .array(list.map(constant)) }
    if let object = value as? [String: Any] { return tagged(object) }
    guard let number = value as? NSNumber else { return .null }
    // JSONSerialization has one class for both.
    if String(cString: number.objCType) == "c" { return .value(.bool(number.boolValue)) }
    return .value(.int(number.int64Value))
  }

  private static func tagged(_ object: [String: Any]) -> ExpressionConstant {
    guard object.count == 1, let (tag, value) = object.first else {
      return .dictionary(object.mapValues(constant))
    }
    switch (tag, value) {
    case ("$double", let number as NSNumber): return .value(.double(number.doubleValue))
    case ("$decimal", let text as String): return .value(.decimal(Decimal(string: text) ?? .nan))
    case ("$date", let seconds as NSNumber):
      return .value(.date(Date(timeIntervalSince1970: seconds.doubleValue)))
    case ("$data", let text as String): return .value(.data(Data(base64Encoded: text) ?? Data()))
    case ("$uuid", let text as String): return UUID(uuidString: text).map { .value(.uuid($0)) } ?? .null
    case ("$ref", let text as String):
      return .object(ObjectReference(entity: String(text.prefix { $0 != "/" }), uri: text))
    case ("$set", let elements as [Any]): return .set(Set(elements.map(constant)))
    case ("$dict", let pairs as [String: Any]): return .dictionary(pairs.mapValues(constant))
    case ("$repeat", let pair as [Any]):
      return .value(.string(String(repeating: pair[0] as? String ?? "", count: pair[1] as? Int ?? 0)))
    default: return .dictionary(object.mapValues(constant))
    }
  }
}
