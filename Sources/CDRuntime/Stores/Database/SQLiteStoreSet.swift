#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The stores that a coordinator has at a time. Those that it was made with, in that order, without those that have
/// been removed since.
struct StoreSet: Sendable {
  let all: [SQLiteStore]
  /// How many have been removed.
  let removals: Int
  /// `CREATE TABLE` of what no store has, for a reader to find empty.
  let absentTables: [String]
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
    self.removals = removals
    self.isAlone = isAlone
    let places = stores.map(\.place)
    absentTables = SQLiteSchema.tables(outside: Set(places), of: model)
    order = Self.order(places, model)
  }

  /// The same without one of the stores; nil where it is none of them.
  func removing(_ id: UUID, of model: ModelPlan) -> StoreSet? {
    guard all.contains(where: { $0.storeID == id }) else { return nil }
    return StoreSet(
      all.filter { $0.storeID != id }, removals: removals + 1, isAlone: isAlone, of: model)
  }

  /// Whether one of the stores is in memory, which has no snapshots to read from.
  var isInMemory: Bool { all.contains(where: \.isInMemory) }

  subscript(id: UUID) -> SQLiteStore? { all.first { $0.storeID == id } }

  /// The store that holds an entity's objects; nil where none does.
  func home(of plan: EntityPlan) -> SQLiteStore? { plan.home.flatMap(store(at:)) }

  private func store(at place: Int) -> SQLiteStore? { all.first { $0.place == place } }

  /// The store that a connection opens as its own.
  var main: SQLiteStore? { isAlone ? all.first : nil }

  /// The stores that a connection attaches, in the order in which SQLite commits what they have.
  var attached: [SQLiteStore] { isAlone ? [] : order.compactMap(store(at:)) }

  /// The name by which connections know a store.
  func schema(of store: SQLiteStore) -> String { isAlone ? "main" : "store\(store.place)" }

  /// Stores after those that their objects refer to: where a save ends between two files, what has been written
  /// refers to nothing that has not. Where stores refer to each other in a circle, as they were given.
  private static func order(_ places: [Int], _ model: ModelPlan) -> [Int] {
    guard places.count > 1 else { return places }
    var targets: [Int: Set<Int>] = [:]
    for plan in model.entities {
      for case let relationship? in plan.relationships {
        let other = model.entities[relationship.destination].home
        guard let home = plan.home, let other, home != other else { continue }
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
