/// Why a compiled model could not be read, and at which element.
///
/// Compiled models are made by cdgen, not by people: reading stops at the first mistake.
public struct ModelDecodingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of mistakes.
  public enum Reason: Hashable, Sendable {
    /// The text is no JSON.
    case syntax(JSONParsingError)
    /// The format version is not the one that this release reads.
    case unsupportedFormat(Int64)
    /// An object lacks a member.
    case missingMember(String)
    /// An object has a member that format 1 does not know. Nothing is skipped: it might change what the
    /// model means.
    case unknownMember(String)
    /// Another kind of value is needed. Both are in words.
    case wrongKind(expected: String, found: String)
    /// A value of the right kind that is none of those allowed; `expected` says which are.
    case invalidValue(found: String, expected: String)
    /// A predicate or an expression that cannot be parsed.
    case invalidExpression(text: String, message: String)
  }

  /// The version of compiled models that this release reads: `ManagedObjectModel.jsonFormatVersion`.
  package static let formatVersion = 1

  /// The element, such as `versions[0].entities[3].attributes[1].type`; empty for the whole text.
  public let path: String
  /// The kind of the mistake.
  public let reason: Reason

  /// A mistake at an element.
  public init(_ reason: Reason, path: String) {
    self.reason = reason
    self.path = path
  }

  /// The element, the mistake in words, and the remedy where it is no broken file.
  public var description: String {
    let text =
      switch reason {
      case .syntax(let error): "this is no JSON: \(error)"
      case .unsupportedFormat(let version):
        "this is format version \(version), and this release of cdgen reads version "
          + "\(Self.formatVersion); compile the model with the same release"
      case .missingMember(let name): "the member '\(name)' is missing"
      case .unknownMember(let name):
        "format version \(Self.formatVersion) has no member '\(name)' here"
      case .wrongKind(let expected, let found): "expected \(expected), found \(found)"
      case .invalidValue(let found, let expected): "expected \(expected), found '\(found)'"
      case .invalidExpression(let text, let message): "'\(text)' cannot be parsed: \(message)"
      }
    return path.isEmpty ? text : "\(path): \(text)"
  }
}
