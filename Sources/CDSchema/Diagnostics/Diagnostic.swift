/// A message about a file: a mistake that must be corrected, or something that was probably not intended.
public struct Diagnostic: Hashable, Sendable {
  /// How serious a diagnostic is.
  public enum Severity: String, Hashable, Sendable, CaseIterable {
    /// The model cannot be used.
    case error
    /// The model can be used, but is probably not as intended.
    case warning
    /// Additional information, such as the second position of an error.
    case note
  }

  /// How serious the diagnostic is.
  public var severity: Severity
  /// The position of the mistake.
  public var location: SourceLocation
  /// The problem and its remedy, without the position and without ``suggestion``.
  public var message: String
  /// The text that was probably meant; nil if no known text is similar.
  public var suggestion: String?

  /// Creates a diagnostic. The message names the problem and its remedy.
  public init(
    _ severity: Severity, at location: SourceLocation, _ message: String, suggestion: String? = nil
  ) {
    self.severity = severity
    self.location = location
    self.message = message
    self.suggestion = suggestion
  }

  /// The message with its suggestion: `unknown type 'Boolean'; did you mean 'Bool'?`
  public var fullMessage: String {
    guard let suggestion else { return message }
    return "\(message); did you mean '\(suggestion)'?"
  }
}

extension Diagnostic: CustomStringConvertible {
  /// The diagnostic as compilers write it: `path:line:column: error: message`.
  public var description: String { "\(location): \(severity.rawValue): \(fullMessage)" }
}

extension Diagnostic: Comparable {
  /// Orders diagnostics by path, line and column. Those at the same position are ordered by severity and then by text,
  /// so that the order is the same in every run.
  public static func < (left: Diagnostic, right: Diagnostic) -> Bool {
    if left.location != right.location { return left.location < right.location }
    if left.severity != right.severity { return left.severity.rank < right.severity.rank }
    return left.fullMessage.utf8.lexicographicallyPrecedes(right.fullMessage.utf8)
  }
}

extension Diagnostic.Severity {
  fileprivate var rank: Int {
    switch self {
    case .error: 0
    case .warning: 1
    case .note: 2
    }
  }
}

extension Sequence<Diagnostic> {
  /// Whether any diagnostic is an error.
  public var containsErrors: Bool { contains { $0.severity == .error } }
}
