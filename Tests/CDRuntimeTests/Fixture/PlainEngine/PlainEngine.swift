import CDModel
import Foundation
import Synchronization

@_spi(Generated) @testable import CDRuntime

/// An engine without SQL: rows are values in dictionaries, and the evaluator decides each predicate.
///
/// It shows that a context asks its stores by operations alone, and answers as SQLite does by code that has nothing in
/// common with SQLite's.
final class PlainEngine: StoreEngine {
  let model: ModelPlan
  let uniqueLists: PlainUniqueLists
  let origin = UUID().uuidString
  let watch = HistoryWatch()
  private let current: Mutex<Current>
  private let removals = Atomic<Int>(0)
  private let removalObservers = Mutex<[ObjectIdentifier: @Sendable () -> Void]>([:])
  private let writing = NSRecursiveLock()
  /// The thread that writes; nil for none.
  private let writer = Mutex<Thread?>(nil)

  private struct Current {
    var stores: StoreSet
    var state: PlainState
  }

  init(_ model: ModelPlan, storeCount: Int = 1) {
    self.model = model
    uniqueLists = PlainUniqueLists(model)
    let stores = (0..<storeCount).map { PlainStore(index: $0) }
    current = Mutex(Current(stores: StoreSet(stores, removals: 0), state: PlainState()))
  }

  /// Stores that nobody else has.
  static var location: StoreLocation {
    .engine(StoreEngineLocation(name: "plain") { PlainEngine($1, storeCount: $0.count) })
  }

  var stores: StoreSet { current.withLock(\.stores) }
  var removalCount: Int { removals.load(ordering: .acquiring) }
  var files: [ExternalFiles?] { stores.all.map { _ in nil } }
  var state: PlainState { current.withLock(\.state) }

  func takeSession() throws -> any StoreSession { PlainSession(self, stores) }
  func returnSession(_ session: any StoreSession) {}
  func checkIsReadable() throws {}

  func write<R>(_ body: (any StoreWriteSession) throws -> R) throws -> R {
    try checkIsNotWriting()
    writing.lock()
    writer.withLock { $0 = Thread.current }
    defer {
      writer.withLock { $0 = nil }
      writing.unlock()
    }
    return try body(PlainWriteSession(self, PlainSession(self, stores)))
  }

  private func checkIsNotWriting() throws {
    if writer.withLock({ $0 === Thread.current }) { throw StoreError.nestedWrite(stores.all.map(\.url)) }
  }

  func put(_ state: PlainState) { current.withLock { $0.state = state } }

  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey> {
    // A batch under way takes keys of its own.
    try checkIsNotWriting()
    writing.lock()
    defer { writing.unlock() }
    return try current.withLock { current in
      guard let store = current.stores.store(of: root) else { throw StoreError.noStore(entity: root.name) }
      if store.isReadOnly { throw StoreError.readOnly(store.url) }
      let next = current.state.nextKeys[root.index] ?? 1
      current.state.nextKeys[root.index] = next + count
      return next..<next + count
    }
  }

  func returnKeys(_ keys: Range<ObjectKey>, of root: Int) {}

  func remove(_ id: UUID) throws -> Bool {
    try checkIsNotWriting()
    writing.lock()
    defer { writing.unlock() }
    let isRemoved = current.withLock { current in
      guard current.stores[id] != nil else { return false }
      current.stores = StoreSet(
        current.stores.all.filter { $0.storeID != id }, removals: current.stores.removals + 1)
      return true
    }
    guard isRemoved else { return false }
    removals.add(1, ordering: .releasing)
    for tell in removalObservers.withLock({ Array($0.values) }) { tell() }
    return true
  }

  func observeRemovals(_ observer: AnyObject, _ tell: @escaping @Sendable () -> Void) {
    let id = ObjectIdentifier(observer)
    removalObservers.withLock { $0[id] = tell }
  }

  func stopObservingRemovals(_ id: ObjectIdentifier) { removalObservers.withLock { $0[id] = nil } }
}

/// A store that is nowhere but in an engine's memory.
final class PlainStore: AttachedStore {
  let index: Int
  let url: URL
  let storeID = UUID()
  let isReadOnly = false
  // Contexts hold no snapshots of stores in memory, and the tests of such stores rely on that.
  let isInMemory = true
  var files: ExternalFiles? { nil }
  var migration: MigrationResult? { nil }

  init(index: Int) {
    self.index = index
    url = URL(string: "plain:\(index)") ?? URL(filePath: "/plain")
  }

  func checkIdentity() throws(StoreError) {}
}

/// Everything that a plain engine stores, as one value.
struct PlainState: Sendable {
  struct Row: Sendable {
    var entity: Int
    var version: Int64
    /// By the number of the column in the entity.
    var values: [AttributeValue]
    /// By the name of the column that SQLite would have.
    var positions: [String: Int64] = [:]
  }

  struct Pair: Hashable, Sendable {
    let source: ObjectKey
    let target: ObjectKey
  }

  struct Positions: Sendable {
    var ofSource: Int64?
    var ofTarget: Int64?
  }

  struct Save: Sendable {
    let number: Int64
    let date: Date
    let origin: String
    let author: String?
    let changes: String
  }

  /// By the place of the root entity.
  var tables: [Int: [ObjectKey: Row]] = [:]
  /// The rows by what they have of unique lists.
  var unique: [UniqueValues: ObjectKey] = [:]
  /// By the place of the join.
  var joins: [Int: [Pair: Positions]] = [:]
  var nextKeys: [Int: ObjectKey] = [:]
  /// By the place of the store.
  var saves: [Int: [Save]] = [:]
  var lastSaves: [Int: Int64] = [:]
  var metadata: [Int: [String: String]] = [:]

  func row(_ key: ObjectKey, of root: Int) -> Row? { tables[root]?[key] }
}
