@_spi(Generated) import CDRuntime
import Foundation
import Testing

/// What a child, and a child of a child, sees of its parent's later changes.
@Suite struct ChildFollowingTests {
  private let container: PersistentContainer
  private let parent: ManagedObjectContext
  private let child: ManagedObjectContext
  private let grandchild: ManagedObjectContext

  private static let model = ManagedObjectModel(
    name: "Nodes", id: UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "Node",
            attributes: [
              AttributeDescription(name: "name", type: .string, isOptional: true),
              AttributeDescription(
                name: "size", type: .int64, isOptional: true,
                derivation: .path(.object, [.key("fans"), .collectionOperator("count")])),
              AttributeDescription(
                name: "linkName", type: .string, isOptional: true,
                derivation: .path(.object, [.key("link"), .key("name")])),
            ],
            relationships: [
              RelationshipDescription(name: "link", destination: "Node"),
              RelationshipDescription(
                name: "list", destination: "Node", isToMany: true, isOrdered: true),
              RelationshipDescription(name: "left", destination: "Node", inverse: "right"),
              RelationshipDescription(name: "right", destination: "Node", inverse: "left"),
              RelationshipDescription(name: "group", destination: "Node", inverse: "members"),
              RelationshipDescription(
                name: "members", destination: "Node", isToMany: true, inverse: "group", deleteRule: .deny),
              RelationshipDescription(
                name: "friends", destination: "Node", isToMany: true, inverse: "fans", isOrdered: true),
              RelationshipDescription(name: "fans", destination: "Node", isToMany: true, inverse: "friends"),
              RelationshipDescription(name: "owner", destination: "Node", inverse: "things"),
              RelationshipDescription(
                name: "things", destination: "Node", isToMany: true, inverse: "owner", deleteRule: .noAction),
            ])
        ])
    ], currentVersionNumber: 1)

  init() throws {
    container = try PersistentContainer(scratchModel: Self.model)
    parent = container.newContext()
    child = ManagedObjectContext(parent: parent)
    grandchild = ManagedObjectContext(parent: child)
  }

  private func make(_ name: String, in context: ManagedObjectContext? = nil) throws -> ManagedObject {
    let object = try (context ?? parent).insert(entityNamed: "Node")
    try object.setValue(name, forKey: "name")
    return object
  }

  private func copy(_ object: ManagedObject, in context: ManagedObjectContext? = nil) throws -> ManagedObject
  {
    try (context ?? child).object(with: object.objectID)
  }

  /// The names of all objects of a context.
  @discardableResult private func all(_ context: ManagedObjectContext) throws -> [String] {
    try context.perform { try context.fetch(FetchRequest<ManagedObject>(entityName: "Node")).map(name) }
  }

  private func name(_ object: ManagedObject) throws -> String {
    guard case .attribute(.string(let name)) = try object.value(forKey: "name") else { return "" }
    return name
  }

  private func names(_ object: ManagedObject, _ key: String) throws -> [String] {
    switch try object.value(forKey: key) {
    case .objects(let objects): try objects.map(name)
    case .object(let related): try related.map { [try name($0)] } ?? []
    default: []
    }
  }

  private func set(_ object: ManagedObject, _ key: String, _ related: ManagedObject?) throws {
    try object.setValue(.object(related), forKey: key)
  }

  private func set(_ object: ManagedObject, _ key: String, _ related: [ManagedObject]) throws {
    try object.setValue(.objects(related), forKey: key)
  }

  // MARK: Values and relationships

  @Test(arguments: [true, false]) func aGrandchildSeesWhatTheRootHasChanged(isSaved: Bool) throws {
    let (node, other) = (try make("a"), try make("b"))
    if isSaved { try parent.save() }
    for context in [child, grandchild] { try all(context) }
    let held = try (copy(node, in: grandchild), copy(other, in: grandchild))
    #expect(try names(held.0, "friends").isEmpty && names(held.1, "fans").isEmpty)
    try node.setValue("c", forKey: "name")
    try set(node, "friends", [other])
    #expect(try all(grandchild) == ["c", "b"])
    #expect(try name(held.0) == "c" && names(held.0, "friends") == ["b"] && names(held.1, "fans") == ["c"])
    // And what it has saved, taken back or deleted.
    try parent.save()
    try node.setValue("d", forKey: "name")
    try all(grandchild)
    parent.rollback()
    #expect(try name(held.0) == "c")
    parent.delete(other)
    #expect(try all(grandchild) == ["c"])
    #expect(try names(held.0, "friends").isEmpty)
    #expect((try? name(held.1)) != nil && held.1.isInaccessible)
  }

  @Test(arguments: [true, false], ["friends", "list"])
  func aChangedListLosesWhatTheParentDeletes(isGrandchild: Bool, key: String) throws {
    let context = isGrandchild ? grandchild : child
    let nodes = try ["a", "b", "c", "d"].map { try make($0) }
    try set(nodes[0], key, [nodes[1], nodes[2]])
    try parent.save()
    try all(context)
    let held = try nodes.map { try copy($0, in: context) }
    try set(held[0], key, [held[3], held[2], held[1]])
    parent.delete(nodes[2])
    #expect(try all(context) == ["a", "b", "d"])
    #expect(try names(held[0], key) == ["d", "b"])
    try context.save()
    if isGrandchild { try child.save() }
    #expect(try names(nodes[0], key) == ["d", "b"])
    try parent.save()
    let fresh = container.newContext()
    #expect(try names(fresh.existingObject(with: nodes[0].objectID), key) == ["d", "b"])
  }

  /// The values that a fetch derives are those that it finds, and stay afterwards.
  @Test(arguments: [true, false]) func aFetchKeepsTheValuesThatItDerives(isGrandchild: Bool) throws {
    let context = isGrandchild ? grandchild : child
    let (node, target) = (try make("a"), try make("t"))
    try set(node, "link", target)
    try parent.save()
    try all(context)
    let held = try (copy(node, in: context), copy(target, in: context))
    try held.1.setValue("u", forKey: "name")
    var request = FetchRequest<ManagedObject>(
      entityName: "Node", where: try FetchPredicate(format: "linkName != nil"))
    request.sortKeys = [SortKey("linkName")]
    for _ in 0..<2 {
      #expect(try context.fetch(request) == [held.0])
      #expect(try context.count(for: request) == 1)
      try all(context)
      #expect(try held.0.value(forKey: "linkName") == .attribute(.string("u")))
    }
  }

  @Test(arguments: [true, false]) func anObjectThatTheParentHasDeletedDoesNotExist(isGrandchild: Bool) throws
  {
    let context = isGrandchild ? grandchild : child
    let (node, other) = (try make("a"), try make("b"))
    try parent.save()
    try all(context)
    let held = try copy(other, in: context)
    #expect(try context.existingObject(with: other.objectID) === held)
    parent.delete(other)
    #expect(throws: FetchError.unknownObject(other.objectID)) {
      try context.existingObject(with: other.objectID)
    }
    #expect(try name(context.existingObject(with: node.objectID)) == "a")
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Node")) == 1)
  }

  /// A child has no changes then, and so follows the parent.
  @Test(arguments: [true, false]) func aValueThatWasSetBackIsNoChange(isGrandchild: Bool) throws {
    let context = isGrandchild ? grandchild : child
    let (node, other) = (try make("a"), try make("b"))
    try parent.save()
    try all(context)
    let held = try [copy(node, in: context), copy(other, in: context)]
    for (object, name) in zip(held, ["a", "b"]) {
      try object.setValue("x", forKey: "name")
      try object.setValue(name, forKey: "name")
    }
    #expect(!context.hasChanges)
    try node.setValue("c", forKey: "name")
    #expect(try all(context) == ["c", "b"])
    parent.delete(other)
    #expect(try all(context) == ["c"])
    #expect(throws: FetchError.unknownObject(other.objectID)) {
      try context.existingObject(with: other.objectID)
    }
  }

  /// The other sides of these references are read from the parent.
  @Test(arguments: [true, false]) func anObjectWithOtherChangesFollowsTheParentsReferences(isGrandchild: Bool)
    throws
  {
    let context = isGrandchild ? grandchild : child
    let (node, group) = (try make("a"), try make("g"))
    try parent.save()
    try set(node, "group", group)
    try all(context)
    let held = try (copy(node, in: context), copy(group, in: context))
    #expect(try names(held.0, "group") == ["g"] && names(held.1, "members") == ["a"])
    try held.0.setValue("x", forKey: "name")
    parent.rollback()
    #expect(try all(context) == ["x", "g"])
    #expect(try names(held.0, "group").isEmpty && names(held.1, "members").isEmpty)
    // A reference that it has changed is its own.
    try set(held.0, "group", held.1)
    try set(node, "group", node)
    try all(context)
    #expect(try names(held.0, "group") == ["g"] && names(held.1, "members") == ["x"])
  }

  /// The object that was never saved comes back with the child's changes, and so does the reference without an inverse.
  @Test func aReferenceToAnObjectThatAPolicyBringsBackStays() throws {
    let (node, other) = (try make("a"), try make("b"))
    try all(child)
    let held = try (copy(node), copy(other))
    try held.1.setValue("x", forKey: "name")
    try set(held.0, "link", held.1)
    parent.delete(other)
    child.mergePolicy = .mergeByPropertyObjectTrump
    try child.save()
    #expect(try all(parent) == ["a", "x"])
    #expect(try names(held.0, "link") == ["x"])
    #expect(try names(node, "link") == ["x"])
    try parent.save()
    #expect(try names(container.newContext().existingObject(with: node.objectID), "link") == ["x"])
  }

  @Test(arguments: [true, false]) func bothSidesOfAOneToOneFollowTheParent(isGrandchild: Bool) throws {
    let context = isGrandchild ? grandchild : child
    let (left, right) = (try make("l"), try make("r"))
    try all(context)
    let held = try (copy(left, in: context), copy(right, in: context))
    #expect(try names(held.0, "right").isEmpty && names(held.1, "left").isEmpty)
    try set(left, "right", right)
    try all(context)
    #expect(try names(held.0, "right") == ["r"] && names(held.1, "left") == ["l"])
    try set(left, "right", nil)
    try all(context)
    #expect(try names(held.0, "right").isEmpty && names(held.1, "left").isEmpty)
  }

  /// The row of the object itself has not been written.
  @Test(arguments: [true, false]) func savedRelationshipsThatOtherRowsHoldAreSeen(isGrandchild: Bool) throws {
    let context = isGrandchild ? grandchild : child
    let (node, other) = (try make("a"), try make("b"))
    try parent.save()
    try all(context)
    let held = try copy(node, in: context)
    let keys = ["friends", "members", "right"]
    #expect(try name(held) == "a")
    for key in keys { #expect(try names(held, key).isEmpty) }
    try set(node, "friends", [other])
    try set(other, "group", node)
    try set(other, "left", node)
    try parent.save()
    try all(context)
    for key in keys { #expect(try names(held, key) == ["b"]) }
    #expect(!context.hasChanges)
  }

  /// The child has changed a relationship and set it back. Its save leaves it without changes.
  @Test func aGrandchildFollowsWhatTheChildsSaveHasLeftWithoutChanges() throws {
    let (left, right, third) = (try make("l"), try make("r"), try make("t"))
    try set(left, "right", right)
    try all(child)
    let (mine, other) = (try copy(left), try copy(right))
    try set(other, "left", try copy(third))
    try set(other, "left", mine)
    try all(grandchild)
    let held = try copy(third, in: grandchild)
    #expect(try names(held, "right").isEmpty)
    try set(third, "right", right)
    try all(grandchild)
    try child.save()
    try held.setValue("u", forKey: "name")
    #expect(try names(held, "right") == ["r"])
    #expect(try names(copy(right, in: grandchild), "left") == ["u"])
  }

  @Test func anObjectWithChangesFollowsInTheRelationshipsThatItHasNotChanged() throws {
    let (node, other, third) = (try make("a"), try make("b"), try make("c"))
    try all(child)
    let held = try copy(node)
    #expect(try names(held, "right").isEmpty && names(held, "fans").isEmpty)
    try held.setValue("mine", forKey: "name")
    // The reference stands in the other one's row.
    try set(other, "left", node)
    try set(other, "friends", [node])
    try all(child)
    #expect(try names(held, "right") == ["b"] && names(held, "fans") == ["b"] && name(held) == "mine")
    // The partner of the parent's is another's now, and knows it.
    try set(copy(third), "left", held)
    #expect(try names(held, "right") == ["c"] && names(copy(other), "left").isEmpty)
    try child.save()
    #expect(try names(other, "left").isEmpty && names(third, "left") == ["mine"])
  }

  @Test func aNewObjectsOneToOneStaysWhereTheParentGoesBack() throws {
    let new = try make("n", in: child)
    try set(new, "left", new)
    parent.rollback()
    try all(child)
    #expect(try names(new, "left") == ["n"] && names(new, "right") == ["n"])
  }

  @Test func aRollbackReadsTheParentAnew() throws {
    let (node, other) = (try make("a"), try make("b"))
    try set(node, "link", other)
    let held = try copy(node)
    #expect(try names(held, "link") == ["b"])
    try held.setValue("mine", forKey: "name")
    try node.setValue("theirs", forKey: "name")
    parent.delete(other)
    child.rollback()
    #expect(try name(held) == "theirs" && names(held, "link").isEmpty)
  }

  @Test(arguments: ["friends", "list"], [true, false])
  func whatARefreshOfTheParentHasDroppedIsGone(key: String, isGrandchild: Bool) throws {
    let context = isGrandchild ? grandchild : child
    let (node, first, second) = (try make("a"), try make("b"), try make("c"))
    try set(node, key, [first])
    try parent.save()
    try all(context)
    let held = try copy(node, in: context)
    #expect(try name(held) == "a")
    try set(node, key, [first, second])
    #expect(try names(held, key) == ["b", "c"])
    parent.refresh(node, mergeChanges: false)
    #expect(try names(held, key) == ["b"])
    // What the child then adds reaches the parent.
    try set(held, key, [copy(first, in: context), copy(second, in: context)])
    if isGrandchild { try grandchild.save() }
    try child.save()
    #expect(try names(node, key) == ["b", "c"])
  }

  @Test func aResetOfTheParentIsSeenAtOnce() throws {
    let node = try make("a")
    try parent.save()
    try node.setValue("b", forKey: "name")
    let new = try make("n")
    let held = try (copy(node), copy(new))
    #expect(try name(held.0) == "b" && name(held.1) == "n")
    parent.reset()
    #expect(try name(held.0) == "a")
    _ = try? name(held.1)
    #expect(held.1.isInaccessible)
  }

  @Test func derivedAttributesOfTheParentsObjectsCountInAChildsFetch() throws {
    _ = try make("a")
    let (own, middle) = (try make("c", in: grandchild), try make("b", in: child))
    var request = FetchRequest<ManagedObject>(entityName: "Node")
    request.sortKeys = [SortKey("size", ascending: false), SortKey("name")]
    #expect(try grandchild.fetch(request).map(name) == ["a", "b", "c"])
    request.predicate = try FetchPredicate(format: "size == 0")
    #expect(try grandchild.count(for: request) == 3)
    #expect(own.isInserted && middle.isInserted)
  }

  /// The copies have been read before there was anything to derive, and no fetch finds them since.
  @Test(arguments: [true, false]) func derivedAttributesOfTheParentsObjectsCountInTheOrderOfOthers(
    isGrandchild: Bool
  ) throws {
    let context = isGrandchild ? grandchild : child
    let (linked, free, other) = (try make("a"), try make("b"), try make("c"))
    try set(linked, "link", other)
    let held = try all(context)
    let target = try copy(other, in: context)
    try set(copy(free, in: context), "link", nil)
    try copy(free, in: context).setValue("bb", forKey: "name")
    let request = try FetchRequest<ManagedObject>(
      entityName: "Node", where: FetchPredicate(format: "name != %@", "c"))
    var sorted = request
    sorted.sortKeys = [SortKey("link.size")]
    #expect(try context.fetch(sorted).map(name) == ["bb", "a"])
    #expect(held.count == 3 && context.updatedObjects.contains(target) == false)
  }

  // MARK: Deletions

  @Test(arguments: [true, false]) func aOneSidedReferenceEndsWithTheParentsObject(isGrandchild: Bool) throws {
    let context = isGrandchild ? grandchild : child
    let (node, gone) = (try make("a"), try make("b"))
    try set(node, "link", gone)
    try set(node, "list", [gone])
    try all(context)
    let held = try copy(node, in: context)
    #expect(try names(held, "link") == ["b"] && names(held, "list") == ["b"])
    parent.delete(gone)
    #expect(try all(context) == ["a"])
    #expect(try names(held, "link").isEmpty && names(held, "list").isEmpty)
    parent.rollback()
  }

  @Test func whatTheParentHasDeletedIsNoChangedObjectOfTheChild() throws {
    let (group, member) = (try make("g"), try make("m"))
    try set(member, "group", group)
    try all(child)
    parent.delete(group)
    try all(child)
    let held = try copy(member)
    // The rule keeps the reference, which leads nowhere here.
    try set(held, "group", held)
    #expect(try all(child) == ["m"])
    #expect(child.updatedObjects == [held])
    try child.save()
    #expect(try names(member, "members") == ["m"])
  }

  @Test func whatARuleOfNoActionHasLeftIsNotRelated() throws {
    let (owner, thing) = (try make("o"), try make("t"))
    try set(thing, "owner", owner)
    try parent.save()
    let held = try copy(thing)
    #expect(try names(held, "owner") == ["o"])
    parent.delete(owner)
    try parent.save()
    try all(child)
    #expect(try names(held, "owner").isEmpty)
    try set(held, "owner", held)
    #expect(child.updatedObjects == [held])
    #expect(try names(held, "things") == ["t"])
  }

  /// How a parent takes a deletion back that its child has given to it.
  enum Return: CaseIterable { case rollback, undo, reset }

  @Test(arguments: Return.allCases, [true, false])
  func whatAChildHasDeletedIsThereAgainWithTheParents(way: Return, isGrandchild: Bool) throws {
    let node = try make("a")
    try parent.save()
    parent.undoManager = ContextUndoManager()
    let context = isGrandchild ? grandchild : child
    let held = try copy(node, in: context)
    context.delete(held)
    try context.save()
    if isGrandchild { try child.save() }
    #expect(held.isDeleted && node.isDeleted)
    switch way {
    case .rollback: parent.rollback()
    case .undo: parent.undo()
    case .reset: parent.reset()
    }
    #expect(try all(context) == ["a"])
    #expect(!held.isDeleted && !held.isInaccessible)
    #expect(try copy(node, in: context) === held && name(held) == "a")
    try held.setValue("b", forKey: "name")
    try context.save()
    if isGrandchild { try child.save() }
    #expect(try all(parent) == ["b"])
  }

  // MARK: Undo

  @Test func anUndoInAChildDoesNotBringBackWhatTheParentHasDeleted() throws {
    child.undoManager = ContextUndoManager()
    let new = try child.perform { try child.insert(entityNamed: "Node") }
    try child.perform { try new.setValue("n", forKey: "name") }
    try child.perform { try child.save() }
    parent.delete(try copy(new, in: parent))
    try all(child)
    for _ in 0..<2 { child.perform { child.undo() } }
    #expect(try all(child).isEmpty && !child.hasChanges)
    // What was not there for the undo is nothing to come back with the redo.
    for _ in 0..<2 { child.perform { child.redo() } }
    #expect(try all(child).isEmpty && !child.hasChanges)
  }

  @Test func aReferenceToWhatAChildBringsBackIsAChange() throws {
    let (node, other) = (try make("a"), try make("b"))
    try set(node, "link", other)
    try all(child)
    child.undoManager = ContextUndoManager()
    try child.perform { child.delete(try copy(other)) }
    try child.save()
    child.undo()
    let held = try copy(node)
    #expect(try names(held, "link") == ["b"] && child.updatedObjects == [held])
    try child.save()
    #expect(try names(node, "link") == ["b"])
  }

  /// The store has cleared the reference with the row. The child has read the object before it had a row.
  @Test func anInsertionThatAChildBringsBackHasANewRow() throws {
    let node = try make("a")
    try parent.save()
    child.undoManager = ContextUndoManager()
    let other = try make("b", in: child)
    try set(copy(node), "link", other)
    try child.save()
    #expect(try name(other) == "b")
    try parent.save()
    let elsewhere = container.newContext()
    try copy(other, in: elsewhere).setValue("theirs", forKey: "name")
    child.perform { child.delete(other) }
    try child.save()
    try parent.save()
    child.undo()
    try child.save()
    try parent.save()
    #expect(try names(node, "link") == ["b"])
    let fresh = container.newContext()
    #expect(try names(copy(node, in: fresh), "link") == ["b"])
    // It knows the former row, and not the new one.
    #expect(throws: SaveError.self) { try elsewhere.save() }
  }

  /// How the changes of a child's object end, of which a refresh has found that the parent has deleted it.
  enum End: CaseIterable { case none, save, rollback, merge }

  /// The parent has taken the deletion back.
  @Test(arguments: End.allCases) func anUndoFindsWhatAnEarlierRefreshHasFoundDeleted(end: End) throws {
    let node = try make("a")
    try parent.save()
    let held = try copy(node)
    try held.setValue("b", forKey: "name")
    parent.delete(node)
    if end == .merge {
      child.mergeChanges(from: ObjectChanges(deleted: ManagedObjectIDs([node.objectID])))
    } else {
      child.refresh(held, mergeChanges: true)
    }
    parent.rollback()
    switch end {
    case .none: break
    case .save, .merge: try child.save()
    case .rollback: child.rollback()
    }
    child.undoManager = ContextUndoManager()
    child.perform { child.delete(held) }
    child.undo()
    let result = end == .rollback ? "a" : "b"
    #expect(!held.isDeleted)
    #expect(try all(child) == [result])
    try child.save()
    try parent.save()
    #expect(try all(container.newContext()) == [result])
  }

  /// An object whose deletion the child has saved and undone. After the undo, the parent has taken the deletion back too.
  private func broughtBackByBoth() throws -> (node: ManagedObject, held: ManagedObject) {
    let node = try make("a")
    try parent.save()
    let held = try copy(node)
    child.undoManager = ContextUndoManager()
    child.perform { child.delete(held) }
    try child.save()
    child.undo()
    parent.rollback()
    #expect(try name(node) == "a" && name(held) == "a")
    return (node, held)
  }

  @Test(arguments: ["a", "parent's"], [true, false])
  func whatTheParentHasTakenBackTooIsAConflictIfItDiffers(theirs: String, isMerging: Bool) throws {
    let (node, held) = try broughtBackByBoth()
    try node.setValue(theirs, forKey: "name")
    do {
      try child.save()
      #expect(theirs == "a")
    } catch SaveError.conflict(let conflicts) {
      #expect(theirs != "a" && conflicts.map(\.objectID) == [node.objectID])
      #expect(conflicts.first?.reason == .changed && conflicts.first?.keys == ["name"])
      #expect(try name(node) == theirs)
      child.refresh(held, mergeChanges: isMerging)
      try child.save()
    }
    let result = isMerging ? "a" : theirs
    #expect(!child.hasChanges && !held.isInserted)
    #expect(try name(node) == result && name(held) == result)
    try parent.save()
    #expect(try all(container.newContext()) == [result])
  }

  @Test(arguments: [true, false])
  func aPolicyDecidesAboutWhatTheParentHasTakenBackToo(isOfParent: Bool) throws {
    let (node, held) = try broughtBackByBoth()
    try node.setValue("parent's", forKey: "name")
    child.mergePolicy = isOfParent ? .mergeByPropertyStoreTrump : .mergeByPropertyObjectTrump
    try child.save()
    let result = isOfParent ? "parent's" : "a"
    #expect(try name(node) == result && name(held) == result)
  }

  @Test(arguments: [true, false])
  func aSecondDeletionReachesTheParentThatHasTakenBackTheFirst(isRedo: Bool) throws {
    let (node, held) = try broughtBackByBoth()
    if isRedo { child.redo() } else { child.delete(held) }
    #expect(held.isDeleted && child.hasChanges)
    try child.save()
    #expect(node.isDeleted)
    try parent.save()
    #expect(try all(container.newContext()) == [])
  }

  /// The object has a row, so that its delete rules apply.
  @Test func aSecondDeletionIsRefusedByItsRules() throws {
    let (node, held) = try broughtBackByBoth()
    try set(make("m"), "group", node)
    child.delete(held)
    #expect(throws: SaveError.self) { try child.save() }
    #expect(!node.isDeleted)
  }

  /// The policy has brought the first object back before it throws about the second one.
  @Test func whatAPolicyHasBroughtBackInVainIsAConflict() throws {
    let (first, second) = (try make("a"), try make("b"))
    try parent.save()
    for object in [first, second] { try copy(object).setValue("mine", forKey: "name") }
    parent.delete(first)
    try second.setValue("parent's", forKey: "name")
    let undecided = second.objectID
    child.mergePolicy = MergePolicy { conflict in
      if conflict.objectID == undecided { throw SaveError.conflict([conflict]) }
      return .objectWins
    }
    #expect(throws: SaveError.self) { try child.save() }
    parent.rollback()
    try first.setValue("parent's", forKey: "name")
    child.mergePolicy = .error
    let error = #expect(throws: SaveError.self) { try child.save() }
    guard case .conflict(let conflicts) = error else {
      Issue.record("It is \(String(describing: error)).")
      return
    }
    #expect(conflicts.map(\.objectID) == [first.objectID])
    #expect(try name(first) == "parent's")
  }

  /// Another context inserts the row again, before the undo or after it.
  @Test(arguments: [true, false]) func theUndoOfAChildFindsTheRowOfOthers(isBefore: Bool) throws {
    let node = try make("a")
    try parent.save()
    let other = container.newContext()
    other.mergePolicy = .overwrite
    try copy(node, in: other).setValue("theirs", forKey: "name")
    let held = try copy(node)
    child.undoManager = ContextUndoManager()
    child.perform { child.delete(held) }
    try child.save()
    try parent.save()
    if isBefore { try other.save() }
    child.undo()
    #expect(try name(held) == "a" && held.isInserted != isBefore)
    if !isBefore {
      try other.save()
      #expect(throws: SaveError.self) { try child.save() }
      child.refresh(held, mergeChanges: true)
    }
    try child.save()
    try parent.save()
    #expect(try all(container.newContext()) == ["a"])
  }

  @Test func aReferenceThatTheParentsSaveHasClearedIsNoConflict() throws {
    let (node, other) = (try make("a"), try make("b"))
    try parent.save()
    try set(node, "link", other)
    parent.delete(other)
    child.delete(try copy(node))
    try parent.save()
    try child.save()
    #expect(try all(parent).isEmpty)
  }

  @Test(arguments: [true, false]) func aRedoRelatesNothingToWhatTheParentHasDeleted(isRead: Bool) throws {
    child.undoManager = ContextUndoManager()
    let (node, other) = (try make("a"), try make("b"))
    try all(child)
    try child.perform { try set(copy(node), "fans", [copy(other)]) }
    child.undo()
    try child.perform { try child.save() }
    parent.delete(node)
    if isRead { #expect(try all(child) == ["b"]) }
    child.redo()
    #expect(try all(child) == ["b"] && names(copy(other), "friends").isEmpty)
    try child.save()
    #expect(try all(parent) == ["b"])
  }

  // MARK: Saves

  @Test func whatAChildHasInsertedAndDeletedDoesNotComeToTheParent() throws {
    let node = try make("a")
    try all(child)
    let (kept, gone) = (try make("k", in: child), try make("g", in: child))
    let held = try copy(node)
    try set(gone, "friends", [held, kept])
    try set(gone, "group", kept)
    try set(held, "link", gone)
    try set(held, "list", [gone, kept])
    child.delete(gone)
    try held.setValue("b", forKey: "name")
    try child.save()
    #expect(try all(parent) == ["b", "k"])
    #expect(try names(node, "link").isEmpty && names(node, "list") == ["k"] && names(node, "fans").isEmpty)
    try parent.save()
    #expect(try all(container.newContext()) == ["b", "k"])
  }

  @Test func whatAChildAddsToAnOrderedRelationshipReachesTheFile() throws {
    let (node, other) = (try make("a"), try make("b"))
    child.undoManager = ContextUndoManager()
    parent.perform { node._insert(node, at: 0, slot("list")) }
    parent.perform { node._add(node, slot("friends")) }
    try all(child)
    let held = try (copy(node), copy(other))
    child.perform { held.0._add(held.1, slot("list")) }
    child.perform { held.0._add(held.1, slot("friends")) }
    #expect(try names(held.0, "list") == ["a", "b"] && names(held.0, "friends") == ["a", "b"])
    #expect(try names(held.1, "fans") == ["a"])
    try child.perform { try child.save() }
    try parent.perform { try parent.save() }
    let again = container.newContext()
    let read = try again.existingObject(with: node.objectID)
    #expect(try names(read, "list") == ["a", "b"] && names(read, "friends") == ["a", "b"])
    child.perform { held.0._remove(held.1, slot("friends")) }
    child.perform { held.1._remove(held.0, slot("fans")) }
    #expect(try names(held.0, "friends") == ["a"] && names(held.1, "fans").isEmpty)
  }

  @Test(arguments: [true, false]) func aDeletionDoesNotBringBackWhatTheParentHasDeleted(isSaved: Bool) throws
  {
    let (owner, thing) = (try make("o"), try make("t"))
    try set(thing, "owner", owner)
    if isSaved { try parent.save() }
    try all(child)
    let held = try (copy(owner), copy(thing))
    parent.delete(owner)
    #expect(try all(child) == ["t"])
    // Its reference is there still if the owner was saved: the rule is `noAction`.
    child.delete(held.1)
    #expect(try all(child) == [] && (try? name(held.0)) != nil && held.0.isInaccessible)
    try child.save()
    #expect(try all(parent) == [])
  }

  @Test(arguments: [true, false])
  func anObjectThatAnUndoLeavesWithoutChangesFollowsItsParent(isUndone: Bool) throws {
    let node = try make("a")
    try all(child)
    child.undoManager = ContextUndoManager()
    let held = try copy(node)
    child.perform { try? held.setValue("b", forKey: "name") }
    try node.setValue("c", forKey: "name")
    #expect(try name(held) == "b")
    if isUndone {
      child.undo()
    } else {
      try held.setValue("a", forKey: "name")
      try child.save()
    }
    #expect(try name(held) == "c" && !child.hasChanges)
    try held.setValue("d", forKey: "name")
    try child.save()
    #expect(try name(node) == "d")
  }

  // MARK: Derived attributes

  /// The names of the objects whose link has a name, by the attribute that is derived from it.
  @discardableResult private func linked(
    to name: String, in context: ManagedObjectContext
  ) throws -> [String] {
    let request = FetchRequest<ManagedObject>(
      entityName: "Node", where: try FetchPredicate(format: "linkName == %@", name))
    return try context.perform { try context.fetch(request).map(self.name) }
  }

  @Test(arguments: [true, false], [true, false])
  func anObjectOfWhichOnlyDerivedAttributesHaveChangedFollowsItsParent(
    isGrandchild: Bool, isSaved: Bool
  ) throws {
    let context = isGrandchild ? grandchild : child
    let (node, target, other) = (try make("a"), try make("t"), try make("o"))
    try set(node, "link", target)
    if isSaved { try parent.save() }
    try all(context)
    let held = try copy(node, in: context)
    try copy(target, in: context).setValue("u", forKey: "name")
    #expect(try linked(to: "u", in: context) == ["a"])
    try node.setValue("b", forKey: "name")
    #expect(try all(context) == ["b", "u", "o"] && name(held) == "b")
    #expect(try linked(to: "u", in: context) == ["b"])
    try set(node, "link", other)
    #expect(try linked(to: "u", in: context) == [] && linked(to: "o", in: context) == ["b"])
    try set(node, "link", target)
    #expect(try linked(to: "u", in: context) == ["b"])
    try node.setValue("c", forKey: "name")
    parent.rollback()
    if isSaved {
      #expect(try all(context) == ["a", "u", "o"] && linked(to: "u", in: context) == ["a"])
    }
  }

  @Test(arguments: [true, false])
  func anObjectOfWhichOnlyDerivedAttributesHaveChangedIsGoneWithTheParents(isFetched: Bool) throws {
    let (node, target) = (try make("a"), try make("t"))
    try set(node, "link", target)
    try parent.save()
    try all(child)
    try copy(target).setValue("u", forKey: "name")
    #expect(try linked(to: "u", in: child) == ["a"])
    parent.delete(node)
    if isFetched { #expect(try all(child) == ["u"] && linked(to: "u", in: child) == []) }
    try child.save()
    #expect(try all(parent) == ["u"])
    try parent.save()
    #expect(try all(container.newContext()) == ["u"])
  }

  @Test(arguments: [true, false]) func whatAParentsPolicyHasBroughtIsSeen(isGrandchild: Bool) throws {
    let context = isGrandchild ? grandchild : child
    let (node, target) = (try make("a"), try make("t"))
    try parent.save()
    try all(context)
    let held = try copy(node, in: context)
    #expect(try name(held) == "a")
    let other = container.newContext()
    try copy(node, in: other).setValue("b", forKey: "name")
    parent.mergePolicy = .mergeByPropertyObjectTrump
    try set(node, "link", target)
    try other.save()
    try parent.save()
    #expect(try name(held) == "b" && names(held, "link") == ["t"])
    #expect(!context.hasChanges)
  }

  private func slot(_ name: String) -> Int {
    let description = Self.model.versions[0].entities[0]
    let names = description.attributes.map(\.name) + description.relationships.map(\.name)
    return names.firstIndex(of: name) ?? -1
  }
}
