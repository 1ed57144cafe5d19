import CDModel
@_spi(Generated) package import CDRuntime
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The engine of each store of a coordinator whose stores have several engines.
struct EngineMap: Sendable {
  /// The number of the engine, by the index of the store.
  private let engines: [Int: Int]

  @_optimize(none)
  init(_ engines: [any StoreEngine]) {
    var numbers: [Int: Int] = [:]
    for (number, engine) in engines.enumerated() {
      for store in engine.stores.all { numbers[store.index] = number }
    }
    self.engines = numbers
  }

  /// The number of the engine that has an entity's store, even if the store was removed; nil if the entity has no store.
  func engine(of entity: EntityPlan) -> Int? { entity.storeIndex.flatMap { engines[$0] } }

  func engine(of store: any AttachedStore) -> Int? { engines[store.index] }
}

/// Returns an engine that has the stores of several engines.
///
/// - Parameter engines: The engines with their open stores. An engine whose writes exclude each other comes before one
///   that may refuse a save at the last moment.
package func combinedEngine(_ engines: [any StoreEngine], _ model: ModelPlan) -> any StoreEngine {
  CombinedEngine(engines, model)
}

/// Several engines, each with some of a coordinator's stores.
///
/// Each operation goes to the engine that has the entity's store. If a relationship leads from one engine to another, the
/// sessions read the keys from one and the rows from the other. No engine decides a comparison that needs rows of another
/// one: see `SQLDialect.isReachable(_:)`.
///
/// A save is a transaction of each engine. All of them have written and checked their rows before the first one commits.
/// The engines commit in the reverse of their order, so that the last one, such as a server, can still refuse the whole
/// save.
final class CombinedEngine: StoreEngine {
  let model: ModelPlan
  let files: [ExternalFiles?]
  let watch = HistoryWatch()
  let origin = UUID.random().uuidString
  var isCombined: Bool { true }
  private let engines: [any StoreEngine]
  private let map: EngineMap
  private let current: Mutex<StoreSet>

  @_optimize(none)
  init(_ engines: [any StoreEngine], _ model: ModelPlan) {
    self.engines = engines
    self.model = model
    map = EngineMap(engines)
    let stores = Self.set(of: engines.map(\.stores))
    current = Mutex(stores)
    var files: [ExternalFiles?] = []
    for store in stores.all {
      while files.count <= store.index { files.append(nil) }
      files[store.index] = store.files
    }
    self.files = files
  }

  /// The stores of several sets, in the order of the coordinator.
  private static func set(of sets: [StoreSet]) -> StoreSet {
    StoreSet(
      sets.flatMap(\.all).ordered { $0.index < $1.index }, removals: sets.reduce(0) { $0 + $1.removals })
  }

  private func engine(of entity: EntityPlan) throws(StoreError) -> any StoreEngine {
    guard let number = map.engine(of: entity) else { throw .noStore(entity: entity.name) }
    return engines[number]
  }

  // MARK: Stores

  var stores: StoreSet {
    let removals = removalCount
    return current.withLock { stores in
      if stores.removals != removals { stores = Self.set(of: engines.map(\.stores)) }
      return stores
    }
  }

  var removalCount: Int {
    var count = 0
    for engine in engines { count += engine.removalCount }
    return count
  }

  func remove(_ id: UUID) throws -> Bool {
    for engine in engines where try engine.remove(id) { return true }
    return false
  }

  func observeRemovals(_ observer: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    for engine in engines { engine.observeRemovals(observer, handler) }
  }

  func stopObservingRemovals(_ id: ObjectIdentifier) {
    for engine in engines { engine.stopObservingRemovals(id) }
  }

  // MARK: Sessions

  @_optimize(none)
  func takeSession() throws -> any StoreSession {
    var sessions: [any StoreSession] = []
    do {
      for engine in engines { sessions.append(try engine.takeSession()) }
    } catch {
      giveBack(sessions)
      throw error
    }
    return CombinedSession(
      sessions, stores: Self.set(of: sessions.map(\.stores)), model: model, map, files: files)
  }

  func returnSession(_ session: any StoreSession) {
    if let session = session as? CombinedSession { giveBack(session.sessions) }
  }

  private func giveBack(_ sessions: [any StoreSession]) {
    for (engine, session) in zip(engines, sessions) { engine.returnSession(session) }
  }

  func checkIsReadable() throws { for engine in engines { try engine.checkIsReadable() } }

  // MARK: Writing

  func write<R>(_ body: (any StoreWriteSession) throws -> R) throws -> R {
    try write(isSave: false, isRepeatable: { false }, [], body)
  }

  func save<R>(
    isRepeatable: () -> Bool, _ body: (any StoreWriteSession) throws -> R
  ) throws -> R {
    try write(isSave: true, isRepeatable: isRepeatable, [], body)
  }

  /// Runs a body with the write sessions of all engines. The first engines' are given.
  @_optimize(none)
  private func write<R>(
    isSave: Bool, isRepeatable: () -> Bool, _ sessions: [any StoreWriteSession],
    _ body: (any StoreWriteSession) throws -> R
  ) throws -> R {
    guard sessions.count < engines.count else {
      let stores = Self.set(of: sessions.map(\.reader.stores))
      return try body(CombinedWriteSession(sessions, stores: stores, model: model, map, files: files))
    }
    let engine = engines[sessions.count]
    func next(_ session: any StoreWriteSession) throws -> R {
      try write(isSave: isSave, isRepeatable: isRepeatable, sessions + [session], body)
    }
    return try isSave ? engine.save(isRepeatable: isRepeatable, next) : engine.write(next)
  }

  // MARK: Keys

  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey> {
    try engine(of: root).reserveKeys(of: root, count: count)
  }

  func returnKeys(_ keys: Range<ObjectKey>, of root: Int) {
    if let number = map.engine(of: model.entities[root]) { engines[number].returnKeys(keys, of: root) }
  }
}
