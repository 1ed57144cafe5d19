import CDModel
import Foundation
import Testing

@testable import CDRuntime

/// Large values that the rows of some engines leave out, so that objects read them when they are used: every path to a
/// value gives it, as on the engines whose rows have all values.
@Suite(.onceForAllKinds) struct LaterValueTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let kind: StoreKind
    let isTyped: Bool

    var testDescription: String { "\(kind.rawValue)\(isTyped ? ", classes" : "")" }

    static let all = StoreKind.allCases.flatMap { kind in
      [false, true].map { Case(kind: kind, isTyped: $0) }
    }
  }

  private func store(_ each: Case) throws -> AlbumStore { try AlbumStore(each.kind, isTyped: each.isTyped) }

  private func large(_ byte: UInt8) -> Data { AlbumStore.large(byte) }

  // MARK: Reading

  @Test(arguments: Case.all) func aFetchLeavesTheValuesOut(_ each: Case) throws {
    let store = try store(each)
    try store.fill(3)
    try store.fill(2, entity: "Portrait")
    let context = store.context()
    for photo in try context.photos() {
      #expect(photo.hasRead("pixels") == !each.kind.leavesLargeValuesOut)
      #expect(photo.hasRead("preview") == !each.kind.leavesLargeValuesOut)
      let number = try #require(UInt8(photo.photoTitle))
      #expect(try photo.largeData("pixels") == large(number))
      #expect(photo.hasRead("pixels"))
      // The other one has not been read with it.
      #expect(photo.hasRead("preview") == !each.kind.leavesLargeValuesOut)
      #expect(try photo.largeData("preview") == large(100 + number))
      if photo.entity.name == "Portrait" { #expect(try photo.largeData("face") == large(200 + number)) }
    }
  }

  @Test(arguments: Case.all) func nilAndEmptyAreNotLarge(_ each: Case) throws {
    let store = try store(each)
    let context = store.context()
    let values: [Data?] = [nil, Data(), Data([1]), large(1)]
    for (number, value) in values.enumerated() {
      let photo = try context.insert(entityNamed: "Photo")
      try photo.setValue("\(number)", forKey: "title")
      try photo.setValue(.attribute(value.map { .data($0) } ?? .null), forKey: "pixels")
      try photo.setValue(value ?? Data(), forKey: "preview")
    }
    try context.save()
    let photos = try store.context().photos()
    #expect(photos[0].hasRead("pixels"))
    for (photo, value) in zip(photos, values) {
      #expect(try photo.largeData("pixels") == value)
      #expect(try photo.largeData("preview") == value ?? Data())
    }
    withExtendedLifetime(context) {}
  }

  @Test(arguments: Case.all) func everyReaderGetsTheValue(_ each: Case) throws {
    let store = try store(each)
    let id = try store.fill(1)[0]
    let expected = AttributeValue.data(large(0))
    func check(_ name: String, _ read: (ManagedObject, ManagedObjectContext) throws -> AttributeValue?) throws
    {
      let context = store.context()
      let photo = try context.existingObject(with: id)
      let found = try read(photo, context)
      #expect(found == expected, "\(name)")
    }
    try check("values") { photo, _ in try photo.values(forKeys: ["pixels", "title"])["pixels"]?.attribute }
    try check("as") { photo, _ in try photo.value(forKey: "pixels", as: Data?.self).map { .data($0) } }
    try check("committed") { photo, _ in photo.committedValues["pixels"]?.attribute }
    try check("committed of a change") { photo, _ in
      try photo.setValue(large(9), forKey: "pixels")
      #expect(photo.changedValues.mapValues(\.attribute) == ["pixels": .data(large(9))])
      return photo.committedValues["pixels"]?.attribute
    }
    try check("evaluation") { photo, _ in
      if case .value(let value) = try photo.evaluationValue(forKey: "pixels") { value } else { nil }
    }
    try check("dictionary") { _, context in
      var request = FetchRequest<ManagedObject>(entityName: "Photo")
      request.propertiesToFetch = ["pixels"]
      if case .attribute(let value)? = try context.dictionaries(for: request)[0]["pixels"] { return value }
      return nil
    }
    try check("dictionary of a changed object") { photo, context in
      try photo.setValue("changed", forKey: "title")
      var request = FetchRequest<ManagedObject>(entityName: "Photo")
      request.propertiesToFetch = ["title", "pixels"]
      if case .attribute(let value)? = try context.dictionaries(for: request)[0]["pixels"] { return value }
      return nil
    }
    try check("predicate in memory") { photo, context in
      try photo.setValue("changed", forKey: "title")
      let found = try context.objects(
        forEntityNamed: "Photo", format: "title == 'changed' AND pixels != nil")
      return try found.count == 1 ? found[0].value(forKey: "pixels").attribute : nil
    }
    try check("rollback") { photo, context in
      try photo.setValue(.attribute(.null), forKey: "pixels")
      context.rollback()
      return try photo.value(forKey: "pixels").attribute
    }
    try check("refresh") { photo, context in
      _ = try photo.value(forKey: "pixels")
      context.refresh(photo, mergeChanges: false)
      return try photo.value(forKey: "pixels").attribute
    }
    try check("refresh with changes") { photo, context in
      try photo.setValue("changed", forKey: "title")
      context.refresh(photo, mergeChanges: true)
      #expect(try photo.photoTitle == "changed")
      return try photo.value(forKey: "pixels").attribute
    }
    try check("child of a child") { photo, context in
      let child = ManagedObjectContext(parent: context)
      let grandchild = ManagedObjectContext(parent: child)
      let instance = try grandchild.existingObject(with: id)
      #expect(instance.hasRead("pixels") == !each.kind.leavesLargeValuesOut)
      return try instance.value(forKey: "pixels").attribute
    }
    try check("snapshot of the block") { _, context in
      try context.perform {
        let photo = try context.photos()[0]
        return try photo.value(forKey: "pixels").attribute
      }
    }
    if each.isTyped {
      try check("getter") { photo, _ in (photo as? Photo)?.pixels.map { .data($0) } }
      try check("mandatory getter") { photo, _ in
        (photo as? Photo)?.preview == large(100) ? expected : nil
      }
    }
  }

  // MARK: Changing

  @Test(arguments: Case.all) func anotherChangeNeitherReadsNorWritesTheValue(_ each: Case) throws {
    let store = try store(each)
    let ids = try store.fill(2)
    let context = store.context()
    for photo in try context.photos() { try photo.setValue("new \(photo.photoTitle)", forKey: "title") }
    let added = try context.insert(entityNamed: "Album")
    try added.setValue("album", forKey: "name")
    for photo in try context.photos() { try photo.setValue(added, forKey: "album") }
    try context.save()
    for photo in try context.photos() {
      #expect(photo.hasRead("pixels") == !each.kind.leavesLargeValuesOut)
      #expect(photo.hasRead("preview") == !each.kind.leavesLargeValuesOut)
    }
    let other = store.context()
    for (number, id) in ids.enumerated() {
      let photo = try other.existingObject(with: id)
      #expect(try photo.photoTitle == "new \(number)" && photo.largeData("pixels") == large(UInt8(number)))
      #expect(try photo.largeData("preview") == large(100 + UInt8(number)))
    }
  }

  @Test(arguments: Case.all) func undoGivesTheValueBack(_ each: Case) throws {
    let store = try store(each)
    let id = try store.fill(1)[0]
    let context = store.context()
    context.undoManager = ContextUndoManager()
    let photo = try context.existingObject(with: id)
    try photo.setValue(large(9), forKey: "pixels")
    context.undoManager?.endEvent()
    context.undo()
    #expect(!context.hasChanges)
    #expect(try photo.largeData("pixels") == large(0))
    context.redo()
    try context.save()
    context.undo()
    #expect(try photo.largeData("pixels") == large(0))
    try context.save()
    let stored = try store.context().existingObject(with: id)
    #expect(try stored.largeData("pixels") == large(0) && stored.largeData("preview") == large(100))
  }

  /// The values of a deleted object are read before its row is gone.
  @Test(arguments: Case.all) func theUndoOfASavedDeletionHasTheValues(_ each: Case) throws {
    let store = try store(each)
    let id = try store.fill(1)[0]
    let context = store.context()
    context.undoManager = ContextUndoManager()
    context.delete(try context.existingObject(with: id))
    try context.save()
    context.undo()
    try context.save()
    let stored = try store.context().existingObject(with: id)
    #expect(try stored.largeData("pixels") == large(0) && stored.largeData("preview") == large(100))
  }

  @Test(arguments: Case.all) func childrenKeepWhatTheyHaveNotRead(_ each: Case) throws {
    let store = try store(each)
    let id = try store.fill(1)[0]
    let context = store.context()
    let child = ManagedObjectContext(parent: context)
    let instance = try child.existingObject(with: id)
    try instance.setValue("by the child", forKey: "title")
    try child.save()
    let photo = try context.existingObject(with: id)
    #expect(photo.hasRead("pixels") == !each.kind.leavesLargeValuesOut)
    try photo.setValue(large(5), forKey: "pixels")
    // The child sees the parent's unsaved value.
    #expect(try child.existingObject(with: id).largeData("pixels") == large(5))
    let same = try child.photos()[0]
    #expect(try same.largeData("pixels") == large(5))
    try same.setValue(large(6), forKey: "preview")
    try child.save()
    try context.save()
    let stored = try store.context().existingObject(with: id)
    #expect(try stored.photoTitle == "by the child")
    #expect(try stored.largeData("pixels") == large(5) && stored.largeData("preview") == large(6))
  }

  // MARK: Changes of other contexts

  @Test(arguments: Case.all, [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump])
  func aValueThatWasNotReadDoesNotConflict(_ each: Case, _ policy: MergePolicy) throws {
    let store = try store(each)
    let id = try store.fill(1)[0]
    let (context, other) = (store.context(), store.context())
    let photo = try context.existingObject(with: id)
    try other.existingObject(with: id).setValue(large(7), forKey: "pixels")
    try other.save()
    try photo.setValue("mine", forKey: "title")
    #expect(throws: SaveError.self) { try context.save() }
    context.mergePolicy = policy
    try context.save()
    let stored = try store.context().existingObject(with: id)
    #expect(try stored.photoTitle == "mine" && stored.largeData("pixels") == large(7))
    #expect(try stored.largeData("preview") == large(100) && photo.largeData("pixels") == large(7))
  }

  /// The error of a conflict names the property that the other context has changed.
  @Test(arguments: Case.all) func theConflictNamesTheProperty(_ each: Case) throws {
    let store = try store(each)
    let id = try store.fill(1)[0]
    let (context, other) = (store.context(), store.context())
    let photo = try context.existingObject(with: id)
    _ = try photo.largeData("preview")
    try other.existingObject(with: id).setValue(large(7), forKey: "pixels")
    try other.save()
    try photo.setValue("mine", forKey: "title")
    let conflict = SaveConflict(reason: .changed, objectID: id, keys: ["pixels"])
    #expect(throws: SaveError.conflict([conflict])) { try context.save() }
    let other2 = try other.existingObject(with: id)
    try other2.setValue(large(8), forKey: "preview")
    try other.save()
    let error = #expect(throws: SaveError.self) { try context.save() }
    guard case .conflict(let conflicts)? = error else {
      Issue.record("no conflict")
      return
    }
    #expect(conflicts.map { Set($0.keys).contains("preview") } == [true])
  }

  @Test(arguments: Case.all) func aBlockReadsItsSnapshot(_ each: Case) throws {
    // Stores in memory and plain stores have no snapshots. XML, binary and JSON stores have none either, but their rows have
    // all values.
    guard !each.kind.isInMemory, each.kind != .plain else { return }
    let store = try store(each)
    let ids = try store.fill(2)
    let (context, other) = (store.context(), store.context())
    try context.perform {
      let photos = try context.photos()
      try other.existingObject(with: ids[0]).setValue(large(7), forKey: "pixels")
      other.delete(try other.existingObject(with: ids[1]))
      try other.save()
      let (first, second) = (try photos[0].largeData("pixels"), try photos[1].largeData("pixels"))
      #expect(first == large(0) && second == large(1))
    }
    let left = try context.photos()
    #expect(try left.map { try $0.largeData("pixels") } == [large(7)])
  }

  @Test(arguments: Case.all) func withoutABlockTheObjectIsBroughtUpToDate(_ each: Case) throws {
    guard each.kind.leavesLargeValuesOut else { return }
    let store = try store(each)
    let id = try store.fill(1)[0]
    let (context, other) = (store.context(), store.context())
    let photo = try context.photos()[0]
    let same = try other.existingObject(with: id)
    try same.setValue(large(7), forKey: "pixels")
    try same.setValue("new", forKey: "title")
    try other.save()
    #expect(try photo.largeData("pixels") == large(7))
    #expect(try photo.photoTitle == "new")
    #expect(!photo.hasRead("preview"))
    try photo.setValue("newer", forKey: "title")
    try context.save()
    #expect(try store.context().existingObject(with: id).largeData("pixels") == large(7))
  }

  /// A snapshot reads the large values first, and then has the values of one version of the row.
  @Test(arguments: Case.all) func allLargeValuesAreOfOneVersion(_ each: Case) throws {
    guard each.kind.leavesLargeValuesOut else { return }
    let store = try store(each)
    let id = try store.fill(1)[0]
    let (context, other) = (store.context(), store.context())
    let photo = try context.photos()[0]
    let same = try other.existingObject(with: id)
    #expect(try photo.largeData("pixels") == large(0))
    try same.setValue(large(7), forKey: "pixels")
    try same.setValue(large(8), forKey: "preview")
    try same.setValue("new", forKey: "title")
    try other.save()
    photo.readLargeValues()
    #expect(photo.hasRead("pixels") && photo.hasRead("preview"))
    #expect(try photo.photoTitle == "new" && photo.largeData("pixels") == large(7))
    #expect(try photo.largeData("preview") == large(8))
  }

  /// During the call, each object has its large values. Afterwards, an object has only those that it had before.
  @Test(arguments: Case.all) func manyObjectsAreReadTogether(_ each: Case) throws {
    let store = try store(each)
    try store.fill(5)
    try store.fill(3, entity: "Portrait")
    let context = store.context()
    let photos = try context.photos()
    let isLater = each.kind.leavesLargeValuesOut
    #expect(try photos[1].largeData("pixels") != nil)
    try photos[2].setValue("1 changed", forKey: "title")
    var count = 0
    try context.forEach(photos) { photo in
      let number = try #require(UInt8(photo.photoTitle.prefix(1)))
      #expect(try photo.largeData("pixels") == large(number))
      #expect(try photo.largeData("preview") == large(100 + number))
      if photo.entity.name == "Portrait" { #expect(try photo.largeData("face") == large(200 + number)) }
      count += 1
    }
    #expect(count == 8)
    #expect(photos[1].hasRead("pixels") && photos[1].hasRead("preview") == !isLater)
    #expect(photos[2].hasRead("pixels") && photos[2].hasRead("preview"))
    #expect(photos[3].hasRead("pixels") == !isLater)
    #expect(try photos[3].largeData("pixels") == large(UInt8(photos[3].photoTitle) ?? 99))
    try context.save()
  }

  /// An object with changes keeps them, and its save meets the conflict.
  @Test(arguments: Case.all) func anObjectWithChangesReadsTheNewestValue(_ each: Case) throws {
    guard each.kind.leavesLargeValuesOut else { return }
    let store = try store(each)
    let id = try store.fill(1)[0]
    let (context, other) = (store.context(), store.context())
    let photo = try context.photos()[0]
    try photo.setValue("mine", forKey: "title")
    let same = try other.existingObject(with: id)
    try same.setValue(large(7), forKey: "pixels")
    try other.save()
    #expect(try photo.largeData("pixels") == large(7))
    #expect(try photo.photoTitle == "mine")
    #expect(throws: SaveError.self) { try context.save() }
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    let stored = try store.context().existingObject(with: id)
    #expect(try stored.photoTitle == "mine" && stored.largeData("pixels") == large(7))
  }

  @Test(arguments: Case.all) func aDeletedRowIsReported(_ each: Case) async throws {
    guard each.kind.leavesLargeValuesOut else { return }
    let store = try store(each)
    let id = try store.fill(1)[0]
    let (context, other) = (store.context(), store.context())
    let photo = try context.photos()[0]
    var errors = context.errors.makeAsyncIterator()
    other.delete(try other.existingObject(with: id))
    try other.save()
    #expect(try photo.largeData("pixels") == nil)
    #expect(try photo.largeData("preview") == Data())
    #expect(photo.isInaccessible)
    #expect(await errors.next()?.reason == .objectGone)
    #expect(try photo.photoTitle == "0")
  }

  /// A policy that would insert the row again cannot: its values are gone.
  @Test(arguments: Case.all) func aRowWhoseValuesAreLostIsNotInsertedAgain(_ each: Case) throws {
    let store = try store(each)
    let id = try store.fill(1)[0]
    let (context, other) = (store.context(), store.context())
    context.mergePolicy = .mergeByPropertyObjectTrump
    let photo = try context.photos()[0]
    try photo.setValue("mine", forKey: "title")
    other.delete(try other.existingObject(with: id))
    try other.save()
    guard each.kind.leavesLargeValuesOut else { return try context.save() }
    let error = #expect(throws: SaveError.self) { try context.save() }
    guard case .conflict(let conflicts)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(conflicts.map(\.reason) == [.deleted] && conflicts[0].keys == ["pixels", "preview"])
    #expect(context.hasChanges && photo.changedValues.keys.sorted() == ["title"])
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    #expect(try store.context().photos().isEmpty)
  }

  /// If the values have been read, the row is inserted again with them.
  @Test(arguments: Case.all) func aRowWhoseValuesWereReadIsInsertedAgain(_ each: Case) throws {
    let store = try store(each)
    let id = try store.fill(1)[0]
    let (context, other) = (store.context(), store.context())
    context.mergePolicy = .mergeByPropertyObjectTrump
    let photo = try context.photos()[0]
    _ = try (photo.largeData("pixels"), photo.largeData("preview"))
    try photo.setValue("mine", forKey: "title")
    other.delete(try other.existingObject(with: id))
    try other.save()
    try context.save()
    let stored = try store.context().existingObject(with: id)
    #expect(try stored.photoTitle == "mine")
    #expect(try stored.largeData("pixels") == large(0) && stored.largeData("preview") == large(100))
  }
}
