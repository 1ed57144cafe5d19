import CDModel
import Foundation
import SeededRandom

/// Trees of every kind, built through the public interface.
struct RandomExpressions {
  var random: SplitMix

  init(seed: UInt64) {
    random = SplitMix(seed: seed)
  }

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &random)]
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  private mutating func list<Element>(
    _ count: ClosedRange<Int>, _ make: (inout RandomExpressions) -> Element
  ) -> [Element] {
    let count = number(count)
    return (0..<count).map { _ in make(&self) }
  }

  // MARK: Predicates

  mutating func predicate(depth: Int) -> FetchPredicate {
    switch depth <= 0 ? number(0...3) : number(0...8) {
    case 0: return pick([.truePredicate, .falsePredicate])
    case 1...3: return comparison(depth: depth)
    case 4, 5: return .and(list(0...4) { $0.predicate(depth: depth - 1) })
    case 6: return .or(list(0...4) { $0.predicate(depth: depth - 1) })
    case 7: return !predicate(depth: depth - 1)
    default: return predicate(depth: depth - 1) && predicate(depth: depth - 1) || predicate(depth: depth - 1)
    }
  }

  private mutating func comparison(depth: Int) -> FetchPredicate {
    FetchPredicate(
      value(depth: depth - 1), pick(ComparisonOperator.allCases), value(depth: depth - 1),
      modifier: pick(ComparisonModifier.allCases),
      options: ComparisonOptions(rawValue: UInt8(number(0...15))))
  }

  // MARK: Values

  mutating func value(depth: Int) -> ValueExpression {
    switch depth <= 0 ? number(0...5) : number(0...18) {
    case 0: return pick([.object, .null, .anyKey, .object])
    case 1: return .variable(name())
    case 2, 3: return .constant(constant(depth: 2))
    case 4: return .keyPath([key(), key()])
    case 5: return .keyPath(pick(["a", "SELF", "$x.y", "a.@sum.SELF", "in.like", "@count", "a b.c"]))
    case 6, 7: return .path(value(depth: depth - 1), list(1...3) { $0.step(depth: depth - 1) })
    case 8: return .aggregate(list(0...3) { $0.value(depth: depth - 1) })
    case 9: return .negated(value(depth: depth - 1))
    case 10: return .bitwiseComplement(value(depth: depth - 1))
    case 11, 12:
      return .operation(value(depth: depth - 1), pick(ExpressionOperator.allCases), value(depth: depth - 1))
    case 13: return .coalesced(list(1...3) { $0.value(depth: depth - 1) })
    case 14:
      return .function(pick(ExpressionFunction.allCases), list(0...3) { $0.value(depth: depth - 1) })
    case 15:
      let otherwise = pick([true, false]) ? value(depth: depth - 1) : nil
      return .cast(value(depth: depth - 1), CastType(name: castName()), otherwise: otherwise)
    case 16:
      return .ternary(predicate(depth: depth - 1), value(depth: depth - 1), value(depth: depth - 1))
    case 17:
      return .subquery(value(depth: depth - 1), variable: name(), predicate(depth: depth - 1))
    default:
      return pick([true, false])
        ? .assignment(variable: name(), value(depth: depth - 1))
        : .invocation(
          value(depth: depth - 1), selector: text(), list(0...2) { $0.value(depth: depth - 1) })
    }
  }

  private mutating func step(depth: Int) -> PathStep {
    switch number(0...8) {
    case 0...2: .key(key())
    case 3: .collectionOperator(pick(["count", "avg", "noSuch"]))
    case 4: .itself
    case 5: .variable(name())
    case 6: .index(value(depth: depth))
    case 7: .index(.keyPath(pick(["first", "LAST", "size", "a"])))
    default: pick([.first, .last, .size])
    }
  }

  // MARK: Names and constants

  private mutating func name() -> String { pick(["x", "_local_1", "FETCH_SOURCE", "größe", "in"]) }

  private mutating func key() -> String {
    pick([
      "a", "name", "in", "SELF", "self", "union", "FUNCTION", "first", "用户", "", "a.b", "a\"b", "1a", "$x",
      "@y", "uti",
    ])
  }

  private mutating func castName() -> String {
    pick([
      "Int64", "Date", "Data", "UUID", "Decimal", "URL", "Double", "NSNumber", "NSDate", "Nothing", "String",
    ])
  }

  private mutating func text() -> String {
    pick([
      "", "abc", "it's", "say \"hi\"", "c:\\temp\\", "%@", "line\nbreak\ttab\r\u{0}\u{1F}\u{7F}", "café",
      "cafe\u{301}",
      "😀", "\\u0041", "inf", "AQI=", "1.5", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F",
    ])
  }

  mutating func constant(depth: Int) -> ExpressionConstant {
    switch depth <= 0 ? number(0...4) : number(0...8) {
    case 0...4: .value(attributeValue())
    case 5: .array(list(0...3) { $0.constant(depth: depth - 1) })
    case 6: .set(Set(list(0...3) { $0.constant(depth: depth - 1) }))
    case 7:
      .dictionary(
        Dictionary(
          list(0...3) { ($0.key(), $0.constant(depth: depth - 1)) }, uniquingKeysWith: { first, _ in first }))
    default:
      .object(ObjectReference(entity: pick(["Book", "A\"b"]), uri: "x-cdgen://1/Book/\(number(1...9))"))
    }
  }

  private mutating func attributeValue() -> AttributeValue {
    switch number(0...10) {
    case 0: .null
    case 1: .bool(pick([true, false]))
    case 2: .int(pick([0, 1, -1, .min, .max, 42]))
    case 3:
      .double(
        pick([0, -0.0, 1, 0.1, 1e300, Double.leastNonzeroMagnitude, .infinity, -.infinity, .nan, 1e20, -2.5]))
    case 4: .decimal(pick([0, Decimal(string: "-1.50") ?? 0, Decimal(string: "1e-100") ?? 0, .nan]))
    case 5, 6: .string(text())
    case 7: .date(Date(timeIntervalSinceReferenceDate: pick([0, 0.1, -1e9, 758_930_400.123_456_7])))
    case 8: .data(Data([0, 255, 1].prefix(number(0...3))))
    case 9: .uuid(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F") ?? UUID())
    default: .composite(["street": .string(text()), "zip": .int(1)])
    }
  }
}
