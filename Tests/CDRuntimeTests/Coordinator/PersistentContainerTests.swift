import Synchronization
import Testing

@testable import CDRuntime

/// The main actor's context and its container, of which either can go first.
@Suite struct PersistentContainerTests {
  /// Says whether its last reference goes on the main actor.
  private final class Probe: Sendable {
    private let released: AsyncStream<Bool>.Continuation

    init(_ released: AsyncStream<Bool>.Continuation) { self.released = released }

    deinit { released.yield(MainQueue.isCurrent) }
  }

  /// The only reference to a container.
  private final class Owner: Sendable {
    private let container: Mutex<PersistentContainer?>

    init(_ container: PersistentContainer) { self.container = Mutex(container) }

    /// Makes the main actor's context retain a probe.
    @MainActor func probe(_ released: AsyncStream<Bool>.Continuation) {
      let probe = Probe(released)
      let current = container.withLock { $0 }
      current?.viewContext.mergePolicy = MergePolicy { _ in
        withExtendedLifetime(probe) { MergePolicy.Resolution.storeWins }
      }
    }

    func release() { container.withLock { $0 = nil } }
  }

  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  @MainActor @Test func theViewContextReadsWhatIsSavedAfterItsContainerHasGone() async throws {
    let context = try store.container().viewContext
    #expect(try Tag.objects(in: context).isEmpty)
    let other = try store.freshContext()
    _ = Tag(name: "a", in: other)
    try other.save()
    var names: [String] = []
    for _ in 0..<1000 where names.isEmpty {
      await Task.yield()
      names = try Tag.objects(in: context).map(\.name)
    }
    #expect(names == ["a"])
  }

  @MainActor @Test func theViewContextIsToldOfARemovalAfterItsContainerHasGone() async throws {
    let context = try store.container().viewContext
    let tag = Tag(name: "a", in: context)
    try context.save()
    #expect(try Tag.objects(in: context) == [tag])
    try context.persistentStoreCoordinator.removePersistentStore(withID: tag.objectID.storeID)
    for _ in 0..<1000 where !tag.isInaccessible { await Task.yield() }
    #expect(tag.isInaccessible)
  }

  @MainActor @Test func anUndoEventOfTheViewContextEndsAfterItsContainerHasGone() async throws {
    let context = try store.container().viewContext
    context.undoManager = ContextUndoManager()
    _ = Tag(name: "a", in: context)
    for _ in 0..<20 { await Task.yield() }
    _ = Tag(name: "b", in: context)
    context.undo()
    #expect(context.insertedObjects.compactMap { ($0 as? Tag)?.name } == ["a"])
  }

  /// Its objects are the main actor's.
  @Test(.timeLimit(.minutes(10))) func theViewContextIsReleasedOnTheMainActor() async throws {
    let isRecognized = await MainActor.run { MainQueue.isCurrent }
    #expect(isRecognized && !MainQueue.isCurrent)
    let (released, continuation) = AsyncStream.makeStream(of: Bool.self)
    let owner = try Owner(store.container())
    await owner.probe(continuation)
    owner.release()
    for await isOnMainActor in released {
      #expect(isOnMainActor)
      break
    }
  }

  /// What follows can rely on it: the store can be removed. The fixture itself holds a store that cannot be opened again.
  @MainActor @Test(.needsReopening) func onTheMainActorTheViewContextIsReleasedAtOnce() throws {
    var container: PersistentContainer? = try store.container()
    weak let context = container?.viewContext
    weak let engine = container?.persistentStoreCoordinator.engine
    // What ends this snapshot in the next turn must not keep the store open.
    _ = try #require(context).fetch(FetchRequest<Tag>())
    container = nil
    #expect(context == nil)
    #expect(engine == nil)
  }
}
