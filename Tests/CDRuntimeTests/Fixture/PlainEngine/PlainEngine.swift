import CDCombinedStores
import CDModel
import Foundation
import Synchronization

@_spi(Generated) @testable import CDRuntime

/// An engine without SQL: rows are values in dictionaries, and the evaluator decides each predicate.
///
/// It shows that a context asks its stores by operations alone, and answers as SQLite does by code that has nothing in
/// common with SQLite's. It does all that an engine can do without files: its stores are opened again, copied, moved to
/// other engines and migrated. As with files that are read whole, one coordinator at a time has a store open for writing.
final class PlainEngine: StoreEngine {
  let model: ModelPlan
  let uniqueLists: PlainUniqueLists
  let origin = UUID().uuidString
  let watch = HistoryWatch()
  let files: [ExternalFiles?]
  private let current: Mutex<Current>
  private let removals = Atomic<Int>(0)
  private let removalObservers = Mutex<[ObjectIdentifier: @Sendable () -> Void]>([:])
  private let writing = NSRecursiveLock()
  /// The thread that writes; nil for none.
  private let writer = Mutex<Thread?>(nil)

  private struct Current {
    let stores: StoreSet
    let all: [PlainStore]
    /// The rows of all stores.
    var state: PlainState

    init(_ all: [PlainStore], removals: Int, _ state: PlainState) {
      stores = StoreSet(all, removals: removals)
      self.all = all
      self.state = state
    }
  }

  /// What a location says of a store.
  private struct Details: Sendable {
    let url: URL
    /// Keeps a store that goes with the test; nil for a store that stays.
    let lifetime: PlainLifetime?
  }

  /// Opens stores, and creates those that do not exist.
  ///
  /// - Throws: ``StoreError`` or ``MigrationError``.
  init(_ settings: [StoreSettings], _ model: ModelPlan) throws {
    let lists = PlainUniqueLists(model)
    var (stores, state): ([PlainStore], PlainState) = ([], PlainState())
    for place in settings.indices {
      guard case .engine(let location) = settings[place].location,
        let details = location.details as? Details
      else { throw StoreError.notSupported("stores of several engines") }
      if stores.contains(where: { $0.url == details.url }) { throw StoreError.openedTwice(details.url) }
      let opened = try PlainOpening(
        url: details.url, settings: settings[place], model: model, storeIndex: settings.storeIndex(place),
        others: settings.configurations(otherThan: place), lists: lists
      ).open()
      stores.append(opened.store)
      state.merge(opened.state)
    }
    self.model = model
    uniqueLists = lists
    files = settings.map { _ in nil }
    current = Mutex(Current(stores, removals: 0, state))
  }

  /// The location of a store that would have a file.
  ///
  /// - Parameter lifetime: Keeps the store until its location and its coordinator are gone; nil for a store that stays.
  static func location(_ file: URL, lifetime: PlainLifetime? = nil) -> StoreLocation {
    let url = PlainStores.address(file)
    return .engine(
      StoreEngineLocation(
        name: url.absoluteString, engine: "plain", details: Details(url: url, lifetime: lifetime),
        transfer: PlainTransfer(url: url), combine: combinedEngine
      ) { try PlainEngine($0, $1) })
  }

  var stores: StoreSet { current.withLock(\.stores) }
  var removalCount: Int { removals.load(ordering: .acquiring) }
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

  /// Makes a state the current one, and writes it to the stores.
  func put(_ state: PlainState) { current.withLock { put(state, &$0) } }

  private func put(_ state: PlainState, _ current: inout Current) {
    current.state = state
    for store in current.all { store.write(state, of: model) }
  }

  /// Reads the stores again, after somebody else has changed them.
  func reload() throws {
    try current.withLock { current in
      var state = PlainState()
      for store in current.all {
        if let image = try PlainStores.image(at: store.url) {
          state.merge(try image.state(in: model, store: store.index, uniqueLists))
        }
      }
      current.state = state
    }
  }

  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey> {
    // A batch under way takes keys of its own.
    try checkIsNotWriting()
    writing.lock()
    defer { writing.unlock() }
    return try current.withLock { current in
      guard let store = current.stores.store(of: root) else { throw StoreError.noStore(entity: root.name) }
      if store.isReadOnly { throw StoreError.readOnly(store.url) }
      var state = current.state
      let next = state.nextKeys[root.index] ?? 1
      state.nextKeys[root.index] = next + count
      // Nobody who opens the store later gets them again.
      put(state, &current)
      return next..<next + count
    }
  }

  func returnKeys(_ keys: Range<ObjectKey>, of root: Int) {}

  func remove(_ id: UUID) throws -> Bool {
    try checkIsNotWriting()
    writing.lock()
    defer { writing.unlock() }
    let removed = current.withLock { current -> PlainStore? in
      let removed = current.all.first { $0.storeID == id }
      guard removed != nil else { return nil }
      current = Current(
        current.all.filter { $0.storeID != id }, removals: current.stores.removals + 1, current.state)
      return removed
    }
    guard let removed else { return false }
    removed.close()
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

/// A store that an engine has open. Its rows are in the engine's memory, and each change of them is written to the store.
final class PlainStore: AttachedStore {
  let index: Int
  let url: URL
  let storeID: UUID
  let migration: MigrationResult?
  /// Nil for a store that is only read.
  private let lease: PlainLease?
  // Contexts hold no snapshots of stores in memory, and the tests of such stores rely on that.
  let isInMemory = true
  var files: ExternalFiles? { nil }
  var isReadOnly: Bool { lease == nil }

  init(index: Int, url: URL, storeID: UUID, lease: PlainLease?, migration: MigrationResult?) {
    self.index = index
    self.url = url
    self.storeID = storeID
    self.lease = lease
    self.migration = migration
  }

  func checkIdentity() throws(StoreError) {
    if let lease, !lease.isValid { throw .replaced(url) }
  }

  fileprivate func write(_ state: PlainState, of model: ModelPlan) {
    lease?.write(PlainImage(model: model, storeIndex: index, state: state))
  }

  /// Lets others open the store.
  fileprivate func close() { lease?.release() }
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
  /// All entries of the metadata, by the place of the store.
  var metadata: [Int: [String: String]] = [:]

  func row(_ key: ObjectKey, of root: Int) -> Row? { tables[root]?[key] }
}
