#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A coordinator's stores, as SQLite has them open.
struct SQLiteStoreSet: Sendable {
  let all: [SQLiteStore]
  /// The same stores, for code that does not depend on SQLite.
  let stores: StoreSet
  /// `CREATE TABLE` statements for the tables of missing stores, so that a connection finds them empty.
  let absentTables: [String]
  /// The stores that a migration may change between two reads.
  private let unlocked: [SQLiteStore]
  /// The indexes of the stores in the order in which a save commits to them.
  private let order: [Int]
  private let isSingle: Bool

  /// - Parameter isSingle: Whether the coordinator was made with a single store. This store is then the main database of
  ///   each connection. Several stores are all attached, so that any of them can be missing and the order is free.
  init(_ stores: [SQLiteStore], isSingle: Bool, of model: ModelPlan) {
    self.init(stores, removals: 0, isSingle: isSingle, of: model)
  }

  private init(_ stores: [SQLiteStore], removals: Int, isSingle: Bool, of model: ModelPlan) {
    all = stores
    self.stores = StoreSet(stores, removals: removals)
    self.isSingle = isSingle
    let storeIndices = stores.map(\.index)
    unlocked = stores.filter(\.isUnlocked)
    absentTables = SQLSchema.tables(outside: Set(storeIndices), of: model)
    order = Self.order(storeIndices, model)
  }

  /// Returns the set without one of the stores; nil if the store is not in the set.
  func removing(_ id: UUID, of model: ModelPlan) -> SQLiteStoreSet? {
    guard all.contains(where: { $0.storeID == id }) else { return nil }
    return SQLiteStoreSet(
      all.filter { $0.storeID != id }, removals: removals + 1, isSingle: isSingle, of: model)
  }

  /// The number of removed stores.
  var removals: Int { stores.removals }

  /// Whether one of the stores is in memory. Such a store has no snapshots to read from.
  var isInMemory: Bool { all.contains(where: \.isInMemory) }

  /// Throws an error if a store has been migrated since it was opened. Checks only the stores that no lock protects
  /// from a migration.
  ///
  /// - Parameter connection: A connection whose snapshot has just begun, so that the check is valid until the snapshot
  ///   ends. Or any connection, if each statement reads the newest state.
  @inline(__always) func checkVersions(_ connection: SQLiteConnection) throws {
    for store in unlocked { try store.checkVersion(connection, schema: schema(of: store)) }
  }

  /// The store that holds an entity's objects; nil if no attached store does.
  func store(of plan: EntityPlan) -> SQLiteStore? { plan.storeIndex.flatMap(store(at:)) }

  private func store(at index: Int) -> SQLiteStore? { all.first { $0.index == index } }

  /// The store that a connection opens as its main database.
  var main: SQLiteStore? { isSingle ? all.first : nil }

  /// The stores that a connection attaches, in the order in which SQLite commits them.
  var attached: [SQLiteStore] { isSingle ? [] : order.compactMap(store(at:)) }

  /// The name of a store's database in a connection.
  func schema(of store: any AttachedStore) -> String { isSingle ? "main" : "store\(store.index)" }

  /// Returns the stores in an order in which each store follows the stores that it refers to. If a save is interrupted
  /// between two files, the written objects then refer only to written objects. Stores that refer to each other in a
  /// circle keep the given order.
  @_optimize(none)
  private static func order(_ storeIndices: [Int], _ model: ModelPlan) -> [Int] {
    guard storeIndices.count > 1 else { return storeIndices }
    var targets: [Int: Set<Int>] = [:]
    for plan in model.entities {
      for case let relationship? in plan.relationships {
        let other = model.entities[relationship.destination].storeIndex
        guard let store = plan.storeIndex, let other, store != other else { continue }
        switch relationship.storage {
        case .reference, .join(_, isSource: true): targets[store, default: []].insert(other)
        case .join(_, isSource: false), .inverseReference, .referencesOfOthers: break
        }
      }
    }
    var waiting = storeIndices
    var result: [Int] = []
    while !waiting.isEmpty {
      let next = waiting.firstIndex { targets[$0, default: []].isDisjoint(with: waiting) }
      result.append(waiting.remove(at: next ?? 0))
    }
    return result
  }
}
