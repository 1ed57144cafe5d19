/// The rules for combining types.
package enum TypeRules {
  /// A category of types whose values can be compared with each other.
  enum Category: Hashable {
    /// That of a type with a fixed name.
    case plain(AttributeTraits.Category)
    case composite(String)
    case codable, object, collection, dictionary
    /// The type of nil or an unknown type: comparable with every type.
    case any

    static let number = Category.plain(.number)
    static let string = Category.plain(.string)
    static let date = Category.plain(.date)
    static let data = Category.plain(.data)
    static let uuid = Category.plain(.uuid)
  }

  static func category(_ type: ExpressionType, in graph: EntityGraph) -> Category {
    switch type {
    case .null, .unknown: .any
    case .object: .object
    case .collection: .collection
    case .dictionary: .dictionary
    case .attribute(let attribute):
      switch rawType(attribute, in: graph) {
      case .composite(let name): .composite(name)
      case .codable: .codable
      // If this is an enumeration, the version does not have it. The model check reports it.
      case let type: type.traits.map { .plain($0.category) } ?? .any
      }
    }
  }

  /// The type that values are compared as: for an enumeration its raw type, otherwise the type itself.
  package static func rawType(_ type: AttributeType, in graph: EntityGraph) -> AttributeType {
    if case .enumeration(let name) = type { return graph.enumeration(name)?.rawType ?? type }
    return type
  }

  /// Whether values of a category can be ordered with `<`.
  static func isOrdered(_ category: Category) -> Bool {
    switch category {
    case .plain(let category): category.isOrdered
    case .any: true
    default: false
    }
  }

  // MARK: Numbers

  private static func rank(_ type: AttributeType) -> Int? { type.traits?.numericRank }

  static func isInteger(_ type: AttributeType) -> Bool { type == .bool || type.traits?.integerRange != nil }

  /// The narrowest type of an integer literal.
  static func type(of literal: Int64) -> AttributeType {
    AttributeTraits.integers.first { $0.integerRange?.contains(literal) == true }?.type ?? .int64
  }

  /// The type of a calculation with two numbers. If only one of them is a literal, it takes the other's type where it
  /// can: `2.5` times a decimal is a decimal.
  static func calculation(
    _ left: AttributeType, isLiteral leftIsLiteral: Bool, _ right: AttributeType,
    isLiteral rightIsLiteral: Bool
  ) -> AttributeType? {
    guard let leftRank = rank(left), let rightRank = rank(right) else { return nil }
    if leftIsLiteral != rightIsLiteral {
      let (literal, other) = leftIsLiteral ? (left, right) : (right, left)
      if !isInteger(other) || isInteger(literal) && rank(other) ?? 0 >= rank(literal) ?? 0 {
        return other == .bool ? literal : other
      }
    }
    let wider = leftRank >= rightRank ? left : right
    // A Float cannot hold all digits of a wide integer or a decimal.
    let narrower = leftRank >= rightRank ? right : left
    if wider == .float, narrower != .float, narrower != .bool, !isExact(narrower, as: .float) {
      return .double
    }
    if wider == .double || wider == .float { return wider }
    return wider == .bool ? .int64 : wider
  }

  // MARK: Two types

  /// The narrowest type that holds the values of both types; nil if there is none.
  static func commonType(_ left: ExpressionType, _ right: ExpressionType, in graph: EntityGraph)
    -> ExpressionType?
  {
    if left == right { return left }
    switch (left, right) {
    case (.unknown, let other), (.null, let other), (let other, .unknown), (let other, .null): return other
    case (.collection(let left), .collection(let right)):
      return commonType(left, right, in: graph).map(ExpressionType.collection)
    case (.object(let left), .object(let right)):
      if graph.isKind(left, of: right) { return .object(entity: right) }
      if graph.isKind(right, of: left) { return .object(entity: left) }
      guard let root = graph.root(of: left), root.name == graph.root(of: right)?.name else { return nil }
      return .object(entity: root.name)
    case (.attribute(let left), .attribute(let right)):
      let (left, right) = (rawType(left, in: graph), rawType(right, in: graph))
      if left == right { return .attribute(left) }
      return calculation(left, isLiteral: false, right, isLiteral: false).map(ExpressionType.attribute)
    default: return nil
    }
  }

  /// Whether every value of a type is also a value of the wanted type, possibly converted to a wider number.
  package static func fits(_ type: ExpressionType, _ wanted: ExpressionType, in graph: EntityGraph) -> Bool {
    if type == wanted || type == .unknown || wanted == .unknown || type == .null { return true }
    switch (type, wanted) {
    case (.collection(let element), .collection(let other)): return fits(element, other, in: graph)
    case (.object(let entity), .object(let other)): return graph.isKind(entity, of: other)
    case (.attribute(let type), .attribute(let wanted)):
      let raw = rawType(type, in: graph)
      return raw == wanted || raw == .float && wanted == .double || isExact(raw, as: wanted)
    default: return false
    }
  }

  /// Whether a type of numbers holds every value of an integer type exactly.
  package static func isExact(_ integer: AttributeType, as wanted: AttributeType) -> Bool {
    guard let range = integer.traits?.integerRange else { return false }
    switch wanted {
    case .float: return range.upperBound < 1 << 24
    case .double: return range.upperBound < 1 << 53
    case .decimal: return true
    default: return wanted.traits?.integerRange?.contains(range) ?? false
    }
  }
}

// The conversions of CAST. Numbers and Booleans become their canonical text, dates become ISO 8601, and data becomes
// base64; other values become their usual text. A conversion from String reads the same texts.
extension TypeRules {
  /// Whether CAST can convert every value of a type.
  package static func converts(_ type: ExpressionType, to wanted: ExpressionType, in graph: EntityGraph)
    -> Bool
  {
    if fits(type, wanted, in: graph) { return true }
    guard case .attribute(let source) = type, case .attribute(let target) = wanted else { return false }
    let raw = rawType(source, in: graph)
    switch (raw, target) {
    case (.composite, .string), (.codable, .string): return false
    case (_, .string): return true
    case (.bool, _) where rank(target) != nil: return true
    // Digits may be lost.
    case (_, .float), (_, .double): return raw == .date && target == .double || rank(raw) != nil
    // An infinite number is not a date.
    case (_, .date): return ![.bool, .float, .double].contains(raw) && rank(raw) != nil
    case (.uuid, .data): return true
    default: return false
    }
  }

  /// Whether CAST can convert some values of a type.
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
