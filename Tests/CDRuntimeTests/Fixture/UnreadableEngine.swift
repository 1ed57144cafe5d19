import Foundation
import Synchronization

@_spi(Generated) @testable import CDRuntime

/// An engine whose stores can be written all the time, and cannot be read while a test says so.
final class UnreadableEngine: StoreEngine {
  private let engine: any StoreEngine
  private let willRead: @Sendable () throws -> Void
  private let isUnreadable = Atomic<Bool>(false)
  /// The number of the read that fails, counted from the next one; not positive if none does.
  private let failingRead = Atomic<Int>(0)

  /// - Parameter willRead: Called before each read, which fails if it throws an error.
  init(_ engine: any StoreEngine, willRead: @escaping @Sendable () throws -> Void = {}) {
    self.engine = engine
    self.willRead = willRead
  }

  /// A container of a coordinator's stores, and its engine.
  static func container(
    of coordinator: PersistentStoreCoordinator
  ) -> (container: PersistentContainer, engine: UnreadableEngine) {
    let engine = UnreadableEngine(coordinator.engine)
    let container = PersistentContainer(
      PersistentStoreCoordinator(plan: coordinator.plan, classes: coordinator.classes, engine: engine))
    return (container, engine)
  }

  /// Runs a body while the stores cannot be read. For stores in memory, this is so for contexts that have read before too.
  func whileUnreadable(_ body: () throws -> Void) rethrows {
    isUnreadable.store(true, ordering: .relaxed)
    defer { isUnreadable.store(false, ordering: .relaxed) }
    try body()
  }

  /// Makes one of the next reads fail: the first one for 1, the second one for 2.
  func failRead(_ number: Int) { failingRead.store(number, ordering: .relaxed) }

  private func check() throws {
    try willRead()
    let isFailing = failingRead.subtract(1, ordering: .relaxed).newValue == 0
    if isFailing || isUnreadable.load(ordering: .relaxed) { throw StoreError.busy(stores.all.map(\.url)) }
  }

  var model: ModelPlan { engine.model }
  var stores: StoreSet { engine.stores }
  var removalCount: Int { engine.removalCount }
  var files: [ExternalFiles?] { engine.files }
  var origin: String { engine.origin }
  var watch: HistoryWatch { engine.watch }

  func takeSession() throws -> any StoreSession {
    try check()
    return try engine.takeSession()
  }

  func returnSession(_ session: any StoreSession) { engine.returnSession(session) }

  func checkIsReadable() throws {
    try check()
    try engine.checkIsReadable()
  }

  func write<R>(_ body: (any StoreWriteSession) throws -> R) throws -> R { try engine.write(body) }

  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey> {
    try engine.reserveKeys(of: root, count: count)
  }

  func returnKeys(_ keys: Range<ObjectKey>, of root: Int) { engine.returnKeys(keys, of: root) }
  func remove(_ id: UUID) throws -> Bool { try engine.remove(id) }

  func observeRemovals(_ observer: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    engine.observeRemovals(observer, handler)
  }

  func stopObservingRemovals(_ id: ObjectIdentifier) { engine.stopObservingRemovals(id) }
}
