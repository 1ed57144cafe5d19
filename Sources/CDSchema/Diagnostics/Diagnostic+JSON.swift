#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Diagnostic: Codable {
  private enum CodingKeys: String, CodingKey {
    case severity, path, line, column, message, suggestion
  }

  /// Reads the form that ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let location = SourceLocation(
      path: try container.decode(String.self, forKey: .path),
      line: try container.decode(Int.self, forKey: .line),
      column: try container.decode(Int.self, forKey: .column))
    self.init(
      try container.decode(Severity.self, forKey: .severity), at: location,
      try container.decode(String.self, forKey: .message),
      suggestion: try container.decodeIfPresent(String.self, forKey: .suggestion))
  }

  /// Writes a flat object: `severity`, `path`, `line`, `column`, `message` and, if there is one, `suggestion`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(severity, forKey: .severity)
    try container.encode(location.path, forKey: .path)
    try container.encode(location.line, forKey: .line)
    try container.encode(location.column, forKey: .column)
    try container.encode(message, forKey: .message)
    try container.encodeIfPresent(suggestion, forKey: .suggestion)
  }

  /// The diagnostics as a JSON list in the given order, with sorted keys. `--format json` prints it.
  public static func json(_ diagnostics: [Diagnostic]) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // Encoding strings and integers cannot fail.
    guard let data = try? encoder.encode(diagnostics) else { return "[]" }
    return String(decoding: data, as: UTF8.self)
  }
}

extension Diagnostic.Severity: Codable {}
