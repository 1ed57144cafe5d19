import CDMapping
import CDModel
import Testing

/// Objects that another store holds in the new version.
@Suite("Left configurations")
struct LeftConfigurationTests {
  /// - Parameters:
  ///   - parents: The parent of each entity; nil for a root.
  ///   - configurations: The entities that each configuration lists.
  private static func version(
    _ number: Int, _ parents: [(String, String?)], _ configurations: [(String, [String])]
  ) -> ModelVersion {
    ModelVersion(
      number: number, basedOn: number > 1 ? [number - 1] : [],
      entities: parents.map { EntityDescription(name: $0.0, parent: $0.1) },
      configurations: configurations.map { ConfigurationDescription(name: $0.0, entities: $0.1) })
  }

  private static func open(_ step: MigrationStep) -> [ModelChange.Kind] { step.openChanges.map(\.kind) }

  @Test func `A subentity leaves with its hierarchy`() {
    let old = Self.version(1, [("Publication", nil), ("Book", "Publication")], [("Cloud", ["Publication"])])
    let new = Self.version(2, [("Publication", nil), ("Book", nil)], [("Cloud", ["Publication"])])
    let step = MigrationStep(from: old, to: new)
    #expect(Self.open(step) == [.entityLeftConfiguration(entity: "Book", configuration: "Cloud")])
    #expect(step.planText(mapping: "m").contains("'drop: [Cloud.Book]'"))
    // The configuration does not list the book, but its store holds books.
    let rules = MappingRules(source: 1, destination: 2, drops: ["Cloud.Book"])
    let confirmed = MigrationStep(from: old, to: new, rules: rules)
    #expect(confirmed.problems.isEmpty)
    #expect(confirmed.isProven && !confirmed.isLossless)
  }

  @Test func `A rule leads to an entity of another store`() {
    let old = Self.version(1, [("Note", nil)], [("Cloud", ["Note"]), ("Local", [])])
    let new = Self.version(2, [("Memo", nil)], [("Cloud", []), ("Local", ["Memo"])])
    var rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Memo", source: "Note")])
    let step = MigrationStep(from: old, to: new, rules: rules)
    #expect(Self.open(step) == [.entityLeftConfiguration(entity: "Memo", configuration: "Cloud")])
    // The rule names the entity as version 1 does.
    #expect(step.planText(mapping: "m").contains("'drop: [Cloud.Note]'"))
    rules.drops = ["Cloud.Note"]
    let confirmed = MigrationStep(from: old, to: new, rules: rules)
    #expect(confirmed.problems.isEmpty)
    #expect(confirmed.isProven && !confirmed.isLossless)
  }

  @Test func `A configuration may list a hierarchy by any of its entities`() {
    let entities: [(String, String?)] = [("Publication", nil), ("Book", "Publication")]
    for (before, after) in [(["Publication", "Book"], ["Publication"]), (["Publication"], ["Book"])] {
      let step = MigrationStep(
        from: Self.version(1, entities, [("Cloud", before)]),
        to: Self.version(2, entities, [("Cloud", after)]))
      #expect(step.changes.isEmpty)
    }
  }

  @Test func `The name of a configuration may contain dots`() {
    let entities: [(String, String?)] = [("Note", nil), ("Log", nil)]
    let step = MigrationStep(
      from: Self.version(1, entities, [("Cloud.Private", ["Note", "Log"])]),
      to: Self.version(2, entities, [("Cloud.Private", ["Note"])]),
      rules: MappingRules(source: 1, destination: 2, drops: ["Cloud.Private.Log"]))
    #expect(step.problems.isEmpty)
    #expect(step.isProven && !step.isLossless)
  }
}
