import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The conversion of a constant to the stored form of a type.
package enum SQLConstant {
  /// The form of a constant in a comparison with values of a type.
  package enum Form {
    case null
    /// The value to bind. Its comparisons in SQL have the same results as the comparisons of the constant in memory.
    case stored(AttributeValue)
    /// The constant is never equal to values of the type, and has no order among them.
    case incomparable
    /// SQL has no form of the constant that compares as in memory.
    case inexact
  }

  /// Converts a constant for comparisons with values of a type.
  package static func form(
    _ value: EvaluationValue, as kind: SQLValue.Kind, _ key: SQLPredicate.KeyLookup,
    _ dialect: any SQLDialect
  ) -> Form {
    if value.isNull { return .null }
    if kind == .opaque { return .inexact }
    if kind.isNumber, let number = Number(value) { return form(number, as: kind, dialect) }
    // SQLite binds NaN as NULL.
    if case .value(.date(let date)) = value, date.timeIntervalSinceReferenceDate.isNaN { return .inexact }
    switch (kind, value) {
    case (.plain(let type), .value(let value)) where value.storageType == type:
      return .stored(dialect.stored(value))
    case (.object(let root), .reference(let reference)): return form(reference, root, key)
    case (.object(let root), .subject(let subject)):
      return subject.evaluationIdentity.map { form($0, root, key) } ?? .incomparable
    default: return .incomparable
    }
  }

  private static func form(
    _ reference: ObjectReference, _ root: Int, _ key: SQLPredicate.KeyLookup
  ) -> Form {
    key(reference, root).map { .stored(.int($0)) } ?? .incomparable
  }

  private static func form(
    _ number: Number, as kind: SQLValue.Kind, _ dialect: any SQLDialect
  ) -> Form {
    if number.isNaN { return .inexact }
    switch (kind, number) {
    case (.int, .int(let number)): return .stored(.int(number))
    case (.double, .int(let number)), (.float, .int(let number)):
      // In an IN list for a column of doubles, a database converts the integers to doubles.
      return Int64(exactly: Double(number)) == number ? .stored(.int(number)) : .inexact
    case (.int(let range), .double(let number)):
      return dialect.comparesExactly(range) ? .stored(.double(number)) : .inexact
    case (.int(let range), .float(let number)):
      return dialect.comparesExactly(range) ? .stored(.double(Double(number))) : .inexact
    case (.double, .double(let number)): return .stored(.double(number))
    case (.float, .float(let number)): return .stored(.double(Double(number)))
    case (.float, .double(let number)): return .stored(.double(Double(Float(number))))
    case (.float, .decimal(let number)):
      return Float(number.description).map { .stored(.double(Double($0))) } ?? .inexact
    case (.int, .decimal(let number)):
      if DecimalRounding.rounded(number, .towardZero) == number, let integer = Int64(number.description) {
        return .stored(.int(integer))
      }
      return .inexact
    case (.double, .decimal(let number)):
      // If the double has the same digits as the decimal, any other double is on the same side of both.
      if let double = Double(number.description), Number.decimal(double) == number {
        return .stored(.double(double))
      }
      return .inexact
    case (.decimal, .int(let number)): return text(Decimal(number), dialect)
    case (.decimal, .decimal(let number)): return text(number, dialect)
    case (.decimal, .double(let number)): return Number.decimal(number).map { text($0, dialect) } ?? .inexact
    case (.decimal, .float), (.double, .float): return .inexact
    default: return .incomparable
    }
  }

  private static func text(_ number: Decimal, _ dialect: any SQLDialect) -> Form {
    dialect.stored(number).map { .stored($0) } ?? .inexact
  }
}
