import CDModel
import Foundation
import SeededRandom

/// Makes models that are right, with odd texts wherever a text may stand.
struct RandomModel {
  private var random: SplitMix
  private static let texts = [
    "", " ", "no", "~", "null", "1e3", "- a", "-", "--- x", "a: b", "a:", "#x", "a #b", "{a}", "[a]", "*a",
    "&a", "!a",
    "|", ">", "'", "\"", "\\", "it's \"so\"", "%a", "@a", "`a", "?", "? a", "a, b", "a\nb", "\ta", "a ", " a",
    "é\u{301}", "\u{1F600}", "\u{FEFF}", "\u{2028}", "\u{7F}", "\u{1}", "<<", "=", "...", "... a",
    "[String]?",
    "a  b", "x ? y", "http://a.b/c?d=e#f",
    "a text of many words that is so long that no line of a hundred and ten columns has room for it, whatever stands before",
    "with  two blanks and a text of many words that is so long that no line of a hundred columns has any room for it now",
  ]

  init(seed: UInt64) { random = SplitMix(seed: seed) }

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  private mutating func pick<T>(_ values: [T]) -> T {
    values[Int.random(in: 0..<values.count, using: &random)]
  }

  private mutating func text() -> String { pick(Self.texts) }

  private mutating func maybe(_ text: String?) -> String? { chance(20) ? text : nil }

  private mutating func info() -> [String: String] {
    guard chance(20) else { return [:] }
    return Dictionary((0..<2).map { _ in (text() + "k", text()) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func model() -> ManagedObjectModel {
    var version = ModelVersion(number: 1)
    version.label = maybe(text())
    version.info = info()
    version.enums = [
      EnumDescription(
        name: "Kind", rawType: .string,
        cases: [
          .init(name: "no", rawValue: .string("no")),
          .init(name: "b", rawValue: .string(chance(50) ? "b" : text() + "!")),
        ],
        doc: maybe(text())),
      EnumDescription(
        name: "Level", rawType: .int16,
        cases: [.init(name: "low", rawValue: .int(-1)), .init(name: "high", rawValue: .int(7))]),
    ]
    version.composites = [
      CompositeDescription(
        name: "Size", fields: [attribute("width", isField: true), attribute("height", isField: true)],
        doc: maybe(text()))
    ]
    let count = Int.random(in: 1...3, using: &random)
    version.entities = (0..<count).map { entity($0, of: count) }
    if chance(30) {
      // A lock keeps the words of a configuration's name.
      let words = text().split { $0 == " " || $0.isNewline }.map(String.init) + ["c"]
      version.configurations = [
        ConfigurationDescription(name: words.joined(separator: " "), entities: ["E0"])
      ]
    }
    return ManagedObjectModel(name: "Random", id: UUID(), versions: [version], currentVersionNumber: 1)
  }

  private mutating func entity(_ number: Int, of count: Int) -> EntityDescription {
    var entity = EntityDescription(name: "E\(number)")
    entity.className = chance(20) ? "Class\(number)" : nil
    entity.isAbstract = chance(20)
    entity.hashModifier = maybe(text() + "m")
    entity.info = info()
    entity.doc = maybe(text() + "d")
    entity.attributes = (0..<Int.random(in: 0...6, using: &random)).map {
      attribute("a\($0)", isField: false)
    }
    let target = Int.random(in: 0..<count, using: &random)
    var relationship = RelationshipDescription(name: "r", destination: "E\(target)")
    relationship.isToMany = chance(50)
    relationship.isOptional = chance(50)
    relationship.deleteRule = pick([.nullify, .cascade, .deny, .noAction])
    if relationship.isToMany {
      relationship.isOrdered = chance(50)
      relationship.minimumCount = chance(50) ? Int.random(in: 0...2, using: &random) : nil
      relationship.maximumCount = chance(50) ? Int.random(in: 2...9, using: &random) : nil
    }
    relationship.propertyName = maybe("other\(number)")
    relationship.hashModifier = maybe(text() + "m")
    relationship.info = info()
    relationship.doc = maybe(text() + "d")
    entity.relationships = [relationship]
    if let predicate = try? FetchPredicate(
      format: #"SELF == $FETCH_SOURCE OR NOT (SELF == nil) AND "it's" == '\"{a}: #'"#),
      chance(40)
    {
      entity.fetchedProperties = [
        FetchedPropertyDescription(
          name: "f", entity: entity.name, predicate: predicate, limit: 3, info: info())
      ]
    }
    if chance(40) {
      entity.fetchTemplates = [FetchTemplate(name: "all", limit: chance(50) ? 5 : nil, doc: maybe(text()))]
    }
    let keys = entity.attributes.filter { attribute in
      switch attribute.type {
      case .codable, .composite: false
      default: !attribute.isTransient && !attribute.storesExternally
      }
    }
    if let first = keys.first, chance(50) {
      entity.indexes = [IndexDescription(elements: [SortKey(first.name, ascending: chance(50))])]
      entity.uniquenessConstraints = [keys.map(\.name)]
    }
    return entity
  }

  private mutating func attribute(_ name: String, isField: Bool) -> AttributeDescription {
    var types: [AttributeType] =
      AttributeType.named.map(\.type) + [.enumeration("Kind"), .enumeration("Level")]
    if !isField {
      types += [
        .composite("Size"), .codable(type: "[String: Int?]", codec: Int.random(in: 1...2, using: &random)),
      ]
    }
    var result = AttributeDescription(name: name, type: pick(types), isOptional: chance(50))
    if chance(60) { result.defaultValue = value(result.type) }
    if result.type == .string, chance(20) { (result.minimumLength, result.maximumLength) = (0, 1000) }
    if result.type == .int32, chance(50) {
      (result.minimum, result.maximum) = (.int(-2_147_483_648), .int(2_147_483_647))
    }
    if result.type == .date, chance(50), result.defaultValue == nil {
      result.minimum = .date(Date(timeIntervalSince1970: -0.125))
    }
    result.propertyName = maybe("swift_" + name)
    result.doc = maybe(text() + "d")
    if isField { return result }
    result.isTransient = chance(10)
    if result.type == .data, !result.isTransient { result.storesExternally = chance(50) }
    result.hashModifier = maybe(text() + "m")
    result.info = info()
    return result
  }

  private mutating func value(_ type: AttributeType) -> DefaultValue? {
    switch type {
    case .string: .value(.string(text()))
    case .bool: .value(.bool(chance(50)))
    case .int16, .int32: .value(.int(Int64.random(in: -30_000...30_000, using: &random)))
    case .int64: .value(.int(pick([.min, .max, 0, -1])))
    case .float:
      .value(.double(Double(pick([0.1, -0.0, 1e-30, 3.4e38, Float.random(in: -9...9, using: &random)]))))
    case .double:
      .value(
        .double(
          pick([0.1, -0.0, Double.leastNonzeroMagnitude, 1.7e308, Double.random(in: -9...9, using: &random)]))
      )
    case .decimal:
      Decimal(string: pick(["0", "9.99", "-0.001", "12345678901234567890123456789012345678"])).map {
        .value(.decimal($0))
      }
    case .date:
      chance(20)
        ? .now
        : .value(.date(Date(timeIntervalSinceReferenceDate: Double.random(in: -1e9...1e9, using: &random))))
    case .data: .value(.data(Data([0, 255, 7].prefix(Int.random(in: 0...3, using: &random)))))
    case .uuid: chance(20) ? .uuid : .value(.uuid(UUID()))
    case .url: URL(string: pick(["http://a.b/c?d=e#f", "urn:x:y", "a"])).map { .value(.url($0)) }
    case .enumeration("Level"): .value(.int(7))
    case .enumeration: .value(.string("no"))
    case .composite, .codable: nil
    }
  }
}
