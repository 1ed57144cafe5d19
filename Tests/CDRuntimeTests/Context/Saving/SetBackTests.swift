import CDRuntime
import Foundation
import Testing

/// What has been set and set back is no change: there is nothing to save, and nobody's conflict.
@Suite struct SetBackTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let held = HeldContexts()

  init() throws {
    let place = CompositeDescription(
      name: "Place", fields: [AttributeDescription(name: "row", type: .double, isOptional: true)])
    container = try PersistentContainer(
      scratchOf: [
        EntityDescription(
          name: "Node",
          attributes: [
            AttributeDescription(name: "name", type: .string, isOptional: true),
            AttributeDescription(name: "data", type: .data, isOptional: true, storesExternally: true),
            AttributeDescription(name: "place", type: .composite("Place"), isOptional: true),
            AttributeDescription(name: "note", type: .string, isOptional: true, isTransient: true),
            AttributeDescription(
              name: "shout", type: .string, isOptional: true,
              derivation: try ValueExpression(format: "uppercase:(name)")),
          ],
          relationships: [
            RelationshipDescription(name: "parent", destination: "Node", inverse: "children"),
            RelationshipDescription(name: "children", destination: "Node", isToMany: true, inverse: "parent"),
            RelationshipDescription(name: "list", destination: "Node", inverse: "entries"),
            RelationshipDescription(
              name: "entries", destination: "Node", isToMany: true, inverse: "list", isOrdered: true),
            RelationshipDescription(name: "left", destination: "Node", inverse: "right"),
            RelationshipDescription(name: "right", destination: "Node", inverse: "left"),
            RelationshipDescription(name: "tags", destination: "Node", isToMany: true, inverse: "tagged"),
            RelationshipDescription(name: "tagged", destination: "Node", isToMany: true, inverse: "tags"),
            RelationshipDescription(name: "twin", destination: "Node", inverse: "twin"),
            RelationshipDescription(name: "link", destination: "Node"),
          ])
      ], composites: [place])
    context = container.newContext()
  }

  /// Three nodes, the second of which is all that the first one is related to.
  private func makeNodes() throws -> [ManagedObject] {
    let nodes = try (0..<3).map { _ in try context.insert(entityNamed: "Node") }
    try nodes[0].setValue("a", forKey: "name")
    try nodes[0].setValue(.attribute(.data(Data(count: 100_000))), forKey: "data")
    try nodes[0].setValue(.attribute(.composite(["row": .double(1.5)])), forKey: "place")
    for key in ["parent", "list", "left", "twin", "link"] { try nodes[0].setValue(nodes[1], forKey: key) }
    try nodes[0].setValue([nodes[1]], forKey: "tags")
    try context.save()
    return nodes
  }

  private static let changes: [(key: String, value: AttributeValue)] = [
    ("name", .string("b")), ("name", .null), ("data", .data(Data(count: 100_001))), ("data", .null),
    ("place", .composite(["row": .double(2)])), ("place", .null), ("note", .string("n")),
  ]

  private func expectNoChanges(_ nodes: [ManagedObject]) {
    #expect(!context.hasChanges && context.updatedObjects == [])
    #expect(nodes.allSatisfy { !$0.isUpdated })
  }

  @Test(arguments: changes) func valuesThatAreSetBackAreNoChange(key: String, value: AttributeValue) throws {
    let nodes = try makeNodes()
    let former = try nodes[0].value(forKey: key)
    try nodes[0].setValue(.attribute(value), forKey: key)
    #expect(context.hasChanges && context.updatedObjects == [nodes[0]] && nodes[0].isUpdated)
    // What is derived is no change either.
    _ = try context.fetch(
      FetchRequest<ManagedObject>(entityName: "Node", where: try FetchPredicate(format: "shout == 'A'")))
    try nodes[0].setValue(former, forKey: key)
    if key != "name" { expectNoChanges(nodes) }
    #expect(!context.hasChanges && context.updatedObjects == [])
    try expectNothingWritten(nodes)
  }

  @Test(arguments: ["parent", "left", "right", "twin", "link", "children", "tags"], [true, false])
  func relationshipsThatAreSetBackAreNoChange(key: String, isLoaded: Bool) throws {
    let nodes = try makeNodes()
    if !isLoaded { context.refreshAllObjects() }
    let isToMany = ["children", "tags"].contains(key)
    let object = ["right", "children"].contains(key) ? nodes[1] : nodes[0]
    let other = object === nodes[0] ? nodes[1] : nodes[0]
    try object.setValue(isToMany ? .objects([nodes[2]]) : .object(nodes[2]), forKey: key)
    #expect(context.hasChanges && context.updatedObjects.contains(object))
    try object.setValue(isToMany ? .objects([other]) : .object(other), forKey: key)
    expectNoChanges(nodes)
    try expectNothingWritten(nodes)
    // It is a change again, and is written.
    try object.setValue(isToMany ? .objects([]) : .object(nil), forKey: key)
    #expect(context.hasChanges)
    try context.save()
    let fresh = container.newContext()
    let value = try fresh.existingObject(with: object.objectID).value(forKey: key)
    #expect(value.object == nil && value.objects == [])
  }

  /// The versions are what they were: others' changes meet no conflict with them.
  private func expectNothingWritten(_ nodes: [ManagedObject]) throws {
    let other = container.newContext()
    held.contexts.append(other)
    let theirs = try nodes.map { try other.existingObject(with: $0.objectID) }
    for node in theirs { try node.setValue("theirs", forKey: "name") }
    try context.save()
    try other.save()
    // A fetch learns of it.
    _ = try context.count(for: FetchRequest<ManagedObject>(entityName: "Node"))
    for node in nodes { #expect(try node.value(forKey: "name") == .attribute(.string("theirs"))) }
    expectNoChanges(nodes)
  }

  // No row has a transient attribute, so what is read again does not tell whether it has changed.
  @Test func aTransientChangeSurvivesARefresh() throws {
    let nodes = try makeNodes()
    try nodes[0].setValue("before", forKey: "note")
    try context.save()
    try nodes[0].setValue("n", forKey: "note")
    context.refresh(nodes[0], mergeChanges: true)
    #expect(context.hasChanges && nodes[0].isUpdated)
    #expect(try nodes[0].value(forKey: "note") == .attribute(.string("n")))
    context.rollback()
    #expect(try nodes[0].value(forKey: "note") == .attribute(.string("before")))
    expectNoChanges(nodes)
  }

  @Test func aTransientChangeSurvivesAConflict() throws {
    struct Undecided: Error {}
    let nodes = try makeNodes()
    let former = try nodes[0].value(forKey: "note")
    try nodes[0].setValue("n", forKey: "note")
    try nodes[0].setValue("mine", forKey: "name")
    let other = container.newContext()
    held.contexts.append(other)
    try other.existingObject(with: nodes[0].objectID).setValue("theirs", forKey: "name")
    try other.save()
    context.mergePolicy = MergePolicy { _ in throw Undecided() }
    #expect(throws: Undecided.self) { try context.save() }
    #expect(try nodes[0].value(forKey: "note") == .attribute(.string("n")))
    context.rollback()
    #expect(try nodes[0].value(forKey: "note") == former)
    #expect(try nodes[0].value(forKey: "name") == .attribute(.string("theirs")))
    expectNoChanges(nodes)
  }

  // What comes back comes to the end, and the end is where it was only if it was the last.
  @Test func anOrderThatWasLeftIsAChange() throws {
    let nodes = try makeNodes()
    #expect(try nodes[1].value(forKey: "entries").objects == [nodes[0]])
    try nodes[0].setValue(nodes[2], forKey: "list")
    try nodes[0].setValue(nodes[1], forKey: "list")
    #expect(context.hasChanges)
    try context.save()
    try nodes[2].setValue(nodes[1], forKey: "list")
    try context.save()
    #expect(try nodes[1].value(forKey: "entries").objects == [nodes[0], nodes[2]])
    try nodes[1].setValue([nodes[2], nodes[0]], forKey: "entries")
    #expect(context.hasChanges && nodes[1].isUpdated)
    try nodes[1].setValue([nodes[0], nodes[2]], forKey: "entries")
    #expect(!nodes[0].isUpdated && !nodes[2].isUpdated)
  }

  @Test func whatIsSetBackIsNotWrittenWithTheRest() throws {
    let nodes = try makeNodes()
    let other = container.newContext()
    try other.existingObject(with: nodes[0].objectID).setValue("theirs", forKey: "name")
    try nodes[0].setValue("mine", forKey: "name")
    try nodes[0].setValue("a", forKey: "name")
    try nodes[2].setValue("mine", forKey: "name")
    #expect(context.updatedObjects == [nodes[2]])
    try other.save()
    // Whoever has changed something finds the conflict, and nobody else.
    try context.save()
    let fresh = container.newContext()
    let names = try nodes.map { try fresh.existingObject(with: $0.objectID).value(forKey: "name") }
    #expect(names == [.attribute(.string("theirs")), .attribute(.null), .attribute(.string("mine"))])
    try nodes[2].setValue("again", forKey: "name")
    try context.save()
  }

  // The store's own value breaks the rule: nobody has set it.
  @Test func valuesThatAreSetBackAreNotChecked() throws {
    let store = try TemporaryStore()
    let context = try store.freshContext()
    let book = Book(title: "T", isbn: "1", author: Author(name: "A", in: context), in: context)
    try context.save()
    let title = book.title
    book.title = ""
    book.title = title
    #expect(!context.hasChanges && !book.isUpdated)
    book.salesRank = 1
    book.title = "U"
    book.title = title
    #expect(context.updatedObjects == [book] && book.isUpdated)
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test func aChildThatHasSetBackChangesNothing() throws {
    let nodes = try makeNodes()
    let child = ManagedObjectContext(parent: context)
    let copy = try child.localInstance(of: nodes[0])
    try copy.setValue("mine", forKey: "name")
    try copy.setValue(.object(nil), forKey: "parent")
    try copy.setValue("a", forKey: "name")
    try copy.setValue(child.localInstance(of: nodes[1]), forKey: "parent")
    #expect(!child.hasChanges)
    try nodes[0].setValue("parent's", forKey: "name")
    try child.save()
    _ = try child.fetch(FetchRequest<ManagedObject>(entityName: "Node"))
    #expect(try nodes[0].value(forKey: "name") == .attribute(.string("parent's")))
    #expect(try copy.value(forKey: "name") == .attribute(.string("parent's")))
  }

  @Test(arguments: [true, false]) func aReferenceToAnObjectThatWasNeverSavedIsNilAgain(isSetToNil: Bool)
    throws
  {
    let nodes = try makeNodes()
    let new = try context.insert(entityNamed: "Node")
    try nodes[2].setValue(new, forKey: "link")
    let child = ManagedObjectContext(parent: context)
    let copy = try child.localInstance(of: nodes[2])
    #expect(try copy.value(forKey: "link").object?.objectID == new.objectID)
    context.delete(new)
    if isSetToNil { try nodes[2].setValue(.object(nil), forKey: "link") }
    expectNoChanges(nodes)
    #expect(try nodes[2].value(forKey: "link").object == nil)
    // Whether or not the child has read it since.
    try copy.setValue(.object(nil), forKey: "link")
    #expect(!child.hasChanges)
    _ = try child.fetch(FetchRequest<ManagedObject>(entityName: "Node"))
    try copy.setValue(.object(nil), forKey: "link")
    #expect(!child.hasChanges)
    try expectNothingWritten(nodes)
    try nodes[2].setValue(.object(nil), forKey: "link")
    expectNoChanges(nodes)
  }

  @Test func whatWasDerivedMeanwhileIsTakenBack() throws {
    let nodes = try makeNodes()
    func shouts(_ text: String) throws -> [ManagedObject] {
      try context.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Node", where: try FetchPredicate(format: "shout == %@", arguments: [text])))
    }
    try nodes[0].setValue("b", forKey: "name")
    #expect(try shouts("B") == [nodes[0]])
    try nodes[0].setValue("a", forKey: "name")
    try context.save()
    #expect(try nodes[0].value(forKey: "shout") == .attribute(.string("A")))
    #expect(try shouts("A") == [nodes[0]])
  }

  @Test func aReferenceThatGoesWithItsObjectIsNoChange() throws {
    let nodes = try makeNodes()
    try nodes[0].setValue(.object(nil), forKey: "link")
    try context.save()
    let other = container.newContext()
    let theirs = try other.existingObject(with: nodes[0].objectID)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try nodes[0].setValue("mine", forKey: "name")
    try nodes[0].setValue(nodes[2], forKey: "link")
    context.delete(nodes[2])
    try theirs.setValue(theirs, forKey: "link")
    try other.save()
    try context.save()
    let fresh = container.newContext()
    let saved = try fresh.existingObject(with: nodes[0].objectID)
    #expect(try saved.value(forKey: "name") == .attribute(.string("mine")))
    #expect(try saved.value(forKey: "link").object == saved)
  }

  @Test func refusedObjectsAreStillRefused() throws {
    let nodes = try makeNodes()
    let stranger = try container.newContext().insert(entityNamed: "Node")
    try nodes[0].setValue(stranger, forKey: "link")
    #expect(context.hasChanges && nodes[0].isUpdated)
    #expect(throws: SaveError.self) { try context.save() }
    try nodes[0].setValue(nodes[1], forKey: "link")
    expectNoChanges(nodes)
  }
}
