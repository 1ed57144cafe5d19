import Foundation

@testable import CDRuntime

extension MatrixCase {
  private static let items = version(1, [])
  private static let texts: @Sendable (Int) -> [String?]? = { ["t\($0)"] }

  private static func two(_ number: Int, _ entities: [EntityDescription]) -> ModelVersion {
    MigrationFixture.version(number, entities)
  }

  static var entities: [MatrixCase] {
    let base = entity("Base", isAbstract: true, [text])
    let plain = entity("Item", [text])
    let below = entity("Item", parent: "Base")
    var parts = toMany("parts", "Part", inverse: "item")
    parts.deleteRule = .cascade
    let owning = [
      entity("Item", [text], relationships: [parts]),
      entity("Part", [text], relationships: [toOne("item", "Item", inverse: "parts", isOptional: false)]),
    ]
    var modified = plain
    modified.hashModifier = "2"
    var configured = two(1, [plain, entity("Log", [text])])
    configured.configurations = [ConfigurationDescription(name: "Main", entities: ["Item", "Log"])]
    var smaller = configured
    smaller.number = 2
    smaller.basedOn = [1]
    smaller.configurations = [ConfigurationDescription(name: "Main", entities: ["Item"])]
    return [
      MatrixCase(
        "an entity is added", [.entityAdded], from: items, to: two(2, [plain, entity("Log", [text])]),
        sql: "SELECT text FROM Item UNION ALL SELECT text FROM Log", row: texts),
      MatrixCase(
        "an entity is removed", [.entityRemoved], from: two(1, [plain, entity("Log", [text])]),
        to: two(2, [plain]), rules(drops: ["Log"]),
        fill: { context, count in
          for number in 0..<count {
            for name in ["Item", "Log"] {
              try context.insert(entityNamed: name).setValue(
                .attribute(.string("t\(number)")), forKey: "text")
            }
          }
        }, sql: "SELECT text FROM Item ORDER BY _pk", rows: { (0..<$0).map { ["t\($0)"] } }),
      MatrixCase(
        "an entity is renamed", [.entityRenamed], from: items,
        to: two(2, [entity("Thing", renamedFrom: "Item", [text])]),
        sql: "SELECT text FROM Thing ORDER BY _pk",
        row: texts),
      MatrixCase(
        "an entity gets a parent", [.parentChanged, .attributeMoved], from: items, to: two(2, [base, below]),
        sql: "SELECT text FROM Base ORDER BY _pk", row: texts),
      MatrixCase(
        "an entity becomes abstract", [.entityBecameAbstract],
        from: two(1, [entity("Base", [text]), below]), to: two(2, [base, below]), rules(drops: ["Base"]),
        fill: { context, count in
          for number in 0..<count {
            try context.insert(entityNamed: number % 3 == 0 ? "Base" : "Item")
              .setValue(.attribute(.string("t\(number)")), forKey: "text")
          }
        }, sql: "SELECT text FROM Base ORDER BY _pk",
        rows: { (0..<$0).filter { $0 % 3 != 0 }.map { ["t\($0)"] } }),
      MatrixCase(
        "an entity becomes concrete", [.entityBecameConcrete], from: two(1, [base, below]),
        to: two(2, [entity("Base", [text]), below]), sql: "SELECT text, _entity FROM Base ORDER BY _pk",
        row: { ["t\($0)", "Item"] }),
      MatrixCase(
        "rules take other objects for an entity", [.entityUnmapped],
        from: two(1, [plain, entity("Other", [text])]), to: two(2, [plain]),
        rules([EntityRule(destination: "Item", source: "Other")], drops: ["Item"]),
        fill: { context, count in
          for number in 0..<count {
            for name in ["Item", "Other"] {
              try context.insert(entityNamed: name).setValue(
                .attribute(.string("\(name) \(number)")), forKey: "text")
            }
          }
        }, sql: "SELECT text FROM Item ORDER BY _pk", rows: { (0..<$0).map { ["Other \($0)"] } }),
      MatrixCase(
        "a filter leaves objects behind", [.objectsFiltered], from: items, to: version(2, []),
        rules([
          EntityRule(
            destination: "Item", filter: try? FetchPredicate(format: "text != 't1' AND text != 't3'"))
        ]), sql: "SELECT text FROM Item ORDER BY _pk", row: { [1, 3].contains($0) ? nil : ["t\($0)"] }),
      MatrixCase(
        "what those own that a filter leaves behind goes too", [.objectsFiltered, .ownedObjectsLeft],
        from: two(1, owning), to: two(2, owning),
        rules([
          EntityRule(
            destination: "Item", filter: try? FetchPredicate(format: "text != 't1' AND text != 't3'"))
        ]),
        fill: { context, count in
          for number in 0..<count {
            let item = try context.insert(entityNamed: "Item")
            let part = try context.insert(entityNamed: "Part")
            for object in [item, part] {
              try object.setValue(.attribute(.string("t\(number)")), forKey: "text")
            }
            try part.setValue(.object(item), forKey: "item")
          }
        }, sql: "SELECT text FROM Part ORDER BY _pk",
        rows: { (0..<$0).filter { ![1, 3].contains($0) }.map { ["t\($0)"] } }),
      MatrixCase(
        "a hash modifier is another", [.modifierChanged], from: items, to: two(2, [modified]),
        sql: "SELECT text FROM Item ORDER BY _pk", row: texts),
      MatrixCase(
        "an entity leaves a configuration", [.entityLeftConfiguration], from: configured, to: smaller,
        rules(drops: ["Main.Log"]), of: "Log", sql: "SELECT text FROM Log ORDER BY _pk", row: texts),
    ]
  }

  static var constraints: [MatrixCase] {
    var unique = entity("Item", [text])
    unique.uniquenessConstraints = [["text"]]
    var indexed = entity("Item", [text])
    indexed.indexes = [IndexDescription(elements: [SortKey("text", ascending: false)])]
    var denying = toOne("owner", "Item", inverse: "owned")
    let owned = toMany("owned", "Item", inverse: "owner")
    let old = two(1, [entity("Item", [text], relationships: [denying, owned])])
    denying.deleteRule = .cascade
    let new = two(2, [entity("Item", [text], relationships: [denying, owned])])
    return [
      MatrixCase(
        "values must be unique", [.uniqueConstraintAdded], from: items, to: two(2, [unique]),
        rules(duplicates: [DuplicateRule(entity: "Item", properties: ["text"], survivor: .keepFirst)]),
        fill: { context, count in
          for number in 0..<count {
            try context.insert(entityNamed: "Item")
              .setValue(.attribute(.string("t\(number / 2)")), forKey: "text")
          }
        }, sql: "SELECT text, _pk FROM Item ORDER BY _pk",
        rows: { (0..<$0).filter { $0 % 2 == 0 }.map { ["t\($0 / 2)", "\($0 + 1)"] } }),
      MatrixCase(
        "values need not be unique", [.uniqueConstraintRemoved], from: two(1, [unique]), to: version(2, []),
        sql:
          "SELECT text, (SELECT count(*) FROM sqlite_master WHERE sql LIKE '%UNIQUE%') FROM Item ORDER BY _pk",
        row: { ["t\($0)", "0"] }),
      MatrixCase(
        "indexes are others", [.indexesChanged], from: items, to: two(2, [indexed]),
        sql:
          "SELECT text, (SELECT count(*) FROM sqlite_master WHERE sql LIKE '%\"text\" DESC%') FROM Item ORDER BY _pk",
        row: { ["t\($0)", "1"] }),
      MatrixCase(
        "a delete rule is another", [.deleteRuleChanged], from: old, to: new,
        sql: "SELECT text, owner FROM Item ORDER BY _pk", row: { ["t\($0)", nil] }),
    ]
  }
}
