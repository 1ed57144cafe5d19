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
    case .string: return .string(text)
    case .bool: return text == "true" ? .bool(true) : text == "false" ? .bool(false) : nil
    case .int16, .int32, .int64:
      guard let number = LiteralDecoder.integer(text), let range = type.integerRange, range.contains(number)
      else { return nil }
      return .int(number)
    case .float:
      guard let number = LiteralDecoder.double(text), Float(number).isFinite else { return nil }
      return .double(Double(Float(number)))
    case .double: return LiteralDecoder.double(text).map { .double($0) }
    case .decimal: return LiteralDecoder.decimal(text).map { .decimal($0) }
    case .date: return DateLiteral.date(text).map { .date($0) }
    case .data: return LiteralDecoder.data(text).map { .data($0) }
    case .uuid: return UUID(uuidString: text).map { .uuid($0) }
    case .url: return LiteralDecoder.url(text).map { .url($0) }
    case .enumeration(let name): return enums[name]?.cases.first { $0.name == text }?.rawValue
    case .composite, .codable: return nil
    }
  }

  private func reportBadValue(_ text: String, at node: MarkedNode, type: AttributeType, what: String) {
    let isDefault = what == "the default"
    switch type {
    case .bool:
      error(
        node, "\(what) of a Bool is true or false, and not '\(text)'",
        suggestion: LiteralDecoder.likelyBool(text))
    case .int16, .int32, .int64:
      if LiteralDecoder.integer(text) != nil || Self.isDigits(text), let range = type.integerRange {
        error(
          node, "\(text) is out of range; \(type.schemaName) holds \(range.lowerBound)...\(range.upperBound)")
      } else {
        error(node, "\(what) of an \(type.schemaName) is an integer in decimal digits, and not '\(text)'")
      }
    case .float, .double:
      error(
        node, "\(what) of a \(type.schemaName) is a finite decimal number in its range, and not '\(text)'")
    case .decimal:
      error(node, "\(what) of a Decimal is a decimal number of 38 digits at most, and not '\(text)'")
    case .date:
      error(
        node,
        "\(what) of a Date is \(isDefault ? "now(), " : "")a day such as 2024-02-29, or a time with its zone such as "
          + "2024-02-29T12:30:00Z, and not '\(text)'")
    case .data:
      error(node, "\(what) of a Data is Base64 text, and not '\(text)'")
    case .uuid:
      error(
        node,
        "\(what) of a UUID is \(isDefault ? "uuid() or " : "")a UUID such as "
          + "5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11, and not '\(text)'")
    case .url:
      error(node, "\(what) of a URL is a URL, and not '\(text)'")
    case .enumeration(let name):
      let names = enums[name]?.cases.map(\.name) ?? []
      if let close = closestName(to: text, in: names) {
        error(node, "enum '\(name)' has no case '\(text)'", suggestion: close)
      } else {
        error(node, "enum '\(name)' has no case '\(text)'; its cases are \(names.joined(separator: ", "))")
      }
    case .codable:
      error(node, "\(what): a codable attribute has none; make it optional, or set it in awakeFromInsert")
    case .string, .composite: break
    }
  }

  private static func isDigits(_ text: String) -> Bool {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    return !digits.isEmpty && digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// Reads a constant of a composite: a mapping with its fields. Optional fields and fields with a default may be
  /// missing.
  private func compositeValue(_ node: MarkedNode, of name: String, as what: String) -> AttributeValue? {
    guard let composite = composites[name] else { return nil }
    guard case .mapping(let pairs) = node.content else {
      error(node, "\(what) of '\(name)' is a mapping of its fields to values, and not \(node.kindName)")
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
        error(node, "\(what) of '\(name)' lacks the field '\(field.name)'")
        isComplete = false
      }
    }
    return isComplete ? .composite(values) : nil
  }
}

extension AttributeType {
  /// The range of an integer type; nil for other types.
  var integerRange: ClosedRange<Int64>? {
    switch self {
    case .int16: Int64(Int16.min)...Int64(Int16.max)
    case .int32: Int64(Int32.min)...Int64(Int32.max)
    case .int64: Int64.min...Int64.max
    default: nil
    }
  }
}
