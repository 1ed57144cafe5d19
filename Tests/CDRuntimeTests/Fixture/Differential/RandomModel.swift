import Foundation
import SeededRandom

@testable import CDRuntime

/// What random things are made of: a generator and the choices that all of them need.
protocol RandomMaker {
  var random: SplitMix { get set }
}

extension RandomMaker {
  mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
  mutating func one<T>(_ first: T, _ others: T...) -> T {
    ([first] + others).randomElement(using: &random) ?? first
  }
  mutating func one<T>(of elements: [T]) -> T? { elements.randomElement(using: &random) }
}

/// Random models: entities with and without ancestors, attributes of all types, relationships of all kinds.
struct RandomModel: RandomMaker {
  var random: SplitMix
  private var entities: [EntityDescription] = []

  init(random: SplitMix) { self.random = random }

  static let types: [AttributeType] = [
    .string, .string, .bool, .int16, .int32, .int64, .float, .double, .decimal, .date, .data, .uuid, .url,
    .enumeration("Level"), .composite("Place"),
  ]

  mutating func version() -> ModelVersion {
    entities = []
    let count = number(2...4)
    for place in 0..<count { entities.append(entity("E\(place)", parent: nil)) }
    entities[0].isAbstract = chance(3)
    for place in 0..<number(1...3) {
      let parent = place == 2 ? "S0" : "E0"
      entities.append(entity("S\(place)", parent: parent))
    }
    for place in 0..<number(2...6) { relate("r\(place)") }
    return ModelVersion(
      number: 1,
      enums: [
        EnumDescription(
          name: "Level", rawType: .int16,
          cases: [
            .init(name: "low", rawValue: .int(0)), .init(name: "high", rawValue: .int(5)),
            .init(name: "none", rawValue: .int(-1)),
          ])
      ],
      composites: [
        CompositeDescription(
          name: "Place",
          fields: [
            AttributeDescription(name: "city", type: .string, isOptional: true),
            AttributeDescription(name: "floor", type: .int32, isOptional: true),
            AttributeDescription(name: "height", type: .float, isOptional: true),
          ])
      ], entities: entities)
  }

  private mutating func entity(_ name: String, parent: String?) -> EntityDescription {
    let attributes = (0..<number(2...6)).map { place -> AttributeDescription in
      let type = one(of: Self.types) ?? .string
      return AttributeDescription(
        name: "\(name.lowercased())a\(place)", type: type, isOptional: !chance(4) || isComposite(type),
        isTransient: chance(12) && !isComposite(type))
    }
    return EntityDescription(name: name, parent: parent, attributes: attributes)
  }

  private func isComposite(_ type: AttributeType) -> Bool {
    if case .composite = type { return true }
    return false
  }

  private mutating func relate(_ name: String) {
    let source = number(0...entities.count - 1)
    let target = number(0...entities.count - 1)
    let isToMany = chance(2)
    let rule: DeleteRule = one(.nullify, .nullify, .nullify, .cascade, .deny, .noAction)
    func relationship(_ name: String, _ destination: Int, _ inverse: String?, _ isToMany: Bool, ordered: Bool)
      -> RelationshipDescription
    {
      RelationshipDescription(
        name: name, destination: entities[destination].name, isToMany: isToMany, inverse: inverse,
        deleteRule: rule, isOrdered: isToMany && ordered)
    }
    if chance(5) {
      entities[source].relationships.append(
        relationship(name, target, nil, isToMany, ordered: chance(2)))
    } else if source == target, chance(3) {
      entities[source].relationships.append(relationship(name, source, name, isToMany, ordered: false))
    } else {
      let isInverseToMany = chance(2)
      entities[source].relationships.append(
        relationship(name, target, name + "i", isToMany, ordered: chance(3)))
      entities[target].relationships.append(
        relationship(name + "i", source, name, isInverseToMany, ordered: chance(3)))
    }
  }
}

/// Values from small sets, so that many are equal, with those on which implementations differ.
struct RandomStoredValue: RandomMaker {
  var random: SplitMix

  private static let strings = [
    "", "a", "A", "b", "ab", "aB", "Ab", "e", "é", "e\u{301}", "É", "straße", "STRASSE", "ß", "ss", "İ", "i",
    "I",
    "ı", "i\u{307}", "\u{FFFD}", "😀", "👨‍👩‍👧", "👨", "a\(StoreKind.ofEnvironment.zero)b", "\u{212A}", "K", "k",
    "x*y", "100%", "1", "YES", "ﬁ",
    "fi", "Å", "A\u{30A}", "\u{1F1E6}\u{1F1E7}", "が", "か", "σ", "ς", "Σ", "ab\n", "a\\b", "'", "\"",
    String(repeating: "ab", count: 40),
  ]
  private static let decimals = [
    "-1.5", "0", "0.1", "1", "9.99", "10", "123.456", "-0.001", "99999999999999999999",
    "12345678901234567890.12345",
    "1e30", "-1e-20", "1.7", "2",
  ]

  mutating func value(_ type: AttributeType) -> AttributeValue {
    switch type {
    case .string: return .string(one(of: Self.strings) ?? "")
    case .bool: return .bool(chance(2))
    case .int16: return .int(one(-3, -1, 0, 1, 2, 3, 7, 32767, -32768))
    case .int32: return .int(one(-1, 0, 1, 2, 5, Int64(Int32.max), Int64(Int32.min)))
    case .int64:
      return .int(
        one(Int64.min, -1, 0, 1, 2, 3, 1 << 53, (1 << 53) + 1, Int64.max, Int64.max - 1, -(1 << 53) - 1))
    case .double:
      return .double(
        one(
          -1.5, -0.0, 0, 0.1, 1, 1.7, 2, 9.99, 0x1p53, 1e300, -1e300, Double.leastNonzeroMagnitude, 0x1p63,
          0.30000000000000004))
    case .float:
      return .double(
        Double(one(-1.5, -0.0, 0, 0.1, 1, 1.7, 2, 16_777_216, Float.greatestFiniteMagnitude) as Float))
    case .decimal: return .decimal(one(of: Self.decimals).flatMap { Decimal(string: $0) } ?? 0)
    case .date: return .date(Date(timeIntervalSinceReferenceDate: one(-1, -0.0, 0, 0.5, 1, 100, -6e10, 6e10)))
    case .data: return .data(one(Data(), Data([0]), Data([0, 1]), Data([255]), Data([1, 0, 1])))
    case .uuid:
      let byte = UInt8(number(0...3))
      return .uuid(UUID(uuid: (byte, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200 - byte)))
    case .url:
      return one(of: ["https://a.b/c", "https://a.b/C", "file:///x", "a"]).flatMap { URL(string: $0) }
        .map(AttributeValue.url) ?? .null
    case .enumeration: return .int(one(0, 5, -1))
    case .composite:
      return .composite([
        "city": optional(.string), "floor": optional(.int32), "height": optional(.float),
      ])
    case .codable: return .null
    }
  }

  mutating func optional(_ type: AttributeType) -> AttributeValue { chance(4) ? .null : value(type) }
}
