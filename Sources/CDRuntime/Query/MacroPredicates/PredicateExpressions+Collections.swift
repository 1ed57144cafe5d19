import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Ranges, collections and strings.

extension PredicateExpressions.Range: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    let (lower, upper) = (try translator.value(lower), try translator.value(upper))
    return .range(TranslatedRange(lower: lower, upper: upper, includesUpper: false))
  }
}

extension PredicateExpressions.ClosedRange: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    let (lower, upper) = (try translator.value(lower), try translator.value(upper))
    return .range(TranslatedRange(lower: lower, upper: upper, includesUpper: true))
  }
}

extension PredicateExpressions.RangeExpressionContains: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    guard case .range(let range) = try translator.translate(range) else {
      throw PredicateTranslator.unsupported(Self.self)
    }
    return .condition(range.contains(try translator.value(element)))
  }
}

extension TranslatedRange {
  fileprivate func contains(_ element: ValueExpression) -> FetchPredicate {
    var parts: [FetchPredicate] = []
    if let lower { parts.append(FetchPredicate(element, .greaterThanOrEqualTo, lower)) }
    if let upper {
      parts.append(FetchPredicate(element, includesUpper ? .lessThanOrEqualTo : .lessThan, upper))
    }
    return .and(parts)
  }
}

extension PredicateExpressions.SequenceContains: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    // A range is a sequence too.
    if case .range(let range) = try translator.translate(sequence) {
      return .condition(range.contains(try translator.value(element)))
    }
    let (elements, element) = (try translator.value(sequence), try translator.value(element))
    if isText(LHS.Output.self) { return .condition(FetchPredicate(elements, .contains, element)) }
    if case .constant = elements.kind { return .condition(FetchPredicate(element, .in, elements)) }
    return .condition(FetchPredicate(elements, .equalTo, element, modifier: .any))
  }
}

extension PredicateExpressions.SequenceContainsWhere: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .condition(!isEmpty(try translator.elements(of: sequence, variable.key, where: test)))
  }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .condition(isEmpty(try translator.elements(of: sequence, variable.key, where: test, negated: true)))
  }
}

extension PredicateExpressions.Filter: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .value(try translator.elements(of: sequence, variable.key, where: filter))
  }
}

extension PredicateExpressions.SequenceMinimum: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .value(.function(.min, [try translator.value(elements)]))
  }
}

extension PredicateExpressions.SequenceMaximum: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .value(.function(.max, [try translator.value(elements)]))
  }
}

/// Returns a condition: a collection has no elements.
func isEmpty(_ collection: ValueExpression) -> FetchPredicate {
  FetchPredicate(count(collection), .equalTo, .constant(.int(0)))
}

func count(_ collection: ValueExpression) -> ValueExpression {
  // With a constant count, `titles.isEmpty || titles.contains(…)` is decided before any row is read.
  if case .constant(.array(let elements)) = collection.kind {
    return .constant(.int(Int64(elements.count)))
  }
  return .path(collection, [.collectionOperator(CollectionOperator.count.rawValue)])
}

// MARK: Strings

func isText(_ type: Any.Type) -> Bool { type == String.self || type == Substring.self }

/// Returns a search in a text. Each text contains the empty text, as in Swift. For an operator of format strings, no
/// text contains it.
private func search(
  _ text: ValueExpression, _ operator: ComparisonOperator, _ part: ValueExpression
) -> FetchPredicate {
  let empty = ValueExpression.constant(.string(""))
  if part == empty { return FetchPredicate(text, .notEqualTo, .null) }
  let search = FetchPredicate(text, `operator`, part)
  if case .constant = part.kind { return search }
  return search || FetchPredicate(part, .equalTo, empty)
}

extension PredicateExpressions.CollectionContainsCollection: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    guard isText(Base.Output.self), isText(Other.Output.self) else {
      throw PredicateTranslator.unsupported(Self.self, remedy: "use allSatisfy and contains")
    }
    return .condition(search(try translator.value(base), .contains, try translator.value(other)))
  }
}

extension PredicateExpressions.SequenceStartsWith: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    guard isText(Base.Output.self), isText(Prefix.Output.self) else {
      throw PredicateTranslator.unsupported(Self.self)
    }
    return .condition(search(try translator.value(base), .beginsWith, try translator.value(prefix)))
  }
}

extension PredicateExpressions.StringContainsRegex: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    guard case .regularExpression(let pattern) = try translator.translate(regex) else {
      throw PredicateTranslator.unsupported(Self.self, remedy: "write the regular expression as a literal")
    }
    // MATCHES compares the whole text, so this pattern allows any text before and after.
    let whole = ValueExpression.constant(.string("[\\s\\S]*?(?:\(pattern))[\\s\\S]*"))
    return .condition(FetchPredicate(try translator.value(subject), .matches, whole))
  }
}
