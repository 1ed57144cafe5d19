/// A mistake in an expression, found by checking it against a model.
public struct ExpressionDiagnostic: Hashable, Sendable {
  /// How serious a diagnostic is.
  public enum Severity: Hashable, Sendable {
    /// The expression cannot be evaluated: it uses an unknown key, or orders a number against a string. A fetch throws.
    case error
    /// The expression can be evaluated, but is surely not intended: a string that is compared with a number is never
    /// equal. A fetch returns that result, as Core Data does; in a schema it is an error.
    case mistake
    /// The expression is right, but has a cost: a transient attribute, for example, cannot be searched by a store.
    case warning
  }

  /// How serious the diagnostic is.
  public let severity: Severity

  /// The position in the text of the expression; nil for an expression that was built in code.
  public let span: SourceSpan?

  /// The message for people. It names keys and types, and never contains data.
  public let message: String

  /// The name that was probably meant.
  public let suggestion: String?

  /// A diagnostic as given.
  public init(_ severity: Severity, span: SourceSpan?, _ message: String, suggestion: String? = nil) {
    self.severity = severity
    self.span = span
    self.message = message
    self.suggestion = suggestion
  }
}

extension ExpressionDiagnostic: CustomStringConvertible {
  /// The message with its suggestion: `Book has no 'titel'; did you mean 'title'?`.
  public var description: String {
    suggestion.map { "\(message); did you mean '\($0)'?" } ?? message
  }
}
