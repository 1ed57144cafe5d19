import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The translation of a part of a `#Predicate`.
enum TranslatedExpression {
  case value(ValueExpression)
  case condition(FetchPredicate)
  /// A range, which only `contains` can use.
  case range(TranslatedRange)
  case regularExpression(String)
}

/// The bounds of a range; nil for a missing bound.
struct TranslatedRange {
  var lower: ValueExpression?
  var upper: ValueExpression?
  var includesUpper: Bool
}

/// A part of a `#Predicate` that has a counterpart in the expression language.
protocol TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression
}

/// Translates the tree of a `#Predicate` to a ``FetchPredicate``. The types in the tree are the constructs, and their
/// stored properties are the operands.
struct PredicateTranslator {
  private var variables: [PredicateExpressions.VariableID: TranslatedExpression] = [:]
  private var elementCount = 0

  /// - Parameter value: The value of the predicate's variable.
  mutating func condition<Input>(
    of predicate: Predicate<Input>, standingFor value: ValueExpression
  ) throws -> FetchPredicate {
    variables[predicate.variable.key] = .value(value)
    return try condition(predicate.expression)
  }

  mutating func translate(_ expression: Any) throws -> TranslatedExpression {
    guard let part = expression as? any TranslatableExpression else {
      throw Self.unsupported(type(of: expression))
    }
    return try part.translated(by: &self)
  }

  mutating func value(_ expression: Any) throws -> ValueExpression {
    switch try translate(expression) {
    case .value(let value): value
    case .condition(let condition): .truth(of: condition)
    case .range, .regularExpression: throw Self.unsupported(type(of: expression))
    }
  }

  mutating func condition(_ expression: Any) throws -> FetchPredicate {
    switch try translate(expression) {
    case .condition(let condition): condition
    case .value(let value):
      if case .constant(.value(.bool(let isTrue))) = value.kind {
        isTrue ? .truePredicate : .falsePredicate
      } else {
        FetchPredicate(value, .equalTo, .constant(.bool(true)))
      }
    case .range, .regularExpression: throw Self.unsupported(type(of: expression))
    }
  }

  // MARK: Variables

  func translation(of variable: PredicateExpressions.VariableID) throws -> TranslatedExpression {
    guard let value = variables[variable] else {
      throw PredicateTranslationError.unsupported(construct: "a variable from outside", remedy: nil)
    }
    return value
  }

  /// Binds a variable to a value during the translation in a body.
  mutating func binding<Result>(
    _ variable: PredicateExpressions.VariableID, to value: TranslatedExpression,
    _ body: (inout PredicateTranslator) throws -> Result
  ) rethrows -> Result {
    let outer = variables.updateValue(value, forKey: variable)
    defer { variables[variable] = outer }
    return try body(&self)
  }

  /// Returns the elements of a collection that meet a condition.
  mutating func elements(
    of collection: Any, _ variable: PredicateExpressions.VariableID, where test: Any, negated: Bool = false
  ) throws -> ValueExpression {
    let collection = try value(collection)
    elementCount += 1
    let name = "element\(elementCount)"
    let condition = try binding(variable, to: .value(.variable(name))) { try $0.condition(test) }
    return .subquery(collection, variable: name, negated ? !condition : condition)
  }

  // MARK: Errors

  /// Returns the error for a construct that is not translated. It names the type without Foundation's prefix and
  /// generic arguments.
  static func unsupported(_ type: Any.Type, remedy: String? = nil) -> PredicateTranslationError {
    var name = String(describing: type)
    if let bracket = name.firstIndex(of: "<") { name = String(name[..<bracket]) }
    return .unsupported(construct: name, remedy: remedy)
  }
}
