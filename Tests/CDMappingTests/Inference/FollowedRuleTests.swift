import CDMapping
import CDModel
import Testing

/// Relationships without a rule, which follow the rule for their inverse.
@Suite("Rules that an inverse follows")
struct FollowedRuleTests {
  private static func toOne(
    _ name: String, inverse: String, isOptional: Bool = false
  ) -> RelationshipDescription {
    var result = RelationshipDescription(name: name, destination: "Person", inverse: inverse)
    result.isOptional = isOptional
    return result
  }

  private static func toMany(
    _ name: String, inverse: String, _ rule: DeleteRule = .nullify
  ) -> RelationshipDescription {
    var result = RelationshipDescription(name: name, destination: "Dog", isToMany: true, inverse: inverse)
    result.deleteRule = rule
    return result
  }

  private static func rule(_ entity: String, _ name: String, _ value: String) throws -> EntityRule {
    EntityRule(
      destination: entity,
      relationships: [PropertyMapping(name: name, value: try ValueExpression(format: value))])
  }

  private static func step(
    _ old: [EntityDescription], _ new: [EntityDescription], _ rules: [EntityRule]
  ) -> MigrationStep {
    MigrationStep(
      from: ModelVersion(number: 1, entities: old),
      to: ModelVersion(number: 2, basedOn: [1], entities: new),
      rules: MappingRules(source: 1, destination: 2, entities: rules))
  }

  // Every dog is among the dogs that its keeper keeps, unless it may have no keeper, or a deleted one.
  @Test(arguments: [
    (false, DeleteRule.nullify, "kept", true), (true, DeleteRule.nullify, "kept", false),
    (false, DeleteRule.noAction, "kept", false),
    (false, DeleteRule.nullify, "SUBQUERY(kept, $dog, $dog.owner != nil)", false),
  ])
  func `A mandatory side follows a rule that reaches every object`(
    _ isOptional: Bool, _ deleteRule: DeleteRule, _ value: String, _ isRight: Bool
  ) throws {
    let owner = Self.toOne("owner", inverse: "dogs")
    let dogs = Self.toMany("dogs", inverse: "owner")
    let step = Self.step(
      [
        EntityDescription(
          name: "Dog",
          relationships: [owner, Self.toOne("keeper", inverse: "kept", isOptional: isOptional)]),
        EntityDescription(
          name: "Person", relationships: [dogs, Self.toMany("kept", inverse: "keeper", deleteRule)]),
      ],
      [
        EntityDescription(name: "Dog", relationships: [owner]),
        EntityDescription(name: "Person", relationships: [dogs]),
      ],
      [try Self.rule("Person", "dogs", value)])
    #expect(step.problems.contains { $0.severity == .error } == !isRight, "\(step.problems)")
    #expect(step.isProven == isRight, "\(step.openChanges)")
    let dog = RelationshipMapping(name: "owner", value: .inverse)
    #expect(step.mapping.entityMappings.flatMap(\.relationships).contains(dog))
  }

  /// Persons with dogs, of which the adults get theirs by a rule, or all of them, and children.
  private static func family(_ rules: [EntityRule]) -> MigrationStep {
    let entities = [
      EntityDescription(
        name: "Person", isAbstract: true, relationships: [toMany("dogs", inverse: "owner")]),
      EntityDescription(name: "Adult", parent: "Person"),
      EntityDescription(name: "Child", parent: "Person"),
      EntityDescription(
        name: "Dog", relationships: [toOne("owner", inverse: "dogs", isOptional: true)]),
    ]
    return step(entities, entities, rules)
  }

  @Test func `A rule that empties some objects' side keeps the other pairs`() throws {
    let step = Self.family([try Self.rule("Adult", "dogs", "nil")])
    #expect(step.isProven, "\(step.openChanges) \(step.problems)")
    #expect(!step.planText(mapping: "m").contains("relationship 'owner'"))
    let dog = step.mapping.entityMappings.first { $0.destination == "Dog" }
    #expect(dog?.relationships == [RelationshipMapping(name: "owner", value: .inverse)])
  }

  @Test func `A mandatory side does not follow rules that leave out some pairs each`() throws {
    let owner = Self.toOne("owner", inverse: "dogs")
    let dogs = Self.toMany("dogs", inverse: "owner")
    func entities(_ dog: [RelationshipDescription], _ person: [RelationshipDescription])
      -> [EntityDescription]
    {
      [
        EntityDescription(name: "Dog", relationships: dog),
        EntityDescription(name: "Person", isAbstract: true, relationships: person),
        EntityDescription(name: "Adult", parent: "Person"),
        EntityDescription(name: "Child", parent: "Person"),
      ]
    }
    // A dog that a child keeps and an adult owns is in neither list.
    let step = Self.step(
      entities(
        [owner, Self.toOne("keeper", inverse: "kept")], [dogs, Self.toMany("kept", inverse: "keeper")]),
      entities([owner], [dogs]), [try Self.rule("Adult", "dogs", "kept")])
    #expect(step.problems.map(\.severity) == [.error], "\(step.problems)")
    #expect(!step.isProven)
  }

  // The partner of a spouse's spouse may be a third person.
  @Test(arguments: [("partner", true), ("nil", true), ("spouse", false)])
  func `A rule gives a to-one relationship that is its own inverse only objects that refer back`(
    _ value: String, _ isRight: Bool
  ) throws {
    let partner = Self.toOne("partner", inverse: "partner", isOptional: true)
    let spouse = RelationshipDescription(name: "spouse", destination: "Person")
    var rule = try Self.rule("Person", "partner", value)
    rule.drops = ["partner", "spouse"].filter { $0 != value }
    let step = Self.step(
      [EntityDescription(name: "Person", relationships: [partner, spouse])],
      [EntityDescription(name: "Person", relationships: [partner])], [rule])
    #expect(step.problems.contains { $0.severity == .error } == !isRight, "\(step.problems)")
    #expect(step.isProven == isRight, "\(step.openChanges)")
  }

  @Test func `No rule is a remedy for a to-one relationship that becomes its own inverse`() throws {
    let step = Self.step(
      [
        EntityDescription(
          name: "Person", relationships: [RelationshipDescription(name: "partner", destination: "Person")])
      ],
      [
        EntityDescription(
          name: "Person", relationships: [Self.toOne("partner", inverse: "partner", isOptional: true)])
      ], [])
    #expect(!step.isProven)
    #expect(step.openChanges.map(\.remedies) == [[.custom(entity: "Person")]])
  }

  // Persons whose friends may be employees, and employees without friends.
  @Test(arguments: [false, true])
  func `A rule may not empty a relationship that is its own inverse for one entity only`(
    _ isForAll: Bool
  ) throws {
    let friends = RelationshipDescription(
      name: "friends", destination: "Person", isToMany: true, inverse: "friends")
    let entities = [
      EntityDescription(name: "Person", relationships: [friends]),
      EntityDescription(name: "Employee", parent: "Person"),
    ]
    let rule = try Self.rule(isForAll ? "Person" : "Employee", "friends", "nil")
    let step = Self.step(entities, entities, [rule])
    #expect(step.problems.contains { $0.severity == .error } == !isForAll, "\(step.problems)")
  }

  @Test func `The plan says that a side follows, not that it is gone`() throws {
    let rule = try Self.rule("Person", "dogs", "SUBQUERY(dogs, $dog, $dog.owner != nil)")
    let step = Self.family([rule])
    let removed = ModelChange.Kind.relationshipRemoved(PropertyName("Dog", "owner"), isDeclared: true)
    #expect(step.changes.map(\.kind).contains(removed), "\(step.changes)")
    let plan = step.planText(mapping: "m")
    #expect(plan.contains("relationship 'owner' of 'Dog' gets its objects from its inverse"), "\(plan)")
    #expect(!plan.contains("is gone"), "\(plan)")
  }
}
