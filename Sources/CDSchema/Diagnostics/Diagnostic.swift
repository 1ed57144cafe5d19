/// A remark on a file: a mistake that must be mended, or something that is likely not meant.
public struct Diagnostic: Hashable, Sendable {
  /// How much a diagnostic matters.
  public enum Severity: String, Hashable, Sendable, CaseIterable {
    /// The model cannot be used.
    case error
    /// The model can be used, and is likely not what was meant.
    case warning
    /// Something worth knowing, such as the other place that an error is about.
    case note
  }

  public var severity: Severity
  public var location: SourceLocation
  /// What is wrong and what to do about it, without the place and without ``suggestion``.
  public var message: String
  /// The text that was probably meant, where there is one that is close.
  public var suggestion: String?

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
  /// `path:line:column: error: message`, as compilers write it.
  public var description: String { "\(location): \(severity.rawValue): \(fullMessage)" }
}

extension Diagnostic: Comparable {
  /// By path, line and column; what stands at one place comes by its severity and then its text, so that
  /// the order is the same in every run.
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
  /// Whether any of them is an error.
  public var containsErrors: Bool { contains { $0.severity == .error } }
}
