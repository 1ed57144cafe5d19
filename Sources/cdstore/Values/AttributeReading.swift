import CDConsole
import CDModel
import CDSchema
import Foundation

/// Reads JSON as values of attributes. The attribute's type decides the meaning of plain JSON: a text may be an ISO
/// 8601 date, base64, a UUID or a decimal.
struct AttributeReading {
  let graph: EntityGraph

  /// - Throws: ``Failure`` if the JSON is not a value of the type.
  func value(_ json: JSONValue, _ attribute: AttributeDescription) throws -> AttributeValue {
    if json == .null { return .null }
    return try value(json, attribute.type)
  }

  private func value(_ json: JSONValue, _ type: AttributeType) throws -> AttributeValue {
    switch type {
    case .enumeration(let name):
      guard let enumeration = graph.enumeration(name) else { throw Failure("there is no enum '\(name)'") }
      if case .string(let text) = json, let found = enumeration.cases.first(where: { $0.name == text }) {
        return found.rawValue
      }
      return try value(json, enumeration.rawType)
    case .composite(let name): return try composite(json, name)
    // A codable is stored as JSON.
    case .codable:
      if let text = ValueJSON.storedText(json) { return .string(text) }
      return .string(json.canonicalText)
    default: break
    }
    var json = json
    // The tag of a decimal has the same text as a decimal without a tag.
    if type == .decimal, case .object(let members) = json, members.count == 1,
      members[0].key == "$decimal", case .string(let text) = members[0].value,
      let value = try Self.decimal(text)
    {
      return value
    }
    if case .object(let members) = json, members.count == 1, let member = members.first,
      let tagged = try TaggedValue.attribute(member.key, member.value)
    {
      if tagged.type == type { return tagged }
      // A tagged double is also a valid value for other number types.
      guard case .double(let number) = tagged else { throw mistake(json, type) }
      // A number tagged as a double has no more digits than the double.
      if type == .decimal, let decimal = Decimal(wholeText: "\(number)") { return .decimal(decimal) }
      json = .double(number)
    }
    if let value = try plain(json, type) { return value }
    throw mistake(json, type)
  }

  private func plain(_ json: JSONValue, _ type: AttributeType) throws -> AttributeValue? {
    switch (type, json) {
    case (.bool, .bool(let flag)): return .bool(flag)
    case (.bool, .int(let number)) where number == 0 || number == 1: return .bool(number == 1)
    case (.float, .int(let number)): return .double(Double(Float(number)))
    case (.float, .double(let number)):
      let float = Float(number)
      // A number that is too large for the type must not become infinity.
      return float.isInfinite && number.isFinite ? nil : .double(Double(float))
    case (.double, .int(let number)): return .double(Double(number))
    case (.double, .double(let number)): return .double(number)
    case (.decimal, .int(let number)): return .decimal(Decimal(number))
    case (.decimal, .double(let number)):
      // A double distinguishes all numbers of 15 digits. The text of a longer one may have been another number.
      guard Self.countDigits(number) <= 15 else {
        throw Failure(
          "a number of more than 15 digits may lose some of them; write it as a text, or as {\"$decimal\": \"…\"}"
        )
      }
      return Decimal(wholeText: "\(number)").map { .decimal($0) }
    case (.decimal, .string(let text)): return try Self.decimal(text)
    case (.date, .string(let text)): return DateLiteral.date(text).map { .date($0) }
    case (_, .int(let number)):
      return type.traits?.integerRange.flatMap { $0.contains(number) ? .int(number) : nil }
    case (_, .double(let number)) where type != .bool:
      guard let integer = Int64(exactly: number), let value = try plain(.int(integer), type) else {
        return nil
      }
      // From here on, several integers have the same double.
      guard integer.magnitude < 1 << 53 else {
        throw Failure("a number this large may lose digits; write it without a point and an exponent")
      }
      return value
    case (_, .string(let text)): return AttributeValue(text: text, of: type)
    default: return nil
    }
  }

  /// Reads the text of a decimal. Foundation would cut off the digits that it cannot hold.
  ///
  /// - Returns: Nil if the text is not a number.
  private static func decimal(_ text: String) throws -> AttributeValue? {
    guard let value = Decimal(wholeText: text) else { return nil }
    guard Decimal.significantDigits(text) == Decimal.significantDigits(value.description) else {
      throw Failure(
        "a Decimal cannot hold this number; it has at most \(Decimal.significantDigitLimit) digits")
    }
    return .decimal(value)
  }

  /// The number of significant digits in the shortest text that means a double.
  private static func countDigits(_ number: Double) -> Int {
    var digits = "\(number)".prefix { $0 != "e" }.filter(\.isNumber)
    while digits.last == "0" { digits.removeLast() }
    return digits.drop { $0 == "0" }.count
  }

  private func composite(_ json: JSONValue, _ name: String) throws -> AttributeValue {
    guard let composite = graph.composite(name) else { throw Failure("there is no composite '\(name)'") }
    guard case .object(let members) = json else {
      throw Failure("the composite '\(name)' takes an object of its fields, not \(json.kindName)")
    }
    var values: [String: AttributeValue] = [:]
    for member in members {
      guard let field = composite.fields.first(where: { $0.name == member.key }) else {
        throw Failure("'\(name)' has no field '\(member.key)'")
      }
      values[member.key] = try value(member.value, field)
    }
    return .composite(values)
  }

  private func mistake(_ json: JSONValue, _ type: AttributeType) -> Failure {
    let remedy =
      switch (type, json) {
      case (.string, .int), (.string, .double), (.string, .bool): "; write a text in quotes"
      default: ""
      }
    return Failure("\(type.schemaName) does not take \(json.kindName) such as this\(remedy)")
  }
}
