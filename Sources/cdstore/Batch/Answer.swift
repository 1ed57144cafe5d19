import CDConsole
import CDModel
import CDRuntime

/// The error of a request: the stage that failed, and the position in the predicate.
struct RequestError: Error, CustomStringConvertible {
  enum Stage: String { case parse, check, evaluate }

  let message: String
  let stage: Stage
  /// The position in the format string, in UTF-16 code units from 0; nil if it is unknown. People read it counted from 1.
  var position: Int?

  var description: String {
    "\(stage.rawValue): \(message)" + (position.map { " (character \($0 + 1))" } ?? "")
  }

  init(_ error: any Error, format: String) {
    switch error {
    case let error as RequestError: self = error
    case let error as FormatError:
      message = error.message
      stage = .parse
      position = error.utf16Offset
    case let error as JSONParsingError:
      message = "the request is not JSON: \(error)"
      stage = .parse
    case FetchError.invalid(_, let diagnostics):
      message = diagnostics.map(\.description).joined(separator: "; ")
      stage = .check
      position = diagnostics.first?.span.map { Self.utf16Offset($0.lowerBound, in: format) }
    case FetchError.unknownEntity, FetchError.missingVariable, FetchError.unknownKey, is Failure:
      message = "\(error)"
      stage = .check
    default:
      message = "\(error)"
      stage = .evaluate
    }
  }

  private static func utf16Offset(_ utf8Offset: Int, in format: String) -> Int {
    let end = format.utf8.index(format.utf8.startIndex, offsetBy: utf8Offset, limitedBy: format.utf8.endIndex)
    return format.utf16.distance(from: format.utf16.startIndex, to: end ?? format.utf8.endIndex)
  }

  var json: JSONValue {
    var members = [
      JSONValue.Member("error", .string(message)), JSONValue.Member("stage", .string(stage.rawValue)),
    ]
    if let position { members.append(JSONValue.Member("position", .int(Int64(position)))) }
    return .object(members)
  }
}

/// Reads the members of a request's JSON and checks their types.
struct RequestJSON {
  let json: JSONValue

  func text(_ key: String) throws -> String? {
    switch json[key] {
    case nil, .null?: nil
    case .string(let text)?: text
    case let other?: throw Failure("'\(key)' takes a text, not \(other.kindName)")
    }
  }

  func number(_ key: String) throws -> Int? {
    switch json[key] {
    case nil, .null?: nil
    case .int(let number)?: Int(number)
    case let other?: throw Failure("'\(key)' takes an integer, not \(other.kindName)")
    }
  }

  func flag(_ key: String) throws -> Bool {
    switch json[key] {
    case nil, .null?: false
    case .bool(let flag)?: flag
    case let other?: throw Failure("'\(key)' takes true or false, not \(other.kindName)")
    }
  }

  func list(_ key: String) throws -> [JSONValue] {
    switch json[key] {
    case nil, .null?: []
    case .array(let list)?: list
    case let other?: throw Failure("'\(key)' takes a list, not \(other.kindName)")
    }
  }

  func object(_ key: String) throws -> [JSONValue.Member] {
    switch json[key] {
    case nil, .null?: []
    case .object(let members)?: members
    case let other?: throw Failure("'\(key)' takes an object, not \(other.kindName)")
    }
  }
}
