@testable import CDRuntime

/// The objects of a context with all their values, as text by entity and key.
enum GraphText {
  static func lines(_ context: ManagedObjectContext) throws -> [String: String] {
    var lines: [String: String] = [:]
    for name in context.model.entities.filter({ $0.index == $0.root }).map(\.name) {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: name)) {
        lines["\(object.entity.name) \(object.key)"] = line(object)
      }
    }
    return lines
  }

  private static func line(_ object: ManagedObject) -> String {
    var text = ""
    for slot in object.scope.plan.slots {
      text += slot.name
      switch object.value(of: slot) {
      case .attribute(let value): text += "=\(Self.text(value)) "
      case .object(let other): text += "=\(other.map { "\($0.key)" } ?? "-") "
      case .objects(let others):
        let keys = others.map(\.key)
        text += "=\(slot.relationship?.isOrdered == true ? keys : keys.sorted()) "
      }
    }
    return text
  }

  /// What Swift itself says of a value takes long to find out in a debug build.
  private static func text(_ value: AttributeValue) -> String {
    switch value {
    case .string(let text): "string(" + text.debugDescription + ")"
    case .int(let number): "int(" + number.description + ")"
    case .null: "null"
    default: "\(value)"
    }
  }

  /// What differs, a line each.
  static func differences(_ expected: [String: String], _ found: [String: String]) -> [String] {
    Set(expected.keys).union(found.keys).filter { expected[$0] != found[$0] }.sorted().map { key in
      "\(key):\n  expected \(expected[key] ?? "none")\n  found    \(found[key] ?? "none")"
    }
  }
}
