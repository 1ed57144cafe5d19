// What CAST can do. A conversion to String has the canonical text of numbers and Booleans, ISO 8601 dates,
// base64 and the usual text of the rest; one from String reads the same.
extension TypeRules {
  /// Whether CAST has a value for every value of a type.
  package static func converts(_ type: ExpressionType, to wanted: ExpressionType, in graph: EntityGraph)
    -> Bool
  {
    if fits(type, wanted, in: graph) { return true }
    guard case .attribute(let source) = type, case .attribute(let target) = wanted else { return false }
    let raw = rawType(source, in: graph)
    switch (raw, target) {
    case (.composite, .string), (.codable, .string): return false
    case (_, .string): return true
    case (.int32, .float), (.int64, .float), (.int64, .double), (.double, .float): return true
    case (.decimal, .double), (.decimal, .float): return true
    case (.bool, _) where rank(target) != nil: return true
    case (.date, .double), (.uuid, .data): return true
    case (.int16, .date), (.int32, .date), (.int64, .date), (.float, .date), (.double, .date),
      (.decimal, .date):
      return true
    default: return false
    }
  }

  /// Whether CAST has a value for some values of a type.
  package static func mayConvert(_ type: ExpressionType, to wanted: ExpressionType, in graph: EntityGraph)
    -> Bool
  {
    if converts(type, to: wanted, in: graph) { return true }
    guard case .attribute(let source) = type, case .attribute(let target) = wanted else { return false }
    switch (category(.attribute(source), in: graph), category(.attribute(target), in: graph)) {
    case (.any, _), (_, .any), (.number, .number), (.number, .date), (.date, .number): return true
    case (.string, .composite), (.string, .codable): return false
    case (.string, _): return true
    case (.data, .uuid), (.uuid, .data): return true
    default: return false
    }
  }
}
