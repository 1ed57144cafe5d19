import CDModel

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The SQL of one database: how it writes the parts in which databases differ, and which of them give the evaluator's
/// result.
///
/// A method whose result is optional returns nil if the database has no form with exactly the evaluator's result. The
/// condition is then inexact, and ``PredicateEvaluator`` decides. So a dialect may begin with few forms and grow.
///
/// All texts are in the neutral form of ``SQLText``.
package protocol SQLDialect: Sendable {
  /// The name of the database, for messages.
  var name: String { get }
  var limits: SQLLimits { get }

  /// Whether a statement with a condition stays within the limits of the database.
  func accepts(_ condition: SQLText) -> Bool
  /// Whether a value can be a term of SELECT or ORDER BY in a larger statement.
  func acceptsTerm(_ value: SQLText) -> Bool

  // MARK: Values

  /// The form in which columns of the value's type store it. Parameters have this form too.
  func stored(_ value: AttributeValue) -> AttributeValue
  /// The stored form of a decimal number, which columns compare by size; nil if the number has none.
  func stored(_ number: Decimal) -> AttributeValue?
  /// The value of a column for comparisons and calculations. A Boolean is the number 0 or 1.
  func value(ofColumn column: SQLText, _ type: StorageType) -> SQLText
  /// The form in which a row of objects returns a column that its objects may read later: the value or, if it is
  /// large, a mark that tells the session to leave it out. Nil if rows return all values. See ``LargeValue``.
  func laterValue(_ column: String) -> String?
  /// Whether the database compares integers of a range with doubles exactly, and not as two doubles.
  func comparesExactly(_ integers: ClosedRange<Int64>) -> Bool

  // MARK: Tables

  /// A table in a statement that reads or changes its rows, for example with the name of a schema.
  func table(_ name: String) -> String
  /// Whether a statement can read a table together with the others. It cannot if the table is in a store of another
  /// engine.
  func isReachable(_ table: String) -> Bool
  /// The type of a column.
  ///
  /// - Parameter mayNameFile: Whether the column holds either data, or a text with the name of the file that contains
  ///   them.
  func columnType(_ type: StorageType, mayNameFile: Bool) -> String
  /// The text after the columns of a table; empty for none.
  ///
  /// - Parameter hasOwnKey: Whether the rows have a key `_pk`. The rows of a join table have none.
  func tableOptions(hasOwnKey: Bool) -> String

  // MARK: Conditions

  /// The conditions that hold for every row and for no row.
  var always: String { get }
  var never: String { get }
  /// Whether two values are equal. Two nil values are equal.
  func equality(_ left: SQLValue, _ right: SQLValue, isEqual: Bool) -> SQLText
  /// A value as an operand of `<` and similar operators, and of `min` and `max`.
  func ordered(_ value: SQLValue) -> SQLText
  /// The negation of a condition, which holds if the condition is NULL.
  func isNotTrue(_ condition: SQLText) -> SQLText
  /// Whether a value is one of many, which are bound as one parameter.
  func membership(_ value: SQLText, in list: [AttributeValue]) -> SQLText?

  // MARK: Texts

  /// A number below, at or above 0: the order of two strings under options.
  func order(_ left: SQLText, _ right: SQLText, _ options: ComparisonOptions) -> SQLText?
  /// Whether a string or data has a part; false if one of them is nil.
  func search(
    _ whole: SQLText, for part: SQLText, _ anchor: SearchAnchor, _ options: ComparisonOptions
  ) -> SQLText?
  /// Whether a string matches the pattern of an operator; false if one of them is nil.
  func match(
    _ text: SQLText, _ comparisonOperator: ComparisonOperator, _ pattern: SQLText,
    _ options: ComparisonOptions
  ) -> SQLText?
  /// A string without case and diacritics.
  func canonical(_ text: SQLText) -> SQLText?

  // MARK: Calculations

  /// The result of an operator on integers.
  ///
  /// - Parameter mayFail: Whether a result may not fit 64 bits, or a divisor may be 0. The statement must then fail for
  ///   such a row.
  func calculation(
    _ left: SQLIntegers, _ integerOperator: IntegerOperator, _ right: SQLIntegers, mayFail: Bool
  ) -> SQLText?
  /// The result of any other operator: on doubles, on strings, or on the bits of integers.
  func calculation(
    _ left: SQLValue, _ expressionOperator: ExpressionOperator, _ right: SQLValue
  ) -> SQLText?
  /// A value as an integer of 64 bits, so that its negation or its absolute value fits.
  func wide(_ integers: SQLText) -> SQLText
  func double(_ number: SQLText) -> SQLText
  /// A number as an integer of a range. For any other number, the result is an alternative, or the statement fails.
  func limited(_ number: SQLText, to range: ClosedRange<Int64>, otherwise: SQLText?) -> SQLText?
  /// The sum of integers, or 0 if there are none. The statement fails if the sum does not fit 64 bits.
  func sum(_ integers: SQLText) -> SQLText?
  /// The mean of integers as a double, or NULL if there are none.
  func average(_ integers: SQLText) -> SQLText?
  /// A value for which the database uses no index.
  func unindexed(_ value: SQLText) -> SQLText

  // MARK: Results

  /// The part of a term of ORDER BY after the value, with nil as the least value; nil if the database cannot sort so.
  func direction(_ kind: SQLValue.Kind, _ options: ComparisonOptions, isAscending: Bool) -> String?
  /// The clause that selects a range of the rows; empty for all rows.
  func window(offset: Int, limit: Int?) -> String
}

/// The limits of a database for its statements. The compiler leaves what exceeds them to the evaluator.
package struct SQLLimits {
  /// The operators in one chain of calculations.
  package var operations = 200
  /// The arguments of a function.
  package var arguments = 100
  /// The tables of one SELECT.
  package var tables = 56
  /// The values in a list that the dialect cannot bind as one parameter.
  package var listedValues = 20_000

  /// Creates the limits that every database keeps.
  package init() {}
}

extension SQLDialect {
  package func laterValue(_ column: String) -> String? { nil }

  package func table(_ name: String) -> String { SQLText.quoted(name) }

  package func isReachable(_ table: String) -> Bool { true }

  /// Whether values of two types can be compared with the evaluator's result.
  package func isComparable(_ left: SQLValue.Kind, _ right: SQLValue.Kind) -> Bool {
    switch (left, right) {
    case (.int(let range), .double), (.double, .int(let range)), (.int(let range), .float),
      (.float, .int(let range)):
      comparesExactly(range)
    default: left.isComparable(with: right)
    }
  }

  /// The smallest or the greatest value.
  package func extreme(_ function: String, of value: SQLValue) -> SQLText {
    "\(raw: function)(\(ordered(value)))"
  }
}
