import CDModel

/// A value in SQL.
package struct SQLValue {
  /// The type of the values and their stored form. Values of different types are never equal, except numbers.
  package enum Kind: Equatable {
    /// Integers and Booleans, with the least and greatest possible value. The range shows whether a calculation can
    /// overflow.
    case int(ClosedRange<Int64>)
    case double, float, decimal
    /// A type whose values are compared in their stored form.
    case plain(StorageType)
    /// The keys of objects in the table of a root entity.
    case object(root: Int)
    /// A value for which SQL can only decide whether it is nil.
    case opaque

    package static let string = Kind.plain(.string)
    package static let data = Kind.plain(.data)

    /// The values of a column.
    package init(_ type: StorageType) {
      switch type {
      case .bool: self = .int(0...1)
      case .float: self = .float
      case .double: self = .double
      case .decimal: self = .decimal
      case .codable: self = .opaque
      default: self = type.integerRange.map(Kind.int) ?? .plain(type)
      }
    }

    /// Whether the values are numbers.
    package var isNumber: Bool {
      switch self {
      case .int, .double, .float, .decimal: true
      default: false
      }
    }

    /// Whether the evaluator can order such values.
    package var isOrdered: Bool {
      if case .plain(let type) = self { return type.traits?.category.isOrdered ?? false }
      return isNumber
    }

    /// Whether SQL compares the stored values of both types as the evaluator does.
    package func isComparable(with other: Kind) -> Bool {
      switch (self, other) {
      case (.int, .int), (.int, .double), (.double, .int), (.int, .float), (.float, .int): true
      case (.opaque, _), (_, .opaque): false
      default: self == other
      }
    }
  }

  package var sql: SQLText
  /// The type of the values.
  package var kind: Kind
  package var isNullable: Bool

  package init(_ sql: SQLText, _ kind: Kind, isNullable: Bool = true) {
    self.sql = sql
    self.kind = kind
    self.isNullable = isNullable
  }
}

/// A side of a comparison.
package enum SQLOperand {
  /// A value that does not depend on a row.
  case constant(EvaluationValue)
  case value(SQLValue)
  case collection(SQLCollection)
}

/// The rows that a path or SUBQUERY leads to, with their condition and value.
package struct SQLCollection {
  var from: SQLText
  var condition: SQLText
  /// The object of each row, at which the next steps start.
  var element: SQLPathObject
  /// The value of each row, if the path ends with an attribute or a to-one relationship.
  var value: SQLValue?
}

extension SQLCollection {
  /// Returns a test whether any row also meets the given condition.
  func exists(_ test: SQLCondition) -> SQLText {
    "EXISTS (SELECT 1 FROM \(from) WHERE \(condition) AND \(test.operand(of: .and)))"
  }
}

/// An object on a path: a row of the statement, or an object that is known only by its key.
struct SQLPathObject {
  let entity: EntityPlan
  /// The alias of the row; nil if only the object's key is known.
  let alias: String?
  let key: SQLText
  let isNullable: Bool
}

/// A condition for a position in which NULL counts as false.
struct SQLCondition {
  enum Level { case atom, and, or }

  var sql: SQLText
  var isExact = true
  var level = Level.atom

  /// The text for use beside other conditions, in parentheses if necessary.
  func operand(of level: Level) -> SQLText {
    self.level == .atom || self.level == level ? sql : "(\(sql))"
  }
}
