import CDRuntime
import Foundation
import Testing

/// Saves that are refused leave the graph as it is: what stood in the way can be put right, and the next save succeeds.
@Suite struct RefusedSaveTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let undoManager = ContextUndoManager()
  private let held = HeldContexts()

  private static let model = ManagedObjectModel(
    name: "Owners", id: UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "Owner",
            relationships: [
              RelationshipDescription(
                name: "items", destination: "Item", isToMany: true, inverse: "owner", deleteRule: .deny),
              RelationshipDescription(name: "crown", destination: "Item", inverse: "king", deleteRule: .deny),
            ]),
          EntityDescription(
            name: "Item",
            relationships: [
              RelationshipDescription(name: "owner", destination: "Owner", inverse: "items"),
              RelationshipDescription(name: "king", destination: "Owner", inverse: "crown"),
              RelationshipDescription(name: "friend", destination: "Item"),
            ]),
        ])
    ], currentVersionNumber: 1)

  init() throws {
    container = try PersistentContainer(scratchModel: Self.model)
    context = container.newContext()
  }

  private func make(_ entity: String, in context: ManagedObjectContext? = nil) throws -> ManagedObject {
    try (context ?? self.context).insert(entityNamed: entity)
  }

  private func object(_ object: ManagedObject, _ key: String) throws -> ManagedObject? {
    guard case .object(let other) = try object.value(forKey: key) else { return nil }
    return other
  }

  private func read(_ object: ManagedObject) throws -> ManagedObject {
    let context = container.newContext()
    held.contexts.append(context)
    return try context.existingObject(with: object.objectID)
  }

  @Test(arguments: ["owner", "king", "friend"])
  func anObjectThatWasNeverSavedIsNotDenied(key: String) throws {
    let (owner, item) = (try make(key == "friend" ? "Item" : "Owner"), try make("Item"))
    context.undoManager = undoManager
    try context.perform { try item.setValue(owner, forKey: key) }
    context.perform { context.delete(owner) }
    #expect(try object(item, key) == nil)
    // It is nil already: there is nothing to undo.
    try context.perform { try item.setValue(.object(nil), forKey: key) }
    context.undo()
    #expect(try object(item, key) == owner && !owner.isDeleted)
    context.redo()
    #expect(try object(item, key) == nil && owner.isDeleted)
    try context.save()
    #expect(try object(read(item), key) == nil)
  }

  @Test(arguments: ["owner", "king"], [true, false])
  func aDenialCanBeResolvedAfterARefusedSave(key: String, isChild: Bool) throws {
    let (owner, other) = (try make("Owner"), try make("Owner"))
    try context.save()
    let work = isChild ? ManagedObjectContext(parent: context) : context
    let mine = try work.localInstance(of: owner)
    // A reference that has been changed, which the save may clear.
    let item = try make("Item", in: work)
    try item.setValue(mine, forKey: key)
    work.delete(mine)
    for _ in 0..<2 {
      #expect(throws: SaveError.self) { try work.save() }
    }
    try item.setValue(work.localInstance(of: other), forKey: key)
    try work.save()
    try context.save()
    #expect(try object(read(item), key)?.objectID == other.objectID)
    #expect(throws: FetchError.self) { try read(owner) }
  }

  /// How the deleted object loses the one that its rule of `deny` is about.
  enum Loss: CaseIterable { case another, none, fromOtherSide, deletion }

  // The reference is in the row of either side, or in both rows.
  @Test(arguments: [("B", "C"), ("C", "B"), ("B", "B")], Loss.allCases)
  func aDenialEndsWithTheReference(names: (owner: String, item: String), loss: Loss) throws {
    let isSymmetric = names.owner == names.item
    let owner = RelationshipDescription(
      name: "item", destination: names.item, inverse: isSymmetric ? "item" : "owner", deleteRule: .deny)
    let item = RelationshipDescription(name: "owner", destination: names.owner, inverse: "item")
    let entities =
      isSymmetric
      ? [EntityDescription(name: names.owner, relationships: [owner])]
      : [
        EntityDescription(name: names.owner, relationships: [owner]),
        EntityDescription(name: names.item, relationships: [item]),
      ]
    for isSaved in [true, false] {
      let container = try PersistentContainer(scratchOf: entities)
      let context = container.newContext()
      context.undoManager = undoManager
      let key = isSymmetric ? "item" : "owner"
      let (former, other) = (try make(names.owner, in: context), try make(names.owner, in: context))
      let mine = try make(names.item, in: context)
      try context.save()
      try former.setValue(mine, forKey: "item")
      if isSaved { try context.save() }
      // Nothing of the relationship is known.
      if isSaved { context.refreshAllObjects() }
      context.delete(former)
      #expect(throws: SaveError.self) { try context.save() }
      #expect(try object(mine, key) == nil)
      undoManager.endEvent()
      switch loss {
      case .another: try mine.setValue(other, forKey: key)
      case .none: try mine.setValue(.object(nil), forKey: key)
      case .fromOtherSide: try other.setValue(mine, forKey: "item")
      case .deletion: context.delete(mine)
      }
      // What takes the object away can be taken back, and the denial with it.
      context.undo()
      #expect(throws: SaveError.self) { try context.save() }
      context.redo()
      try context.save()
      let fresh = container.newContext()
      #expect(throws: FetchError.self) { try fresh.existingObject(with: former.objectID) }
      if loss == .another || loss == .fromOtherSide {
        #expect(try object(fresh.existingObject(with: mine.objectID), key)?.objectID == other.objectID)
      }
      #expect(try container.persistentStoreCoordinator.verify() == [])
      context.undoManager = nil
    }
  }

  /// The other side of a relationship.
  enum Inverse: CaseIterable { case none, one, many }

  typealias Names = (owner: String, item: String)
  typealias Sides = (isToMany: Bool, inverse: Inverse)

  private static let allNames = [("B", "C"), ("C", "B"), ("B", "B")]
  private static let allSides = [
    (true, Inverse.one), (false, .one), (true, .many), (false, .many), (true, .none), (false, .none),
  ]

  private static func key(_ names: Names, _ sides: Sides) -> String {
    names.owner == names.item && sides.isToMany == (sides.inverse == .many) ? "item" : "owner"
  }

  /// Entities with a relationship whose rule is `deny`. The reference is in the row of either side, or there are pairs.
  private static func entities(_ names: Names, _ sides: Sides) -> [EntityDescription] {
    let key = key(names, sides)
    let owner = RelationshipDescription(
      name: "item", destination: names.item, isToMany: sides.isToMany,
      inverse: sides.inverse == .none ? nil : key, deleteRule: .deny)
    let item = RelationshipDescription(
      name: "owner", destination: names.owner, isToMany: sides.inverse == .many, inverse: "item")
    let others = sides.inverse == .none || key == "item" ? [] : [item]
    if names.owner == names.item {
      return [EntityDescription(name: names.owner, relationships: [owner] + others)]
    }
    return [
      EntityDescription(name: names.owner, relationships: [owner]),
      EntityDescription(name: names.item, relationships: others),
    ]
  }

  @Test(arguments: allNames, allSides)
  func aDeletionThatIsRedoneIsDenied(names: Names, sides: Sides) throws {
    let key = Self.key(names, sides)
    let container = try PersistentContainer(scratchOf: Self.entities(names, sides))
    let context = container.newContext()
    context.undoManager = undoManager
    let (former, mine) = (try make(names.owner, in: context), try make(names.item, in: context))
    try former.setValue(sides.isToMany ? .objects([mine]) : .object(mine), forKey: "item")
    try context.save()
    context.delete(former)
    undoManager.endEvent()
    context.undo()
    #expect(!context.hasChanges)
    context.redo()
    #expect(throws: SaveError.self) { try context.save() }
    if sides.inverse == .one {
      #expect(try object(mine, key) == nil)
      try mine.setValue(.object(nil), forKey: key)
    } else {
      context.delete(mine)
    }
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(throws: FetchError.self) { try container.newContext().existingObject(with: former.objectID) }
    context.undoManager = nil
  }

  @Test(arguments: allNames, allSides)
  func anInsertionIsUndoneThoughOthersHaveRelatedTheObject(names: Names, sides: Sides) throws {
    for isChild in [false, true] {
      let container = try PersistentContainer(scratchOf: Self.entities(names, sides))
      let root = container.newContext()
      let context = isChild ? ManagedObjectContext(parent: root) : root
      let others = isChild ? root : container.newContext()
      let mine = try make(names.item, in: root)
      try root.save()
      context.undoManager = undoManager
      let owner = try make(names.owner, in: context)
      try context.save()
      let theirs = try others.existingObject(with: owner.objectID)
      let item = try others.existingObject(with: mine.objectID)
      try theirs.setValue(sides.isToMany ? .objects([item]) : .object(item), forKey: "item")
      if !isChild { try others.save() }
      _ = try context.perform { try context.fetch(FetchRequest<ManagedObject>(entityName: names.owner)) }
      context.undo()
      try context.save()
      try root.save()
      let fresh = container.newContext()
      #expect(throws: FetchError.self) { try fresh.existingObject(with: owner.objectID) }
      #expect(try !fresh.existingObject(with: mine.objectID).isDeleted)
      #expect(try container.persistentStoreCoordinator.verify() == [])
      context.undoManager = nil
    }
  }

  @Test(arguments: [("B", "C"), ("C", "B"), ("B", "B")], [true, false])
  func whatIsInsertedAndDeletedIsNoPartner(names: (owner: String, item: String), isOther: Bool) throws {
    let isSymmetric = names.owner == names.item
    let key = isSymmetric ? "item" : "owner"
    let owner = RelationshipDescription(
      name: "item", destination: names.item, inverse: key, deleteRule: .deny)
    let item = RelationshipDescription(name: "owner", destination: names.owner, inverse: "item")
    var entities = [EntityDescription(name: names.owner, relationships: [owner])]
    if !isSymmetric { entities.append(EntityDescription(name: names.item, relationships: [item])) }
    let container = try PersistentContainer(scratchOf: entities)
    let context = container.newContext()
    let mine = try make(names.item, in: context)
    try context.save()
    let former = try make(names.owner, in: context)
    try former.setValue(mine, forKey: "item")
    context.delete(former)
    if isOther { _ = try make(names.item, in: context) }
    try context.save()
    #expect(try object(mine, key) == nil && !context.hasChanges)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test(arguments: [("B", "C"), ("C", "B")])
  func aRollbackBringsTheDeniedReferenceBack(names: (owner: String, item: String)) throws {
    let container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: names.owner,
        relationships: [
          RelationshipDescription(name: "item", destination: names.item, inverse: "owner", deleteRule: .deny)
        ]),
      EntityDescription(
        name: names.item,
        relationships: [RelationshipDescription(name: "owner", destination: names.owner, inverse: "item")]),
    ])
    let context = container.newContext()
    let (former, other) = (try make(names.owner, in: context), try make(names.owner, in: context))
    let item = try make(names.item, in: context)
    try former.setValue(item, forKey: "item")
    try context.save()
    context.delete(former)
    try item.setValue(other, forKey: "owner")
    context.rollback()
    #expect(try object(item, "owner") === former && object(former, "item") === item)
    #expect(try object(other, "item") == nil)
    #expect(!context.hasChanges)
  }

  @Test func aRefusedSaveClearsNothing() throws {
    let owner = try make("Owner")
    let item = try make("Item")
    try context.save()
    context.undoManager = undoManager
    try item.setValue(owner, forKey: "owner")
    undoManager.endEvent()
    context.delete(owner)
    undoManager.endEvent()
    #expect(throws: SaveError.self) { try context.save() }
    context.undo()
    #expect(try object(item, "owner") === owner)
    try context.save()
    #expect(try object(read(item), "owner")?.objectID == owner.objectID)
  }

  // MARK: References that an undo puts back

  @Test(arguments: [true, false])
  func anUndoLeadsToNoObjectThatIsGone(hasRow: Bool) throws {
    let item = try make("Item")
    try context.save()
    context.undoManager = undoManager
    let (friend, other) = (try make("Item"), try make("Item"))
    try item.setValue(friend, forKey: "friend")
    undoManager.endEvent()
    if hasRow { try context.save() }
    context.delete(friend)
    undoManager.endEvent()
    try item.setValue(other, forKey: "friend")
    undoManager.endEvent()
    try context.save()
    context.undo()
    #expect(try object(item, "friend") == nil)
    try context.save()
    #expect(try object(read(item), "friend") == nil)
    context.undo()
    #expect(try object(item, "friend") === friend && !friend.isDeleted)
    try context.save()
    #expect(try object(read(item), "friend")?.objectID == friend.objectID)
    context.redo()
    try context.save()
    context.redo()
    try context.save()
    #expect(try object(read(item), "friend")?.objectID == other.objectID)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test(arguments: ["owner", "king", "friend"], [true, false])
  func anUndoLeadsToNoObjectThatWasDeletedUnnoted(key: String, isSavedBefore: Bool) throws {
    let (item, first) = (try make("Item"), try make(key == "friend" ? "Item" : "Owner"))
    try item.setValue(first, forKey: key)
    try context.save()
    context.undoManager = undoManager
    try item.setValue(.object(nil), forKey: key)
    undoManager.endEvent()
    undoManager.disableUndoRegistration()
    context.delete(first)
    undoManager.enableUndoRegistration()
    if isSavedBefore { try context.save() }
    context.undo()
    #expect(try object(item, key) == nil)
    do {
      try context.save()
    } catch SaveError.validation(let errors) {
      // The undo has brought back what denies the deletion.
      #expect(!isSavedBefore && key != "friend" && errors.map(\.reason) == [.deleteDenied])
      try item.setValue(.object(nil), forKey: key)
      try context.save()
    }
    #expect(try object(read(item), key) == nil)
  }
}
