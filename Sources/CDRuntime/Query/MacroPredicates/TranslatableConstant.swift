import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A constant of a `#Predicate` that is no attribute's value.
protocol TranslatableConstant {
  func translated() throws -> TranslatedExpression
}

extension PredicateExpressions.PredicateRegex: TranslatableConstant {
  func translated() -> TranslatedExpression { .regularExpression(stringRepresentation) }
}

// MARK: Collections

extension Sequence {
  /// The elements as an array constant.
  fileprivate func translatedElements() throws -> TranslatedExpression {
    .value(
      .constant(
        .array(
          try map { element in
            if let element = element as? any AttributeValueConvertible {
              return .value(element.attributeValue)
            }
            if let element = element as? any FormatArgument { return element.expressionConstant }
            throw PredicateTranslationError.unsupported(
              construct: "a constant of type \(type(of: element))",
              remedy: element is ManagedObject ? "compare the objects' objectIDs" : nil)
          })))
  }
}

extension Array: TranslatableConstant {
  func translated() throws -> TranslatedExpression { try translatedElements() }
}

extension Set: TranslatableConstant {
  func translated() throws -> TranslatedExpression { try translatedElements() }
}

extension ArraySlice: TranslatableConstant {
  func translated() throws -> TranslatedExpression { try translatedElements() }
}

// MARK: Ranges

private func bound(_ value: Any) throws -> ValueExpression {
  guard let value = value as? any AttributeValueConvertible else {
    throw PredicateTranslationError.unsupported(construct: "a range of \(type(of: value))", remedy: nil)
  }
  return .constant(value.attributeValue)
}

extension Range: TranslatableConstant {
  func translated() throws -> TranslatedExpression {
    .range(TranslatedRange(lower: try bound(lowerBound), upper: try bound(upperBound), includesUpper: false))
  }
}

extension ClosedRange: TranslatableConstant {
  func translated() throws -> TranslatedExpression {
    .range(TranslatedRange(lower: try bound(lowerBound), upper: try bound(upperBound), includesUpper: true))
  }
}

extension PartialRangeFrom: TranslatableConstant {
  func translated() throws -> TranslatedExpression {
    .range(TranslatedRange(lower: try bound(lowerBound), upper: nil, includesUpper: false))
  }
}

extension PartialRangeUpTo: TranslatableConstant {
  func translated() throws -> TranslatedExpression {
    .range(TranslatedRange(lower: nil, upper: try bound(upperBound), includesUpper: false))
  }
}

extension PartialRangeThrough: TranslatableConstant {
  func translated() throws -> TranslatedExpression {
    .range(TranslatedRange(lower: nil, upper: try bound(upperBound), includesUpper: true))
  }
}
