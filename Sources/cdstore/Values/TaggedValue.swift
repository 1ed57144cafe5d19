import CDConsole
import CDModel
import Foundation

/// Reads JSON as constants of expressions. A value of a type that JSON lacks is an object with one key: `$date`,
/// `$referenceDate`, `$data`, `$uuid`, `$url`, `$decimal` or `$double`, as in a model's JSON, or `{"$ref": "Entity/id"}`,
/// `{"$set": […]}`, `{"$dict": {…}}`, `{"$repeat": ["x", 3]}`.
struct TaggedValue {
  /// Returns the object that a `$ref` refers to.
  var reference: (String) throws -> ObjectReference = {
    ObjectReference(entity: String($0.prefix { $0 != "/" }), uri: $0)
  }

  /// - Throws: ``Failure`` if the value of a tag has a wrong type.
  func constant(_ json: JSONValue) throws -> ExpressionConstant {
    switch json {
    case .null, .bool, .int, .double, .string: return .value(try AttributeValue(jsonValue: json))
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
  /// People write some requests themselves, so more forms of numbers are accepted than in a model's JSON.
  static func attribute(_ tag: String, _ value: JSONValue) throws -> AttributeValue? {
    guard tag == "$referenceDate" || AttributeTraits.tagged(tag) != nil else { return nil }
    do {
      return try AttributeValue(decoding: JSONElement(.object([JSONValue.Member(tag, value)])), .rounded)
    } catch { throw Failure("\(error)") }
  }
}
