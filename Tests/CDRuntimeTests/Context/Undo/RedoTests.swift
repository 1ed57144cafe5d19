import CDRuntime
import Foundation
import Testing

/// What an undo and its redo put back where the store, or the parent, has become another one meanwhile.
@Suite struct RedoTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let undoManager = ContextUndoManager()

  init() throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Box", attributes: [AttributeDescription(name: "name", type: .string, isOptional: true)],
        relationships: [
          RelationshipDescription(
            name: "labels", destination: "Label", isToMany: true, inverse: "boxes", deleteRule: .noAction)
        ]),
      EntityDescription(
        name: "Label",
        relationships: [
          RelationshipDescription(
            name: "boxes", destination: "Box", isToMany: true, inverse: "labels", isOrdered: true)
        ]),
    ])
    context = container.newContext()
    context.undoManager = undoManager
  }

  private func box(_ name: String) throws -> ManagedObject {
    let box = try context.insert(entityNamed: "Box")
    try box.setValue(name, forKey: "name")
    return box
  }

  private func names(_ label: ManagedObject) throws -> [String] {
    try label.value(forKey: "boxes").objects.map(name)
  }

  private func name(_ box: ManagedObject) throws -> String {
    guard case .attribute(.string(let name)) = try box.value(forKey: "name") else { return "" }
    return name
  }

  /// It has been saved in between, and goes as a new object does.
  @Test(arguments: [true, false]) func anObjectThatCameAndWentWithItsGroupRefusesNothing(isToMany: Bool)
    throws
  {
    let shared = try GraphStore([
      EntityDescription(
        name: "A",
        relationships: [
          RelationshipDescription(
            name: "next", destination: "A", isToMany: isToMany, inverse: "previous", deleteRule: .deny),
          RelationshipDescription(name: "previous", destination: "A", isToMany: isToMany, inverse: "next"),
        ])
    ])
    let context = shared.context()
    context.undoManager = undoManager
    let object = try context.insert(entityNamed: "A")
    try context.save()
    undoManager.beginUndoGrouping()
    let other = try context.insert(entityNamed: "A")
    try context.save()
    try other.setValue(isToMany ? .objects([object]) : .object(object), forKey: "next")
    context.delete(other)
    undoManager.endUndoGrouping()
    #expect(throws: SaveError.self) { try context.save() }
    context.undo()
    #expect(context.deletedObjects == [other])
    try context.save()
    #expect(try shared.ids(of: "A") == [object.objectID])
    #expect(try object.shared("previous") == .objects([]))
  }

  @Test(arguments: [true, false]) func pairsThatNoActionHasLeftComeBack(isSaved: Bool) throws {
    let label = try context.insert(entityNamed: "Label")
    let boxes = try ["a", "b"].map(box)
    try label.setValue(boxes, forKey: "boxes")
    try context.save()
    context.delete(boxes[0])
    #expect(try names(label) == ["b"])
    if isSaved { try context.save() }
    undoManager.endEvent()
    context.undo()
    #expect(try names(label) == ["a", "b"])
    try context.save()
    let fresh = container.newContext()
    #expect(try names(fresh.existingObject(with: label.objectID)) == ["a", "b"])
    context.redo()
    try context.save()
    let other = container.newContext()
    #expect(try names(other.existingObject(with: label.objectID)) == ["b"])
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  /// How a list is set while one of its objects is deleted, and not seen in it.
  enum Setting: CaseIterable { case toTheSame, inAnotherOrder, byAChild }

  @Test(arguments: Setting.allCases)
  func aListThatIsSetKeepsThePairsThatNoActionHasLeft(setting: Setting) throws {
    let label = try context.insert(entityNamed: "Label")
    let boxes = try ["a", "b", "c"].map(box)
    try label.setValue(boxes, forKey: "boxes")
    try context.save()
    undoManager.removeAllActions()
    context.perform { context.delete(boxes[0]) }
    switch setting {
    case .toTheSame: try context.perform { try label.setValue([boxes[1], boxes[2]], forKey: "boxes") }
    case .inAnotherOrder: try context.perform { try label.setValue([boxes[2], boxes[1]], forKey: "boxes") }
    case .byAChild:
      let child = ManagedObjectContext(parent: context)
      let copies = try [boxes[2], boxes[1]].map { try child.localInstance(of: $0) }
      try child.localInstance(of: label).setValue(copies, forKey: "boxes")
      try child.save()
    }
    #expect(try names(label) == (setting == .toTheSame ? ["b", "c"] : ["c", "b"]))
    while undoManager.canUndo { context.undo() }
    #expect(try names(label) == ["a", "b", "c"] && !context.hasChanges)
    // A list that is set to nothing has no pair left in the store.
    try label.setValue([] as [ManagedObject], forKey: "boxes")
    try context.save()
    let fresh = container.newContext()
    #expect(try names(fresh.existingObject(with: label.objectID)).isEmpty)
  }

  @Test func aRedoPutsBackWhatTheUndoHasFound() throws {
    let object = try box("a")
    undoManager.endEvent()
    let child = ManagedObjectContext(parent: context)
    child.undoManager = ContextUndoManager()
    let copy = try child.localInstance(of: object)
    try copy.setValue("b", forKey: "name")
    try child.save()
    context.undo()
    #expect(try name(copy) == "a")
    child.undo()
    child.redo()
    #expect(try name(copy) == "a" && !child.hasChanges)
    let other = try box("c")
    try context.save()
    undoManager.endEvent()
    try other.setValue("d", forKey: "name")
    try context.save()
    let theirs = container.newContext()
    try theirs.existingObject(with: other.objectID).setValue("e", forKey: "name")
    try theirs.save()
    try context.perform {
      _ = try context.count(for: FetchRequest<ManagedObject>(entityName: "Box"))
      context.undo()
      #expect(try name(other) == "c")
      context.redo()
      #expect(try name(other) == "e")
    }
  }

  // MARK: Others

  /// One-to-one, one-to-many and many-to-many relationships.
  private static let nodes = [
    EntityDescription(
      name: "A", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
      relationships: [
        RelationshipDescription(name: "next", destination: "A", inverse: "previous"),
        RelationshipDescription(name: "previous", destination: "A", inverse: "next"),
        RelationshipDescription(name: "members", destination: "A", isToMany: true, inverse: "group"),
        RelationshipDescription(name: "group", destination: "A", inverse: "members"),
        RelationshipDescription(name: "friends", destination: "A", isToMany: true, inverse: "fans"),
        RelationshipDescription(name: "fans", destination: "A", isToMany: true, inverse: "friends"),
      ])
  ]

  @Test(arguments: ["next", "previous", "group", "fans"], [true, false])
  func anInsertionIsUndoneInRelationshipsThatOthersHaveGivenIt(key: String, isRead: Bool) throws {
    let shared = try GraphStore(Self.nodes)
    let (context, other) = (shared.context(), shared.context())
    context.undoManager = undoManager
    let object = try context.insert(entityNamed: "A")
    try context.save()
    let new = try context.insert(entityNamed: "A")
    try context.save()
    let (theirs, target) = (try shared.instance(object, in: other), try shared.instance(new, in: other))
    try theirs.setValue(key == "fans" ? .objects([target]) : .object(target), forKey: key)
    try other.save()
    try shared.learn(context)
    if isRead { #expect(try object.shared(key) == .objects([new.objectID])) }
    context.undo()
    #expect(try object.shared(key) == .objects([]))
    #expect(context.updatedObjects == [object] && context.deletedObjects == [new])
    try context.save()
    #expect(try shared.value(key, of: object) == .objects([]))
    #expect(try shared.ids(of: "A") == [object.objectID])
  }

  @Test(arguments: [true, false], [true, false])
  func aPairThatOthersHaveMadeTooStaysUnlessItIsSaved(isSaved: Bool, isRead: Bool) throws {
    let shared = try GraphStore(Self.nodes)
    let (context, other) = (shared.context(), shared.context())
    context.undoManager = undoManager
    let (object, friend) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "A"))
    try context.save()
    if isRead { #expect(try friend.shared("fans") == .objects([])) }
    try context.perform { try object.setValue(.objects([friend]), forKey: "friends") }
    let theirs = try shared.instance(object, in: other)
    try theirs.setValue(.objects([shared.instance(friend, in: other)]), forKey: "friends")
    try other.save()
    if isRead {
      try shared.learn(context)
      #expect(try object.shared("friends") == .objects([friend.objectID]))
    }
    if isSaved { try context.save() }
    try shared.learn(context)
    context.undo()
    let left: SharedValue = .objects(isSaved ? [] : [friend.objectID])
    #expect(try object.shared("friends") == left)
    #expect(context.hasChanges == isSaved)
    try context.save()
    #expect(try shared.value("friends", of: object) == left)
  }

  @Test func aPairThatOthersHaveMadeTooStaysIfItsGroupIsSavedWithoutIt() throws {
    let shared = try GraphStore(Self.nodes)
    let (context, other) = (shared.context(), shared.context())
    context.undoManager = undoManager
    let (object, friend) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "A"))
    try context.save()
    undoManager.beginUndoGrouping()
    try object.setValue(1, forKey: "number")
    try context.save()
    try object.setValue(.objects([friend]), forKey: "friends")
    undoManager.endUndoGrouping()
    let theirs = try shared.instance(object, in: other)
    try theirs.setValue(.objects([shared.instance(friend, in: other)]), forKey: "friends")
    try other.save()
    try shared.learn(context)
    let left: SharedValue = .objects([friend.objectID])
    #expect(try object.shared("friends") == left)
    context.undo()
    #expect(try object.shared("friends") == left && object.shared("number") == .attribute(.null))
    try context.save()
    #expect(try shared.value("friends", of: object) == left)
  }

  @Test func whatIsTheSameAtTheEndOfAGroupIsNoPartOfIt() throws {
    let shared = try GraphStore(Self.nodes)
    let (context, other) = (shared.context(), shared.context())
    context.undoManager = undoManager
    let (object, friend) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "A"))
    try context.save()
    undoManager.beginUndoGrouping()
    for number in [1, nil] as [Int64?] {
      try object.setValue(.attribute(number.map { .int($0) } ?? .null), forKey: "number")
    }
    try friend.setValue(1, forKey: "number")
    undoManager.endUndoGrouping()
    try context.save()
    try shared.instance(object, in: other).setValue(2, forKey: "number")
    try other.save()
    try shared.learn(context)
    context.undo()
    #expect(try object.shared("number") == .attribute(.int(2)))
    #expect(try friend.shared("number") == .attribute(.null))
    #expect(context.updatedObjects == [friend])
  }

  /// The store has cleared the reference with the row that it led to.
  @Test(arguments: [true, false]) func aReferenceToWhatHasComeBackIsAChange(isPending: Bool) throws {
    let shared = try GraphStore([
      EntityDescription(
        name: "A", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
        relationships: [RelationshipDescription(name: "favourite", destination: "A")])
    ])
    let context = shared.context()
    context.undoManager = undoManager
    let (object, target) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "A"))
    let other = try context.insert(entityNamed: "A")
    try context.save()
    undoManager.beginUndoGrouping()
    try object.setValue(.object(target), forKey: "favourite")
    try context.save()
    context.delete(target)
    try context.save()
    undoManager.endUndoGrouping()
    if isPending {
      undoManager.disableUndoRegistration()
      try object.setValue(.object(other), forKey: "favourite")
      undoManager.enableUndoRegistration()
    }
    context.undo()
    #expect(try object.value(forKey: "favourite").object == nil)
    try object.setValue(.object(target), forKey: "favourite")
    #expect(context.updatedObjects == [object])
    try context.save()
    #expect(try shared.value("favourite", of: object) == .objects([target.objectID]))
  }

  /// A context brings an object back, and another one writes its row anew, before it or after it.
  private func broughtBack(
    _ policy: MergePolicy, isWrittenBefore: Bool
  ) throws -> (shared: GraphStore, context: ManagedObjectContext, object: ManagedObject) {
    let shared = try GraphStore(Self.nodes)
    let (context, other) = (shared.context(policy), shared.context(.overwrite))
    context.undoManager = undoManager
    let (object, friend) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "A"))
    try object.setValue(1, forKey: "number")
    try object.setValue(.objects([friend]), forKey: "friends")
    try context.save()
    undoManager.removeAllActions()
    let theirs = try shared.instance(object, in: other)
    try theirs.setValue(2, forKey: "number")
    try theirs.setValue(.object(shared.instance(friend, in: other)), forKey: "next")
    context.delete(object)
    try context.save()
    if isWrittenBefore { try other.save() }
    context.undo()
    #expect(try object.value(forKey: "number") == .attribute(.int(1)))
    if !isWrittenBefore { try other.save() }
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "A")) == 2)
    #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "A")).count == 2)
    return (shared, context, object)
  }

  @Test func anObjectThatComesBackBecomesTheOneOfTheNewRow() throws {
    let (shared, context, object) = try broughtBack(.error, isWrittenBefore: true)
    #expect(context.insertedObjects == [] && context.updatedObjects.contains(object))
    try context.save()
    #expect(try shared.value("number", of: object) == .attribute(.int(1)))
    #expect(try shared.value("friends", of: object) != .objects([]))
    try object.setValue(3, forKey: "number")
    try context.save()
    #expect(try shared.value("number", of: object) == .attribute(.int(3)))
  }

  @Test func aRowThatOthersHaveWrittenAnewSinceIsAConflict() throws {
    let (shared, context, object) = try broughtBack(.error, isWrittenBefore: false)
    let error = #expect(throws: SaveError.self) { try context.save() }
    guard case .conflict(let conflicts) = error else {
      Issue.record("It is \(String(describing: error)).")
      return
    }
    #expect(conflicts.map(\.objectID) == [object.objectID])
    #expect(conflicts.first?.reason == .changed && conflicts.first?.keys == ["number", "next"])
    // As the error says, the object is looked at anew.
    context.refresh(object, mergeChanges: true)
    #expect(try object.value(forKey: "number") == .attribute(.int(1)))
    try context.save()
    #expect(try shared.value("number", of: object) == .attribute(.int(1)))
    #expect(try shared.value("next", of: object) == .objects([]))
  }

  @Test(arguments: [true, false], [true, false])
  func aPolicyDecidesAboutTheRowThatOthersHaveWrittenAnew(isOfStore: Bool, isWhole: Bool) throws {
    let policy: MergePolicy =
      isOfStore
      ? isWhole ? .rollback : .mergeByPropertyStoreTrump
      : isWhole ? .overwrite : .mergeByPropertyObjectTrump
    let (shared, context, object) = try broughtBack(policy, isWrittenBefore: false)
    try context.save()
    #expect(!context.hasChanges)
    for number in [try shared.value("number", of: object), try object.shared("number")] {
      #expect(number == .attribute(.int(isOfStore ? 2 : 1)))
    }
    for next in [try shared.value("next", of: object), try object.shared("next")] {
      #expect((next == .objects([])) == !isOfStore)
    }
    #expect((try shared.value("friends", of: object) == .objects([])) == (isOfStore && isWhole))
    #expect(try shared.container.persistentStoreCoordinator.verify() == [])
  }

  /// The object has the other context's values then, and nothing is left to be undone.
  @Test(arguments: [MergePolicy.mergeByPropertyStoreTrump, .rollback], [true, false])
  func aDeletionThatAPolicyHasTakenBackIsNotUndone(_ policy: MergePolicy, isEventEnded: Bool) throws {
    let shared = try GraphStore([
      EntityDescription(
        name: "A",
        attributes: [
          AttributeDescription(name: "title", type: .string, isOptional: true),
          AttributeDescription(name: "rank", type: .int64, isOptional: true),
        ],
        relationships: [
          RelationshipDescription(name: "tags", destination: "Tag", isToMany: true, inverse: "owners")
        ]),
      EntityDescription(
        name: "Tag",
        relationships: [
          RelationshipDescription(name: "owners", destination: "A", isToMany: true, inverse: "tags")
        ]),
    ])
    let (context, other) = (shared.context(policy), shared.context())
    let theirs = try other.insert(entityNamed: "A")
    try theirs.setValue("a", forKey: "title")
    try theirs.setValue(1, forKey: "rank")
    let tags = try (1...2).map { _ in try other.insert(entityNamed: "Tag") }
    try theirs.setValue(.objects(tags), forKey: "tags")
    try other.save()
    context.undoManager = undoManager
    let mine = try shared.instance(theirs, in: context)
    let tag = try shared.instance(tags[1], in: context)
    if isEventEnded { context.perform { context.delete(mine) } } else { context.delete(mine) }
    try theirs.setValue(2, forKey: "rank")
    try theirs.setValue(.objects([tags[0]]), forKey: "tags")
    try other.save()
    try context.save()
    #expect(!mine.isDeleted && !context.hasChanges)
    context.undo()
    #expect(!context.hasChanges)
    #expect(try mine.shared("rank") == .attribute(.int(2)))
    #expect(try mine.shared("title") == .attribute(.string("a")))
    #expect(try mine.shared("tags") == .objects([tags[0].objectID]))
    #expect(try tag.shared("owners") == .objects([]))
    try context.save()
    #expect(try shared.value("rank", of: theirs) == .attribute(.int(2)))
    #expect(try shared.value("tags", of: theirs) == .objects([tags[0].objectID]))
  }

  /// What another context does to an ordered relationship that this one has changed.
  enum Meanwhile: CaseIterable {
    case adds, addsPair, moves
  }

  /// After the undo the relationship is no change of this context, and so it is as the other context has left it.
  @Test(arguments: Meanwhile.allCases, [true, false])
  func anOrderedRelationshipIsAfterAnUndoAsOthersHaveLeftIt(meanwhile: Meanwhile, deletesOwner: Bool) throws {
    let isToMany = meanwhile == .addsPair
    let shared = try GraphStore([
      EntityDescription(
        name: "Owner",
        relationships: [
          RelationshipDescription(
            name: "members", destination: "Member", isToMany: true, inverse: "owner", isOrdered: true)
        ]),
      EntityDescription(
        name: "Member",
        relationships: [
          RelationshipDescription(
            name: "owner", destination: "Owner", isToMany: isToMany, inverse: "members")
        ]),
    ])
    let (context, other) = (shared.context(), shared.context())
    let owners = try (1...2).map { _ in try other.insert(entityNamed: "Owner") }
    let members = try (1...3).map { _ in try other.insert(entityNamed: "Member") }
    try owners[0].setValue(.objects(Array(members.prefix(2))), forKey: "members")
    try other.save()
    context.undoManager = undoManager
    let owner = try shared.instance(owners[0], in: context)
    let first = try shared.instance(members[0], in: context)
    #expect(try owner.shared("members") == .objects(members.prefix(2).map(\.objectID)))
    try context.perform {
      if deletesOwner {
        context.delete(owner)
      } else {
        try first.setValue(isToMany ? .objects([]) : .object(nil), forKey: "owner")
      }
    }
    switch meanwhile {
    case .adds: try members[2].setValue(.object(owners[0]), forKey: "owner")
    case .addsPair: try members[2].setValue(.objects([owners[0]]), forKey: "owner")
    case .moves: try members[0].setValue(.object(owners[1]), forKey: "owner")
    }
    try other.save()
    try shared.learn(context)
    context.undo()
    #expect(!context.hasChanges)
    #expect(try owner.shared("members") == shared.value("members", of: owners[0]))
    #expect(try first.shared("owner") == shared.value("owner", of: members[0]))
  }

  // MARK: What a deletion leaves

  enum Leaving: CaseIterable {
    case deny, noAction, oneSided
  }

  /// The deletion has changed nothing of a relationship, and so its undo has nothing to put back.
  @Test(arguments: Leaving.allCases, [true, false])
  func whatAnUnsavedDeletionHasLeftIsWhatOthersMakeOfIt(leaving: Leaving, isToMany: Bool) throws {
    let inverse =
      leaving == .oneSided
      ? []
      : [
        RelationshipDescription(
          name: "owners", destination: "Owner", isToMany: true, inverse: "members",
          deleteRule: leaving == .deny ? .deny : .noAction)
      ]
    let shared = try GraphStore([
      EntityDescription(
        name: "Owner",
        relationships: [
          RelationshipDescription(
            name: "members", destination: "Member", isToMany: isToMany,
            inverse: leaving == .oneSided ? nil : "owners")
        ]),
      EntityDescription(name: "Member", relationships: inverse),
    ])
    let (context, other) = (shared.context(), shared.context())
    context.undoManager = undoManager
    let owner = try context.insert(entityNamed: "Owner")
    let member = try context.insert(entityNamed: "Member")
    try owner.setValue(isToMany ? .objects([member]) : .object(member), forKey: "members")
    try context.save()
    context.perform { context.delete(member) }
    try shared.instance(owner, in: other).setValue(isToMany ? .objects([]) : .object(nil), forKey: "members")
    try other.save()
    try shared.learn(context)
    context.undo()
    #expect(!context.hasChanges)
    #expect(try owner.shared("members") == .objects([]))
    try context.save()
    #expect(try shared.value("members", of: owner) == .objects([]))
  }

  /// The store has cleared it with its object.
  @Test(arguments: [true, false]) func aReferenceThatHasReadAsNilIsNoChangeWhenItIsPutBack(isDeleted: Bool)
    throws
  {
    let shared = try GraphStore([
      EntityDescription(
        name: "Owner", relationships: [RelationshipDescription(name: "member", destination: "Member")]),
      EntityDescription(name: "Member"),
    ])
    let context = shared.context()
    context.undoManager = undoManager
    let owner = try context.insert(entityNamed: "Owner")
    let members = try (1...2).map { _ in try context.insert(entityNamed: "Member") }
    try owner.setValue(.object(members[0]), forKey: "member")
    try context.save()
    context.delete(members[0])
    try context.save()
    if isDeleted { context.delete(owner) } else { try owner.setValue(.object(members[1]), forKey: "member") }
    context.undo()
    #expect(!context.hasChanges)
    #expect(try owner.shared("member") == .objects([]))
    context.undo()
    #expect(try owner.shared("member") == .objects([members[0].objectID]))
    try context.save()
    #expect(try shared.value("member", of: owner) == .objects([members[0].objectID]))
  }
}

extension PropertyValue {
  fileprivate var objects: [ManagedObject] {
    if case .objects(let objects) = self { objects } else { [] }
  }
}
