import CDRuntime
import SeededRandom

/// Random predicates that the checker would accept, over ``PredicateModel``.
struct RandomPredicates {
  var random: SplitMix

  private mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
  private mutating func one<T>(_ first: T, _ others: T...) -> T {
    ([first] + others).randomElement(using: &random) ?? first
  }

  mutating func predicate(_ entity: String, depth: Int) -> FetchPredicate {
    if depth > 0 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0: return .and((0..<3).map { _ in predicate(entity, depth: depth - 1) })
      case 1: return .or((0..<3).map { _ in predicate(entity, depth: depth - 1) })
      case 2: return .not(predicate(entity, depth: depth - 1))
      case 3: return many(entity, depth: depth)
      default: break
      }
    }
    return comparison(entity, base: "", of: entity)
  }

  /// A quantifier, a count or a membership.
  private mutating func many(_ entity: String, depth: Int) -> FetchPredicate {
    let (name, element) = entity == "Book" ? ("tags", "Tag") : ("books", "Book")
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      let count = ValueExpression.keyPath("\(name).@count")
      return FetchPredicate(count, one(.equalTo, .lessThan, .greaterThan), .constant(.int(one(0, 1, 2))))
    case 1:
      let key = ValueExpression.constant(.object(ObjectReference(entity: element, uri: one("1", "2", "9"))))
      return FetchPredicate(.keyPath(name), .contains, key)
    case 2 where entity == "Author":
      let extreme = ValueExpression.keyPath(one("books.@min.pages", "books.@max.price", "books.@avg.pages"))
      return FetchPredicate(extreme, one(.equalTo, .lessThan), .constant(.int(one(0, 1, 3))))
    default:
      guard case .comparison(var comparison) = comparison(element, base: name + ".", of: element).kind else {
        return .truePredicate
      }
      comparison.modifier = one(.any, .all)
      return FetchPredicate(comparison)
    }
  }

  /// A comparison of an attribute at the end of a path.
  private mutating func comparison(_ entity: String, base: String, of owner: String) -> FetchPredicate {
    var base = base
    var entity = entity
    if chance(4), entity == "Book" {
      base += "author."
      entity = "Author"
    }
    let attributes: [(String, AttributeType)] =
      switch entity {
      case "Book": RandomLibrary.bookTypes.sorted { $0.key < $1.key } + [("place.city", .string)]
      case "Author": [("name", .string), ("age", .int16)]
      default: [("word", .string)]
      }
    guard let (name, type) = attributes.randomElement(using: &random) else { return .truePredicate }
    // A composite's field is not the end of a path of many objects.
    let path = ValueExpression.keyPath(name.contains(".") && !base.isEmpty ? base + "title" : base + name)
    let compared: AttributeType = name.contains(".") ? .string : type
    return comparison(path, compared, isWhole: base.isEmpty)
  }

  private mutating func comparison(_ path: ValueExpression, _ type: AttributeType, isWhole: Bool)
    -> FetchPredicate
  {
    let constant = ValueExpression.constant(value(type))
    switch Int.random(in: 0..<8, using: &random) {
    case 0:
      return FetchPredicate(path, .in, .constant(.array((0..<3).map { _ in .value(value(type)) })))
    case 1 where isOrdered(type):
      return FetchPredicate(path, .between, .constant(.array([.value(value(type)), .value(value(type))])))
    case 2 where type == .string:
      return FetchPredicate(
        path, one(.beginsWith, .endsWith, .contains, .like), constant,
        options: one([], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]))
    case 3 where type == .data:
      return FetchPredicate(path, one(.beginsWith, .endsWith, .contains), constant)
    case 4 where isNumber(type) && isWhole:
      let operand = ValueExpression.constant(.int(one(1, 2, -2)))
      let operation = ValueExpression.operation(path, one(.add, .subtract, .multiply, .divide), operand)
      return FetchPredicate(operation, one(.equalTo, .lessThan, .greaterThanOrEqualTo), constant)
    case 5 where isNumber(type) && isWhole:
      return FetchPredicate(path, ordering(), .keyPath(one("pages", "sold", "rating", "price", "isNew")))
        .supported(for: path)
    default: break
    }
    let options: ComparisonOptions = type == .string ? one([], [], .caseInsensitive) : []
    let comparisonOperator = isOrdered(type) ? ordering() : one(.equalTo, .notEqualTo)
    if chance(5), comparisonOperator == .equalTo { return FetchPredicate(path, .equalTo, .null) }
    return chance(4) && isWhole
      ? FetchPredicate(constant, comparisonOperator, path, options: options)
      : FetchPredicate(path, comparisonOperator, constant, options: options)
  }

  private mutating func ordering() -> ComparisonOperator {
    one(
      .equalTo, .notEqualTo, .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo)
  }

  /// A value of a type, or a number of another kind.
  private mutating func value(_ type: AttributeType) -> AttributeValue {
    let kind: AttributeType = isNumber(type) ? one(type, type, .int16, .int64, .double, .decimal) : type
    return RandomValues.value(kind, &random, canBeNull: chance(6))
  }

  private func isNumber(_ type: AttributeType) -> Bool {
    [.int16, .int64, .double, .float, .decimal, .bool].contains(type)
  }

  private func isOrdered(_ type: AttributeType) -> Bool { isNumber(type) || type == .string || type == .date }
}

extension FetchPredicate {
  /// An author has an age and none of the numbers that books have.
  fileprivate func supported(for path: ValueExpression) -> FetchPredicate {
    if path == .keyPath("age"), case .comparison(let comparison) = kind {
      return FetchPredicate(comparison.left, comparison.operator, .keyPath("age"))
    }
    if path == .keyPath("author.age") { return .truePredicate }
    return self
  }
}
