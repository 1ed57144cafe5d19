public import CDModel

/// What becomes of values when an attribute's type changes. <doc:Migrations> has the table.
public enum TypeConversion: Hashable, Sendable {
  /// Stores keep both types alike.
  case identical
  /// Every value has a counterpart from which it can be had back.
  case lossless
  /// Every value has a counterpart, and some lose digits.
  case inexact
  /// Some values have no counterpart.
  case partial
  /// There is no conversion.
  case impossible

  /// The conversion from a type of one version to a type of another, or of the same.
  ///
  /// Enumerations count by their raw types; whether their cases fit is another question. A composite is
  /// converted field by field, so that a composite and anything else are `impossible`.
  public init(
    from source: AttributeType, in sourceGraph: EntityGraph, to destination: AttributeType,
    in destinationGraph: EntityGraph
  ) {
    let old = TypeRules.rawType(source, in: sourceGraph)
    let new = TypeRules.rawType(destination, in: destinationGraph)
    switch (old, new) {
    case (.composite, _), (_, .composite): self = .impossible
    case (.codable(let oldName, let oldCodec), .codable(let newName, let newCodec)):
      // Nothing but name and codec tells one shape of JSON from another.
      self = oldName == newName && oldCodec == newCodec ? .identical : .impossible
    case (.codable, _), (_, .codable): self = .impossible
    default: self = Self.ofPlainTypes(old, new, in: sourceGraph)
    }
  }

  private static func ofPlainTypes(
    _ old: AttributeType, _ new: AttributeType, in graph: EntityGraph
  ) -> TypeConversion {
    if old == new { return .identical }
    let (source, destination) = (ExpressionType.attribute(old), ExpressionType.attribute(new))
    if TypeRules.fits(source, destination, in: graph) { return .lossless }
    if TypeRules.converts(source, to: destination, in: graph) {
      switch (old, new) {
      // The text of a date ends at milliseconds.
      case (.date, .string): return .inexact
      case (_, .string), (.bool, _), (.uuid, .data), (.date, .double): return .lossless
      // Seconds since the reference date, of which a double holds those of these types exactly.
      case (.int16, .date), (.int32, .date), (.float, .date), (.double, .date): return .lossless
      default: return .inexact
      }
    }
    return TypeRules.mayConvert(source, to: destination, in: graph) ? .partial : .impossible
  }
}
