import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension DecodingContext {
  /// Reads a constant of a type, such as a default or a bound, and reports a value that does not fit.
  func value(_ node: MarkedNode, of type: AttributeType, as what: String) -> AttributeValue? {
    if case .composite(let name) = type { return compositeValue(node, of: name, as: what) }
    if case .string = type, case .scalar(let text, let style) = node.content, style != .plain {
      // An empty text in quotes is a string.
      return .string(text)
    }
    guard let text = text(of: node, as: what) else { return nil }
    if let value = Self.scalarValue(text, of: type, enums: enums) {
      if case .string = type, reportsSwallowedComment(node) { return nil }
      return value
    }
    reportBadValue(text, at: node, type: type, what: what)
    return nil
  }

  private static func scalarValue(
    _ text: String, of type: AttributeType, enums: [String: EnumDescription]
  ) -> AttributeValue? {
    switch type {
    case .bool: return text == "true" ? .bool(true) : text == "false" ? .bool(false) : nil
    case .float:
      guard let number = LiteralDecoder.double(text), Float(number).isFinite else { return nil }
      return .double(Double(Float(number)))
    case .double: return LiteralDecoder.double(text).map { .double($0) }
    case .decimal: return LiteralDecoder.decimal(text).map { .decimal($0) }
    case .date: return DateLiteral.date(text).map { .date($0) }
    case .url where text.isEmpty: return nil
    case .enumeration(let name): return enums[name]?.cases.first { $0.name == text }?.rawValue
    default:
      guard let range = type.traits?.integerRange else { return AttributeValue(text: text, of: type) }
      return LiteralDecoder.integer(text).flatMap { range.contains($0) ? .int($0) : nil }
    }
  }

  private func reportBadValue(_ text: String, at node: MarkedNode, type: AttributeType, what: String) {
    switch type {
    case .enumeration(let name):
      let names = enums[name]?.cases.map(\.name) ?? []
      if let close = closestName(to: text, in: names) {
        error(node, "enum '\(name)' has no case '\(text)'", suggestion: close)
      } else {
        error(node, "enum '\(name)' has no case '\(text)'; its cases are \(names.joined(separator: ", "))")
      }
    case .codable:
      error(node, "\(what): a codable attribute has none; make it optional, or set it in awakeFromInsert")
    default:
      guard let traits = type.traits else { return }
      if let range = traits.integerRange, LiteralDecoder.integer(text) != nil || Self.isDigits(text) {
        error(node, "\(text) is out of range; \(traits.name) holds \(range.lowerBound)...\(range.upperBound)")
        return
      }
      let article = traits.name.hasPrefix("I") ? "an" : "a"
      let generator = what == "the default" ? traits.generator ?? "" : ""
      error(
        node, "\(what) of \(article) \(traits.name) is \(generator)\(traits.form), not '\(text)'",
        suggestion: type == .bool ? LiteralDecoder.likelyBool(text) : nil)
    }
  }

  private static func isDigits(_ text: String) -> Bool {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    return !digits.isEmpty && digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// Reads a constant of a composite: a mapping with its fields. Optional fields and fields with a constant default
  /// may be missing. A default such as `now()` gives no constant.
  private func compositeValue(_ node: MarkedNode, of name: String, as what: String) -> AttributeValue? {
    guard let composite = composites[name] else { return nil }
    guard case .mapping(let pairs) = node.content else {
      error(node, "\(what) of '\(name)' is a mapping of its fields to values, not \(node.kindName)")
      return nil
    }
    var values: [String: AttributeValue] = [:]
    var isComplete = true
    for pair in pairs {
      guard let field = composite.fields.first(where: { $0.name == pair.name }) else {
        error(
          pair.key, "composite '\(name)' has no field '\(pair.name)'",
          suggestion: closestName(to: pair.name, in: composite.fields.map(\.name)))
        isComplete = false
        continue
      }
      if let value = value(pair.value, of: field.type, as: "the value") {
        values[pair.name] = value
      } else {
        isComplete = false
      }
    }
    for field in composite.fields where !pairs.contains(where: { $0.name == field.name }) {
      if case .value(let value)? = field.defaultValue {
        values[field.name] = value
      } else if field.isOptional {
        values[field.name] = .null
      } else {
        let reason =
          field.defaultValue == nil ? "" : ", whose own default differs for each object; write a value"
        error(node, "\(what) of '\(name)' lacks the field '\(field.name)'\(reason)")
        isComplete = false
      }
    }
    return isComplete ? .composite(values) : nil
  }
}
