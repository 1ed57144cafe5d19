import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A constant of a `#Predicate` that is not the value of an attribute.
protocol TranslatableConstant {
  func translated() throws -> TranslatedExpression
}

extension PredicateExpressions.PredicateRegex: TranslatableConstant {
  func translated() -> TranslatedExpression { .regularExpression(stringRepresentation) }
}

extension ExpressionConstant {
  /// Creates a constant from a single value.
  init(translating value: Any) throws {
    if let value = value as? any AttributeValueConvertible {
      self = .value(value.attributeValue)
    } else if let value = value as? any FormatArgument {
      self = value.expressionConstant
    } else if let value = value as? any TranslatableConstant,
      case .value(let expression) = try value.translated(), case .constant(let constant) = expression.kind
    {
      self = constant
    } else {
      throw PredicateTranslationError.unsupported(
        construct: "a constant of type \(type(of: value))",
        remedy: value is ManagedObject ? "compare the object's objectID" : nil)
    }
  }
}

extension TranslatedExpression {
  /// Creates a translation from any constant.
  init(translating value: Any) throws {
    if let value = value as? any TranslatableConstant {
      self = try value.translated()
    } else {
      self = .value(.constant(try ExpressionConstant(translating: value)))
    }
  }
}

extension Optional: TranslatableConstant {
  func translated() throws -> TranslatedExpression {
    guard let value = self else { return .value(.null) }
    return try TranslatedExpression(translating: value)
  }
}

// MARK: Collections

extension Sequence {
  /// The elements as an array constant.
  fileprivate func translatedElements() throws -> TranslatedExpression {
    .value(.constant(.array(try map { try ExpressionConstant(translating: $0) })))
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
