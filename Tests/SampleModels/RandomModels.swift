package import CDModel
import SeededRandom

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Models made by chance from a seed, with all kinds of values in all places. Names within one list differ.
package struct RandomModels {
  private var random: SplitMix
  private var count = 0

  package init(seed: UInt64) {
    random = SplitMix(seed: seed)
  }

  package mutating func model() throws -> ManagedObjectModel {
    var versions: [ModelVersion] = []
    for _ in 0..<below(4) { versions.append(try version()) }
    return ManagedObjectModel(
      name: text(), id: id(), imports: list(3) { $0.text() }, versions: versions,
      currentVersionNumber: below(10) - 2)
  }

  package mutating func version() throws -> ModelVersion {
    var entities: [EntityDescription] = []
    for _ in 0..<below(7) { entities.append(try entity(after: entities.map(\.name))) }
    var composites: [CompositeDescription] = []
    for _ in 0..<below(3) { composites.append(try composite()) }
    return ModelVersion(
      number: below(1000), label: maybe { $0.text() }, basedOn: list(3) { $0.below(9) },
      enums: list(3) { $0.enumeration() }, composites: composites, entities: entities,
      configurations: list(3) {
        ConfigurationDescription(
          name: $0.name(), entities: $0.list(4) { $0.pick(entities.map(\.name)) ?? $0.name() })
      })
  }

  // MARK: Parts

  private mutating func enumeration() -> EnumDescription {
    EnumDescription(
      name: name(), rawType: pick([.string, .int16, .int32, .int64]) ?? .string,
      cases: list(4) { EnumDescription.Case(name: $0.name(), rawValue: $0.value()) }, doc: maybe { $0.text() }
    )
  }

  private mutating func composite() throws -> CompositeDescription {
    var fields: [AttributeDescription] = []
    for _ in 0..<below(4) { fields.append(try attribute()) }
    return CompositeDescription(name: name(), fields: fields, doc: maybe { $0.text() })
  }

  private mutating func entity(after others: [String]) throws -> EntityDescription {
    var attributes: [AttributeDescription] = []
    for _ in 0..<below(6) { attributes.append(try attribute()) }
    var fetched: [FetchedPropertyDescription] = []
    for _ in 0..<below(2) {
      fetched.append(
        FetchedPropertyDescription(
          name: name(), entity: pick(others) ?? name(), predicate: try predicate(), sort: sort(),
          limit: maybe { $0.below(100) }, swiftName: maybe { $0.text() }, info: info(),
          doc: maybe { $0.text() }))
    }
    var fetches: [FetchTemplate] = []
    for _ in 0..<below(2) {
      fetches.append(
        FetchTemplate(
          name: name(), predicate: try predicate(), sort: sort(), limit: maybe { $0.below(100) },
          doc: maybe { $0.text() }))
    }
    return EntityDescription(
      name: name(), className: maybe { $0.text() }, isAbstract: flag(),
      parent: maybe { $0.pick(others) ?? "" },
      renamedFrom: maybe { $0.text() }, attributes: attributes,
      relationships: list(4) { $0.relationship(to: $0.pick(others) ?? $0.name()) },
      fetchedProperties: fetched, fetchTemplates: fetches,
      indexes: list(3) { IndexDescription(elements: $0.sort()) },
      uniquenessConstraints: list(3) { $0.list(3) { $0.text() } }, hashModifier: maybe { $0.text() },
      info: info(), doc: maybe { $0.text() })
  }

  private mutating func attribute() throws -> AttributeDescription {
    let derivation =
      below(5) == 0
      ? try ValueExpression(
        format: pick(["a + 1", "reviews.@count", "first + ' ' + last", "-2 * (a - b) / 3"]) ?? "a") : nil
    return AttributeDescription(
      name: name(), type: type(), isOptional: flag(),
      defaultValue: maybe { $0.pick([.now, .uuid, .value($0.value()), .value($0.value())]) ?? .now },
      isTransient: flag(), derivation: derivation, storesExternally: flag(), minimum: maybe { $0.value() },
      maximum: maybe { $0.value() }, minimumLength: maybe { $0.below(9) },
      maximumLength: maybe { $0.below(99) },
      pattern: maybe { $0.text() }, propertyName: maybe { $0.text() }, renamedFrom: maybe { $0.text() },
      hashModifier: maybe { $0.text() }, info: info(), doc: maybe { $0.text() })
  }

  private mutating func relationship(to destination: String) -> RelationshipDescription {
    RelationshipDescription(
      name: name(), destination: destination, isToMany: flag(), isOptional: flag(),
      inverse: maybe { $0.text() }, deleteRule: pick(DeleteRule.allCases) ?? .nullify, isOrdered: flag(),
      minimumCount: maybe { $0.below(9) }, maximumCount: maybe { $0.below(99) },
      propertyName: maybe { $0.text() }, renamedFrom: maybe { $0.text() }, hashModifier: maybe { $0.text() },
      info: info(), doc: maybe { $0.text() })
  }

  private mutating func type() -> AttributeType {
    let types =
      AttributeType.named.map(\.type) + [
        .enumeration(text()), .composite(text()), .codable(type: text(), codec: below(9)),
      ]
    return pick(types) ?? .string
  }

  private mutating func predicate() throws -> FetchPredicate? {
    guard flag() else { return nil }
    return try FetchPredicate(
      format: pick([
        "a == $b", "name BEGINSWITH[c] 'x'", "n > 3 AND m != nil", "name == '100% %@ \"é\"\\n\\\\'",
        "TRUEPREDICATE",
        "NOT (a IN {1, 2.5, 'x'}) OR b BETWEEN {-1, $upper}",
        "SUBQUERY(reviews, $r, $r.stars > 3).@count > 0",
      ]) ?? "a == 1")
  }

  private mutating func sort() -> [SortKey] {
    list(3) { SortKey($0.text(), ascending: $0.flag()) }
  }

  private mutating func info() -> [String: String] {
    guard below(4) == 0 else { return [:] }
    return Dictionary(list(4) { ($0.name(), $0.text()) }, uniquingKeysWith: { first, _ in first })
  }

  private mutating func value(depth: Int = 0) -> AttributeValue {
    switch below(depth > 2 ? 10 : 11) {
    case 0: .null
    case 1: .bool(flag())
    case 2: .int(Int64(bitPattern: random.next()))
    case 3: .double(double())
    case 4: .decimal(decimal())
    case 5: .string(text())
    case 6: .date(Date(timeIntervalSinceReferenceDate: double()))
    case 7: .data(Data((0..<below(20)).map { _ in UInt8(truncatingIfNeeded: random.next()) }))
    case 8: .uuid(id())
    case 9: URL(string: "https://example.org/\(below(1000))?q=\(below(10))").map { .url($0) } ?? .null
    default:
      .composite(
        Dictionary(
          list(3) { ($0.text(), $0.value(depth: depth + 1)) }, uniquingKeysWith: { first, _ in first }))
    }
  }

  // MARK: Chance

  /// Any double but NaN, which is equal to nothing.
  private mutating func double() -> Double {
    let value = Double(bitPattern: random.next())
    return value.isNaN ? 0.1 : value
  }

  private mutating func decimal() -> Decimal {
    let value = Decimal(
      sign: flag() ? .minus : .plus, exponent: below(60) - 40, significand: Decimal(random.next()))
    return value.isNaN ? 0 : value
  }

  private mutating func id() -> UUID {
    var bytes = (random.next(), random.next())
    return withUnsafeBytes(of: &bytes) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// A text that is no other's.
  private mutating func name() -> String {
    count += 1
    return text() + String(count)
  }

  private mutating func text() -> String {
    let alphabet: [String] = [
      "a", "B", "_", "é", "e\u{301}", "😀", "\"", "\\", "/", "\n", "\0", "\u{1f}", "\u{7f}", "$", "-", "'",
      " ",
      "\u{2028}", "ß", "\r\n", "中",
    ]
    return (0..<below(6)).map { _ in pick(alphabet) ?? "" }.joined()
  }

  private mutating func below(_ bound: Int) -> Int { .random(in: 0..<bound, using: &random) }

  private mutating func flag() -> Bool { below(2) == 0 }

  private mutating func pick<T>(_ elements: [T]) -> T? { elements.randomElement(using: &random) }

  private mutating func maybe<T>(_ make: (inout RandomModels) -> T) -> T? {
    below(3) == 0 ? make(&self) : nil
  }

  private mutating func list<T>(_ bound: Int, _ make: (inout RandomModels) -> T) -> [T] {
    var result: [T] = []
    for _ in 0..<below(bound + 1) { result.append(make(&self)) }
    return result
  }
}
