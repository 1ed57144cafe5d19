package import CDModel

/// The order of constants of one type.
package enum AttributeOrder {
  /// Whether the left constant is less than the right one. False for constants without an order or of different types.
  package static func isLess(_ left: AttributeValue, _ right: AttributeValue) -> Bool {
    switch (left, right) {
    case (.int(let left), .int(let right)): left < right
    case (.double(let left), .double(let right)): left < right
    case (.decimal(let left), .decimal(let right)): left < right
    default:
      left.type == right.type && left.type?.isOrdered == true && left.stored != left
        && isLess(left.stored, right.stored)
    }
  }
}
