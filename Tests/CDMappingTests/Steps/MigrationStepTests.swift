import CDMapping
import CDModel
import SampleModels
import Testing

@Suite("Steps between versions")
struct MigrationStepTests {
  @Test func `Nothing differs between a version and itself`() throws {
    let version = try SampleModel.version()
    let step = MigrationStep(from: version, to: version)
    #expect(step.changes == [])
    #expect(step.problems == [])
    #expect(step.isProven && step.isLossless && step.changesNoData)
    #expect(step.mapping.entityMappings.allSatisfy { $0.kind == .copy })
  }

  /// What was inferred says the same as rules, and the rules are found right.
  @Test(arguments: HashChange.all)
  func `A mapping model is checked as rules are`(change: HashChange) throws {
    let before = try SampleModel.version()
    var after = before
    try change.make(&after)
    for (from, to) in [(before, after), (after, before)] {
      let step = MigrationStep(from: from, to: to)
      guard step.isProven else { continue }
      let again = MigrationStep(from: from, to: to, rules: MappingRules(step.mapping))
      #expect(again.problems == [])
      #expect(again.isProven)
      #expect(again.mapping.entityMappings.map(\.attributes) == step.mapping.entityMappings.map(\.attributes))
      #expect(again.mapping.entityMappings.map(\.name) == step.mapping.entityMappings.map(\.name))
    }
  }

  /// What is stored alike needs no rows to be touched, and only that.
  @Test(arguments: HashChange.all)
  func `Rows are copied where no data changes`(change: HashChange) throws {
    let before = try SampleModel.version()
    var after = before
    try change.make(&after)
    let step = MigrationStep(from: before, to: after)
    if !change.alters.contains(.data) { #expect(step.changesNoData) }
    for mapping in step.mapping.entityMappings where mapping.kind == .copy {
      #expect(mapping.source == mapping.destination)
    }
  }

  @Test(arguments: 0..<40)
  func `Any two versions can be compared`(seed: UInt64) throws {
    var models = RandomModels(seed: seed)
    let (first, second) = (try models.version(), try models.version())
    let step = MigrationStep(from: first, to: second)
    #expect(step.openChanges.allSatisfy { !$0.description.isEmpty })
    #expect(!step.planText(mapping: "m").isEmpty)
    let again = MigrationStep(from: first, to: second, rules: MappingRules(step.mapping))
    #expect(again.mapping.entityMappings.count >= step.mapping.entityMappings.count)
  }

  // MARK: Drafts

  private static func version(_ entities: [EntityDescription]) -> ModelVersion {
    ModelVersion(number: 2, basedOn: [1], entities: entities)
  }

  private static func person(_ name: String, renamedFrom: String?, _ attribute: AttributeDescription)
    -> EntityDescription
  {
    EntityDescription(name: name, renamedFrom: renamedFrom, attributes: [attribute])
  }

  @Test func `A draft from after a rename goes by its names`() {
    let attribute = AttributeDescription(name: "name", type: .string, renamedFrom: "title")
    let draft = Self.version([Self.person("Person", renamedFrom: "Contact", attribute)])
    var now = draft
    now.entities[0].attributes.append(AttributeDescription(name: "age", type: .int16, isOptional: true))
    let step = MigrationStep(fromDraft: draft, to: now)
    #expect(step.isLossless)
    #expect(step.mapping.entityMappings.map(\.source) == ["Person"])
  }

  @Test func `A draft from before a rename goes by renamedFrom`() {
    let old = AttributeDescription(name: "title", type: .string)
    let draft = Self.version([Self.person("Contact", renamedFrom: nil, old)])
    let new = AttributeDescription(name: "name", type: .string, renamedFrom: "title")
    let step = MigrationStep(
      fromDraft: draft, to: Self.version([Self.person("Person", renamedFrom: "Contact", new)]))
    #expect(step.isLossless)
    #expect(
      step.mapping.entityMappings[0].attributes == [PropertyMapping(name: "name", value: .keyPath("title"))])
  }

  // MARK: Rules in code

  @Test func `Rules built in code are checked with their places`() throws {
    let old = ModelVersion(
      number: 1,
      entities: [Self.person("Note", renamedFrom: nil, AttributeDescription(name: "size", type: .string))])
    let new = ModelVersion(
      number: 2, basedOn: [1],
      entities: [Self.person("Note", renamedFrom: nil, AttributeDescription(name: "size", type: .int64))])
    let open = MigrationStep(from: old, to: new)
    let change = try #require(open.openChanges.first)
    #expect(
      change.kind
        == .attributeTypeChanged(
          PropertyName("Note", "size"), from: .string, to: .int64, conversion: .partial))
    #expect(change.verdict == .needsRule)
    #expect(change.remedies.first == .custom(entity: "Note"))
    func step(_ format: String) throws -> MigrationStep {
      let rule = EntityRule(
        destination: "Note",
        attributes: [PropertyMapping(name: "size", value: try ValueExpression(format: format))])
      return MigrationStep(
        from: old, to: new, rules: MappingRules(source: 1, destination: 2, entities: [rule]))
    }
    let partial = try step("CAST(size, 'Int64')")
    #expect(partial.problems.map(\.location) == [.attribute(entity: 0, 0)])
    #expect(!partial.isProven)
    let total = try step("CAST(size, 'Int64', 0)")
    #expect(total.isProven)
    #expect(total.changes.map(\.resolution) == [.mapped])
  }

  @Test func nilIsNoValueThatDoesNotFit() throws {
    let old = ModelVersion(
      number: 1,
      entities: [
        Self.person(
          "Note", renamedFrom: nil, AttributeDescription(name: "size", type: .string, isOptional: true))
      ])
    let new = ModelVersion(
      number: 2, basedOn: [1],
      entities: [Self.person("Note", renamedFrom: nil, AttributeDescription(name: "size", type: .int64))])
    let change = try #require(MigrationStep(from: old, to: new).openChanges.first)
    #expect(change.remedies.contains { "\($0)".contains("?? …") })
    func problems(_ format: String) throws -> [String] {
      let rule = EntityRule(
        destination: "Note",
        attributes: [PropertyMapping(name: "size", value: try ValueExpression(format: format))])
      return MigrationStep(
        from: old, to: new, rules: MappingRules(source: 1, destination: 2, entities: [rule])
      ).problems.map(\.message)
    }
    #expect(try problems("CAST(size, 'Int64', 0)").first?.contains("may be nil") == true)
    #expect(try problems("CAST(size, 'Int64', 0) ?? 0").isEmpty)
  }

  @Test(arguments: OwnedObjects.allCases)
  func `Rules made of a mapping model keep what it says of owned objects`(_ owned: OwnedObjects) throws {
    let mapping = MappingModel(
      source: 1, destination: 2,
      entityMappings: [
        EntityMapping(
          kind: .transform, name: "Kept", source: "Note", destination: "Note",
          filter: try FetchPredicate(format: "size > 1"), owned: owned)
      ])
    #expect(MappingRules(mapping).entities.map(\.owned) == [owned])
  }
}
