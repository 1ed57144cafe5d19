#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A coordinator's stores as SQLite has them open.
struct SQLiteStoreSet: Sendable {
  let all: [SQLiteStore]
  /// The same for those who know of no SQLite.
  let stores: StoreSet
  /// `CREATE TABLE` of what no store has, for a reader to find empty.
  let absentTables: [String]
  /// Those that may be migrated between two reads.
  private let unlocked: [SQLiteStore]
  /// The places in the order in which a save goes to them.
  private let order: [Int]
  private let isAlone: Bool

  /// - Parameter isAlone: Whether the coordinator was made with one store, which is a connection's own database then.
  ///   Of several each is attached, so that any of them can be missing and the order is free.
  init(_ stores: [SQLiteStore], isAlone: Bool, of model: ModelPlan) {
    self.init(stores, removals: 0, isAlone: isAlone, of: model)
  }

  private init(_ stores: [SQLiteStore], removals: Int, isAlone: Bool, of model: ModelPlan) {
    all = stores
    self.stores = StoreSet(stores, removals: removals)
    self.isAlone = isAlone
    let places = stores.map(\.place)
    unlocked = stores.filter(\.isUnlocked)
    absentTables = SQLiteSchema.tables(outside: Set(places), of: model)
    order = Self.order(places, model)
  }

  /// The same without one of the stores; nil where it is none of them.
  func removing(_ id: UUID, of model: ModelPlan) -> SQLiteStoreSet? {
    guard all.contains(where: { $0.storeID == id }) else { return nil }
    return SQLiteStoreSet(
      all.filter { $0.storeID != id }, removals: removals + 1, isAlone: isAlone, of: model)
  }

  /// How many stores have been removed.
  var removals: Int { stores.removals }

  /// Whether one of the stores is in memory, which has no snapshots to read from.
  var isInMemory: Bool { all.contains(where: \.isInMemory) }

  /// Refuses to read from a store that has been migrated since it was opened, where no lock keeps that from happening.
  ///
  /// - Parameter connection: One whose snapshot has just begun, so that what is found holds until it ends; or any, where
  ///   each statement reads the newest state.
  @inline(__always) func checkVersions(_ connection: SQLiteConnection) throws {
    for store in unlocked { try store.checkVersion(connection, schema: schema(of: store)) }
  }

  subscript(id: UUID) -> SQLiteStore? { all.first { $0.storeID == id } }

  /// The store that holds an entity's objects; nil where none does.
  func store(of plan: EntityPlan) -> SQLiteStore? { plan.storeIndex.flatMap(store(at:)) }

  private func store(at place: Int) -> SQLiteStore? { all.first { $0.place == place } }

  /// The store that a connection opens as its own.
  var main: SQLiteStore? { isAlone ? all.first : nil }

  /// The stores that a connection attaches, in the order in which SQLite commits what they have.
  var attached: [SQLiteStore] { isAlone ? [] : order.compactMap(store(at:)) }

  /// The name by which connections know a store.
  func schema(of store: any AttachedStore) -> String { isAlone ? "main" : "store\(store.place)" }

  /// Stores after those that their objects refer to: where a save ends between two files, what has been written
  /// refers to nothing that has not. Where stores refer to each other in a circle, as they were given.
  private static func order(_ places: [Int], _ model: ModelPlan) -> [Int] {
    guard places.count > 1 else { return places }
    var targets: [Int: Set<Int>] = [:]
    for plan in model.entities {
      for case let relationship? in plan.relationships {
        let other = model.entities[relationship.destination].storeIndex
        guard let home = plan.storeIndex, let other, home != other else { continue }
        switch relationship.storage {
        case .reference, .join(_, isSource: true): targets[home, default: []].insert(other)
        case .join(_, isSource: false), .inverseReference, .referencesOfOthers: break
        }
      }
    }
    var waiting = places
    var result: [Int] = []
    while !waiting.isEmpty {
      let next = waiting.firstIndex { targets[$0, default: []].isDisjoint(with: waiting) }
      result.append(waiting.remove(at: next ?? 0))
    }
    return result
  }
}
