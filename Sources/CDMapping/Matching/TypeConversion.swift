package import CDModel

/// How the values of an attribute are converted when its type changes. <doc:Migrations> contains the table.
package enum TypeConversion: Hashable, Sendable {
  /// Stores keep both types in the same form.
  case identical
  /// Every value can be converted, and the conversion can be reversed.
  case lossless
  /// Every value can be converted, but some lose digits.
  case inexact
  /// Some values cannot be converted.
  case partial
  /// No value can be converted.
  case impossible

  /// Determines the conversion from a type of one version to a type of another version or the same one.
  ///
  /// Enumerations are compared by their raw types; whether the cases fit is checked separately. A composite is
  /// converted field by field, so converting a composite to any other type is `impossible`.
  package init(
    from source: AttributeType, in sourceGraph: EntityGraph, to destination: AttributeType,
    in destinationGraph: EntityGraph
  ) {
    let old = TypeRules.rawType(source, in: sourceGraph)
    let new = TypeRules.rawType(destination, in: destinationGraph)
    switch (old, new) {
    case (.composite, _), (_, .composite): self = .impossible
    case (.codable(let oldName, let oldCodec), .codable(let newName, let newCodec)):
      // Only the name and the codec distinguish one form of JSON from another.
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
      // The text of a date has only milliseconds.
      case (.date, .string): return .inexact
      case (_, .string), (.bool, _), (.uuid, .data), (.date, .double): return .lossless
      // The number is in seconds since the reference date.
      case (_, .date): return TypeRules.fits(source, .attribute(.double), in: graph) ? .lossless : .inexact
      default: return .inexact
      }
    }
    return TypeRules.mayConvert(source, to: destination, in: graph) ? .partial : .impossible
  }
}
