import CDModel

/// What an evaluator prepares of the constants of predicates when the first object is held against them: the patterns,
/// and the long lists as sets, so that a list of 100,000 values is as quick as one of ten.
final class ConstantSets {
  /// Shorter lists are searched.
  static let minimumCount = 32

  private struct Entry {
    // Keeps the list where it is: its address is its identity.
    let constants: [ExpressionConstant]
    /// Nil where equality in a predicate is more than that of the values themselves.
    let values: Set<AttributeValue>?
  }

  let texts = PreparedTexts()
  private var entries: [UnsafeRawPointer: Entry] = [:]

  /// Whether a list has a value; nil where only a search can tell.
  func contains(_ member: AttributeValue, in constants: [ExpressionConstant]) -> Bool? {
    guard let values = values(of: constants) else { return nil }
    switch member {
    case .null, .string, .int, .uuid: return values.contains(member)
    case .bool(let flag): return values.contains(.int(flag ? 1 : 0))
    // A fraction may be equal to an integer.
    case .double, .decimal, .date, .data, .url, .composite: return nil
    }
  }

  private func values(of constants: [ExpressionConstant]) -> Set<AttributeValue>? {
    guard let address = constants.withUnsafeBytes({ $0.baseAddress }) else { return nil }
    if let known = entries[address], known.constants.count == constants.count { return known.values }
    let entry = Entry(constants: constants, values: Self.plainValues(constants))
    entries[address] = entry
    return entry.values
  }

  /// The values of a list that has none but nil, strings, integers and UUIDs: those are equal where they are the
  /// same.
  private static func plainValues(_ constants: [ExpressionConstant]) -> Set<AttributeValue>? {
    var values: Set<AttributeValue> = []
    values.reserveCapacity(constants.count)
    for constant in constants {
      guard case .value(let value) = constant else { return nil }
      switch value {
      case .null, .string, .int, .uuid: values.insert(value)
      default: return nil
      }
    }
    return values
  }
}
