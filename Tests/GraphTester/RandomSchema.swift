import CDModel
import Foundation
import SeededRandom

/// Makes random schemas, and random values for their attributes.
struct RandomSchema {
  /// What the schemas of a run may have.
  struct Features: Sendable {
    var derived = true
    var unique = true
    var deny = true
    var noAction = true
    var external = true
    var oneToOne = true
    var cascade = true
  }

  private static let types: [AttributeType] = [
    .string, .bool, .int16, .int32, .int64, .float, .double, .decimal, .date, .data, .uuid, .url,
  ]

  var random: SplitMix
  var features: Features

  mutating func schema() -> Schema {
    var entities: [Schema.Entity] = []
    let count = Int.random(in: 1...4, using: &random)
    for number in 0..<count {
      var entity = Schema.Entity(name: String(UnicodeScalar(UInt8(65 + number))))
      // Up to three levels.
      if number > 0, chance(0.35) {
        let parent = Int.random(in: 0..<number, using: &random)
        let isDeep = entities[parent].parent.flatMap { entities[$0].parent } != nil
        if !isDeep { entity.parent = parent }
      }
      entities.append(entity)
    }
    for number in entities.indices where entities.contains(where: { $0.parent == number }) && chance(0.25) {
      entities[number].isAbstract = true
    }
    addAttributes(to: &entities)
    addRelationships(to: &entities)
    var schema = Schema()
    schema.entities = entities
    if features.derived { addDerived(to: &schema) }
    return schema
  }

  private mutating func addAttributes(to entities: inout [Schema.Entity]) {
    var number = 0
    for index in entities.indices {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        var attribute = Schema.Attribute(
          name: "a\(number)", type: Self.types.randomElement(using: &random) ?? .string)
        // Integers and strings are what most rules and conditions are about.
        if chance(0.4) { attribute.type = chance(0.5) ? .int32 : .string }
        attribute.isOptional = chance(0.65)
        if chance(0.35) { attribute.defaultValue = RandomValue.value(of: attribute.type, using: &random) }
        switch attribute.type {
        case .int16, .int32, .int64:
          if chance(0.2) {
            attribute.minimum = .int(-1)
            attribute.maximum = .int(2)
            if attribute.defaultValue != nil { attribute.defaultValue = .int(1) }
          }
        case .string:
          if chance(0.15) {
            attribute.maximumLength = 2
            if attribute.defaultValue != nil { attribute.defaultValue = .string("b") }
          }
        case .data:
          attribute.storesExternally = features.external && chance(0.6)
        default: break
        }
        entities[index].attributes.append(attribute)
        number += 1
      }
      if features.unique, chance(0.25) {
        let names = entities[index].attributes
          .filter { [.string, .int16, .int32, .int64, .uuid, .date].contains($0.type) }.map(\.name)
        if let name = names.first {
          entities[index].unique = [names.count > 1 && chance(0.3) ? [name, names[1]] : [name]]
        }
      }
    }
  }

  private mutating func addRelationships(to entities: inout [Schema.Entity]) {
    var number = 0
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      let source = Int.random(in: entities.indices, using: &random)
      let destination = Int.random(in: entities.indices, using: &random)
      var one = Schema.Relationship(name: "r\(number)", entity: source, destination: destination)
      number += 1
      one.rule = rule()
      switch Int.random(in: 0..<9, using: &random) {
      case 0:  // one-sided
        one.isToMany = chance(0.5)
        one.isOrdered = one.isToMany && chance(0.5)
        one.isOptional = chance(0.85)
        entities[source].relationships.append(one)
      case 1:  // symmetric
        one.destination = source
        one.inverse = one.name
        one.isToMany = chance(0.6) || !features.oneToOne
        one.isOrdered = one.isToMany && chance(0.4)
        entities[source].relationships.append(one)
      default:
        var other = Schema.Relationship(name: "r\(number)", entity: destination, destination: source)
        number += 1
        other.rule = rule()
        one.inverse = other.name
        other.inverse = one.name
        let shape = Int.random(in: 0..<(features.oneToOne ? 6 : 4), using: &random)
        one.isToMany = shape < 4
        other.isToMany = shape < 2
        orderAtRandom(&one)
        orderAtRandom(&other)
        if one.isToMany, chance(0.1) { one.isOptional = false }
        if one.isToMany, chance(0.1) { one.maximumCount = 3 }
        if !other.isToMany, chance(0.25) { other.isOptional = false }
        // A mandatory reference whose object may vanish without a trace has no defined value.
        if !other.isOptional, one.rule == .noAction { one.rule = features.cascade ? .cascade : .nullify }
        if !one.isOptional, other.rule == .noAction { other.rule = .nullify }
        entities[source].relationships.append(one)
        entities[destination].relationships.append(other)
      }
    }
  }

  private mutating func orderAtRandom(_ relationship: inout Schema.Relationship) {
    relationship.isOrdered = relationship.isToMany && chance(0.45)
  }

  private mutating func rule() -> DeleteRule {
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1: features.cascade ? .cascade : .nullify
    case 2: features.deny ? .deny : .nullify
    case 3: features.noAction ? .noAction : .nullify
    default: .nullify
    }
  }

  private mutating func addDerived(to schema: inout Schema) {
    var number = 0
    for index in schema.entities.indices where chance(0.3) {
      let relationships = schema.relationships(of: index)
      var candidates: [(Schema.Derivation, AttributeType)] = []
      for relationship in relationships {
        let numbers = schema.attributes(of: relationship.destination)
          .filter { $0.derivation == nil && $0.type == .int16 }
        if relationship.isToMany {
          candidates.append((.count(relationship.name), .int64))
          if let attribute = numbers.first {
            candidates.append((.sum(relationship.name, attribute.name), .int64))
          }
        } else {
          for attribute in schema.attributes(of: relationship.destination)
          where attribute.derivation == nil && [.int32, .string].contains(attribute.type) {
            candidates.append((.path(relationship.name, attribute.name), attribute.type))
          }
        }
      }
      for attribute in schema.attributes(of: index)
      where attribute.type == .int16 && attribute.derivation == nil {
        candidates.append((.successor(attribute.name), .int64))
      }
      if let (derivation, type) = candidates.randomElement(using: &random) {
        schema.entities[index].attributes.append(
          Schema.Attribute(name: "d\(number)", type: type, isOptional: true, derivation: derivation))
        number += 1
      }
    }
  }

  private mutating func chance(_ probability: Double) -> Bool {
    Double.random(in: 0..<1, using: &random) < probability
  }
}

/// Values from small sets, so that equal ones meet, with the extremes of each type among them.
enum RandomValue {
  static func value(of type: AttributeType, using random: inout SplitMix) -> AttributeValue {
    switch type {
    case .string:
      return .string(
        ["", "a", "b", "B", "ab", "abc", "é", "e\u{301}", "ß"].randomElement(using: &random) ?? "")
    case .bool: return .bool(Bool.random(using: &random))
    case .int16:
      return .int([-1, 0, 1, 2, 3, Int64(Int16.min), Int64(Int16.max)].randomElement(using: &random) ?? 0)
    case .int32: return .int([-1, 0, 1, 2, 3, Int64(Int32.max)].randomElement(using: &random) ?? 0)
    case .int64: return .int([-1, 0, 1, 2, 3, .min, .max].randomElement(using: &random) ?? 0)
    case .float: return .double([0, -0.0, 1.5, -2.25, 1e10].randomElement(using: &random) ?? 0)
    case .double: return .double([0, -0.0, 1.5, -2.25, 0.1, 1e300].randomElement(using: &random) ?? 0)
    case .decimal:
      return .decimal(
        Decimal(string: ["0", "1.5", "-1.5", "9.99", "1000000"].randomElement(using: &random) ?? "0") ?? 0)
    case .date:
      return .date(
        Date(timeIntervalSinceReferenceDate: [0, -0.0, 1, -1.25, 1e9].randomElement(using: &random) ?? 0))
    case .data:
      return .data(
        [Data(), Data([1]), Data([1, 2, 3]), Data(repeating: 7, count: 70_000)].randomElement(using: &random)
          ?? Data())
    case .uuid:
      let last = Int.random(in: 1...4, using: &random)
      return .uuid(UUID(uuidString: "00000000-0000-4000-8000-00000000000\(last)") ?? UUID())
    case .url:
      return .url(
        URL(string: ["http://a", "http://b/c?d=e"].randomElement(using: &random) ?? "")
          ?? URL(filePath: "/"))
    default: return .null
    }
  }
}
