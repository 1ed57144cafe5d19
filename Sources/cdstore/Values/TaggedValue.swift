import CDConsole
import CDModel
import Foundation

/// Reads JSON values. Values of types that JSON lacks are objects with one key that names the type:
/// `{"$date": seconds since 1970}`, `{"$referenceDate": seconds since 2001}`, `{"$data": base64}`, `{"$uuid": "…"}`, `{"$decimal": "1.5"}`, `{"$double": 1}`,
/// `{"$ref": "Entity/id"}`, `{"$set": […]}`, `{"$dict": {…}}`, `{"$repeat": ["x", 3]}`.
struct TaggedValue {
  /// Returns the object that a `$ref` refers to.
  var reference: (String) throws -> ObjectReference = {
    ObjectReference(entity: String($0.prefix { $0 != "/" }), uri: $0)
  }

  /// - Throws: ``Failure`` if the value of a tag has a wrong type.
  func constant(_ json: JSONValue) throws -> ExpressionConstant {
    switch json {
    case .null: return .value(.null)
    case .bool(let flag): return .value(.bool(flag))
    case .int(let number): return .value(.int(number))
    case .double(let number): return .value(.double(number))
    case .string(let text): return .value(.string(text))
    case .array(let elements): return .array(try elements.map(constant))
    case .object(let members):
      if members.count == 1, let member = members.first, member.key.hasPrefix("$"),
        let value = try tagged(member.key, member.value)
      {
        return value
      }
      return .dictionary(try dictionary(members))
    }
  }

  private func dictionary(_ members: [JSONValue.Member]) throws -> [String: ExpressionConstant] {
    var result: [String: ExpressionConstant] = [:]
    for member in members { result[member.key] = try constant(member.value) }
    return result
  }

  private func tagged(_ tag: String, _ value: JSONValue) throws -> ExpressionConstant? {
    switch (tag, value) {
    case ("$ref", .string(let text)): return .object(try reference(text))
    case ("$set", .array(let elements)): return .set(Set(try elements.map(constant)))
    case ("$dict", .object(let members)): return .dictionary(try dictionary(members))
    case ("$repeat", .array(let pair)):
      guard case .string(let text)? = pair.first, case .int(let count)? = pair.last, pair.count == 2,
        count >= 0, count <= 100_000_000
      else { throw Failure("$repeat takes a text and a count") }
      return .value(.string(String(repeating: text, count: Int(count))))
    default:
      return try Self.attribute(tag, value).map { .value($0) }
    }
  }

  /// The value of an attribute's tag; nil for a key that is not a tag.
  ///
  /// It is read as in a model's JSON. People write some requests themselves, so more forms of numbers are accepted.
  static func attribute(_ tag: String, _ value: JSONValue) throws -> AttributeValue? {
    switch (tag, value) {
    case ("$double", .int(let number)): return .double(Double(number))
    case ("$double", .string(let text)):
      guard let number = Double(text) else { throw Failure("\"\(text)\" is not a number") }
      return .double(number)
    case ("$date", .int(let seconds)): return .date(Date(timeIntervalSince1970: Double(seconds)))
    case ("$referenceDate", .int(let seconds)):
      return .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
    case ("$referenceDate", _):
      do { return try AttributeValue(jsonValue: .object([JSONValue.Member(tag, value)])) } catch {
        throw Failure("\(error)")
      }
    case ("$decimal", .string(let text)):
      guard let decimal = Decimal(wholeText: text) else { throw Failure("$decimal takes a number as text") }
      return .decimal(decimal)
    default:
      guard AttributeTraits.tagged(tag) != nil else { return nil }
      do {
        return try AttributeValue(jsonValue: .object([JSONValue.Member(tag, value)]))
      } catch {
        throw Failure("\(error)")
      }
    }
  }
}
