import Foundation
import Testing

@_spi(Generated) @testable import CDRuntime

/// Conflicts that are about several objects: what a policy makes of one of them reaches the others, and both sides of each
/// relationship say the same after the save.
@Suite struct ResolvedSidesTests {
  private static let policiesOfTheStore: [MergePolicy] = [.mergeByPropertyStoreTrump, .rollback]
  private static let policiesOfTheObject: [MergePolicy] = [.mergeByPropertyObjectTrump, .overwrite]

  /// One entity whose objects are related to each other.
  private static func entities(_ relationships: [RelationshipDescription]) -> [EntityDescription] {
    [
      EntityDescription(
        name: "A", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
        relationships: relationships)
    ]
  }

  private static let spouses = [RelationshipDescription(name: "spouse", destination: "A", inverse: "spouse")]

  private static let pair = [
    RelationshipDescription(name: "next", destination: "A", inverse: "previous"),
    RelationshipDescription(name: "previous", destination: "A", inverse: "next"),
  ]

  private static func friends(_ rule: DeleteRule) -> [RelationshipDescription] {
    [
      RelationshipDescription(
        name: "friends", destination: "A", isToMany: true, inverse: "friends", deleteRule: rule)
    ]
  }

  private static func objects(_ count: Int, in context: ManagedObjectContext) throws -> [ManagedObject] {
    let objects = try (0..<count).map { _ in try context.insert(entityNamed: "A") }
    try context.save()
    return objects
  }

  private func expectSettled(_ shared: GraphStore, _ context: ManagedObjectContext) throws {
    #expect(!context.hasChanges)
    #expect(try shared.container.persistentStoreCoordinator.verify() == [])
    let ids = try context.objectIDs(for: FetchRequest<ManagedObject>(entityName: "A"))
    #expect(try shared.ids(of: "A") == Set(ids))
  }

  // MARK: Values

  @Test(arguments: [true, false]) func valuesThatOthersHaveSetBackAreNoConflictOfAPolicy(isDeleted: Bool)
    throws
  {
    for policy in Self.policiesOfTheStore {
      let shared = try GraphStore(Self.entities([]))
      let (context, other) = (shared.context(policy), shared.context())
      let object = try Self.objects(1, in: context)[0]
      if isDeleted {
        context.delete(object)
      } else {
        try object.setValue(.attribute(.int(1)), forKey: "number")
      }
      let theirs = try shared.instance(object, in: other)
      for value in [AttributeValue.int(2), .null] {
        try theirs.setValue(.attribute(value), forKey: "number")
        try other.save()
      }
      try context.save()
      try expectSettled(shared, context)
      if isDeleted {
        #expect(try shared.ids(of: "A").isEmpty)
      } else {
        #expect(try shared.value("number", of: object) == .attribute(.int(1)))
      }
    }
  }

  /// The conflict of the first one reads the row of the second one anew.
  @Test func eachObjectOfAPairIsOverwrittenAsAWhole() throws {
    let shared = try GraphStore(Self.entities(Self.spouses))
    let (context, other) = (shared.context(.overwrite), shared.context())
    let objects = try Self.objects(2, in: context)
    try objects[0].setValue(.object(objects[1]), forKey: "spouse")
    for object in objects {
      try shared.instance(object, in: other).setValue(.attribute(.int(7)), forKey: "number")
    }
    try other.save()
    try context.save()
    try expectSettled(shared, context)
    for object in objects { #expect(try shared.value("number", of: object) == .attribute(.null)) }
    #expect(try shared.value("spouse", of: objects[1]) == .objects([objects[0].objectID]))
  }

  private struct Undecided: Error {}

  /// The conflict of the first one reads the reference of the second one anew.
  @Test(arguments: [0, 1]) func aConflictThatAPolicyDoesNotDecideStaysBesideAnother(_ undecided: Int) throws {
    let shared = try GraphStore(Self.entities(Self.spouses))
    let (context, other) = (shared.context(), shared.context())
    let objects = try Self.objects(2, in: context)
    try objects[0].setValue(.object(objects[1]), forKey: "spouse")
    try context.save()
    for object in objects {
      try object.setValue(.attribute(.int(1)), forKey: "number")
      try shared.instance(object, in: other).setValue(.attribute(.int(7)), forKey: "number")
    }
    try other.save()
    let id = objects[undecided].objectID
    context.mergePolicy = MergePolicy { conflict in
      if conflict.objectID == id { throw Undecided() }
      return .objectWins
    }
    #expect(throws: Undecided.self) { try context.save() }
    context.mergePolicy = .error
    #expect(throws: SaveError.self) { try context.save() }
    for object in objects { #expect(try shared.value("number", of: object) == .attribute(.int(7))) }
    // Nothing has told the context of the others' save but the conflict.
    context.rollback()
    #expect(try objects[undecided].shared("number") == .attribute(.int(7)))
  }

  /// An undo has brought the object back, and others have inserted its row again since.
  @Test func aConflictAboutANewRowStaysIfAPolicyDoesNotDecideIt() throws {
    let shared = try GraphStore(Self.entities([]))
    let (context, other) = (shared.context(), shared.context(.mergeByPropertyObjectTrump))
    context.undoManager = ContextUndoManager()
    let object = try Self.objects(1, in: context)[0]
    try shared.instance(object, in: other).setValue(.attribute(.int(7)), forKey: "number")
    context.delete(object)
    try context.save()
    context.undo()
    #expect(object.isInserted)
    try object.setValue(.attribute(.int(1)), forKey: "number")
    try other.save()
    context.mergePolicy = MergePolicy { _ in throw Undecided() }
    for _ in 0..<2 {
      #expect(throws: Undecided.self) { try context.save() }
      #expect(object.isInserted)
    }
    #expect(try object.shared("number") == .attribute(.int(1)))
    #expect(try shared.value("number", of: object) == .attribute(.int(7)))
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    try expectSettled(shared, context)
    #expect(try object.shared("number") == .attribute(.int(7)))
  }

  /// Entities that share a table, each with a relationship of its own at the same slot.
  private static func siblings(isToMany: Bool) -> [EntityDescription] {
    [
      EntityDescription(name: "Item"),
      EntityDescription(
        name: "Book", parent: "Item",
        relationships: [
          RelationshipDescription(
            name: "series", destination: "Series", isToMany: isToMany, inverse: "books")
        ]),
      EntityDescription(
        name: "Magazine", parent: "Item",
        relationships: [
          RelationshipDescription(
            name: "editor", destination: "Person", isToMany: isToMany, inverse: "magazines")
        ]),
      EntityDescription(
        name: "Series", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "series")
        ]),
      EntityDescription(
        name: "Person",
        relationships: [
          RelationshipDescription(
            name: "magazines", destination: "Magazine", isToMany: true, inverse: "editor")
        ]),
    ]
  }

  /// The series and the editor have the same key.
  @Test(arguments: [false, true]) func aDeletionThatIsTakenBackLeavesTheReferencesOfOtherEntities(
    isToMany: Bool
  ) throws {
    let shared = try GraphStore(Self.siblings(isToMany: isToMany))
    let (context, other) = (shared.context(.mergeByPropertyStoreTrump), shared.context())
    let (series, person) = (
      try context.insert(entityNamed: "Series"), try context.insert(entityNamed: "Person")
    )
    let magazine = try context.insert(entityNamed: "Magazine")
    try magazine.setValue(isToMany ? .objects([person]) : .object(person), forKey: "editor")
    try context.save()
    try magazine.setValue(isToMany ? .objects([]) : .object(nil), forKey: "editor")
    context.delete(series)
    try shared.instance(series, in: other).setValue(.attribute(.int(2)), forKey: "number")
    try other.save()
    try context.save()
    #expect(try shared.ids(of: "Series") == [series.objectID])
    #expect(try shared.value("editor", of: magazine) == .objects([]))
    #expect(try magazine.shared("editor") == .objects([]))
  }

  // MARK: References

  @Test func aPartnerWhomOthersHaveLeftIsThePartnerOfWhoHasHim() throws {
    let shared = try GraphStore(Self.entities(Self.spouses))
    let (context, other) = (shared.context(.mergeByPropertyObjectTrump), shared.context())
    let theirs = try Self.objects(1, in: other)[0]
    let mine = try shared.instance(theirs, in: context)
    try mine.setValue(.object(mine), forKey: "spouse")
    let partner = try other.insert(entityNamed: "A")
    try partner.setValue(.object(theirs), forKey: "spouse")
    try other.save()
    try shared.learn(context)
    try mine.setValue(.object(shared.instance(partner, in: context)), forKey: "spouse")
    try theirs.setValue(.object(nil), forKey: "spouse")
    try other.save()
    try context.save()
    try expectSettled(shared, context)
    #expect(try shared.value("spouse", of: mine) == .objects([partner.objectID]))
    #expect(try shared.value("spouse", of: partner) == .objects([mine.objectID]))
  }

  @Test func aDeletedObjectThatTheStoresReferenceLeadsToIsBack() throws {
    for policy in Self.policiesOfTheStore {
      let shared = try GraphStore(Self.entities(Self.pair))
      let (context, other) = (shared.context(policy), shared.context())
      let objects = try Self.objects(2, in: context)
      context.delete(objects[1])
      try objects[0].setValue(.object(objects[0]), forKey: "next")
      try shared.instance(objects[0], in: other)
        .setValue(.object(shared.instance(objects[1], in: other)), forKey: "next")
      try other.save()
      try context.save()
      try expectSettled(shared, context)
      #expect(try shared.value("next", of: objects[0]) == .objects([objects[1].objectID]))
      #expect(try objects[0].shared("next") == .objects([objects[1].objectID]))
    }
  }

  /// The other one's deletion is taken back for its changes, and its row refers to the first one.
  @Test func aDeletedObjectIsBackWithTheOneThatRefersToIt() throws {
    let shared = try GraphStore(Self.entities(Self.pair))
    let (context, other) = (shared.context(.rollback), shared.context())
    let objects = try Self.objects(2, in: context)
    try objects[0].setValue(.object(objects[1]), forKey: "next")
    try context.save()
    context.delete(objects[1])
    context.delete(objects[0])
    try shared.instance(objects[0], in: other).setValue(.attribute(.int(7)), forKey: "number")
    try other.save()
    try context.save()
    try expectSettled(shared, context)
    #expect(try shared.value("next", of: objects[0]) == .objects([objects[1].objectID]))
  }

  @Test func aRowWrittenAnewHasItsPartnerOnBothSides() throws {
    for policy in Self.policiesOfTheObject {
      let shared = try GraphStore(Self.entities(Self.pair))
      let (context, other) = (shared.context(policy), shared.context())
      let objects = try Self.objects(3, in: context)
      try objects[0].setValue(.object(objects[1]), forKey: "next")
      try context.save()
      let theirs = try objects.map { try shared.instance($0, in: other) }
      try objects[0].setValue(.attribute(.int(1)), forKey: "number")
      other.delete(theirs[0])
      try theirs[2].setValue(.object(theirs[1]), forKey: "next")
      try other.save()
      try shared.learn(context)
      #expect(try objects[1].shared("previous") == .objects([objects[2].objectID]))
      try context.save()
      try expectSettled(shared, context)
      #expect(try shared.value("previous", of: objects[1]) == .objects([objects[0].objectID]))
      #expect(try objects[1].shared("previous") == .objects([objects[0].objectID]))
    }
  }

  @Test(arguments: [true, false]) func aDeletionThatTakesWhatOthersHaveGivenIsChecked(isToMany: Bool) throws {
    let entities = [
      EntityDescription(
        name: "Owner",
        relationships: [
          RelationshipDescription(
            name: "members", destination: "Member", isToMany: isToMany, isOptional: false, inverse: "owner")
        ]),
      EntityDescription(
        name: "Member",
        relationships: [RelationshipDescription(name: "owner", destination: "Owner", inverse: "members")]),
    ]
    for policy in Self.policiesOfTheObject {
      let shared = try GraphStore(entities)
      let (context, other) = (shared.context(policy), shared.context())
      let member = try context.insert(entityNamed: "Member")
      try context.save()
      context.delete(member)
      let owner = try other.insert(entityNamed: "Owner")
      try shared.instance(member, in: other).setValue(.object(owner), forKey: "owner")
      try other.save()
      #expect {
        try context.save()
      } throws: { error in
        guard case SaveError.validation(let errors) = error else { return false }
        return errors.map(\.objectID) == [owner.objectID] && errors.map(\.property) == ["members"]
      }
      #expect(try shared.value("members", of: owner) == .objects([member.objectID]))
      #expect(try shared.container.persistentStoreCoordinator.verify() == [])
      // It gets another one.
      let mine = try shared.instance(owner, in: context)
      try mine.setValue(
        isToMany
          ? .objects([context.insert(entityNamed: "Member")])
          : .object(context.insert(entityNamed: "Member")),
        forKey: "members")
      try context.save()
      #expect(try shared.ids(of: "Member").count == 1)
    }
  }

  @Test func anOwnerThatLosesWhatOthersHaveGivenItIsChecked() throws {
    let entities = [
      EntityDescription(
        name: "Owner",
        relationships: [
          RelationshipDescription(
            name: "members", destination: "Member", isToMany: true, isOptional: false, inverse: "owner",
            minimumCount: 1)
        ]),
      EntityDescription(
        name: "Member", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
        relationships: [RelationshipDescription(name: "owner", destination: "Owner", inverse: "members")]),
    ]
    for policy in Self.policiesOfTheObject {
      let shared = try GraphStore(entities)
      let (context, other) = (shared.context(policy), shared.context())
      let former = try context.insert(entityNamed: "Owner")
      let members = try (0..<2).map { _ in try context.insert(entityNamed: "Member") }
      try former.setValue(.objects(members), forKey: "members")
      try context.save()
      try members[0].setValue(.attribute(.int(1)), forKey: "number")
      let owner = try other.insert(entityNamed: "Owner")
      try shared.instance(members[0], in: other).setValue(.object(owner), forKey: "owner")
      try other.save()
      try members[0].setValue(.object(nil), forKey: "owner")
      #expect(throws: SaveError.self) { try context.save() }
      #expect(try shared.value("members", of: owner) == .objects([members[0].objectID]))
      #expect(try shared.container.persistentStoreCoordinator.verify() == [])
    }
  }

  // MARK: Pairs

  /// Each of two friends takes the other one along. One of them is back for others' changes, and brings the other one back.
  @Test func aDeletionByCascadeIsTakenBackWithTheOneThatItTookAlong() throws {
    for policy in Self.policiesOfTheStore {
      let shared = try GraphStore(Self.entities(Self.friends(.cascade)))
      let (context, other) = (shared.context(policy), shared.context())
      let objects = try Self.objects(2, in: context)
      try objects[0].setValue(.objects([objects[1]]), forKey: "friends")
      try context.save()
      context.delete(objects[1])
      #expect(objects[0].isDeleted)
      try shared.instance(objects[1], in: other).setValue(.attribute(.int(7)), forKey: "number")
      try other.save()
      try context.save()
      try expectSettled(shared, context)
      #expect(try shared.value("friends", of: objects[0]) == .objects([objects[1].objectID]))
      #expect(try objects[1].shared("friends") == .objects([objects[0].objectID]))
    }
  }

  /// The last object of a chain of cascades comes back first, and then those that it hangs on.
  @Test func deletionsThatAreTakenBackOneAfterAnotherHaveBothSides() throws {
    for policy in Self.policiesOfTheStore {
      let shared = try GraphStore(
        Self.entities([
          RelationshipDescription(
            name: "next", destination: "A", isToMany: true, inverse: "previous", deleteRule: .cascade),
          RelationshipDescription(name: "previous", destination: "A", inverse: "next"),
        ]))
      let (context, other) = (shared.context(policy), shared.context())
      let objects = try Self.objects(3, in: context)
      try objects[2].setValue(.object(objects[1]), forKey: "previous")
      try objects[1].setValue(.object(objects[0]), forKey: "previous")
      try context.save()
      for object in objects { _ = try object.value(forKey: "next") }
      context.delete(objects[0])
      #expect(objects.allSatisfy { $0.isDeleted })
      try shared.instance(objects[2], in: other).setValue(.attribute(.int(7)), forKey: "number")
      try other.save()
      try context.save()
      try expectSettled(shared, context)
      #expect(!objects.contains { $0.isDeleted })
      for (object, next) in zip(objects, objects.dropFirst()) {
        #expect(try object.shared("next") == .objects([next.objectID]))
        #expect(try next.shared("previous") == .objects([object.objectID]))
      }
    }
  }

  @Test func aDeletionThatEmptiesWhatOthersHaveRelatedIsRefused() throws {
    let groups = [
      EntityDescription(
        name: "Group",
        relationships: [
          RelationshipDescription(
            name: "members", destination: "Member", isToMany: true, isOptional: false, inverse: "groups",
            minimumCount: 1)
        ]),
      EntityDescription(
        name: "Member",
        relationships: [
          RelationshipDescription(name: "groups", destination: "Group", isToMany: true, inverse: "members")
        ]),
    ]
    let shared = try GraphStore(groups)
    let (context, other) = (shared.context(), shared.context())
    let group = try context.insert(entityNamed: "Group")
    let (first, second) = (
      try context.insert(entityNamed: "Member"), try context.insert(entityNamed: "Member")
    )
    try group.setValue(.objects([first]), forKey: "members")
    try context.save()
    context.delete(second)
    let theirs = try shared.instance(group, in: other)
    try theirs.setValue(.objects([shared.instance(second, in: other)]), forKey: "members")
    try other.save()
    try shared.learn(context)
    #expect(throws: SaveError.self) { try context.save() }
    context.rollback()
    #expect(try group.shared("members") == .objects([second.objectID]))
    #expect(try shared.container.persistentStoreCoordinator.verify() == [])
  }

  @Test func aPairThatCameAndWentTakesNothingFromOthers() throws {
    for rule in [DeleteRule.nullify, .cascade] {
      let shared = try GraphStore(Self.entities(Self.friends(rule)))
      let (context, other) = (shared.context(), shared.context())
      let objects = try Self.objects(2, in: context)
      context.refreshAllObjects()
      let slot = try #require(objects[0].scope.plan.slot("friends")?.number)
      objects[0]._add(objects[1], slot)
      objects[0]._remove(objects[1], slot)
      let theirs = try objects.map { try shared.instance($0, in: other) }
      try theirs[0].setValue(.objects([theirs[1]]), forKey: "friends")
      try other.save()
      try context.save()
      #expect(try shared.value("friends", of: objects[0]) == .objects([objects[1].objectID]))
      #expect(try shared.value("friends", of: objects[1]) == .objects([objects[0].objectID]))
    }
  }

  /// Nobody has changed the object but those who have deleted it: it was merely related here.
  @Test func aRelatedObjectThatOthersHaveDeletedIsNotTheOneOfANewRow() throws {
    let shared = try GraphStore(Self.entities(Self.friends(.nullify)))
    let (context, other) = (shared.context(.mergeByPropertyObjectTrump), shared.context())
    let third = shared.context(.overwrite)
    let objects = try Self.objects(2, in: context)
    let (object, lost) = (objects[0], objects[1])
    try object.setValue(.objects([object, lost]), forKey: "friends")
    try shared.instance(lost, in: third).setValue(.attribute(.int(3)), forKey: "number")
    other.delete(try shared.instance(lost, in: other))
    try other.save()
    try context.perform { try context.save() }
    #expect(try object.shared("friends") == .objects([object.objectID]))
    try third.save()
    try shared.learn(context)
    let again = try context.object(with: lost.objectID)
    #expect(try again.value(forKey: "number") == .attribute(.int(3)))
    #expect(!again.isInaccessible)
  }

  /// The pair was never saved, and the policy drops it with the changes of the object whose deletion it takes back.
  @Test func aDroppedPairDeniesNoDeletion() throws {
    let shared = try GraphStore(Self.entities(Self.friends(.deny)))
    let (context, other) = (shared.context(.rollback), shared.context())
    let objects = try Self.objects(2, in: context)
    try objects[0].setValue(.objects([objects[1], objects[0]]), forKey: "friends")
    context.delete(objects[1])
    try shared.instance(objects[1], in: other).setValue(.attribute(.int(3)), forKey: "number")
    try other.save()
    context.delete(objects[0])
    try context.save()
    try expectSettled(shared, context)
    #expect(try shared.ids(of: "A") == [objects[1].objectID])
    #expect(try objects[1].shared("friends") == .objects([]))
  }

  /// The order keeps the list from being read again while it has changes.
  @Test func aPairThatOthersHaveMadeTooStaysWhenAPolicyDropsIt() throws {
    let ordered = [
      RelationshipDescription(
        name: "friends", destination: "A", isToMany: true, inverse: "fans", isOrdered: true),
      RelationshipDescription(name: "fans", destination: "A", isToMany: true, inverse: "friends"),
    ]
    let shared = try GraphStore(Self.entities(ordered))
    let (context, other) = (shared.context(.rollback), shared.context())
    let objects = try Self.objects(2, in: context)
    let theirs = try objects.map { try shared.instance($0, in: other) }
    for (holder, member) in [(objects[0], objects[1]), (theirs[0], theirs[1])] {
      #expect(try holder.value(forKey: "friends").objects.isEmpty)
      try holder.setValue(.objects([member]), forKey: "friends")
      let number: Int64 = holder === objects[0] ? 1 : 2
      try holder.setValue(.attribute(.int(number)), forKey: "number")
    }
    try other.save()
    try shared.learn(context)
    try context.save()
    try expectSettled(shared, context)
    #expect(try objects[0].value(forKey: "number") == .attribute(.int(2)))
    #expect(try objects[0].shared("friends") == .objects([objects[1].objectID]))
    #expect(try shared.value("friends", of: objects[0]) == .objects([objects[1].objectID]))
    #expect(try shared.value("fans", of: objects[1]) == .objects([objects[0].objectID]))
  }

  /// Objects of two tables have the same numbers, and only one of those that are deleted has been related to another.
  @Test func whatADeletedObjectRefersToIsNoConflictOfIts() throws {
    let entities = [
      EntityDescription(
        name: "A",
        relationships: [
          RelationshipDescription(name: "things", destination: "B", isToMany: true, inverse: "owner")
        ]),
      EntityDescription(
        name: "B",
        relationships: [
          RelationshipDescription(name: "owner", destination: "A", inverse: "things", deleteRule: .cascade)
        ]),
    ]
    for policy in Self.policiesOfTheObject + Self.policiesOfTheStore {
      let shared = try GraphStore(entities)
      let (context, other) = (shared.context(policy), shared.context())
      let owners = try (0..<4).map { _ in try context.insert(entityNamed: "A") }
      let things = try (0..<4).map { _ in try context.insert(entityNamed: "B") }
      try context.save()
      for object in [owners[3]] + things.prefix(3) { context.delete(object) }
      let theirs = try shared.instance(things[3], in: other)
      try theirs.setValue(.object(shared.instance(owners[3], in: other)), forKey: "owner")
      try other.save()
      try context.save()
      #expect(try shared.ids(of: "B") == [things[3].objectID])
      #expect(try shared.ids(of: "A").isSuperset(of: owners.prefix(3).map(\.objectID)))
    }
  }

  // MARK: Unique values

  /// A row that is in the way is about to move: a conflict of its own has kept it from being written first.
  @Test func anObjectThatGivesItsUniqueValueUpIsNobodysObstacle() throws {
    let entities = [
      EntityDescription(
        name: "A",
        attributes: [
          AttributeDescription(name: "name", type: .string, isOptional: true),
          AttributeDescription(name: "text", type: .string, isOptional: true),
        ], uniquenessConstraints: [["name"]])
    ]
    for policy in Self.policiesOfTheObject + [.mergeByPropertyStoreTrump] {
      let shared = try GraphStore(entities)
      let (context, other) = (shared.context(policy), shared.context())
      let holder = try context.insert(entityNamed: "A")
      try holder.setValue(.attribute(.string("a")), forKey: "name")
      try context.save()
      try shared.instance(holder, in: other).setValue(.attribute(.string("theirs")), forKey: "text")
      try holder.setValue(.attribute(.string("b")), forKey: "name")
      let new = try context.insert(entityNamed: "A")
      try new.setValue(.attribute(.string("a")), forKey: "name")
      try other.save()
      try context.save()
      try expectSettled(shared, context)
      #expect(try shared.value("name", of: holder) == .attribute(.string("b")))
      #expect(try shared.value("name", of: new) == .attribute(.string("a")))
      #expect(try context.survivor(of: new) == nil)
    }
  }
}
