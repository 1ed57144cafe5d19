import CDModel

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// Compiles the parts of a predicate for which SQL gives the evaluator's result, and leaves out the other parts.
///
/// The compiler moves NOT down to the comparisons, and compiles each negated comparison directly. A comparison without
/// an exact form in SQL becomes true. So the condition may accept too many rows, but never too few.
package struct SQLCompiler {
  let dialect: any SQLDialect
  let model: ModelPlan
  let key: SQLPredicate.KeyLookup
  private let evaluator: PredicateEvaluator
  private let variables: Set<String>
  private let root: SQLPathObject
  /// The comparisons that the evaluator must decide, without their constants.
  private(set) var inexactParts: [String] = []
  var texts: PreparedTexts { evaluator.texts }
  /// Whether the statement may fail for a row, because a calculation has no result.
  package internal(set) var mayFail = false
  /// The rows that the variables of SUBQUERYs refer to.
  var scope: [String: SQLPathObject] = [:]
  /// The root entities of the rows that the condition reads in addition to the row itself.
  package private(set) var readRoots: Set<Int> = []
  private var aliasCount = 0
  /// Whether the last comparison or operand needs rows that no statement can read together with the row itself.
  private var isOutOfReach = false

  /// Creates a compiler of expressions on the rows of an entity's table, whose alias is `t0`.
  package init(
    entity: EntityPlan, model: ModelPlan, variables: [String: EvaluationValue], now: Date,
    key: @escaping SQLPredicate.KeyLookup, dialect: any SQLDialect
  ) {
    self.dialect = dialect
    self.model = model
    self.key = key
    self.variables = Set(variables.keys)
    evaluator = PredicateEvaluator(variables: variables, now: now, model: model)
    root = SQLPathObject(entity: entity, alias: "t0", key: "t0._pk", isNullable: false)
  }

  /// Returns a new alias for a join table.
  mutating func makeAlias() -> String {
    aliasCount += 1
    return "r\(aliasCount)"
  }

  /// Returns a new alias for rows of an entity, and records that the condition reads them.
  mutating func makeAlias(for entity: EntityPlan) -> String {
    readRoots.insert(entity.root)
    if !dialect.isReachable(entity.table) { isOutOfReach = true }
    return makeAlias()
  }

  // MARK: Predicates

  func constant(_ holds: Bool) -> SQLCondition {
    SQLCondition(sql: SQLText(text: holds ? dialect.always : dialect.never))
  }

  mutating func condition(
    _ predicate: FetchPredicate, isNegated: Bool
  ) throws(EvaluationError) -> SQLCondition {
    switch predicate.kind {
    case .constant(let holds): return constant(holds != isNegated)
    case .not(let part): return try condition(part, isNegated: !isNegated)
    case .comparison(let comparison):
      isOutOfReach = false
      if let condition = try self.comparison(comparison, isNegated: isNegated), !isOutOfReach {
        return condition
      }
      if inexactParts.count < 10 { inexactParts.append(Self.outline(comparison)) }
      return SQLCondition(sql: SQLText(text: dialect.always), isExact: false)
    case .and(let parts): return try compound(parts, isNegated: isNegated, level: isNegated ? .or : .and)
    case .or(let parts):
      return try compound(
        isNegated ? parts : Self.membershipsOfEqualities(parts), isNegated: isNegated,
        level: isNegated ? .and : .or)
    }
  }

  private mutating func compound(
    _ parts: [FetchPredicate], isNegated: Bool, level: SQLCondition.Level
  ) throws(EvaluationError) -> SQLCondition {
    var conditions: [SQLCondition] = []
    var isExact = true
    let (always, never) = (dialect.always, dialect.never)
    for part in parts {
      let condition = try condition(part, isNegated: isNegated)
      isExact = isExact && condition.isExact
      switch (level, condition.sql.text) {
      case (.and, always), (.or, never): break
      // This result holds for any value of the other parts, exact or not.
      case (.and, never) where condition.isExact: return constant(false)
      case (.or, always) where condition.isExact: return constant(true)
      case (.or, always): return condition
      default: conditions.append(condition)
      }
    }
    switch conditions.count {
    case 0: return SQLCondition(sql: SQLText(text: level == .and ? always : never), isExact: isExact)
    case 1: return SQLCondition(sql: conditions[0].sql, isExact: isExact, level: conditions[0].level)
    default:
      let texts = conditions.map { $0.operand(of: level) }
      let word = level == .and ? " AND " : " OR "
      return SQLCondition(sql: Self.balanced(texts[...], word), isExact: isExact, level: level)
    }
  }

  /// Describes a comparison for the log: its key paths, functions and operator, with `…` for anything that may be user
  /// data.
  private static func outline(_ comparison: Comparison) -> String {
    "\(outline(comparison.left)) \(comparison.operator.rawValue)\(comparison.options.canonicalText) "
      + outline(comparison.right)
  }

  private static func outline(_ expression: ValueExpression) -> String {
    switch expression.kind {
    case .constant: "…"
    case .object, .anyKey, .variable: expression.description
    case .path(let base, let steps):
      if case .object = base.kind, !steps.contains(where: { if case .index = $0 { true } else { false } }) {
        expression.description
      } else {
        outline(base) + ".…"
      }
    case .function(let function, _): function.rawValue + "(…)"
    case .unknownFunction(let name, _): name + "(…)"
    case .invocation: "FUNCTION(…)"
    case .cast(let value, let type, _): "CAST(\(outline(value)), '\(type.name)')"
    case .ternary: "TERNARY(…)"
    case .subquery(let collection, _, _): "SUBQUERY(\(outline(collection)), …)"
    case .operation(let first, let terms):
      terms.reduce(outline(first)) { "\($0) \($1.operator.rawValue) \(outline($1.operand))" }
    case .negated(let operand): "-" + outline(operand)
    case .bitwiseComplement(let operand): "~" + outline(operand)
    case .coalesced(let values): values.map(outline).joined(separator: " ?? ")
    case .aggregate: "{…}"
    case .assignment(let variable, _): "$\(variable) := …"
    }
  }

  /// Groups a long chain into a balanced tree. As a simple chain it could exceed the limit of a database, such as SQLite's
  /// limit of 1,000 levels.
  private static func balanced(_ texts: ArraySlice<SQLText>, _ word: String) -> SQLText {
    if texts.count <= 64 { return SQLText.joined(Array(texts), word) }
    let size = (texts.count + 63) / 64
    let groups = stride(from: texts.startIndex, to: texts.endIndex, by: size).map { start -> SQLText in
      "(\(balanced(texts[start..<min(start + size, texts.endIndex)], word)))"
    }
    return SQLText.joined(groups, word)
  }

  /// Returns the parts of an OR, in which several comparisons of one path with constants are replaced by one IN.
  private static func membershipsOfEqualities(_ parts: [FetchPredicate]) -> [FetchPredicate] {
    var groupIndices: [ValueExpression: Int] = [:]
    var constants: [Int: [ExpressionConstant]] = [:]
    var result: [FetchPredicate] = []
    for part in parts {
      guard case .comparison(let comparison) = part.kind, comparison.operator == .equalTo,
        comparison.modifier == .direct, comparison.options.isEmpty, case .path = comparison.left.kind,
        case .constant(let constant) = comparison.right.kind
      else {
        result.append(part)
        continue
      }
      if let index = groupIndices[comparison.left] {
        constants[index, default: []].append(constant)
      } else {
        groupIndices[comparison.left] = result.count
        constants[result.count] = [constant]
        result.append(part)
      }
    }
    for (index, list) in constants where list.count > 1 {
      guard case .comparison(let comparison) = result[index].kind else { continue }
      var seen: Set<ExpressionConstant> = []
      let distinct = list.filter { seen.insert($0).inserted }
      result[index] = FetchPredicate(comparison.left, .in, .constant(.array(distinct)))
    }
    return result
  }

  // MARK: Values

  /// Compiles the value of an expression. Returns nil if SQL has no exact form of it.
  package mutating func operand(_ expression: ValueExpression) throws(EvaluationError) -> SQLOperand? {
    let operand = try reachedOperand(expression)
    return isOutOfReach ? nil : operand
  }

  private mutating func reachedOperand(
    _ expression: ValueExpression
  ) throws(EvaluationError) -> SQLOperand? {
    if isConstant(expression) {
      // The evaluator need not reach a part that has no value, such as one that divides by 0. So the error is left to it.
      return (try? evaluator.value(of: expression, for: .value(.null))).map(SQLOperand.constant)
    }
    switch expression.kind {
    case .object: return .value(object(root))
    case .variable(let name):
      if let pathObject = scope[name] { return .value(object(pathObject)) }
      throw .unboundVariable(name)
    case .path(let base, let steps): return try path(base, steps)
    case .subquery(let collection, let variable, let condition):
      return try subquery(collection, variable, condition).map(SQLOperand.collection)
    case .negated(let operand): return try negated(operand).map(SQLOperand.value)
    case .operation(let first, let terms): return try operation(first, terms).map(SQLOperand.value)
    case .coalesced(let values): return try coalesced(values).map(SQLOperand.value)
    case .ternary(let condition, let yes, let no):
      return try ternary(condition, yes, no).map(SQLOperand.value)
    case .function(let function, let arguments):
      return try call(function, arguments).map(SQLOperand.value)
    case .bitwiseComplement(let operand): return try complement(operand).map(SQLOperand.value)
    case .cast(let value, let type, let otherwise):
      return try cast(value, type, otherwise: otherwise).map(SQLOperand.value)
    case .constant, .anyKey, .aggregate, .unknownFunction, .invocation, .assignment:
      return nil
    }
  }

  func object(_ pathObject: SQLPathObject) -> SQLValue {
    SQLValue(pathObject.key, .object(root: pathObject.entity.root), isNullable: pathObject.isNullable)
  }

  /// The object at which a path starts; nil if the path starts at another expression.
  func start(of base: ValueExpression) -> SQLPathObject? {
    switch base.kind {
    case .object: root
    case .variable(let name): scope[name]
    default: nil
    }
  }

  /// Whether an expression has the same value for all rows. Random values and new UUIDs do not.
  private func isConstant(_ expression: ValueExpression) -> Bool {
    switch expression.kind {
    case .variable(let name): return scope[name] == nil && variables.contains(name)
    case .function(let function, _) where function.isNewForEachCall: return false
    case .object, .anyKey, .unknownFunction, .invocation, .ternary, .subquery, .assignment: return false
    default:
      var areConstant = true
      expression.forEachPart { part in
        if case .value(let value) = part { areConstant = areConstant && isConstant(value) }
      }
      return areConstant
    }
  }
}
