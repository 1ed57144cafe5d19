/// The reason why a compiled model cannot be read, with the element.
///
/// Compiled models are made by cdgen and not by people, so reading stops at the first mistake.
public struct ModelDecodingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of mistakes.
  public enum Reason: Hashable, Sendable {
    /// The text is not JSON. The message has the position of the mistake.
    case syntax(String)
    /// This release does not read the file's format version.
    case unsupportedFormat(Int64)
    /// An object lacks a member.
    case missingMember(String)
    /// An object has a member that format 1 does not define. It is not skipped, because it might change the meaning of
    /// the model.
    case unknownMember(String)
    /// A value is of the wrong sort. Both sorts are described in words.
    case wrongKind(expected: String, found: String)
    /// A value of the right sort is not one of those allowed, which `expected` describes.
    case invalidValue(found: String, expected: String)
    /// A predicate or an expression that cannot be parsed.
    case invalidExpression(text: String, message: String)
  }

  /// The version of compiled models that this release reads: `ManagedObjectModel.jsonFormatVersion`.
  package static let formatVersion = 1

  /// The path of the element, such as `versions[0].entities[3].attributes[1].type`; empty for the whole text.
  public let path: String
  /// The kind of the mistake.
  public let reason: Reason

  /// Creates a mistake at an element.
  public init(_ reason: Reason, path: String) {
    self.reason = reason
    self.path = path
  }

  /// The element and the mistake in words. An unsupported format also has its remedy.
  public var description: String {
    let text =
      switch reason {
      case .syntax(let message): "this is not JSON: \(message)"
      case .unsupportedFormat(let version):
        "this has format version \(version), but this release of cdgen reads version "
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

extension ModelDecodingError: PresentableError {
  public var situation: ErrorSituation { .unreadableText }
}
