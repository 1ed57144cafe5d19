import CDRuntime
import Foundation
import Testing

/// What happens where two features meet: policies with partners that others have made, undo across saves, children with what
/// their parents have deleted. The random programs have found each of them.
@Suite struct MeetingFeaturesTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let held = HeldContexts()

  init() throws {
    func many(
      _ name: String, _ destination: String, _ inverse: String, _ rule: DeleteRule = .nullify,
      isOrdered: Bool = false, isOptional: Bool = true
    ) -> RelationshipDescription {
      RelationshipDescription(
        name: name, destination: destination, isToMany: true, isOptional: isOptional, inverse: inverse,
        deleteRule: rule, isOrdered: isOrdered)
    }
    func one(_ name: String, _ destination: String, _ inverse: String?) -> RelationshipDescription {
      RelationshipDescription(name: name, destination: destination, inverse: inverse)
    }
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Person",
        attributes: [AttributeDescription(name: "name", type: .string, isOptional: true)],
        relationships: [
          one("friend", "Person", "friend"), one("idol", "Person", nil), one("boss", "Person", "staff"),
          many("staff", "Person", "boss"), one("house", "House", "owner"),
        ]),
      EntityDescription(
        name: "Thing", attributes: [AttributeDescription(name: "name", type: .string, isOptional: true)]),
      EntityDescription(
        name: "Lamp", parent: "Thing",
        attributes: [AttributeDescription(name: "watts", type: .int32, isOptional: true)],
        relationships: [one("room", "Room", "lamp")]),
      EntityDescription(
        name: "Room", parent: "Thing",
        relationships: [
          one("lamp", "Lamp", "room"), one("above", "Room", "below"), one("below", "Room", "above"),
        ]),
      EntityDescription(name: "House", relationships: [one("owner", "Person", "house")]),
      EntityDescription(
        name: "Group",
        relationships: [
          many("guests", "Guest", "groups"), many("rows", "Guest", "places", isOrdered: true),
        ]),
      EntityDescription(name: "Board", relationships: [many("needed", "Guest", "needs", isOptional: false)]),
      EntityDescription(
        name: "Guest",
        relationships: [
          many("groups", "Group", "guests", .deny), many("places", "Group", "rows"),
          many("needs", "Board", "needed"),
        ]),
    ])
    context = container.newContext()
  }

  private func other() -> ManagedObjectContext {
    let other = container.newContext()
    held.contexts.append(other)
    return other
  }

  private func person(_ name: String) throws -> ManagedObject {
    let person = try context.insert(entityNamed: "Person")
    try person.setValue(.attribute(.string(name)), forKey: "name")
    return person
  }

  private func one(_ object: ManagedObject, _ key: String) throws -> ManagedObjectID? {
    try object.value(forKey: key).object?.objectID
  }

  private func many(_ object: ManagedObject, _ key: String) throws -> [ManagedObjectID] {
    try object.value(forKey: key).objects.map(\.objectID)
  }

  // MARK: Partners

  @Test func aDeletionThatIsTakenBackLeavesAPartnerWhoHasAnotherOne() throws {
    let (anna, ben) = (try person("Anna"), try person("Ben"))
    try context.save()
    let theirs = other()
    let cleo = try theirs.insert(entityNamed: "Person")
    let mine = other()
    mine.mergePolicy = .mergeByPropertyStoreTrump
    let ben2 = try mine.object(with: ben.objectID)
    mine.delete(ben2)
    try theirs.perform {
      try theirs.object(with: ben.objectID).setValue(.object(cleo), forKey: "friend")
      try theirs.save()
    }
    try mine.perform {
      try mine.object(with: cleo.objectID).setValue(
        .object(try mine.object(with: anna.objectID)), forKey: "friend")
      try mine.save()
    }
    let reader = other()
    #expect(try one(reader.object(with: ben.objectID), "friend") == nil)
    #expect(try one(reader.object(with: cleo.objectID), "friend") == anna.objectID)
    #expect(try one(reader.object(with: anna.objectID), "friend") == cleo.objectID)
  }

  /// The one side has changes and has not been read since; the other one is given no partner.
  @Test func bothSidesOfASymmetricReferenceAreCleared() throws {
    let (anna, ben) = (try person("Anna"), try person("Ben"))
    try context.save()
    let mine = other()
    let anna2 = try mine.object(with: anna.objectID)
    try mine.perform { try anna2.setValue(.attribute(.string("Annie")), forKey: "name") }
    try ben.setValue(.object(anna), forKey: "friend")
    try context.save()
    try mine.perform { try mine.object(with: ben.objectID).setValue(.object(nil), forKey: "friend") }
    try mine.perform { try anna2.setValue(.attribute(.string("Anna")), forKey: "name") }
    try mine.perform { try mine.save() }
    let reader = other()
    #expect(try one(reader.object(with: anna.objectID), "friend") == nil)
    #expect(try one(reader.object(with: ben.objectID), "friend") == nil)
  }

  @Test func aReferenceToWhatAPolicyCouldNotKeepIsNil() throws {
    let (anna, ben, cleo) = (try person("Anna"), try person("Ben"), try person("Cleo"))
    let house = try context.insert(entityNamed: "House")
    try anna.setValue(.object(ben), forKey: "idol")
    try cleo.setValue(.object(ben), forKey: "boss")
    try cleo.setValue(.object(house), forKey: "house")
    try context.save()
    try cleo.setValue(.attribute(.string("C")), forKey: "name")
    let theirs = other()
    try theirs.perform {
      theirs.delete(try theirs.object(with: ben.objectID))
      try theirs.save()
    }
    context.mergePolicy = .overwrite
    try context.perform { try context.save() }
    context.perform {}
    #expect(try one(anna, "idol") == nil)
    #expect(try one(cleo, "boss") == nil)
  }

  @Test func aListThatWasReadBeforeLosesWhomAPolicyKeepsElsewhere() throws {
    let (anna, ben) = (try person("Anna"), try person("Ben"))
    try context.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try anna.setValue(.object(anna), forKey: "boss")
    #expect(try many(ben, "staff").isEmpty)
    let theirs = other()
    try theirs.perform {
      try theirs.object(with: anna.objectID).setValue(
        .object(try theirs.object(with: ben.objectID)), forKey: "boss")
      try theirs.save()
    }
    context.perform {}
    #expect(try many(ben, "staff").isEmpty)
    try context.perform { try context.save() }
    #expect(try many(ben, "staff").isEmpty)
    #expect(try many(anna, "staff") == [anna.objectID])
  }

  /// References of entities that share a table may stand at one place of their objects.
  @Test func aReferenceIsNotTakenForThatOfAnotherEntity() throws {
    let room = try context.insert(entityNamed: "Room")
    try room.setValue(.object(room), forKey: "above")
    try context.save()
    let theirs = other()
    let room2 = try theirs.object(with: room.objectID)
    try theirs.perform { try room2.setValue(.attribute(.string("mine")), forKey: "name") }
    try room.setValue(.attribute(.string("theirs")), forKey: "name")
    try context.save()
    theirs.perform {}
    #expect(try one(room2, "lamp") == nil)
    #expect(try one(room2, "below") == room.objectID)
  }

  @Test func aPartnerWhoWasDeletedAndIsBackIsLeft() throws {
    context.undoManager = ContextUndoManager()
    let (anna, ben) = (try person("Anna"), try person("Ben"))
    try context.perform { try context.save() }
    let theirs = other()
    theirs.mergePolicy = .overwrite
    let (anna2, ben2) = (try theirs.object(with: anna.objectID), try theirs.object(with: ben.objectID))
    try theirs.perform { try anna2.setValue(.object(ben2), forKey: "friend") }
    context.perform { context.delete(ben) }
    try context.perform { try context.save() }
    try theirs.perform { try theirs.save() }
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")) == 2)
    try context.perform { try anna.setValue(.object(anna), forKey: "friend") }
    let back = try context.existingObject(with: ben.objectID)
    #expect(try one(back, "friend") == nil)
    try context.perform { try context.save() }
    #expect(try one(other().object(with: ben.objectID), "friend") == nil)
  }

  // MARK: Undo

  @Test func aDeletionThatARuleRefusesIsRefusedAfterARedoToo() throws {
    let undoManager = ContextUndoManager()
    context.undoManager = undoManager
    let (group, guest) = (
      try context.insert(entityNamed: "Group"), try context.insert(entityNamed: "Guest")
    )
    context.perform { undoManager.beginUndoGrouping() }
    try context.perform { try group.setValue(.objects([guest]), forKey: "guests") }
    try context.perform { try context.save() }
    context.perform { context.delete(guest) }
    context.perform { context.undo() }
    #expect(try many(group, "guests").isEmpty)
    context.perform { context.redo() }
    #expect { try context.save() } throws: { error in
      guard case SaveError.validation(let errors) = error else { return false }
      return errors.map(\.reason) == [.deleteDenied]
    }
  }

  @Test func anUndoRelatesAgainWhatItsGroupHasSavedApart() throws {
    let undoManager = ContextUndoManager()
    context.undoManager = undoManager
    let (group, guest) = (
      try context.insert(entityNamed: "Group"), try context.insert(entityNamed: "Guest")
    )
    try group.setValue(.objects([guest]), forKey: "rows")
    try context.perform { try context.save() }
    context.perform { undoManager.beginUndoGrouping() }
    try context.perform { try guest.setValue(.objects([]), forKey: "places") }
    try context.perform { try context.save() }
    context.perform { context.delete(guest) }
    context.perform { context.undo() }
    #expect(try many(group, "rows") == [guest.objectID])
    try context.save()
    #expect(try many(other().object(with: group.objectID), "rows") == [guest.objectID])
  }

  // MARK: Children

  /// A pair that is removed and made again is no change.
  @Test(arguments: ["guests", "rows"]) func aPairThatComesAndGoesIsNoChangeOfTheParent(_ key: String) throws {
    let (group, guest) = (
      try context.insert(entityNamed: "Group"), try context.insert(entityNamed: "Guest")
    )
    let child = ManagedObjectContext(parent: context)
    let (group1, guest1) = (try child.object(with: group.objectID), try child.object(with: guest.objectID))
    try child.perform {
      try group1.setValue(.objects([guest1]), forKey: key)
      try child.save()
    }
    let grandchild = ManagedObjectContext(parent: child)
    let (group2, guest2) = (
      try grandchild.object(with: group.objectID), try grandchild.object(with: guest.objectID)
    )
    try grandchild.perform { try group2.setValue(.objects([]), forKey: key) }
    #expect(try many(guest2, key == "rows" ? "places" : "groups").isEmpty)
    try grandchild.perform {
      try group2.setValue(.objects([guest2]), forKey: key)
      try grandchild.save()
    }
    #expect(!child.hasChanges)
    #expect(try many(group1, key) == [guest.objectID])
  }

  @Test func whatAParentHasDeletedBreaksNoRuleOfAChild() throws {
    let (board, guest, second) = (
      try context.insert(entityNamed: "Board"), try context.insert(entityNamed: "Guest"),
      try context.insert(entityNamed: "Guest")
    )
    try board.setValue(.objects([guest]), forKey: "needed")
    let child = ManagedObjectContext(parent: context)
    let (board1, guest1) = (try child.object(with: board.objectID), try child.object(with: guest.objectID))
    try child.perform { try guest1.setValue(.objects([]), forKey: "needs") }
    _ = board1
    context.perform { context.delete(board) }
    let next = try context.insert(entityNamed: "Board")
    try next.setValue(.objects([guest, second]), forKey: "needed")
    try child.perform { try child.save() }
    #expect(try many(next, "needed").count == 2)
  }

  @Test func aChildMayDeleteWhatItsParentHasDeleted() throws {
    let child = ManagedObjectContext(parent: context)
    let (group, guest) = (
      try context.insert(entityNamed: "Group"), try child.insert(entityNamed: "Guest")
    )
    try child.perform { try child.save() }
    let grandchild = ManagedObjectContext(parent: child)
    let guest2 = try grandchild.object(with: guest.objectID)
    try grandchild.perform {
      try grandchild.object(with: group.objectID).setValue(.objects([guest2]), forKey: "guests")
    }
    grandchild.perform { grandchild.delete(guest2) }
    try context.perform { context.delete(try context.object(with: guest.objectID)) }
    for each in [child, grandchild] {
      #expect(try each.count(for: FetchRequest<ManagedObject>(entityName: "Guest")) == 0)
    }
    try grandchild.perform { try grandchild.save() }
    try child.perform { try child.save() }
    try context.save()
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Guest")) == 0)
  }
}
