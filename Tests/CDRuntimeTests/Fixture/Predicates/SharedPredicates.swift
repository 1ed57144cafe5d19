import CDRuntime
import Foundation

/// The collected facts about predicates that stand in a `shared/` folder beside the checkout, where there is
/// one. The tests that need it are skipped without it.
enum SharedPredicates {
  static let folder: URL? = {
    if let path = ProcessInfo.processInfo.environment["CDGEN_SHARED"] {
      return URL(fileURLWithPath: path).appendingPathComponent("predicates")
    }
    var folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    while folder.path != "/" {
      let candidate = folder.appendingPathComponent("shared/predicates")
      let cases = candidate.appendingPathComponent("cases.jsonl")
      if FileManager.default.fileExists(atPath: cases.path) { return candidate }
      folder.deleteLastPathComponent()
    }
    return nil
  }()

  /// What a case expects.
  enum Expectation: Equatable {
    case holds(Bool)
    case indices([Int])
    case rows(Set<String>)
    case error
    case other(String)
  }

  struct Case {
    let id: String
    let mode: String
    let format: String
    let arguments: [(any FormatArgument)?]
    let variables: [String: ExpressionConstant]
    let object: EvaluationValue
    let objects: [EvaluationValue]?
    let dataset: String
    let entity: String
    let expected: Expectation
    let errorStage: String?
    let isDisputed: Bool
    let isSQL: Bool
  }

  static func cases() throws -> [Case] {
    guard let folder else { return [] }
    let text = try String(contentsOf: folder.appendingPathComponent("cases.jsonl"), encoding: .utf8)
    return try text.split(whereSeparator: \.isNewline).map { line in
      let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
      let objects = (row["objects"] as? [Any])?.map { EvaluationValue(constant($0)) }
      return Case(
        id: row["id"] as? String ?? "", mode: row["mode"] as? String ?? "", format: format(row["format"]),
        arguments: (row["args"] as? [Any] ?? []).map { constant($0) },
        variables: (row["variables"] as? [String: Any] ?? [:]).mapValues { constant($0) },
        object: row["object"].map { EvaluationValue(constant($0)) } ?? .null, objects: objects,
        dataset: row["dataset"] as? String ?? "", entity: row["entity"] as? String ?? "",
        expected: expectation(row["expected"]), errorStage: row["error_stage"] as? String,
        isDisputed: row["disputed"] != nil, isSQL: row["sql"] as? Bool ?? false)
    }
  }

  private static func expectation(_ value: Any?) -> Expectation {
    if let text = value as? String { return text == "error" ? .error : .other(text) }
    if let list = value as? [String], !list.isEmpty { return .rows(Set(list)) }
    if let list = value as? [Int], !list.isEmpty { return .indices(list) }
    if let list = value as? [Any], list.isEmpty { return .indices([]) }
    if let holds = value as? Bool { return .holds(holds) }
    return .other("")
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
