import ArgumentParser
import CDConsole
import CDModel
import CDRuntime

/// The findings of a verification as JSON and as a SARIF log.
struct FindingReport {
  enum Format: String, CaseIterable, ExpressibleByArgument { case text, json, sarif }

  private let findings: [StoreFinding]
  private let store: String

  init(_ findings: [StoreFinding], of store: String) {
    self.findings = findings
    self.store = store
  }

  /// A list of objects with the kind of the finding and its description. Findings about an object have its entity and the
  /// number of its identifier, or the complete identifier.
  var json: JSONValue {
    .array(
      findings.map { finding in
        .object(
          [.init("kind", .string(Self.kind(of: finding))), .init("message", .string(finding.description))]
            + Self.subject(of: finding))
      })
  }

  var sarif: SARIFLog {
    var log = SARIFLog(
      tool: "cdstore", rules: Self.rules.map { SARIFLog.Rule(id: $0.kind, description: $0.description) })
    for finding in findings {
      log.add(Self.kind(of: finding), .error, finding.description, path: store)
    }
    return log
  }

  private static let rules: [(kind: String, description: String)] = [
    ("damaged", "The file must be a sound database."),
    ("danglingReference", "A reference must lead to an object."),
    ("oneDirection", "Both objects of a pair must have each other."),
    ("unreadable", "Each value must have its type."),
    ("invalid", "Each object must follow the rules of the model."),
    ("outdatedValue", "Each derived value must be the one that its derivation gives."),
    ("unknownEntity", "The model must have the entity of each object."),
    ("wrongHash", "The hashes in the metadata must be those of the model in the store."),
    ("unreadableHistory", "Each row of the history must have its form."),
    ("incompleteSave", "A save to several stores must have reached all of them."),
    ("keyTaken", "The next number of an identifier must not be in use."),
    ("unreadableMetadata", "Each entry of the metadata must have its form."),
    ("foreignObject", "The file must have only tables and indexes of the store."),
  ]

  private static func kind(of finding: StoreFinding) -> String {
    switch finding {
    case .damaged: "damaged"
    case .danglingReference: "danglingReference"
    case .oneDirection: "oneDirection"
    case .unreadable: "unreadable"
    case .invalid: "invalid"
    case .outdatedValue: "outdatedValue"
    case .unknownEntity: "unknownEntity"
    case .wrongHash: "wrongHash"
    case .unreadableHistory: "unreadableHistory"
    case .incompleteSave: "incompleteSave"
    case .keyTaken: "keyTaken"
    case .unreadableMetadata: "unreadableMetadata"
    case .foreignObject: "foreignObject"
    }
  }

  private static func subject(of finding: StoreFinding) -> [JSONValue.Member] {
    func object(_ entity: String, _ key: Int64) -> [JSONValue.Member] {
      [.init("entity", .string(entity)), .init("number", .int(key))]
    }
    switch finding {
    case .danglingReference(let entity, let key, _), .oneDirection(let entity, _, let key, _),
      .unknownEntity(let entity, let key, _):
      return object(entity, key)
    case .outdatedValue(let entity, let attribute, let key):
      return object(entity, key) + [.init("property", .string(attribute))]
    case .unreadable(let error):
      return error.objectID.map { [.init("id", .string("\($0)"))] } ?? []
    case .invalid(let error):
      return [.init("entity", .string(error.entity)), .init("id", .string("\(error.objectID)"))]
        + (error.property.map { [.init("property", .string($0))] } ?? [])
    case .keyTaken(let entity): return [.init("entity", .string(entity))]
    default: return []
    }
  }
}
