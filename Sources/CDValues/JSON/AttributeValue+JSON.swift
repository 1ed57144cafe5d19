#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension AttributeValue {
  /// The form of dates in JSON.
  package enum JSONDateForm: Hashable, Sendable {
    /// `{"$referenceDate": seconds}` since 2001, the number that `Date` stores: exact.
    case exact
    /// `{"$date": seconds}` since 1970, as other tools use. Shifting the number by 978,307,200 seconds rounds it: a
    /// date in this century may change by up to a quarter of a microsecond.
    case since1970
  }

  /// The value as JSON.
  ///
  /// Null, Booleans, integers and strings are plain JSON. A value of a type that JSON lacks is an object with one
  /// member: `{"$double": x}`, `{"$decimal": "1.5"}`, `{"$referenceDate": seconds}` or `{"$date": seconds}`,
  /// `{"$data": base64}`, `{"$uuid": "…"}`, `{"$url": "…"}`, `{"$composite": {field: value}}`. Doubles have a tag
  /// because many tools write 1.0 as 1. Infinities and NaN are the strings `"inf"`, `"-inf"` and `"nan"` in place of
  /// the number. A type that is not listed here is `{"$type": text}`.
  package func jsonValue(dates: JSONDateForm = .exact) -> JSONValue {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .int(let value): .int(value)
    case .string(let value): .string(value)
    case .double(let value): Self.tagged("$double", Self.number(value))
    case .decimal(let value): Self.tagged("$decimal", .string(value.canonicalText))
    case .date(let value):
      switch dates {
      case .exact: Self.tagged("$referenceDate", Self.number(value.timeIntervalSinceReferenceDate))
      case .since1970: Self.tagged("$date", Self.number(value.timeIntervalSince1970))
      }
    case .composite(let fields):
      Self.tagged(
        "$composite",
        .object(
          fields.ordered { $0.key.precedes($1.key) }
            .map { JSONValue.Member($0.key, $0.value.jsonValue(dates: dates)) }))
    default: Self.tagged(type?.traits?.jsonTag ?? "", .string(plainText ?? ""))
    }
  }

  /// Reads a value that ``jsonValue(dates:)`` wrote, with dates in either form.
  ///
  /// An untagged number with a fraction or an exponent becomes a double.
  ///
  /// - Throws: An error whose path leads from the value to the wrong part.
  package init(jsonValue: JSONValue) throws(ModelDecodingError) {
    try self.init(decoding: JSONElement(jsonValue))
  }

  /// The numbers that a reader accepts.
  package enum JSONNumbers {
    /// Only numbers that can be read without loss.
    case exact
    /// Also the text of a double, such as `"1e3"`, and numbers that lose digits. People write these.
    case rounded
  }

  package init(decoding element: JSONElement) throws(ModelDecodingError) {
    try self.init(decoding: element, .exact)
  }

  package init(decoding element: JSONElement, _ numbers: JSONNumbers) throws(ModelDecodingError) {
    switch element.value {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .int(let value): self = .int(value)
    case .double(let value): self = .double(value)
    case .string(let value): self = .string(value)
    case .array: throw element.wrongKind("a value")
    case .object(let members):
      guard members.count == 1, let member = members.first else {
        throw element.error(.invalidValue(found: element.value.canonicalText, expected: "one tag"))
      }
      let content = JSONElement(member.value, path: .member(element.path, member.key))
      self = try Self.decoded(tag: member.key, content, in: element, numbers)
    }
  }

  private static func decoded(
    tag: String, _ content: JSONElement, in element: JSONElement, _ numbers: JSONNumbers
  ) throws(ModelDecodingError) -> AttributeValue {
    switch tag {
    case "$double":
      if numbers == .rounded, case .string = content.value {
        return .double(try content.converted("a number") { Double($0) })
      }
      return .double(try content.number(numbers))
    case "$referenceDate": return .date(Date(timeIntervalSinceReferenceDate: try content.number(numbers)))
    case "$date": return .date(Date(timeIntervalSince1970: try content.number(numbers)))
    case "$decimal":
      if numbers == .rounded {
        return .decimal(try content.converted("a decimal") { Decimal(wholeText: $0) })
      }
      return .decimal(try content.converted("a decimal of at most 38 digits") { Decimal(canonicalText: $0) })
    case "$data": return .data(try content.converted("base64") { Data(base64Encoded: $0) })
    case "$composite":
      guard case .object(let members) = content.value else { throw content.wrongKind("an object") }
      var fields: [String: AttributeValue] = [:]
      for member in members {
        let field = JSONElement(member.value, path: .member(content.path, member.key))
        let value = try AttributeValue(decoding: field, numbers)
        guard fields.updateValue(value, forKey: member.key) == nil else {
          throw field.error(.invalidValue(found: member.key, expected: "fields that come once"))
        }
      }
      return .composite(fields)
    default:
      guard let traits = AttributeTraits.tagged(tag) else { throw element.error(.unknownMember(tag)) }
      return try content.converted(traits.noun) { AttributeValue(text: $0, of: traits.type) }
    }
  }

  private static func tagged(_ tag: String, _ value: JSONValue) -> JSONValue {
    .object([JSONValue.Member(tag, value)])
  }

  private static func number(_ value: Double) -> JSONValue {
    if value.isFinite { return .double(value) }
    return .string(value.isNaN ? "nan" : value < 0 ? "-inf" : "inf")
  }
}

extension AttributeTraits {
  /// The row of the type whose values are objects with a key; nil for any other key.
  package static func tagged(_ tag: String) -> AttributeTraits? {
    all.first { $0.jsonTag == tag && $0.empty.jsonValue(dates: .since1970)[tag] != nil }
  }
}

extension JSONElement {
  fileprivate func number(_ numbers: AttributeValue.JSONNumbers) throws(ModelDecodingError) -> Double {
    switch value {
    case .double(let value): return value
    case .int(let integer):
      if numbers == .rounded { return Double(integer) }
      guard let value = Double(exactly: integer) else {
        throw error(.invalidValue(found: String(integer), expected: "a number that a Double holds exactly"))
      }
      return value
    case .string("inf"): return .infinity
    case .string("-inf"): return -.infinity
    case .string("nan"): return .nan
    default: throw wrongKind("a number")
    }
  }

  @inline(never)
  fileprivate func converted<T>(
    _ expected: String, _ convert: (String) -> T?
  ) throws(ModelDecodingError) -> T {
    let text = try string()
    guard let result = convert(text) else { throw error(.invalidValue(found: text, expected: expected)) }
    return result
  }
}
