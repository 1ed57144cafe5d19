import Foundation
import Testing

@testable import CDRuntime

/// A change between two versions, with objects by number and what becomes of each.
struct MatrixCase: Sendable, CustomTestStringConvertible {
  let name: String
  /// What the step between the versions is to say.
  let kinds: [ChangeKind]
  let old: ModelVersion
  let new: ModelVersion
  var rules: MappingRules?
  /// Fills a store with as many objects.
  let fill: @Sendable (ManagedObjectContext, Int) throws -> Void
  /// What the migrated store is asked for.
  let sql: String
  /// The answer for as many objects.
  let rows: @Sendable (Int) -> [[String?]]

  var testDescription: String { name }

  init(
    _ name: String, _ kinds: [ChangeKind], from old: ModelVersion, to new: ModelVersion,
    _ rules: MappingRules? = nil, fill: @escaping @Sendable (ManagedObjectContext, Int) throws -> Void,
    sql: String,
    rows: @escaping @Sendable (Int) -> [[String?]]
  ) {
    self.name = name
    self.kinds = kinds
    self.old = old
    self.new = new
    self.rules = rules
    self.fill = fill
    self.sql = sql
    self.rows = rows
  }

  /// A case whose objects are of one entity, and which asks for a row of each.
  init(
    _ name: String, _ kinds: [ChangeKind], from old: ModelVersion, to new: ModelVersion,
    _ rules: MappingRules? = nil, of entity: String = "Item",
    set: @escaping @Sendable (ManagedObject, Int) throws -> Void = { _, _ in }, sql: String,
    row: @escaping @Sendable (Int) -> [String?]?
  ) {
    self.init(
      name, kinds, from: old, to: new, rules,
      fill: { context, count in
        for number in 0..<count {
          let object = try context.insert(entityNamed: entity)
          try object.setValue(.attribute(.string("t\(number)")), forKey: "text")
          try set(object, number)
        }
      }, sql: sql, rows: { (0..<$0).compactMap(row) })
  }

  static var all: [MatrixCase] { entities + attributes + types + enumerations + relationships + constraints }

  // MARK: Short forms

  static let text = attribute("text", .string)

  static func version(
    _ number: Int, _ attributes: [AttributeDescription], enums: [EnumDescription] = [],
    composites: [CompositeDescription] = [], _ change: (inout EntityDescription) -> Void = { _ in }
  ) -> ModelVersion {
    var item = entity("Item", [text] + attributes)
    change(&item)
    return MigrationFixture.version(number, [item], enums: enums, composites: composites)
  }

  static func rules(
    _ entities: [EntityRule] = [], drops: [String] = [], duplicates: [DuplicateRule] = []
  ) -> MappingRules {
    MappingRules(source: 1, destination: 2, entities: entities, drops: drops, duplicates: duplicates)
  }

  /// A rule for one attribute of `Item`.
  static func rule(_ attribute: String, _ format: String) -> MappingRules {
    rules([
      EntityRule(
        destination: "Item",
        attributes: [
          PropertyMapping(name: attribute, value: (try? ValueExpression(format: format)) ?? .null)
        ])
    ])
  }

  static func dropping(_ property: String, of entity: String = "Item") -> MappingRules {
    rules([EntityRule(destination: entity, drops: [property])])
  }

  static func setting(
    _ key: String, _ value: @escaping @Sendable (Int) -> AttributeValue
  ) -> @Sendable (ManagedObject, Int) throws -> Void {
    { object, number in try object.setValue(.attribute(value(number)), forKey: key) }
  }
}
