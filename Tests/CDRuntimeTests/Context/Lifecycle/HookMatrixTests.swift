import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Each hook with each action: whatever code of an app's does when the runtime calls it, it works, or an error says what
/// to do, and the graph is whole afterwards.
///
/// A single cell is run by its name: `--filter HookMatrixTests`, with `CDGEN_HOOK=willSave` and `CDGEN_ACTION=reset` in
/// the environment.
@Suite struct HookMatrixTests {
  enum Action: String, CaseIterable, Sendable {
    case nothing
    case insert, set, setOther, relate, delete, deleteAll, fetch, count, save, rollback, reset
    case refresh, refreshMerging, refreshAll, undo, redo, perform, validate
    case batchInsert, batchUpdate, batchDelete
    case otherInsert, otherFetch, otherSave, otherDelete, childSave, secondCoordinator
    case history, mergeChanges, removeStore, dropContext, rollbackAndSet, resetAndInsert
  }

  private static let hooks = chosen(Hook.self, "CDGEN_HOOK")
  private static let actions = chosen(Action.self, "CDGEN_ACTION")

  private static func chosen<T: CaseIterable & RawRepresentable>(_ type: T.Type, _ variable: String) -> [T]
  where T.RawValue == String {
    let name = ProcessInfo.processInfo.environment[variable]
    return type.allCases.filter { name == nil || $0.rawValue == name }
  }

  /// Whether a cell is tried with an undo manager, without one, or both ways. An undo manager makes other parts of the
  /// runtime record what is done.
  ///
  /// A usual run tries every second cell with an undo manager, and the others without one. `CDGEN_THOROUGH=1` tries each
  /// cell both ways, and so does a run of one hook or one action.
  private static func undoChoices(_ hook: Hook, _ action: Action) -> [Bool] {
    if isThorough || hooks.count == 1 || actions.count == 1 { return [false, true] }
    let (row, column) = (Hook.allCases.firstIndex(of: hook), Action.allCases.firstIndex(of: action))
    return [((row ?? 0) + (column ?? 0)).isMultiple(of: 2)]
  }

  @Test(arguments: hooks, actions)
  func everyActionWorksOrThrowsInEveryHook(_ hook: Hook, _ action: Action) throws {
    for hasUndo in Self.undoChoices(hook, action) {
      let world = try HookWorld(hook, hasUndo: hasUndo)
      let probe = HookProbe(hook) { object in try world.run(action, object as? Tag) }
      let cell = "\(hook) \(action)\(hasUndo ? " with undo" : "")"
      let outcome = HookProbe.$current.withValue(probe) {
        Result { try world.trigger(hook) }
      }
      #expect(probe.wasReached, "\(cell): the hook was not reached")
      if case .failure(let error) = outcome { Self.expectTyped(error, cell) }
      if let error = probe.error { Self.expectTyped(error, cell) }
      try world.expectWhole(cell)
    }
  }

  fileprivate static func expectTyped(_ error: any Error, _ cell: String) {
    let isTyped =
      error is SaveError || error is StoreError || error is FetchError || error is BatchError
      || error is PropertyError
    #expect(isTyped, "\(cell): \(error)")
    #expect("\(error)".count > 20, "\(cell): \(error)")
  }

  /// The outcome of one cell: the error of the action, and that of what called the hook.
  private func errors(_ hook: Hook, _ action: Action) throws -> (action: (any Error)?, whole: (any Error)?) {
    let world = try HookWorld(hook, hasUndo: false)
    let probe = HookProbe(hook) { object in try world.run(action, object as? Tag) }
    let outcome = HookProbe.$current.withValue(probe) { Result { try world.trigger(hook) } }
    guard case .failure(let error) = outcome else { return (probe.error, nil) }
    return (probe.error, error)
  }

  @Test(arguments: [
    (Hook.willSave, "willSave()"), (.validateForUpdate, "a method that validates"),
    (.prepareForDeletion, "prepareForDeletion()"), (.awakeFromInsert, "awakeFromInsert()"),
    (.awakeFromFetch, "awakeFromFetch()"),
    (.mergePolicy, "the merge policy"),
  ])
  func aSaveInAHookIsRefusedByName(_ hook: Hook, _ name: String) throws {
    let (action, whole) = try errors(hook, .save)
    #expect(action as? SaveError == .nested(in: name))
    #expect(whole == nil)
  }

  @Test func aSaveInDidSaveIsOne() throws {
    #expect(try errors(.didSave, .save).action == nil)
  }

  @Test func aBatchsSequenceCannotWriteElsewhere() throws {
    for action in [Action.otherSave, .batchDelete, .batchInsert, .removeStore] {
      let (error, whole) = try errors(.batchSequence, action)
      guard case .nestedWrite? = error as? StoreError else {
        Issue.record("\(action): \(String(describing: error))")
        continue
      }
      #expect(whole == nil)
    }
  }

  @Test(.needs(.readsInBatches))
  func aBatchsSequenceMayReadElsewhere() throws {
    for action in [Action.otherFetch, .fetch, .count, .history] {
      let errors = try errors(.batchSequence, action)
      #expect(errors.action == nil && errors.whole == nil, "\(action)")
    }
  }

  @Test func didSaveThatSavesWithoutEndIsRefused() throws {
    let world = try HookWorld(.didSave, hasUndo: false)
    var count = 0
    var refusal: (any Error)?
    func save() {
      let probe = HookProbe(.didSave) { _ in
        count += 1
        world.tags[0].name = "again \(count)"
        save()
      }
      HookProbe.$current.withValue(probe) {
        do { try world.context?.save() } catch { refusal = refusal ?? error }
      }
    }
    world.tags[0].name = "once"
    save()
    #expect(count == 32)
    #expect(refusal as? SaveError == .nested(in: "didSave()"))
    try world.expectWhole("didSave without end")
  }

  @Test func whatAValidationMethodChangesIsCheckedByTheRules() throws {
    let world = try HookWorld(.validateForUpdate, hasUndo: false)
    let probe = HookProbe(.validateForUpdate) { _ in world.tags[1].name = "b" + world.tags[0].name }
    world.tags[0].name = "x"
    try HookProbe.$current.withValue(probe) { try world.context?.save() }
    #expect(try world.storedNames() == ["bx", "c", "x"])
  }
}

/// A store with three tags, a context, and what leads to each hook.
private final class HookWorld {
  private let store: TemporaryStore
  private let container: PersistentContainer
  private(set) var context: ManagedObjectContext?
  private var parent: ManagedObjectContext?
  private let other: ManagedObjectContext
  private(set) var tags: [Tag] = []
  private var isRemoved = false

  init(_ hook: Hook, hasUndo: Bool) throws {
    store = try TemporaryStore(sharesPlan: true)
    if hook == .storeFormat {
      container = PersistentContainer(
        try PlannedModel.library.coordinator(
          at: .custom(store.folder.appending(path: "own.store"), ProbingFormat())))
    } else {
      container = try store.container()
    }
    let first = container.newContext()
    for name in ["a", "b", "c"] { _ = Tag(name: name, in: first) }
    let shelf = Shelf(in: first)
    shelf.label = "shelf"
    try first.save()
    other = container.newContext()
    let main = container.newContext()
    if hook == .childSave {
      parent = main
      context = ManagedObjectContext(parent: main)
    } else {
      context = main
    }
    if hasUndo { context?.undoManager = ContextUndoManager() }
    if let context { tags = try Tag.objects(in: context).sorted { $0.name < $1.name } }
  }

  // MARK: To the hook

  func trigger(_ hook: Hook) throws {
    guard let context else { return }
    switch hook {
    case .awakeFromInsert: _ = Tag(name: "new", in: context)
    case .awakeFromFetch:
      context.refreshAllObjects()
      _ = try Tag.objects(in: context).map(\.name)
    case .willSave, .didSave, .validateForUpdate, .storeFormat:
      for tag in tags { tag.name += "!" }
      try save()
    case .validateForInsert:
      for name in ["n1", "n2"] { _ = Tag(name: name, in: context) }
      try save()
    case .prepareForDeletion, .cascade:
      if hook == .cascade { HookProbe.reach(.cascade, tags[0]) }
      for tag in tags.prefix(2) { context.delete(tag) }
      try save()
    case .validateForDelete:
      for tag in tags.prefix(2) { context.delete(tag) }
      try save()
    case .mergePolicy:
      for tag in try Tag.objects(in: other) where tag.name != "c" { tag.name += " other" }
      try other.save()
      for tag in tags { tag.name += " own" }
      context.mergePolicy = MergePolicy { _ in
        HookProbe.reach(.mergePolicy)
        return .objectWins
      }
      try save()
    case .batchSequence:
      let rows = (0..<5).lazy.map { number -> [String: FetchedValue] in
        if number == 2 { HookProbe.reach(.batchSequence) }
        return ["name": .value("row \(number)")]
      }
      let request = BatchInsertRequest<ManagedObject>(entityName: "Tag", rows: rows)
      try self.context?.execute(request)
    case .batchColumn:
      let request = BatchInsertRequest<Tag>(
        0..<5,
        columns: [
          .set(\.name) { number in
            if number == 2 { HookProbe.reach(.batchColumn) }
            return "row \(number)"
          }
        ])
      try self.context?.execute(request)
    case .perform:
      try context.perform {
        _ = try Tag.objects(in: context)
        HookProbe.reach(.perform, tags[0])
        _ = try Tag.objects(in: context)
      }
      try save()
    case .undo:
      tags[0].name = "before"
      context.undoManager?.endEvent()
      HookProbe.reach(.undo, tags[0])
      context.undo()
      context.redo()
      try save()
    case .childSave:
      tags[0].name = "child"
      context.delete(tags[1])
      _ = Tag(name: "of child", in: context)
      let probe = HookProbe.current
      try save()
      // The hooks of the parent's objects are reached by the child's save; here it is the parent's own.
      if probe?.wasReached != true { HookProbe.reach(.childSave, tags[0]) }
      try parent?.save()
    }
  }

  /// By the property alone, so that the context may go meanwhile.
  private func save() throws { try context?.save() }

  // MARK: In the hook

  func run(_ action: HookMatrixTests.Action, _ object: Tag?) throws {
    guard let context else { return }
    let tag = object ?? tags[0]
    switch action {
    case .nothing: break
    case .insert: _ = try context.insert(entityNamed: "Tag").setValue("inserted", forKey: "name")
    case .set: tag.name = "set"
    case .setOther: tags[2].name = "other"
    case .relate: try Shelf.objects(in: context).first?.label = tag.name
    case .delete: context.delete(tag)
    case .deleteAll: for tag in tags { context.delete(tag) }
    case .fetch: _ = try Tag.objects(in: context).map(\.name)
    case .count: _ = try context.count(for: FetchRequest<Tag>())
    case .save: try context.save()
    case .rollback: context.rollback()
    case .reset: context.reset()
    case .refresh: context.refresh(tag, mergeChanges: false)
    case .refreshMerging: context.refresh(tag, mergeChanges: true)
    case .refreshAll: context.refreshAllObjects()
    case .undo: context.undo()
    case .redo: context.redo()
    case .perform: try context.perform { _ = try Tag.objects(in: context) }
    case .validate: for tag in tags { _ = context.validationErrors(of: tag) }
    case .batchInsert:
      try context.execute(
        BatchInsertRequest<ManagedObject>(
          entityName: "Tag", rows: [["name": FetchedValue.value("batch 1")], ["name": .value("batch 2")]]))
    case .batchUpdate:
      try context.execute(
        BatchUpdateRequest(
          FetchRequest<ManagedObject>(entityName: "Shelf"), set: [.set("label", to: .value("updated"))]))
    case .batchDelete: try context.execute(BatchDeleteRequest<Tag>(where: \.name == "c"))
    case .otherInsert: _ = try other.insert(entityNamed: "Tag").setValue("of other", forKey: "name")
    case .otherFetch: _ = try Tag.objects(in: other).map(\.name)
    case .otherSave:
      try Shelf.objects(in: other).first?.label = "saved elsewhere"
      try other.save()
    case .otherDelete:
      for tag in try Tag.objects(in: other) where tag.name == "a" { other.delete(tag) }
      try other.save()
    case .childSave:
      let child = ManagedObjectContext(parent: context)
      _ = Tag(name: "of a child", in: child)
      try child.save()
    case .secondCoordinator:
      guard !store.hasOneOwner else { return }
      var description = PersistentStoreDescription(store.location)
      description.busyTimeout = 0.1
      let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, stores: [description])
      let context = PersistentContainer(coordinator).newContext()
      _ = Tag(name: "of another", in: context)
      try context.save()
    case .history: _ = try container.persistentStoreCoordinator.history()
    case .mergeChanges:
      context.mergeChanges(
        from: ObjectChanges(
          updated: ManagedObjectIDs(tags.map(\.objectID)), deleted: ManagedObjectIDs([tags[2].objectID])))
    case .removeStore:
      let coordinator = container.persistentStoreCoordinator
      for id in coordinator.engine.stores.all.map(\.storeID) {
        try coordinator.removePersistentStore(withID: id)
        isRemoved = true
      }
    case .dropContext: self.context = nil
    case .rollbackAndSet:
      context.rollback()
      tag.name = "after rollback"
    case .resetAndInsert:
      context.reset()
      _ = Tag(name: "after reset", in: context)
    }
  }

  // MARK: Afterwards

  /// What is left can be saved or is refused with reasons, the context and the store agree then, and both go on.
  func expectWhole(_ cell: String) throws {
    guard !isRemoved else { return context?.reset() ?? () }
    if let context {
      do {
        try context.save()
        try parent?.save()
      } catch {
        // An object that a hook could not insert is an error of the next save, once.
        if case .nestedWrite? = error as? StoreError { try? context.save() }
        HookMatrixTests.expectTyped(error, cell)
        context.rollback()
        parent?.rollback()
      }
      // What awakeFromFetch() sets counts as read, and what others have deleted meanwhile is found by reading.
      parent?.refreshAllObjects()
      context.refreshAllObjects()
      #expect(!context.hasChanges, "\(cell)")
      try expectSame(context, cell)
      let tag = Tag(name: "afterwards", in: context)
      try context.save()
      try parent?.save()
      #expect(try storedNames().contains("afterwards"), "\(cell)")
      context.delete(tag)
      try context.save()
      try parent?.save()
      try expectSame(context, cell)
    }
    try other.save()
    #expect(try container.persistentStoreCoordinator.verify().isEmpty, "\(cell)")
  }

  private func expectSame(_ context: ManagedObjectContext, _ cell: String) throws {
    let names = try Tag.objects(in: context).map(\.name).sorted()
    #expect(try names == storedNames(), "\(cell)")
    // Objects that were held all the time say what is stored too, or that they are gone.
    let stored = Dictionary(
      try Tag.objects(in: container.newContext()).map { ($0.objectID, $0.name) }, uniquingKeysWith: { $1 })
    for tag in tags where tag.managedObjectContext === context {
      let name = tag.name
      if tag.isInaccessible || tag.isDeleted { continue }
      #expect(name == stored[tag.objectID], "\(cell)")
    }
  }

  func storedNames() throws -> [String] {
    let context = container.newContext()
    return try withExtendedLifetime(context) { try Tag.objects(in: context).map(\.name).sorted() }
  }
}

/// A format of an app's own that is asked at each save.
private struct ProbingFormat: StoreFormat {
  private let format = JSONStoreFormat()
  var name: String { format.name }

  func recognizes(_ start: [UInt8]) -> Bool { format.recognizes(start) }

  func read(_ input: StoreInput, into builder: StoreBuilder) throws { try format.read(input, into: builder) }

  func write(_ contents: StoreContents, to output: StoreOutput) throws {
    HookProbe.reach(.storeFormat)
    try format.write(contents, to: output)
  }
}
