import CDModel
import CDPropertyList

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An expression of a mapping model, as text in the predicate format.
///
/// Xcode stores expressions as archives of objects. Their form was determined from real files: constants, variables,
/// `SELF`, key paths, and calls of `valueForKeyPath:`, of predicate functions and of other functions.
struct ArchivedExpression {
  private let objects: [PropertyListValue]
  /// The number of objects that may still be read. Objects may be shared, so a small archive could otherwise give a
  /// text without end.
  private var budget = 10_000
  /// The number of bytes that the text may still grow by.
  private var byteBudget = 1 << 16

  private init(_ objects: [PropertyListValue]) { self.objects = objects }

  /// Reads the text of an archive in Base64. Nil for an unknown form or a text that is too large.
  static func text(base64: String) -> String? {
    let digits = base64.filter { !$0.isWhitespace }
    guard let data = Data(base64Encoded: digits), let root = BinaryPropertyList.read([UInt8](data)),
      case .list(let objects)? = root["$objects"], case .dictionary(let top)? = root["$top"],
      let first = top["root"] ?? top.values.first
    else { return nil }
    var archive = ArchivedExpression(objects)
    return archive.text(first, depth: 0)
  }

  private func object(_ value: PropertyListValue?) -> PropertyListValue? {
    guard case .reference(let place)? = value else { return value }
    return objects.indices.contains(place) ? objects[place] : nil
  }

  private mutating func text(_ value: PropertyListValue?, depth: Int) -> String? {
    budget -= 1
    guard depth < 32, budget > 0, let value = object(value), let text = unbounded(value, depth) else {
      return nil
    }
    byteBudget -= text.utf8.count
    return byteBudget > 0 ? text : nil
  }

  private mutating func unbounded(_ value: PropertyListValue, _ depth: Int) -> String? {
    switch value {
    case .string("$null"), .null: "nil"
    case .string(let text): Self.quoted(text)
    case .int(let number): String(number)
    case .bool(let flag): flag ? "true" : "false"
    case .real(let number): number.isFinite ? number.description : nil
    case .dictionary: expression(value, depth)
    default: nil
    }
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
  }

  private func string(_ value: PropertyListValue?) -> String? {
    if case .string(let text)? = object(value) { text } else { nil }
  }

  private mutating func expression(_ value: PropertyListValue, _ depth: Int) -> String? {
    switch string(object(value["$class"])?["$classname"]) {
    case "NSSelfExpression": return "SELF"
    case "NSVariableExpression": return string(value["NSVariable"]).map { "$" + $0 }
    case "NSKeyPathSpecifierExpression": return string(value["NSKeyPath"])
    case "NSString", "NSMutableString": return string(value["NS.string"]).map(Self.quoted)
    case "NSConstantValueExpression":
      let key = ["NSConstantValue", "NSConstantValueExpression"].first { value[$0] != nil }
      guard case .dictionary(let members) = value else { return nil }
      let known: Set<String> = ["$class", "NSExpressionType", "NSConstantValueClassName"]
      return text(
        key.flatMap { value[$0] } ?? members.filter { !known.contains($0.key) }.first?.value, depth: depth + 1
      )
    case "NSFunctionExpression", "NSKeyPathExpression": return call(value, depth)
    default: return nil
    }
  }

  private mutating func call(_ value: PropertyListValue, _ depth: Int) -> String? {
    var arguments: [String] = []
    if case .list(let all)? = object(value["NSArguments"])?["NS.objects"] {
      for each in all {
        guard let text = text(each, depth: depth + 1) else { return nil }
        arguments.append(text)
      }
    }
    guard let selector = string(value["NSSelectorName"]) else { return nil }
    if isPredicateFunctions(object(value["NSOperand"])) {
      return ExpressionFunction(name: selector).map {
        $0.rawValue + "(" + arguments.joined(separator: ", ") + ")"
      }
    }
    guard let operand = text(value["NSOperand"], depth: depth + 1) else { return nil }
    if ["valueForKeyPath:", "valueForKey:"].contains(selector), arguments.count == 1 {
      let path = arguments[0].hasPrefix("\"") ? String(arguments[0].dropFirst().dropLast()) : arguments[0]
      return operand == "SELF" ? path : operand + "." + path
    }
    return "FUNCTION(" + ([operand, Self.quoted(selector)] + arguments).joined(separator: ", ") + ")"
  }

  /// Whether the receiver of a call is the class with the predicate functions, such as `now()` and `add:to:`. An
  /// archive stores the class as a constant with its name.
  private func isPredicateFunctions(_ operand: PropertyListValue?) -> Bool {
    guard let operand, case .dictionary = operand else { return false }
    return ["NSConstantValueClassName", "NSConstantValue"].contains {
      string(operand[$0]) == "_NSPredicateUtilities"
    }
  }
}
