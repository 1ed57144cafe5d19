public import CDModel

/// A mistake in rules, at its place.
public struct MappingProblem: Error, Hashable, Sendable {
  /// Whether a problem keeps the rules from being used.
  public enum Severity: Hashable, Sendable {
    /// It does.
    case error
    /// The rules can be used, and are likely not what was meant.
    case warning
  }

  /// A part of `MappingRules`, by places in its lists from 0.
  public enum Place: Hashable, Sendable {
    /// The rules as a whole.
    case rules
    /// An entity whose loss is meant.
    case drop(Int)
    /// A rule for equal objects.
    case duplicate(Int)
    /// The name of the destination.
    case entity(Int)
    /// The name of an entity's source.
    case source(entity: Int)
    /// The name of an entity's mapping.
    case name(entity: Int)
    /// What says that the policy is custom.
    case policy(entity: Int)
    /// The predicate that chooses among the source's objects.
    case filter(entity: Int)
    /// What becomes of the objects that belong to objects which the predicate leaves behind.
    case owned(entity: Int)
    /// The name that an attribute's rule is for.
    case attributeName(entity: Int, Int)
    /// The expression of an attribute's rule.
    case attribute(entity: Int, Int)
    /// The name that a relationship's rule is for.
    case relationshipName(entity: Int, Int)
    /// The expression of a relationship's rule.
    case relationship(entity: Int, Int)
    /// A property whose loss is meant.
    case entityDrop(entity: Int, Int)
    /// A part of the rule that a person has yet to decide.
    case undecided(entity: Int, Int)
  }

  /// Whether it keeps the rules from being used.
  public let severity: Severity
  /// The part of the rules that it is about.
  public let place: Place
  /// The part of an expression that is meant, in the text that it was read from; nil for all of it.
  public let span: SourceSpan?
  /// What is wrong and what to do about it, without ``suggestion``.
  public let message: String
  /// A name that was probably meant.
  public let suggestion: String?

  init(
    _ severity: Severity = .error, at place: Place, span: SourceSpan? = nil, _ message: String,
    suggestion: String? = nil
  ) {
    self.severity = severity
    self.place = place
    self.span = span
    self.message = message
    self.suggestion = suggestion
  }
}

extension MappingProblem: CustomStringConvertible {
  /// The message with its suggestion.
  public var description: String {
    suggestion.map { "\(message); did you mean '\($0)'?" } ?? message
  }
}
