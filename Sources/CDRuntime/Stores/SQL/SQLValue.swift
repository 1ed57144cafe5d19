import CDModel

/// A value in SQL.
struct SQLValue {
  /// What the values are and how the store keeps them. Those of different kinds are never equal, except
  /// numbers.
  enum Kind: Equatable {
    /// Integers and Booleans, with the least and greatest that there can be, so that sums are known not to
    /// overflow.
    case int(ClosedRange<Int64>)
    case double, float, decimal
    case string, date, data, uuid, url
    /// The keys of objects in the table of an inheritance root.
    case object(root: Int)
    /// A value that SQL can tell from nil, and no more.
    case opaque

    var isNumber: Bool {
      switch self {
      case .int, .double, .float, .decimal: true
      default: false
      }
    }

    /// Whether `<` has an answer in memory.
    var isOrdered: Bool { isNumber || self == .string || self == .date }

    /// Whether values of both kinds are kept in a form in which SQL compares them as memory does.
    func isComparable(with other: Kind) -> Bool {
      switch (self, other) {
      case (.int, .int), (.int, .double), (.double, .int), (.int, .float), (.float, .int): true
      case (.opaque, _), (_, .opaque): false
      default: self == other
      }
    }
  }

  var sql: SQLText
  var kind: Kind
  var isNullable: Bool

  init(_ sql: SQLText, _ kind: Kind, isNullable: Bool = true) {
    self.sql = sql
    self.kind = kind
    self.isNullable = isNullable
  }
}

/// A side of a comparison.
enum SQLOperand {
  /// A value that no row has a part in.
  case constant(EvaluationValue)
  case value(SQLValue)
  case collection(SQLCollection)
}

/// Rows that a path or SUBQUERY leads to, and what is asked of each.
struct SQLCollection {
  var from: SQLText
  var condition: SQLText
  /// A place of each row's object; the steps that follow lead on from here.
  var element: SQLPlace
  /// The value of each row where the path ends with an attribute or a to-one relationship.
  var value: SQLValue?
}

extension SQLCollection {
  /// Whether there is a row that meets a condition too.
  func exists(_ test: SQLCondition) -> SQLText {
    "EXISTS (SELECT 1 FROM \(from) WHERE \(condition) AND \(test.operand(of: .and)))"
  }
}

/// An object on a path: a row of a statement, or one that a key leads to.
struct SQLPlace {
  let entity: EntityPlan
  /// The alias of the row; nil where the object is known by its key alone.
  let alias: String?
  let key: SQLText
  let isNullable: Bool
}

/// A condition, which in the place that it was made for is true or is not: there NULL is as good as false.
struct SQLCondition {
  enum Level { case atom, and, or }

  var sql: SQLText
  var isExact: Bool
  var level = Level.atom

  static func constant(_ holds: Bool) -> SQLCondition {
    SQLCondition(sql: holds ? "1" : "0", isExact: true)
  }

  /// The text where it stands beside others.
  func operand(of level: Level) -> SQLText {
    self.level == .atom || self.level == level ? sql : "(\(sql))"
  }
}
