/// A mistake in an expression, found by comparing it with a model.
public struct ExpressionDiagnostic: Hashable, Sendable {
  /// What follows from a diagnostic.
  public enum Severity: Hashable, Sendable {
    /// The expression has no answer: an unknown key, a number ordered against a string. A fetch throws.
    case error
    /// The expression has an answer that nobody can want: a string that is equal to no number. A fetch gives
    /// it, as Core Data does; a schema that says so is wrong.
    case mistake
    /// Right, with a cost to know about: a transient attribute, which no store can search.
    case warning
  }

  /// What follows from it.
  public let severity: Severity

  /// Where, in the text of the expression; nil for an expression that was built.
  public let span: SourceSpan?

  /// What is wrong, for people: keys and types, never data.
  public let message: String

  /// A name that was probably meant.
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
