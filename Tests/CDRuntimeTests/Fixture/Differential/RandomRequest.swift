import Foundation
import SeededRandom

@testable import CDRuntime

/// Random requests over a random model, most of which the checker accepts.
struct RandomRequest: RandomMaker {
  var random: SplitMix
  let graph: EntityGraph
  let objects: [ManagedObject]
  private(set) var variables: [String: ExpressionConstant] = [:]

  init(random: SplitMix, graph: EntityGraph, objects: [ManagedObject]) {
    self.random = random
    self.graph = graph
    self.objects = objects
  }

  mutating func request() -> FetchRequest<ManagedObject> {
    let entity = one(of: graph.version.entities)?.name ?? ""
    variables = [:]
    var request = FetchRequest<ManagedObject>(
      entityName: entity, where: chance(20) ? nil : predicate(entity, depth: number(0...3)))
    request.variables = variables
    request.includesSubentities = !chance(6)
    if chance(2) {
      for _ in 0..<number(1...2) {
        let (path, type) = path(from: entity)
        let isSortable: Bool
        switch type {
        case .composite, nil: isSortable = false
        default: isSortable = true
        }
        guard isSortable else { continue }
        let options: ComparisonOptions =
          type == .string ? one([], .caseInsensitive, [.caseInsensitive, .diacriticInsensitive]) : []
        request.sortKeys.append(SortKey(path, ascending: chance(2), options: options))
      }
    }
    if chance(4) { request.limit = number(0...4) }
    if chance(6) { request.offset = number(0...3) }
    return request
  }

  // MARK: Predicates

  mutating func predicate(_ entity: String, depth: Int, base: String = "") -> FetchPredicate {
    if depth > 0 {
      switch number(0...6) {
      case 0: return .and((0..<number(2...3)).map { _ in predicate(entity, depth: depth - 1, base: base) })
      case 1: return .or((0..<number(2...3)).map { _ in predicate(entity, depth: depth - 1, base: base) })
      case 2: return .not(predicate(entity, depth: depth - 1, base: base))
      case 3, 4: if let many = many(entity, depth: depth, base: base) { return many }
      default: break
      }
    }
    return comparison(entity, base: base, depth: depth)
  }

  /// A predicate over the objects of a to-many relationship, or over the identity of objects.
  private mutating func many(_ entity: String, depth: Int, base: String) -> FetchPredicate? {
    guard let relationship = one(of: relationships(of: entity)) else { return nil }
    let path = ValueExpression.keyPath(base + relationship.name)
    let candidates = objects.filter { $0.entity.name == relationship.destination }
    let object: ExpressionConstant = one(of: candidates).map { .object($0.reference) } ?? .null
    guard relationship.isToMany else {
      switch number(0...2) {
      case 0: return FetchPredicate(path, one(.equalTo, .notEqualTo), chance(3) ? .null : .constant(object))
      case 1:
        let others = candidates.prefix(3).map { ExpressionConstant.object($0.reference) }
        return FetchPredicate(path, .in, .constant(.array(others + [object])))
      default:
        return predicate(relationship.destination, depth: depth - 1, base: base + relationship.name + ".")
      }
    }
    switch number(0...5) {
    case 0:
      return FetchPredicate(
        .keyPath(base + relationship.name + ".@count"), one(.equalTo, .lessThan, .greaterThan, .notEqualTo),
        .constant(.value(.int(Int64(number(0...2))))))
    case 1: return FetchPredicate(path, .contains, .constant(object))
    case 2, 3:
      let variable = "x\(depth)"
      let condition = predicate(relationship.destination, depth: depth - 1)
        .replacingObject(withVariable: variable)
      return FetchPredicate(
        .path(.subquery(path, variable: variable, condition), [.collectionOperator("count")]),
        one(.equalTo, .greaterThan), .constant(.value(.int(Int64(number(0...1))))))
    default:
      guard
        case .comparison(var comparison) = comparison(
          relationship.destination, base: base + relationship.name + ".", depth: 0
        ).kind
      else { return nil }
      comparison.modifier = one(.any, .all)
      let result = FetchPredicate(comparison)
      return chance(4) ? .not(result) : result
    }
  }

  private mutating func comparison(_ entity: String, base: String, depth: Int) -> FetchPredicate {
    let (keys, found) = path(from: entity)
    guard let type = found else { return .truePredicate }
    let path = ValueExpression.keyPath(base + keys)
    let left = depth > 0 && chance(3) ? calculated(path, type) : path
    switch (number(0...9), type) {
    case (0, _):
      return FetchPredicate(left, .in, .constant(.array((0..<number(0...4)).map { _ in constant(type) })))
    case (1, _) where isOrdered(type):
      return FetchPredicate(left, .between, .constant(.array([constant(type), constant(type)])))
    case (2...4, .string):
      let pattern = one("a*", "?", "*b*", "[a-z]+", "a.*", "é", "\\p{L}*")
      let comparisonOperator: ComparisonOperator = one(.beginsWith, .endsWith, .contains, .like, .matches)
      let right: ValueExpression =
        comparisonOperator == .like || comparisonOperator == .matches || chance(6)
        ? .constant(.string(comparisonOperator == .matches || pattern.first != "[" ? pattern : "*"))
        : .constant(constant(type))
      return FetchPredicate(left, comparisonOperator, right, options: options())
    case (2, .data):
      return FetchPredicate(left, one(.beginsWith, .endsWith, .contains), .constant(constant(type)))
    case (5, _):
      let (other, _) = self.path(from: entity)
      return FetchPredicate(
        left, isOrdered(type) ? ordering() : one(.equalTo, .notEqualTo), .keyPath(base + other))
    default: break
    }
    let comparisonOperator = isOrdered(type) ? ordering() : one(.equalTo, .notEqualTo)
    var right = ValueExpression.constant(chance(6) ? .null : constant(type))
    if chance(8), case .constant(let bound) = right.kind {
      variables["v\(variables.count)"] = bound
      right = .variable("v\(variables.count - 1)")
    }
    let comparisonOptions = type == .string ? options() : []
    return chance(5)
      ? FetchPredicate(right, comparisonOperator, left, options: comparisonOptions)
      : FetchPredicate(left, comparisonOperator, right, options: comparisonOptions)
  }

  // MARK: Values

  /// A key path to a value, with its type; no type where there is none.
  private mutating func path(from entity: String) -> (String, AttributeType?) {
    var name = ""
    var current = entity
    while chance(3), let relationship = one(of: relationships(of: current).filter({ !$0.isToMany })) {
      name += relationship.name + "."
      current = relationship.destination
    }
    if chance(6), let many = one(of: relationships(of: current).filter(\.isToMany)) {
      let numbers = attributes(of: many.destination).filter { isNumber($0.type) }
      if chance(2), let attribute = one(of: numbers) {
        let collectionOperator = one("@min", "@max", "@sum", "@avg")
        return ("\(name)\(many.name).\(collectionOperator).\(attribute.name)", attribute.type)
      }
      return (name + many.name + ".@count", .int64)
    }
    guard let attribute = one(of: attributes(of: current)) else { return ("SELF", nil) }
    if case .composite = attribute.type {
      let (field, type): (String, AttributeType) = one(
        ("city", .string), ("floor", .int32), ("height", .float))
      return (name + attribute.name + "." + field, type)
    }
    return (name + attribute.name, attribute.type)
  }

  private mutating func calculated(_ path: ValueExpression, _ type: AttributeType) -> ValueExpression {
    let small = ValueExpression.constant(.int(one(0, 1, 2, -2)))
    if type == .string {
      switch number(0...4) {
      case 0: return .operation(path, .add, .constant(.string(one("!", "", "é"))))
      case 1: return .function(one(.uppercase, .lowercase, .canonical), [path])
      case 2: return .coalesced([path, .constant(constant(.string))])
      case 3: return .ternary(FetchPredicate(path, .equalTo, .constant(constant(.string))), path, .null)
      default: return .cast(path, .attribute(.string), otherwise: nil)
      }
    }
    guard isNumber(type) else { return .coalesced([path, .constant(constant(type))]) }
    switch number(0...7) {
    case 0...2: return .operation(path, one(.add, .subtract, .multiply, .divide), small)
    case 3: return .negated(path)
    case 4: return .function(one(.abs, .floor, .ceiling), [path])
    case 5: return .coalesced([path, small])
    case 6: return .operation(small, one(.add, .multiply, .subtract, .divide), path)
    default: return .cast(path, .attribute(one(.int64, .double, .string)), otherwise: .null)
    }
  }

  private mutating func constant(_ type: AttributeType) -> ExpressionConstant {
    var values = RandomStoredValue(random: random)
    defer { random = values.random }
    var kind = type
    if isNumber(type), values.chance(3) { kind = values.one(.int16, .int64, .double, .decimal, .bool) }
    if values.chance(25) { kind = values.one(.string, .int64, .date, .data) }
    return .value(values.chance(12) ? .null : values.value(kind))
  }

  private mutating func options() -> ComparisonOptions {
    one(
      [], [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized)
  }

  private mutating func ordering() -> ComparisonOperator {
    one(.equalTo, .notEqualTo, .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo)
  }

  private func isNumber(_ type: AttributeType) -> Bool {
    switch type {
    case .bool, .int16, .int32, .int64, .float, .double, .decimal, .enumeration: true
    default: false
    }
  }

  private func isOrdered(_ type: AttributeType) -> Bool { isNumber(type) || type == .string || type == .date }

  private func relationships(of entity: String) -> [RelationshipDescription] {
    graph.slots(of: entity).compactMap { slot in
      if case .relationship(let relationship) = slot.property { return relationship }
      return nil
    }
  }

  private func attributes(of entity: String) -> [AttributeDescription] {
    graph.slots(of: entity).compactMap { slot in
      if case .attribute(let attribute) = slot.property { return attribute }
      return nil
    }
  }
}
