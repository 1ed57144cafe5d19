package import CDModel
package import Foundation

/// A case of the predicates that were collected from other implementations' tests and from documents.
///
/// They are in a `shared` folder beside the checkout, or in the folder that `CDGEN_SHARED` names. Tests that need them
/// are skipped where there is none.
package struct PredicateCase {
  /// What a case expects.
  package enum Expectation: Equatable {
    case holds(Bool)
    case indices([Int])
    case rows(Set<String>)
    case error
    case other(String)
  }

  package let id: String
  package let mode: String
  package let format: String
  package let arguments: [(any FormatArgument)?]
  package let variables: [String: ExpressionConstant]
  package let object: ExpressionConstant
  package let objects: [ExpressionConstant]?
  package let dataset: String
  package let entity: String
  package let expected: Expectation
  package let errorStage: String?
  package let errorOffset: Int?
  package let isDisputed: Bool
  package let isSQL: Bool

  /// The folder of the cases and of their datasets.
  package static let folder: URL? = {
    if let path = ProcessInfo.processInfo.environment["CDGEN_SHARED"] {
      return URL(filePath: path).appending(path: "predicates")
    }
    var folder = URL(filePath: #filePath).deletingLastPathComponent()
    while folder.path != "/" {
      let candidate = folder.appending(path: "shared/predicates")
      if FileManager.default.fileExists(atPath: candidate.appending(path: "cases.jsonl").path) {
        return candidate
      }
      folder.deleteLastPathComponent()
    }
    return nil
  }()

  /// All cases, in the order of the file.
  package static func all() throws -> [PredicateCase] {
    guard let folder else { return [] }
    let text = try String(contentsOf: folder.appending(path: "cases.jsonl"), encoding: .utf8)
    return try text.split(whereSeparator: \.isNewline).map { line in
      let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
      return PredicateCase(row)
    }
  }

  private init(_ row: [String: Any]) {
    id = row["id"] as? String ?? ""
    mode = row["mode"] as? String ?? ""
    format = Self.format(row["format"])
    arguments = (row["args"] as? [Any] ?? []).map { ExpressionConstant(tagged: $0) }
    variables = (row["variables"] as? [String: Any] ?? [:]).mapValues { ExpressionConstant(tagged: $0) }
    object = row["object"].map { ExpressionConstant(tagged: $0) } ?? .null
    objects = (row["objects"] as? [Any])?.map { ExpressionConstant(tagged: $0) }
    dataset = row["dataset"] as? String ?? ""
    entity = row["entity"] as? String ?? ""
    expected = Self.expectation(row["expected"])
    errorStage = row["error_stage"] as? String
    errorOffset = (row["error_at"] as? [String: Any])?["utf16"] as? Int
    isDisputed = row["disputed"] != nil
    isSQL = row["sql"] as? Bool ?? false
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
}
