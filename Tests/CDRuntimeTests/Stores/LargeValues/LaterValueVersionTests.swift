import Foundation
import Testing

@testable import CDRuntime

/// Large values that are read after another context has changed the row: all values of the object are of one version.
@Suite(.onceForAllKinds) struct LaterValueVersionTests {
  private static let kinds = StoreKind.allCases.filter(\.leavesLargeValuesOut)

  /// An object without changes gets all values of the row, as its parent's instance does. So its save meets no conflict.
  @Test(arguments: kinds, [1, 2]) func theChildIsBroughtUpToDate(_ kind: StoreKind, _ depth: Int) throws {
    for isTyped in [false, true] {
      let store = try AlbumStore(kind, isTyped: isTyped)
      let id = try store.fill(1)[0]
      let (context, other) = (store.context(), store.context())
      var lineage = [context]
      for _ in 0..<depth { lineage.append(ManagedObjectContext(parent: lineage[lineage.count - 1])) }
      let child = lineage[depth]
      let instance = try child.existingObject(with: id)
      let same = try other.existingObject(with: id)
      try same.setValue("theirs", forKey: "title")
      try same.setValue(AlbumStore.large(7), forKey: "pixels")
      try other.save()
      #expect(try instance.largeData("pixels") == AlbumStore.large(7))
      #expect(try instance.photoTitle == "theirs")
      #expect(!instance.hasRead("preview"))
      try instance.setValue(AlbumStore.large(8), forKey: "preview")
      for context in lineage.reversed() { try context.save() }
      let reader = store.context()
      let stored = try reader.existingObject(with: id)
      #expect(try stored.photoTitle == "theirs" && stored.largeData("pixels") == AlbumStore.large(7))
      #expect(try stored.largeData("preview") == AlbumStore.large(8))
    }
  }

  /// The value that is read last brings the object up to date.
  @Test(arguments: kinds, [false, true])
  func severalValuesAreOfOneVersion(_ kind: StoreKind, _ isTyped: Bool) throws {
    let store = try AlbumStore(kind, isTyped: isTyped)
    let id = try store.fill(1)[0]
    for isCommitted in [false, true] {
      let (context, other) = (store.context(), store.context())
      let photo = try context.existingObject(with: id)
      let same = try other.existingObject(with: id)
      try same.setValue("theirs \(isCommitted)", forKey: "title")
      try same.setValue(AlbumStore.large(7), forKey: "pixels")
      try other.save()
      let values =
        isCommitted ? photo.committedValues : try photo.values(forKeys: ["title", "pixels"])
      #expect(values["title"]?.attribute == .string("theirs \(isCommitted)"))
      #expect(values["pixels"]?.attribute == .data(AlbumStore.large(7)))
    }
  }

  /// An undo manager reads the values of an object that is deleted, which brings the object up to date. The undo keeps
  /// the other context's values.
  @Test(arguments: kinds, [false, true])
  func anUndoOfADeletionKeepsTheOthersValues(_ kind: StoreKind, _ isTyped: Bool) throws {
    let store = try AlbumStore(kind, isTyped: isTyped)
    let id = try store.fill(1)[0]
    let (context, other) = (store.context(), store.context())
    context.undoManager = ContextUndoManager()
    let photo = try context.existingObject(with: id)
    try other.existingObject(with: id).setValue("theirs", forKey: "title")
    try other.save()
    context.delete(photo)
    context.undoManager?.endEvent()
    context.undo()
    #expect(try photo.photoTitle == "theirs" && !photo.isDeleted && !context.hasChanges)
    try context.save()
    let reader = store.context()
    let stored = try reader.existingObject(with: id)
    #expect(try stored.photoTitle == "theirs" && stored.largeData("preview") == AlbumStore.large(100))
  }

  /// An undo manager reads the values of an object that is deleted.
  @Test(arguments: kinds) func aDeletionMeetsNoConflictOfItsOwnReading(_ kind: StoreKind) throws {
    let store = try AlbumStore(kind)
    let id = try store.fill(1)[0]
    let (context, other) = (store.context(), store.context())
    let child = ManagedObjectContext(parent: context)
    child.undoManager = ContextUndoManager()
    let instance = try child.existingObject(with: id)
    try other.existingObject(with: id).setValue("theirs", forKey: "title")
    try other.save()
    child.delete(instance)
    child.undoManager?.endEvent()
    try child.save()
    child.undo()
    try child.save()
    try context.save()
    let reader = store.context()
    let stored = try reader.existingObject(with: id)
    #expect(try stored.photoTitle == "theirs" && stored.largeData("pixels") == AlbumStore.large(0))
  }

  /// Nobody but the child has changed the object, and it has not fetched the object since.
  @Test(arguments: kinds, [1, 2])
  func aDeletionMeetsNoConflictOfItsOwnSave(_ kind: StoreKind, _ depth: Int) throws {
    for isTyped in [false, true] {
      let store = try AlbumStore(kind, isTyped: isTyped)
      let id = try store.fill(1)[0]
      var lineage = [store.context()]
      for _ in 0..<depth { lineage.append(ManagedObjectContext(parent: lineage[lineage.count - 1])) }
      let child = lineage[depth]
      let instance = try child.existingObject(with: id)
      try instance.setValue("new", forKey: "title")
      for context in lineage.reversed() { try context.save() }
      #expect(!instance.hasRead("pixels"))
      child.delete(instance)
      for context in lineage.reversed() { try context.save() }
      #expect(try store.context().photos().isEmpty)
    }
  }

  /// The child's instance has all values as its parent's instance has them.
  @Test(arguments: kinds, [false, true])
  func theChildIsBroughtUpToDateWithItsParentsSave(_ kind: StoreKind, _ isTyped: Bool) throws {
    let store = try AlbumStore(kind, isTyped: isTyped)
    let id = try store.fill(1)[0]
    let context = store.context()
    let child = ManagedObjectContext(parent: context)
    let instance = try child.existingObject(with: id)
    try context.existingObject(with: id).setValue("parent", forKey: "title")
    try context.save()
    #expect(try instance.largeData("pixels") == AlbumStore.large(0))
    #expect(try instance.photoTitle == "parent")
  }

  /// The child has not read the value that the parent has changed.
  @Test(arguments: kinds, [false, true])
  func aDeletionDoesNotOverrideAnUnreadValue(_ kind: StoreKind, _ isSaved: Bool) throws {
    for isTyped in [false, true] {
      for isCarriedOut in [false, true] {
        let store = try AlbumStore(kind, isTyped: isTyped)
        let id = try store.fill(1)[0]
        let context = store.context()
        let child = ManagedObjectContext(parent: context)
        let photo = try context.existingObject(with: id)
        let instance = try child.existingObject(with: id)
        child.delete(instance)
        try photo.setValue(AlbumStore.large(9), forKey: "pixels")
        if isSaved { try context.save() }
        let error = #expect(throws: SaveError.self) { try child.save() }
        guard case .conflict(let conflicts)? = error else {
          Issue.record("\(String(describing: error))")
          return
        }
        #expect(conflicts.map(\.objectID) == [id] && conflicts[0].keys.contains("pixels"))
        #expect(!photo.isDeleted && instance.isDeleted)
        child.mergePolicy = isCarriedOut ? .mergeByPropertyObjectTrump : .mergeByPropertyStoreTrump
        try child.save()
        #expect(photo.isDeleted == isCarriedOut)
        if !isCarriedOut { #expect(try instance.largeData("pixels") == AlbumStore.large(9)) }
      }
    }
  }
}
