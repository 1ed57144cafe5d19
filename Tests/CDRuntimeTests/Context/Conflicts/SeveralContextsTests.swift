import Foundation
import Testing

@_spi(Generated) @testable import CDRuntime

/// Contexts over one store that each have changes of their own while the others save: what they show then, after their
/// own save, and after a rollback.
@Suite struct SeveralContextsTests {
  /// A one-to-one relationship whose reference is in B's rows, and an ordered one that has no inverse.
  private static let pairs = [
    EntityDescription(
      name: "B", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
      relationships: [
        RelationshipDescription(name: "partner", destination: "C", inverse: "holder"),
        RelationshipDescription(name: "list", destination: "C", isToMany: true, isOrdered: true),
      ]),
    EntityDescription(
      name: "C", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
      relationships: [RelationshipDescription(name: "holder", destination: "B", inverse: "partner")]),
  ]

  /// A tree: objects that refer to one of their own entity.
  private static let tree = [
    EntityDescription(
      name: "A", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
      relationships: [
        RelationshipDescription(name: "children", destination: "A", isToMany: true, inverse: "parent"),
        RelationshipDescription(name: "parent", destination: "A", inverse: "children"),
        RelationshipDescription(name: "favourite", destination: "A"),
      ])
  ]

  /// Objects that refer to each other, each in its own row.
  private static let couples = [
    EntityDescription(
      name: "A", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
      relationships: [RelationshipDescription(name: "spouse", destination: "A", inverse: "spouse")])
  ]

  /// An attribute that is derived along a relationship without an inverse.
  private static let derived = [
    EntityDescription(
      name: "A",
      attributes: [
        AttributeDescription(name: "number", type: .int64, isOptional: true),
        AttributeDescription(
          name: "copied", type: .int64, isOptional: true,
          derivation: .path(.object, [.key("favourite"), .key("number")])),
      ], relationships: [RelationshipDescription(name: "favourite", destination: "A")])
  ]

  // MARK: Learning

  @Test func aPartnerOfAnUnsavedReferenceStaysWhenOthersHaveSaved() throws {
    let shared = try GraphStore(Self.pairs)
    let (context, other) = (shared.context(), shared.context())
    let (holder, partner) = (try context.insert(entityNamed: "B"), try context.insert(entityNamed: "C"))
    try holder.setValue(.object(partner), forKey: "partner")
    #expect(try partner.value(forKey: "holder").object == holder)
    _ = try other.insert(entityNamed: "C")
    try other.save()
    try shared.learn(context)
    #expect(try partner.value(forKey: "holder").object == holder)
    let all = FetchRequest<ManagedObject>(entityName: "C")
    _ = try context.execute(BatchUpdateRequest(all, set: [.set("number", to: .attribute(.int(1)))]))
    try shared.learn(context)
    #expect(try partner.value(forKey: "holder").object == holder)
    try context.save()
    #expect(try shared.value("holder", of: partner) == .objects([holder.objectID]))
  }

  @Test(arguments: [true, false]) func whatOthersSaveIsReadOfObjectsWithDerivedChangesAlone(
    isDeleted: Bool
  ) throws {
    let shared = try GraphStore(Self.derived)
    let (context, other) = (shared.context(), shared.context())
    let (object, target) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "A"))
    try object.setValue(.object(target), forKey: "favourite")
    try context.save()
    try target.setValue(5, forKey: "number")
    let request = FetchRequest<ManagedObject>(
      entityName: "A", where: try FetchPredicate(format: "copied == 5"))
    #expect(try context.fetch(request) == [object])
    let theirs = try shared.instance(object, in: other)
    if isDeleted { other.delete(theirs) } else { try theirs.setValue(7, forKey: "number") }
    try other.save()
    #expect(try context.fetch(request) == (isDeleted ? [] : [object]))
    if !isDeleted { #expect(try object.shared("number") == .attribute(.int(7))) }
    try context.save()
    #expect(try shared.value("number", of: target) == .attribute(.int(5)))
    if isDeleted {
      #expect(object.isInaccessible)
      #expect(try shared.ids(of: "A") == [target.objectID])
    } else {
      #expect(try shared.value("number", of: object) == .attribute(.int(7)))
      #expect(try shared.value("copied", of: object) == .attribute(.int(5)))
    }
  }

  @Test func aPartnerThatIsTakenAwayStaysAwayWhenOthersHaveSaved() throws {
    let shared = try GraphStore(Self.pairs)
    let (context, other) = (shared.context(), shared.context())
    let (holder, partner) = (try context.insert(entityNamed: "B"), try context.insert(entityNamed: "C"))
    try holder.setValue(.object(partner), forKey: "partner")
    try context.save()
    let next = try context.insert(entityNamed: "C")
    try holder.setValue(.object(next), forKey: "partner")
    _ = try other.insert(entityNamed: "B")
    try other.save()
    try shared.learn(context)
    #expect(try partner.value(forKey: "holder").object == nil)
    #expect(try next.value(forKey: "holder").object == holder)
    context.delete(holder)
    try shared.learn(context)
    #expect(try next.value(forKey: "holder").object == nil)
  }

  /// Others have taken the partner from an object with changes, which keeps its values.
  @Test(arguments: [true, false]) func aPartnerIsTakenFromAnObjectThatHasNotFollowedOthers(isDeleted: Bool)
    throws
  {
    let shared = try GraphStore(Self.pairs)
    let (context, other) = (shared.context(.overwrite), shared.context())
    let (holder, partner) = (try context.insert(entityNamed: "B"), try context.insert(entityNamed: "C"))
    let next = try context.insert(entityNamed: "B")
    try holder.setValue(.object(partner), forKey: "partner")
    try context.save()
    try holder.setValue(1, forKey: "number")
    let theirs = try shared.instance(holder, in: other)
    if isDeleted { other.delete(theirs) } else { try theirs.setValue(.object(nil), forKey: "partner") }
    try other.save()
    try shared.learn(context)
    #expect(try partner.value(forKey: "holder").object == holder)
    try partner.setValue(.object(next), forKey: "holder")
    #expect(try holder.value(forKey: "partner").object == nil)
    try context.save()
    #expect(try shared.value("partner", of: holder) == .objects([]))
    #expect(try shared.value("partner", of: next) == .objects([partner.objectID]))
    #expect(try shared.value("number", of: holder) == .attribute(.int(1)))
  }

  /// The partner's change has kept it from being read again. The save must still find that others have changed it too.
  @Test(arguments: [false, true]) func aPartnerThatIsReleasedKeepsItsConflict(isChild: Bool) throws {
    let shared = try GraphStore(Self.couples)
    let parent = shared.context()
    let (first, second) = (try parent.insert(entityNamed: "A"), try parent.insert(entityNamed: "A"))
    try parent.save()
    let context = isChild ? ManagedObjectContext(parent: parent) : parent
    let other = isChild ? parent : shared.context()
    let (mine, partner) = (try shared.instance(first, in: context), try shared.instance(second, in: context))
    try partner.setValue(.attribute(.int(1)), forKey: "number")
    let (left, right) = (try shared.instance(first, in: other), try shared.instance(second, in: other))
    try right.setValue(.attribute(.int(2)), forKey: "number")
    try left.setValue(.object(right), forKey: "spouse")
    if isChild {
      context.refresh(mine, mergeChanges: false)
    } else {
      try other.save()
      try shared.learn(context)
    }
    try mine.setValue(.object(nil), forKey: "spouse")
    #expect(try partner.value(forKey: "spouse").object == nil)
    let error = #expect(throws: SaveError.self) { try context.save() }
    guard case .conflict(let conflicts) = error else {
      Issue.record("It is \(String(describing: error)).")
      return
    }
    #expect(conflicts.map(\.objectID) == [second.objectID])
    #expect(try right.shared("number") == .attribute(.int(2)))
    if !isChild { #expect(try shared.value("number", of: second) == .attribute(.int(2))) }
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    if isChild { try parent.save() }
    #expect(try shared.value("number", of: second) == .attribute(.int(2)))
    for object in [first, second] { #expect(try shared.value("spouse", of: object) == .objects([])) }
  }

  @Test func aPrefetchKeepsAPartnerThatHasNotFollowedOthers() throws {
    let shared = try GraphStore(Self.pairs)
    let (context, other) = (shared.context(), shared.context())
    let (holder, partner) = (try context.insert(entityNamed: "B"), try context.insert(entityNamed: "C"))
    try holder.setValue(.object(partner), forKey: "partner")
    try context.save()
    try holder.setValue(1, forKey: "number")
    try shared.instance(holder, in: other).setValue(.object(nil), forKey: "partner")
    try other.save()
    try shared.learn(context)
    var request = FetchRequest<ManagedObject>(entityName: "C")
    request.prefetch = ["holder"]
    #expect(try context.fetch(request) == [partner])
    #expect(try partner.value(forKey: "holder").object == holder)
  }

  @Test func aListHasWhatOthersHaveAddedOnceItIsSaved() throws {
    let shared = try GraphStore(Self.pairs)
    let (context, other) = (shared.context(), shared.context())
    let owner = try context.insert(entityNamed: "B")
    try context.save()
    let mine = try context.insert(entityNamed: "C")
    let theirs = try other.insert(entityNamed: "C")
    try shared.instance(owner, in: other).setValue(.objects([theirs]), forKey: "list")
    try owner.setValue(.objects([mine]), forKey: "list")
    try other.save()
    try shared.learn(context)
    try context.save()
    let ids = Set(try owner.value(forKey: "list").objects.map(\.objectID))
    #expect(ids == [mine.objectID, theirs.objectID])
    #expect(try shared.value("list", of: owner) == owner.shared("list"))
  }

  /// What has been set and set back is no change that could keep what was read.
  @Test func anObjectThatWasSetBackFollowsOthers() throws {
    let shared = try GraphStore(Self.pairs)
    let (context, other) = (shared.context(), shared.context())
    let (holder, partner) = (try context.insert(entityNamed: "B"), try context.insert(entityNamed: "C"))
    let lost = try context.insert(entityNamed: "C")
    try context.save()
    let passing = try context.insert(entityNamed: "C")
    try holder.setValue(.object(passing), forKey: "partner")
    try passing.setValue(.object(nil), forKey: "holder")
    for number in [1, nil] as [Int64?] {
      try lost.setValue(.attribute(number.map { .int($0) } ?? .null), forKey: "number")
    }
    try shared.instance(partner, in: other).setValue(
      .object(shared.instance(holder, in: other)), forKey: "holder")
    other.delete(try shared.instance(lost, in: other))
    try other.save()
    try shared.learn(context)
    #expect(try holder.value(forKey: "partner").object == partner)
    #expect(lost.isInaccessible)
    try partner.setValue(.object(nil), forKey: "holder")
    try context.save()
    #expect(try shared.value("partner", of: holder) == .objects([]))
    #expect(try shared.ids(of: "C") == [partner.objectID, passing.objectID])
  }

  @Test(arguments: [true, false]) func aRefreshKeepsNothingThatWasSetBack(isChanged: Bool) throws {
    let shared = try GraphStore(Self.tree)
    let (context, other) = (shared.context(), shared.context())
    let (object, parent) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "A"))
    try object.setValue(1, forKey: "number")
    try context.save()
    if isChanged { try object.setValue(.object(parent), forKey: "parent") }
    try object.setValue(2, forKey: "number")
    try shared.instance(object, in: other).setValue(3, forKey: "number")
    try other.save()
    try object.setValue(1, forKey: "number")
    context.refresh(object, mergeChanges: true)
    #expect(try object.value(forKey: "number") == .attribute(.int(3)))
    #expect(context.updatedObjects.contains(object) == isChanged)
    try context.save()
    #expect(try shared.value("number", of: object) == .attribute(.int(3)))
    #expect(try shared.value("parent", of: object) == .objects(isChanged ? [parent.objectID] : []))
  }

  /// Nothing leads to the owner of a relationship without an inverse but its own pairs.
  @Test func aSaveNamesTheOwnerOfPairsThatOthersHaveDeleted() throws {
    let shared = try GraphStore(Self.pairs)
    let (context, other) = (shared.context(), shared.context())
    let (owner, member) = (try context.insert(entityNamed: "B"), try context.insert(entityNamed: "C"))
    try context.save()
    try owner.setValue(.objects([member]), forKey: "list")
    other.delete(try shared.instance(owner, in: other))
    try other.save()
    #expect(throws: SaveError.danglingReferences([owner.objectID])) { try context.save() }
    context.rollback()
    try shared.learn(context)
    #expect(owner.isInaccessible && !context.hasChanges)
  }

  // MARK: After the changes

  /// What ends the changes of an object without its row having been written.
  enum End: CaseIterable {
    case rollback, refresh, undo, save
  }

  /// An object whose unsaved change is one of a relationship that is in others' rows, so that its own row is not
  /// written.
  private func objectWithTouch(
    _ end: End, _ body: (_ theirs: ManagedObject, _ other: ManagedObjectContext) throws -> Void
  ) throws -> (shared: GraphStore, context: ManagedObjectContext, object: ManagedObject) {
    let shared = try GraphStore(Self.tree)
    let (context, other) = (shared.context(), shared.context())
    let object = try context.insert(entityNamed: "A")
    try context.save()
    if end == .undo { context.undoManager = ContextUndoManager() }
    #expect(try object.value(forKey: "number") == .attribute(.null))
    let child = try context.perform {
      let child = try context.insert(entityNamed: "A")
      try child.setValue(.object(object), forKey: "parent")
      return child
    }
    #expect(object.isUpdated)
    try body(shared.instance(object, in: other), other)
    try other.save()
    try shared.learn(context)
    switch end {
    case .rollback: context.rollback()
    case .refresh:
      try child.setValue(.object(nil), forKey: "parent")
      context.delete(child)
      context.refresh(object, mergeChanges: false)
    case .undo: context.undo()
    case .save: try context.save()
    }
    return (shared, context, object)
  }

  @Test func anObjectThatWasMerelyRelatedToOthersIsReadAgainAtOnce() throws {
    let shared = try GraphStore(Self.tree)
    let (context, other) = (shared.context(), shared.context())
    let object = try context.insert(entityNamed: "A")
    try context.save()
    let child = try context.insert(entityNamed: "A")
    try child.setValue(.object(object), forKey: "parent")
    try shared.instance(object, in: other).setValue(.attribute(.int(7)), forKey: "number")
    try other.save()
    try shared.learn(context)
    #expect(object.isUpdated)
    #expect(try object.value(forKey: "number") == .attribute(.int(7)))
    #expect(try object.value(forKey: "children").objects == [child])
    try object.setValue(.attribute(.int(8)), forKey: "number")
    try context.save()
    #expect(try shared.value("number", of: object) == .attribute(.int(8)))
    #expect(try shared.value("children", of: object) == .objects([child.objectID]))
  }

  @Test(arguments: End.allCases) func whatOthersHaveChangedMeanwhileIsReadOnceTheChangesEnd(_ end: End) throws
  {
    let (shared, context, object) = try objectWithTouch(end) { theirs, _ in
      try theirs.setValue(.attribute(.int(7)), forKey: "number")
    }
    #expect(try object.value(forKey: "number") == .attribute(.int(7)))
    // The next change is none of an old row.
    try object.setValue(.attribute(.int(8)), forKey: "number")
    try context.save()
    #expect(try shared.value("number", of: object) == .attribute(.int(8)))
  }

  @Test(arguments: [End.rollback, .undo])
  func whatOthersHaveDeletedMeanwhileIsGoneOnceTheChangesEnd(_ end: End) throws {
    let (_, context, object) = try objectWithTouch(end) { theirs, other in other.delete(theirs) }
    _ = try object.value(forKey: "number")
    #expect(object.isInaccessible)
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "A")) == 0)
    #expect(context.registeredObject(for: object.objectID) == nil)
  }

  @Test(arguments: [true, false]) func aRollbackReadsReferencesThatOthersHaveSet(isDeleted: Bool) throws {
    let shared = try GraphStore(Self.tree)
    let (context, other) = (shared.context(), shared.context())
    let (parent, object) = (try other.insert(entityNamed: "A"), try other.insert(entityNamed: "A"))
    try other.save()
    let mine = try shared.instance(object, in: context)
    if isDeleted {
      context.delete(mine)
    } else {
      try mine.setValue(.attribute(.int(-1)), forKey: "number")
    }
    try object.setValue(.object(parent), forKey: "parent")
    try other.save()
    try shared.learn(context)
    context.rollback()
    #expect(try mine.value(forKey: "parent").object?.objectID == parent.objectID)
    #expect(try mine.value(forKey: "number") == .attribute(.null))
    try mine.setValue(.attribute(.int(1)), forKey: "number")
    try context.save()
  }

  @Test(arguments: [true, false]) func aRollbackRevivesNothingThatOthersHaveDeleted(isDeleted: Bool) throws {
    let shared = try GraphStore(Self.tree)
    let (context, other) = (shared.context(), shared.context())
    let (object, admirer) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "A"))
    try admirer.setValue(.object(object), forKey: "favourite")
    try context.save()
    if isDeleted {
      context.delete(object)
    } else {
      try object.setValue(.attribute(.int(1)), forKey: "number")
    }
    other.delete(try shared.instance(object, in: other))
    try other.save()
    try shared.learn(context)
    context.rollback()
    _ = try object.value(forKey: "number")
    #expect(object.isInaccessible || object.isDeleted)
    #expect(try admirer.value(forKey: "favourite").object == nil)
    #expect(try context.objectIDs(for: FetchRequest<ManagedObject>(entityName: "A")) == [admirer.objectID])
  }

  @Test func aRowThatComesBackIsReadAnewAfterARollback() throws {
    let shared = try GraphStore(Self.tree)
    let (context, other, third) = (shared.context(), shared.context(), shared.context())
    let object = try other.insert(entityNamed: "A")
    try other.save()
    let mine = try shared.instance(object, in: context)
    try mine.setValue(.attribute(.int(1)), forKey: "number")
    try shared.instance(object, in: third).setValue(.attribute(.int(3)), forKey: "number")
    other.delete(object)
    try other.save()
    try shared.learn(context)
    third.mergePolicy = .overwrite
    try third.save()
    try shared.learn(context)
    context.rollback()
    let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "A"))
    #expect(try all.map { try $0.value(forKey: "number") } == [.attribute(.int(3))])
    #expect(try mine.isInaccessible || mine.value(forKey: "number") == .attribute(.int(3)))
  }

  @Test(arguments: [true, false]) func aRowThatIsWrittenAnewHasItsNewValuesForAll(learnsBetween: Bool) throws
  {
    let shared = try GraphStore(Self.tree)
    let (context, other, third) = (shared.context(), shared.context(), shared.context())
    let object = try other.insert(entityNamed: "A")
    try other.save()
    let mine = try shared.instance(object, in: context)
    #expect(try mine.value(forKey: "number") == .attribute(.null))
    try shared.instance(object, in: third).setValue(.attribute(.int(3)), forKey: "number")
    other.delete(object)
    try other.save()
    if learnsBetween { try shared.learn(context) }
    third.mergePolicy = .overwrite
    try third.save()
    for reader in [context, other] {
      let all = try reader.fetch(FetchRequest<ManagedObject>(entityName: "A"))
      #expect(try all.map { try $0.value(forKey: "number") } == [.attribute(.int(3))])
      #expect(all.allSatisfy { !$0.isDeleted && !$0.isInaccessible })
    }
  }

  /// Between two turns of a context the row of an object goes and comes back.
  @Test func anObjectThatWasMerelyRelatedHasTheValuesOfTheRowThatCameBack() throws {
    let shared = try GraphStore(Self.tree)
    let (context, other, third) = (shared.context(), shared.context(), shared.context(.overwrite))
    let object = try context.insert(entityNamed: "A")
    try context.save()
    let child = try context.insert(entityNamed: "A")
    try child.setValue(.object(object), forKey: "parent")
    try shared.instance(object, in: third).setValue(.attribute(.int(3)), forKey: "number")
    other.delete(try shared.instance(object, in: other))
    try other.save()
    try third.save()
    try shared.learn(context)
    #expect(try object.value(forKey: "number") == .attribute(.int(3)))
    try context.save()
    #expect(try shared.value("children", of: object) == .objects([child.objectID]))
  }

  @Test(arguments: [true, false]) func aListWithoutAnInverseIsReadAgainBesideOwnChanges(isAdding: Bool) throws
  {
    let list = [
      EntityDescription(
        name: "B", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
        relationships: [RelationshipDescription(name: "list", destination: "C", isToMany: true)]),
      EntityDescription(name: "C"),
    ]
    let shared = try GraphStore(list)
    let (context, other) = (shared.context(), shared.context())
    let holder = try context.insert(entityNamed: "B")
    let members = try (0..<2).map { _ in try context.insert(entityNamed: "C") }
    try context.save()
    #expect(try holder.value(forKey: "list").objects.isEmpty)
    try holder.setValue(.attribute(.int(1)), forKey: "number")
    if isAdding { try holder.setValue(.objects([members[0]]), forKey: "list") }
    let theirs = try shared.instance(holder, in: other)
    try theirs.setValue(.objects([shared.instance(members[1], in: other)]), forKey: "list")
    try other.save()
    try shared.learn(context)
    #expect(try Set(holder.value(forKey: "list").objects) == Set(isAdding ? members : [members[1]]))
    try context.save()
    #expect(try shared.value("list", of: holder) == holder.shared("list"))
  }

  /// The deleted object is kept for an undo, and others write its row anew.
  /// Many-to-many relationships of all shapes.
  private static let circles = [
    EntityDescription(
      name: "A",
      relationships: [
        RelationshipDescription(name: "tags", destination: "A", isToMany: true, inverse: "tagged"),
        RelationshipDescription(name: "tagged", destination: "A", isToMany: true, inverse: "tags"),
        RelationshipDescription(
          name: "list", destination: "A", isToMany: true, inverse: "lists", isOrdered: true),
        RelationshipDescription(name: "lists", destination: "A", isToMany: true, inverse: "list"),
        RelationshipDescription(name: "links", destination: "A", isToMany: true),
        RelationshipDescription(
          name: "friends", destination: "A", isToMany: true, inverse: "friends", isOrdered: true),
      ])
  ]

  @Test(
    arguments: ["tags", "tagged", "list", "lists", "links", "friends"],
    [(true, true), (true, false), (false, true)]
  ) func aPairStaysAChangeThatOthersMakeAndTakeBack(key: String, readings: (Bool, Bool)) throws {
    for isAdding in [true, false] {
      let shared = try GraphStore(Self.circles)
      let (context, other) = (shared.context(), shared.context())
      let inverse = Self.circles[0].relationships.first { $0.name == key }?.inverse
      let objects = try (0..<2).map { _ in try context.insert(entityNamed: "A") }
      if !isAdding { try objects[0].setValue([objects[1]], forKey: key) }
      try context.save()
      let theirs = try objects.map { try shared.instance($0, in: other) }
      func relate(_ objects: [ManagedObject], _ isRelated: Bool) throws {
        try objects[0].setValue(.objects(isRelated ? [objects[1]] : []), forKey: key)
      }
      func expectOwn() throws {
        let (one, two) = (objects[0].objectID, objects[1].objectID)
        #expect(try objects[0].shared(key) == .objects(isAdding ? [two] : []))
        if let inverse { #expect(try objects[1].shared(inverse) == .objects(isAdding ? [one] : [])) }
      }
      try relate(objects, isAdding)
      for (state, isRead) in [(isAdding, readings.0), (!isAdding, readings.1)] {
        try relate(theirs, state)
        try other.save()
        if isRead {
          try shared.learn(context)
          try expectOwn()
        }
      }
      #expect(context.hasChanges)
      try context.save()
      try expectOwn()
      #expect(try shared.value(key, of: objects[0]) == .objects(isAdding ? [objects[1].objectID] : []))
      #expect(try shared.container.persistentStoreCoordinator.verify() == [])
    }
  }

  /// What others have made too is theirs once the context has taken its own change back.
  @Test(arguments: ["tags", "tagged", "list", "lists", "links", "friends"], [true, false])
  func aPairThatOthersHaveMadeTooCanBeRemovedAndMadeAgain(key: String, isAdding: Bool) throws {
    let shared = try GraphStore(Self.circles)
    let (context, other) = (shared.context(), shared.context())
    let objects = try (0..<2).map { _ in try context.insert(entityNamed: "A") }
    if !isAdding { try objects[0].setValue([objects[1]], forKey: key) }
    try context.save()
    let theirs = try objects.map { try shared.instance($0, in: other) }
    for pair in [objects, theirs] {
      try pair[0].setValue(.objects(isAdding ? [pair[1]] : []), forKey: key)
    }
    try other.save()
    try shared.learn(context)
    _ = try objects[0].value(forKey: key)
    try objects[0].setValue(.objects(isAdding ? [] : [objects[1]]), forKey: key)
    try context.save()
    let expected = SharedValue.objects(isAdding ? [] : [objects[1].objectID])
    #expect(try objects[0].shared(key) == expected)
    #expect(try shared.value(key, of: objects[0]) == expected)
    if let inverse = Self.circles[0].relationships.first(where: { $0.name == key })?.inverse {
      let expected = SharedValue.objects(isAdding ? [] : [objects[0].objectID])
      #expect(try objects[1].shared(inverse) == expected)
      #expect(try shared.value(inverse, of: objects[1]) == expected)
    }
  }

  @Test func aDeletedObjectWhoseRowIsWrittenAnewHasNoOldChanges() throws {
    let shared = try GraphStore(Self.tree)
    let (context, other) = (shared.context(), shared.context(.overwrite))
    context.undoManager = ContextUndoManager()
    let object = try context.insert(entityNamed: "A")
    try context.save()
    try shared.instance(object, in: other).setValue(.attribute(.int(3)), forKey: "number")
    try object.setValue(.attribute(.int(1)), forKey: "number")
    context.delete(object)
    try context.save()
    try other.save()
    try shared.learn(context)
    let again = try context.object(with: object.objectID)
    #expect(try again.value(forKey: "number") == .attribute(.int(3)))
    #expect(!again.isDeleted && !again.isInaccessible && !context.hasChanges)
    try again.setValue(.attribute(.int(4)), forKey: "number")
    #expect(context.updatedObjects == [again])
    try context.save()
    #expect(try shared.value("number", of: object) == .attribute(.int(4)))
  }

  /// The row has been written anew twice, from the values of the same row.
  @Test func aRowThatIsWrittenAnewIsAnotherOneEachTime() throws {
    let shared = try GraphStore(Self.tree)
    let (context, other) = (shared.context(), shared.context(.overwrite))
    let (first, second) = (shared.context(.overwrite), shared.context())
    let object = try context.insert(entityNamed: "A")
    try context.save()
    for (writer, number) in [(first, 1), (other, 2)] {
      try shared.instance(object, in: writer).setValue(.attribute(.int(Int64(number))), forKey: "number")
    }
    context.delete(object)
    try context.save()
    try first.save()
    first.mergePolicy = .error
    let mine = try shared.instance(object, in: first)
    try mine.setValue(.object(mine), forKey: "favourite")
    second.delete(try shared.instance(object, in: second))
    try second.save()
    try other.save()
    let error = #expect(throws: SaveError.self) { try first.save() }
    guard case .conflict(let conflicts) = error else {
      Issue.record("It is \(String(describing: error)).")
      return
    }
    #expect(conflicts.map(\.keys) == [["number"]])
  }

  /// The history still has the deletion of the former row, which the context reads later.
  @Test(arguments: [false, true]) func anObjectThatIsWrittenAnewOutlivesTheDeletionOfItsFormerRow(
    isDeleted: Bool
  ) throws {
    let shared = try GraphStore(Self.tree)
    let (context, other) = (shared.context(.mergeByPropertyObjectTrump), shared.context())
    let object = try context.insert(entityNamed: "A")
    try context.save()
    other.delete(try shared.instance(object, in: other))
    try other.save()
    try object.setValue(.attribute(.int(1)), forKey: "number")
    try context.save()
    #expect(!object.isInaccessible)
    if isDeleted {
      context.undoManager = ContextUndoManager()
      context.delete(object)
    }
    try shared.learn(context)
    if isDeleted { context.undo() }
    #expect(!object.isDeleted && !object.isInaccessible)
    #expect(try object.shared("number") == .attribute(.int(1)))
    try context.save()
    #expect(try shared.ids(of: "A") == [object.objectID])
  }

  @Test func combinedChangesLeaveAnObjectWhoseRowIsThereAgain() throws {
    let shared = try GraphStore(Self.tree)
    let (context, other) = (shared.context(), shared.context(.overwrite))
    let remover = shared.context()
    let object = try context.insert(entityNamed: "A")
    try context.save()
    try shared.instance(object, in: other).setValue(.attribute(.int(1)), forKey: "number")
    remover.delete(try shared.instance(object, in: remover))
    try remover.save()
    try other.save()
    let ids = ManagedObjectIDs([object.objectID])
    context.mergeChanges(from: ObjectChanges(deleted: ids).followed(by: ObjectChanges(inserted: ids)))
    #expect(!object.isInaccessible)
    #expect(try object.shared("number") == .attribute(.int(1)))
  }

  /// A rule of `deny` is about what the store has.
  @Test func aPartnerThatWasNeverSavedIsNobodysAfterTheSave() throws {
    let entities = [
      EntityDescription(
        name: "A",
        relationships: [
          RelationshipDescription(name: "next", destination: "A", inverse: "previous", deleteRule: .deny),
          RelationshipDescription(name: "previous", destination: "A", inverse: "next"),
        ])
    ]
    let shared = try GraphStore(entities)
    let context = shared.context()
    let (object, gone) = (try context.insert(entityNamed: "A"), try context.insert(entityNamed: "A"))
    try gone.setValue(.object(object), forKey: "next")
    context.delete(gone)
    try context.save()
    #expect(try object.value(forKey: "previous").object == nil)
  }
}
