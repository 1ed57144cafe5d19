import Foundation
import Synchronization
import Testing

@_spi(Generated) @testable import CDRuntime

/// Objects that others have related meanwhile to one that a context deletes: the save applies the delete rule to them.
@Suite struct ReferrersOfDeletedTests {
  private static let policiesOfTheObject: [MergePolicy] = [.mergeByPropertyObjectTrump, .overwrite]

  private static func entities(
    _ rule: DeleteRule, isToMany: Bool = true, isOptional: Bool = true
  ) -> [EntityDescription] {
    [
      EntityDescription(
        name: "Owner",
        relationships: [
          RelationshipDescription(
            name: "members", destination: "Member", isToMany: isToMany, inverse: "owner", deleteRule: rule)
        ]),
      EntityDescription(
        name: "Member", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
        relationships: [
          RelationshipDescription(
            name: "owner", destination: "Owner", isOptional: isOptional, inverse: "members"),
          RelationshipDescription(
            name: "parts", destination: "Part", isToMany: true, inverse: "member", deleteRule: .cascade),
        ]),
      EntityDescription(
        name: "Part",
        relationships: [RelationshipDescription(name: "member", destination: "Member", inverse: "parts")]),
    ]
  }

  /// A context has deleted an owner, and another one has saved a member of it since.
  private struct Scene {
    let shared: GraphStore
    let context: ManagedObjectContext
    let owner: ManagedObject
    let member: ManagedObject
    let part: ManagedObject

    init(_ entities: [EntityDescription], _ policy: MergePolicy, isNew: Bool = true) throws {
      shared = try GraphStore(entities)
      context = shared.context(policy)
      let other = shared.context()
      owner = try context.insert(entityNamed: "Owner")
      try context.save()
      member = try other.insert(entityNamed: "Member")
      part = try other.insert(entityNamed: "Part")
      try part.setValue(.object(member), forKey: "member")
      if !isNew { try other.save() }
      context.delete(owner)
      try member.setValue(.object(shared.instance(owner, in: other)), forKey: "owner")
      try other.save()
    }

    /// The context has what the store has, and nothing to save.
    func expectSettled() throws {
      #expect(!context.hasChanges)
      #expect(try shared.container.persistentStoreCoordinator.verify() == [])
      for entity in ["Owner", "Member", "Part"] {
        let ids = try context.objectIDs(for: FetchRequest<ManagedObject>(entityName: entity))
        #expect(try shared.ids(of: entity) == Set(ids))
      }
    }
  }

  @Test(arguments: [true, false], [true, false])
  func theirReferenceIsClearedByTheRuleOfNullify(isToMany: Bool, isNew: Bool) throws {
    for policy in Self.policiesOfTheObject {
      let scene = try Scene(Self.entities(.nullify, isToMany: isToMany), policy, isNew: isNew)
      try scene.context.save()
      #expect(try scene.shared.ids(of: "Owner") == [])
      #expect(try scene.shared.value("owner", of: scene.member) == .objects([]))
      try scene.expectSettled()
    }
  }

  @Test(arguments: [true, false], [true, false])
  func theyAreDeletedByTheRuleOfCascade(isToMany: Bool, isNew: Bool) throws {
    for policy in Self.policiesOfTheObject {
      let scene = try Scene(Self.entities(.cascade, isToMany: isToMany), policy, isNew: isNew)
      try scene.context.save()
      for entity in ["Owner", "Member", "Part"] { #expect(try scene.shared.ids(of: entity) == []) }
      try scene.expectSettled()
    }
  }

  @Test(arguments: [true, false]) func theyDenyTheDeletionByTheRuleOfDeny(isToMany: Bool) throws {
    for policy in Self.policiesOfTheObject + [.error, .mergeByPropertyStoreTrump, .rollback] {
      let scene = try Scene(Self.entities(.deny, isToMany: isToMany), policy)
      let denied = ValidationError(
        reason: .deleteDenied, entity: "Owner", property: "members", objectID: scene.owner.objectID)
      for _ in 0..<2 {
        let error = #expect(throws: SaveError.validation([denied])) { try scene.context.save() }
        guard case .validation(let errors)? = error else { continue }
        #expect(errors.map(\.denyingCount) == [1])
      }
      #expect(try scene.shared.ids(of: "Owner") == [scene.owner.objectID])
      #expect(scene.context.hasChanges)
      scene.context.rollback()
      #expect(try scene.owner.shared("members") == .objects([scene.member.objectID]))
    }
  }

  @Test func aMandatoryReferenceThatIsClearedIsAMistake() throws {
    let scene = try Scene(Self.entities(.nullify, isOptional: false), .overwrite)
    let missing = ValidationError(
      reason: .missingValue, entity: "Member", property: "owner", objectID: scene.member.objectID)
    #expect(throws: SaveError.validation([missing])) { try scene.context.save() }
    #expect(try scene.shared.ids(of: "Owner") == [scene.owner.objectID])
  }

  @Test(arguments: [DeleteRule.nullify, .cascade], [true, false])
  func theDeletionIsTakenBackWhereTheStoreWins(_ rule: DeleteRule, isToMany: Bool) throws {
    for policy in [MergePolicy.mergeByPropertyStoreTrump, .rollback] {
      let scene = try Scene(Self.entities(rule, isToMany: isToMany), policy)
      try scene.context.save()
      #expect(!scene.owner.isDeleted)
      #expect(try scene.owner.shared("members") == .objects([scene.member.objectID]))
      #expect(try scene.shared.value("owner", of: scene.member) == .objects([scene.owner.objectID]))
      try scene.expectSettled()
    }
  }

  @Test(arguments: [DeleteRule.nullify, .cascade]) func theyAreAConflictWithoutAPolicy(
    _ rule: DeleteRule
  ) throws {
    let scene = try Scene(Self.entities(rule), .error)
    let conflict = SaveConflict(reason: .related, objectID: scene.owner.objectID, keys: ["members"])
    #expect(throws: SaveError.conflict([conflict])) { try scene.context.save() }
    #expect(scene.owner.isDeleted && scene.context.hasChanges)
    #expect(try scene.shared.ids(of: "Owner") == [scene.owner.objectID])
  }

  @Test func aPolicyOfOnesOwnIsTold() throws {
    let asked = Mutex<[SaveConflict]>([])
    let policy = MergePolicy { conflict in
      asked.withLock { $0.append(conflict) }
      return .objectWins
    }
    let scene = try Scene(Self.entities(.nullify), policy)
    try scene.context.save()
    let conflict = SaveConflict(reason: .related, objectID: scene.owner.objectID, keys: ["members"])
    #expect(asked.withLock { $0 } == [conflict])
    #expect(asked.withLock { $0.first?.otherID } == scene.member.objectID)
  }

  /// What a cascade has deleted stays where the store wins of what it hangs on.
  @Test func aDeletionThatIsTakenBackKeepsWhatItHangsOn() throws {
    let shared = try GraphStore([
      EntityDescription(
        name: "A",
        relationships: [
          RelationshipDescription(
            name: "children", destination: "A", isToMany: true, inverse: "parent", deleteRule: .cascade),
          RelationshipDescription(name: "parent", destination: "A", inverse: "children"),
        ])
    ])
    for policy in [MergePolicy.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump] {
      let (context, other) = (shared.context(policy), shared.context())
      let (child, parent) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "A"))
      try child.setValue(.object(parent), forKey: "parent")
      try context.save()
      context.delete(parent)
      try shared.instance(parent, in: other).setValue(
        .object(shared.instance(child, in: other)), forKey: "parent")
      try other.save()
      try context.save()
      let all = try context.objectIDs(for: FetchRequest<ManagedObject>(entityName: "A"))
      #expect(try shared.ids(of: "A") == Set(all))
      #expect(try shared.container.persistentStoreCoordinator.verify() == [])
      #expect(!context.hasChanges)
    }
  }

  @Test(arguments: [DeleteRule.nullify, .cascade, .deny], [true, false])
  func pairsThatOthersHaveAddedFollowTheRuleToo(_ rule: DeleteRule, hasInverse: Bool) throws {
    let shared = try GraphStore([
      EntityDescription(
        name: "Owner",
        relationships: [
          RelationshipDescription(
            name: "members", destination: "Member", isToMany: true, inverse: hasInverse ? "owners" : nil,
            deleteRule: rule)
        ]),
      EntityDescription(
        name: "Member",
        relationships: hasInverse
          ? [
            RelationshipDescription(
              name: "owners", destination: "Owner", isToMany: true, inverse: "members")
          ] : []),
    ])
    let (context, other) = (shared.context(.overwrite), shared.context())
    let owner = try context.insert(entityNamed: "Owner")
    try context.save()
    let member = try other.insert(entityNamed: "Member")
    context.delete(owner)
    try shared.instance(owner, in: other).setValue(.objects([member]), forKey: "members")
    try other.save()
    if rule == .deny {
      #expect(throws: SaveError.self) { try context.save() }
      #expect(try shared.ids(of: "Owner") == [owner.objectID])
      return
    }
    try context.save()
    #expect(try shared.ids(of: "Owner") == [])
    #expect(try shared.ids(of: "Member") == (rule == .cascade ? [] : [member.objectID]))
    #expect(try shared.container.persistentStoreCoordinator.verify() == [])
  }
}
