import CDRuntime
import Foundation
import Testing

/// What a child's save leaves in the parent, where rules, orders and undo come together.
@Suite struct ChildSaveTests {
  private let container: PersistentContainer
  private let parent: ManagedObjectContext
  private let child: ManagedObjectContext
  private let held = HeldContexts()

  private static let name = AttributeDescription(name: "name", type: .string, isOptional: true)

  private static func one(
    _ name: String, _ destination: String, _ inverse: String?, _ rule: DeleteRule = .nullify
  ) -> RelationshipDescription {
    RelationshipDescription(name: name, destination: destination, inverse: inverse, deleteRule: rule)
  }

  private static func many(
    _ name: String, _ destination: String, _ inverse: String?, _ rule: DeleteRule = .nullify,
    ordered: Bool = false
  ) -> RelationshipDescription {
    RelationshipDescription(
      name: name, destination: destination, isToMany: true, inverse: inverse, deleteRule: rule,
      isOrdered: ordered)
  }

  private static let model = ManagedObjectModel(
    name: "Boxes", id: UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "Box", attributes: [name],
            relationships: [
              // The reference of the one stands in the box's row, that of the other in the lid's.
              one("lid", "Lid", "box", .cascade), one("zip", "Lid", "bag", .cascade),
              one("seal", "Lid", nil, .cascade), many("parts", "Lid", nil, .cascade),
              many("labels", "Label", "boxes", .cascade, ordered: true),
            ]),
          EntityDescription(
            name: "Lid", attributes: [name],
            relationships: [
              one("box", "Box", "lid"), one("bag", "Box", "zip"), one("handle", "Lid", nil, .cascade),
            ]),
          EntityDescription(
            name: "Label", attributes: [name],
            relationships: [many("boxes", "Box", "labels", ordered: true)]),
        ])
    ], currentVersionNumber: 1)

  init() throws {
    container = try PersistentContainer(scratchModel: Self.model)
    parent = container.newContext()
    child = ManagedObjectContext(parent: parent)
  }

  private func make(_ entity: String, _ name: String = "") throws -> ManagedObject {
    let object = try parent.insert(entityNamed: entity)
    try object.setValue(name, forKey: "name")
    return object
  }

  private func copy(_ object: ManagedObject) throws -> ManagedObject { try child.localInstance(of: object) }

  private func objects(_ object: ManagedObject, _ key: String) throws -> [ManagedObject] {
    guard case .objects(let objects) = try object.value(forKey: key) else { return [] }
    return objects
  }

  private func names(_ object: ManagedObject, _ key: String) throws -> [String] {
    try objects(object, key).map { object in
      guard case .attribute(.string(let name)) = try object.value(forKey: "name") else { return "" }
      return name
    }
  }

  private func object(_ object: ManagedObject, _ key: String) throws -> ManagedObject? {
    guard case .object(let other) = try object.value(forKey: key) else { return nil }
    return other
  }

  /// The object of a context that has seen nothing yet.
  private func read(_ object: ManagedObject) throws -> ManagedObject {
    let context = container.newContext()
    held.contexts.append(context)
    return try context.existingObject(with: object.objectID)
  }

  private func set(_ objects: [ManagedObject], _ key: String, of object: ManagedObject) throws {
    try object.setValue(objects, forKey: key)
  }

  // MARK: Cascades

  /// The deletion clears the reference, which the child's parent does not have: that is no change any more.
  @Test func whatTheChildHasRelatedItselfIsDeletedToo() throws {
    let container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Node",
        relationships: [
          Self.one("owner", "Node", "owned"), Self.one("owned", "Node", "owner", .cascade),
          Self.many("friends", "Node", "fans", ordered: true), Self.many("fans", "Node", "friends"),
        ])
    ])
    let parent = container.newContext()
    let child = ManagedObjectContext(parent: parent)
    let grandchild = ManagedObjectContext(parent: child)
    held.contexts += [parent, child, grandchild]
    let owner = try child.insert(entityNamed: "Node")
    let owned = try parent.insert(entityNamed: "Node")
    let middle = try child.localInstance(of: owned)
    try middle.setValue([owner], forKey: "friends")
    let doomed = try grandchild.localInstance(of: owner)
    let related = try grandchild.localInstance(of: owned)
    try doomed.setValue(related, forKey: "owned")
    grandchild.delete(doomed)
    #expect(doomed.isDeleted && related.isDeleted)
    try grandchild.save()
    #expect(owner.isDeleted && middle.isDeleted)
  }

  @Test(arguments: ["lid", "zip", "seal"])
  func whatWasTakenOutBeforeTheDeletionStays(key: String) throws {
    let (box, lid) = (try make("Box"), try make("Lid"))
    try box.setValue(lid, forKey: key)
    try parent.save()
    let copied = try copy(box)
    try copied.setValue(.object(nil), forKey: key)
    child.delete(copied)
    #expect(try !copy(lid).isDeleted)
    try child.save()
    #expect(box.isDeleted && !lid.isDeleted)
    try parent.save()
    #expect(try parent.count(for: FetchRequest<ManagedObject>(entityName: "Lid")) == 1)
    #expect(try container.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Lid")) == 1)
  }

  @Test(arguments: ["parts", "labels"], [true, false])
  func membersThatWereTakenOutBeforeTheDeletionStay(key: String, isLoaded: Bool) throws {
    let entity = key == "parts" ? "Lid" : "Label"
    let (box, kept, lost) = (try make("Box"), try make(entity), try make(entity))
    try set([kept, lost], key, of: box)
    try parent.save()
    let copied = try copy(box)
    if isLoaded { #expect(try objects(copied, key).count == 2) }
    try set([copy(lost)], key, of: copied)
    child.delete(copied)
    try child.save()
    #expect(box.isDeleted && lost.isDeleted && !kept.isDeleted)
    try parent.save()
    #expect(try container.newContext().count(for: FetchRequest<ManagedObject>(entityName: entity)) == 1)
  }

  @Test func aCascadeEndsWhereTheChildHasCutIt() throws {
    let (box, lid, handle) = (try make("Box"), try make("Lid"), try make("Lid"))
    try box.setValue(lid, forKey: "lid")
    try lid.setValue(handle, forKey: "handle")
    try parent.save()
    try copy(lid).setValue(.object(nil), forKey: "handle")
    child.delete(try copy(box))
    try child.save()
    #expect(box.isDeleted && lid.isDeleted && !handle.isDeleted)
  }

  @Test func whatWasPutInsteadGoesWithTheObject() throws {
    let (box, lid, other) = (try make("Box"), try make("Lid"), try make("Lid"))
    try box.setValue(lid, forKey: "lid")
    try parent.save()
    parent.undoManager = ContextUndoManager()
    let copied = try copy(box)
    try copied.setValue(copy(other), forKey: "lid")
    child.delete(copied)
    try child.save()
    #expect(box.isDeleted && other.isDeleted && !lid.isDeleted)
    parent.undo()
    #expect(
      try !box.isDeleted && !other.isDeleted && object(box, "lid") === lid && object(lid, "box") === box)
    #expect(!parent.hasChanges)
  }

  @Test func aGrandchildsDeletionSparesWhatItHadTakenOut() throws {
    let (box, lid) = (try make("Box"), try make("Lid"))
    try box.setValue(lid, forKey: "lid")
    try parent.save()
    let grandchild = ManagedObjectContext(parent: child)
    let copied = try grandchild.localInstance(of: box)
    try copied.setValue(.object(nil), forKey: "lid")
    grandchild.delete(copied)
    try grandchild.save()
    #expect(try !copy(lid).isDeleted)
    try child.save()
    #expect(box.isDeleted && !lid.isDeleted)
  }

  // MARK: Pairs and undo

  @Test func aPairIsRemovedOnBothSidesWhileAnUndoManagerNotesIt() throws {
    let (box, other, label) = (try make("Box", "b"), try make("Box", "o"), try make("Label", "l"))
    try set([label], "labels", of: box)
    try set([label], "labels", of: other)
    let undoManager = ContextUndoManager()
    child.undoManager = undoManager
    let (copied, member) = (try copy(box), try copy(label))
    undoManager.beginUndoGrouping()
    try set([], "labels", of: copied)
    undoManager.endUndoGrouping()
    #expect(try objects(copied, "labels").isEmpty && names(member, "boxes") == ["o"])
    child.undo()
    #expect(try names(copied, "labels") == ["l"] && names(member, "boxes") == ["b", "o"])
    child.redo()
    #expect(try objects(copied, "labels").isEmpty && names(member, "boxes") == ["o"])
    child.delete(copied)
    #expect(!member.isDeleted)
    try child.save()
    #expect(box.isDeleted && !label.isDeleted)
    #expect(try names(label, "boxes") == ["o"])
    try parent.save()
    #expect(try names(read(label), "boxes") == ["o"])
  }

  @Test func anIndexIsKeptWhileAnUndoManagerNotesIt() throws {
    let boxes = try ["a", "b", "c"].map { try make("Box", $0) }
    let labels = try ["l", "m"].map { try make("Label", $0) }
    for box in boxes { try set([labels[0]], "labels", of: box) }
    child.undoManager = ContextUndoManager()
    let member = try copy(labels[1])
    try set([copy(boxes[2])], "boxes", of: member)
    let copied = try copy(boxes[0])
    try set([member, copy(labels[0])], "labels", of: copied)
    try set([copied, copy(boxes[2])], "boxes", of: member)
    #expect(try names(copied, "labels") == ["m", "l"] && names(member, "boxes") == ["a", "c"])
    try child.save()
    #expect(try names(boxes[0], "labels") == ["m", "l"] && names(labels[1], "boxes") == ["a", "c"])
    try parent.save()
    #expect(
      try names(read(boxes[0]), "labels") == ["m", "l"] && names(read(labels[1]), "boxes") == ["a", "c"])
  }

  @Test(arguments: [true, false], [true, false])
  func whatComesBackByAChildsUndoIsRelatedOnBothSides(isSaved: Bool, isWritten: Bool) throws {
    let (box, lid, label) = (try make("Box", "b"), try make("Lid"), try make("Label", "l"))
    try box.setValue(lid, forKey: "zip")
    try set([label], "labels", of: box)
    if isSaved { try parent.save() }
    child.undoManager = ContextUndoManager()
    let copies = [try copy(lid), try copy(label)]
    let copied = try copy(box)
    child.perform { for copy in copies { child.delete(copy) } }
    try child.save()
    #expect(try object(box, "zip") == nil && names(box, "labels").isEmpty)
    if isWritten { try parent.save() }
    child.undo()
    try child.save()
    for (box, context) in [(box, parent), (copied, child)] {
      #expect(try object(box, "zip")?.objectID == lid.objectID && names(box, "labels") == ["l"])
      #expect(try object(context.existingObject(with: lid.objectID), "bag") === box)
      #expect(try names(context.existingObject(with: label.objectID), "boxes") == ["b"])
    }
    try parent.save()
    #expect(try object(read(box), "zip")?.objectID == lid.objectID && names(read(label), "boxes") == ["b"])
  }

  @Test(arguments: ["lid", "zip", "seal", "parts", "labels"])
  func theParentLearnsOfNoObjectThatItDoesNotHave(key: String) throws {
    let entity = key == "labels" ? "Label" : "Lid"
    let box = try make("Box")
    try parent.save()
    let copied = try copy(box)
    func relate(_ member: ManagedObject) throws {
      let isToMany = ["parts", "labels"].contains(key)
      try copied.setValue(isToMany ? .objects([member]) : .object(member), forKey: key)
    }
    func count(_ context: ManagedObjectContext) throws -> Int {
      try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).count
    }
    // One that the child has inserted and deleted.
    let member = try child.insert(entityNamed: entity)
    try relate(member)
    child.delete(member)
    try child.save()
    #expect(try count(parent) == 0)
    // One that the parent had from the child and has taken back.
    let other = try child.insert(entityNamed: entity)
    try child.save()
    try relate(other)
    parent.rollback()
    try child.save()
    #expect(try count(parent) == 0)
    try parent.save()
    #expect(try count(container.newContext()) == 0)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test(arguments: ["lid", "seal", "parts", "labels"], [true, false])
  func relationshipsDoNotLeadToWhatTheParentHasDeleted(key: String, isSaved: Bool) throws {
    let isToMany = ["parts", "labels"].contains(key)
    let (box, member) = (try make("Box"), try make(key == "labels" ? "Label" : "Lid"))
    if isSaved { try parent.save() }
    let (copied, theirs) = (try copy(box), try copy(member))
    try copied.setValue("b", forKey: "name")
    try copied.setValue(isToMany ? .objects([theirs]) : .object(theirs), forKey: key)
    parent.delete(member)
    // The change of a value would be lost.
    let name = try theirs.value(forKey: "name")
    try theirs.setValue("m", forKey: "name")
    #expect(throws: SaveError.self) { try child.save() }
    try theirs.setValue(name, forKey: "name")
    try child.save()
    let value = try box.value(forKey: key)
    #expect(value.object == nil && value.objects == [])
    try parent.save()
    #expect(try names(read(box), key) == [] && object(read(box), key) == nil)
  }

  // MARK: Orders

  @Test(arguments: [true, false])
  func theInverseSideKeepsTheOrderOfTheChild(isStored: Bool) throws {
    let boxes = try ["a", "b", "c"].map { try make("Box", $0) }
    let label = try make("Label", "l")
    try set([boxes[0]], "boxes", of: label)
    if isStored { try parent.save() }
    let copies = try boxes.map(copy)
    // Changed first, so given first.
    for copied in copies { try copied.setValue("\(copied.objectID)", forKey: "name") }
    for place in [2, 1] {
      try set([copy(label)], "labels", of: copies[place])
    }
    for (copied, name) in zip(copies, ["a", "b", "c"]) { try copied.setValue(name, forKey: "name") }
    try child.save()
    #expect(try names(label, "boxes") == ["a", "c", "b"])
    try parent.save()
    #expect(try names(read(label), "boxes") == ["a", "c", "b"])
  }

  @Test func aMemberThatGoesAndComesBackIsTheLast() throws {
    let boxes = try ["a", "b"].map { try make("Box", $0) }
    let label = try make("Label", "l")
    try set(boxes, "boxes", of: label)
    try parent.save()
    let other = container.newContext()
    let form = ManagedObjectContext(parent: other)
    let first = try form.existingObject(with: boxes[0].objectID)
    let member = try form.existingObject(with: label.objectID)
    try set([], "labels", of: first)
    try set([member], "labels", of: first)
    try form.save()
    try other.save()
    #expect(try names(read(label), "boxes") == ["b", "a"])
  }

  @Test(arguments: [true, false]) func aMemberByItsReferenceThatGoesAndComesBackIsTheLast(isSaved: Bool)
    throws
  {
    let shared = try GraphStore([
      EntityDescription(
        name: "Node",
        relationships: [
          Self.one("whole", "Node", "parts"), Self.many("parts", "Node", "whole", ordered: true),
        ])
    ])
    let first = shared.context()
    let whole = try first.insert(entityNamed: "Node")
    let parts = try (1...2).map { _ in try first.insert(entityNamed: "Node") }
    try whole.setValue(.objects(parts), forKey: "parts")
    try first.save()
    let last = shared.context()
    let form = ManagedObjectContext(parent: last)
    let part = try form.existingObject(with: parts[0].objectID)
    try part.setValue(.object(nil), forKey: "whole")
    try part.setValue(.object(form.existingObject(with: whole.objectID)), forKey: "whole")
    try form.save()
    let order = SharedValue.objects([parts[1].objectID, parts[0].objectID])
    #expect(try shared.instance(whole, in: isSaved ? last : form).shared("parts") == order)
    try last.save()
    #expect(try shared.value("parts", of: whole) == order)
  }

  // MARK: Faults

  @Test func thePartnerIsFoundThoughItIsAFault() throws {
    let (box, bag, lid) = (try make("Box", "b"), try make("Box", "c"), try make("Lid", "l"))
    try box.setValue(lid, forKey: "lid")
    try bag.setValue(lid, forKey: "zip")
    try parent.save()
    let label = try make("Label")
    // It is related to others before its row has been read.
    let partner = try child.object(with: box.objectID)
    #expect(partner.isFault)
    try set([partner], "boxes", of: copy(label))
    #expect(try object(copy(lid), "box") === partner)
    let zipped = try child.object(with: lid.objectID)
    #expect(try object(child.object(with: bag.objectID), "zip") === zipped)
    #expect(try object(zipped, "bag")?.objectID == bag.objectID)
  }
}
