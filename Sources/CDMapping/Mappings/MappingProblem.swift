package import CDModel

/// A problem in mapping rules, with its position.
public struct MappingProblem: Error, Hashable, Sendable {
  /// How serious a problem is.
  public enum Severity: Hashable, Sendable {
    /// The rules cannot be used.
    case error
    /// The rules can be used, but are probably not as intended.
    case warning
  }

  /// A part of `MappingRules`. Numbers are indices in its lists.
  package enum Location: Hashable, Sendable {
    /// The rules as a whole.
    case rules
    /// An entity whose loss is confirmed.
    case drop(Int)
    /// A rule for duplicates.
    case duplicate(Int)
    /// The name of the destination.
    case entity(Int)
    /// The name of an entity's source.
    case source(entity: Int)
    /// The name of an entity's mapping.
    case name(entity: Int)
    /// The declaration that the policy is custom.
    case policy(entity: Int)
    /// The predicate that selects the source's objects.
    case filter(entity: Int)
    /// The rule for objects whose owner the predicate excludes.
    case owned(entity: Int)
    /// The attribute's name in its rule.
    case attributeName(entity: Int, Int)
    /// The expression of an attribute's rule.
    case attribute(entity: Int, Int)
    /// The relationship's name in its rule.
    case relationshipName(entity: Int, Int)
    /// The expression of a relationship's rule.
    case relationship(entity: Int, Int)
    /// A property whose loss is confirmed.
    case entityDrop(entity: Int, Int)
    /// A part of the rule that a person must still decide.
    case undecided(entity: Int, Int)

    /// The position in a mapping file: the index of the entity's rule, and the key there. `key:` is before the key
    /// whose name is meant, and not its value.
    package var path: (rule: Int?, key: String?) {
      switch self {
      case .rules: (nil, nil)
      case .drop(let index): (nil, "drop[\(index)]")
      case .duplicate(let index): (nil, "onDuplicate[\(index)]")
      case .entity(let rule): (rule, nil)
      case .source(let rule): (rule, "from")
      case .name(let rule): (rule, "name")
      case .policy(let rule): (rule, "policy")
      case .filter(let rule): (rule, "where")
      case .owned(let rule): (rule, "owned")
      case .attributeName(let rule, let number): (rule, "key:attributes[\(number)]")
      case .attribute(let rule, let number): (rule, "attributes[\(number)]")
      case .relationshipName(let rule, let number): (rule, "key:relationships[\(number)]")
      case .relationship(let rule, let number): (rule, "relationships[\(number)]")
      case .entityDrop(let rule, let number): (rule, "drop[\(number)]")
      case .undecided(let rule, let number): (rule, "undecided[\(number)]")
      }
    }
  }

  /// How serious the problem is.
  public let severity: Severity
  /// The part of the rules that has the problem.
  package let location: Location
  /// The part of an expression that has the problem, in the text that it was read from; nil for the whole expression.
  package let span: SourceSpan?
  /// The problem and its remedy, without ``suggestion``.
  package let message: String
  /// The name that was probably meant.
  package let suggestion: String?

  init(
    _ severity: Severity = .error, at location: Location, span: SourceSpan? = nil, _ message: String,
    suggestion: String? = nil
  ) {
    self.severity = severity
    self.location = location
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
