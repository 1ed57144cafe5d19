#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A store that a coordinator has open.
protocol AttachedStore: AnyObject, Sendable {
  /// The place among the coordinator's stores.
  var place: Int { get }
  /// By which errors name the store.
  var url: URL { get }
  var storeID: UUID { get }
  var isReadOnly: Bool { get }
  /// Whether the store has no snapshots to read from.
  var isInMemory: Bool { get }
  /// Where large values are; nil where the rows hold them all.
  var files: ExternalFiles? { get }
  /// The migration that opening took; nil where none was needed.
  var migration: MigrationResult? { get }

  /// Refuses to go on where the store has been removed, or another one has taken its place.
  func checkIdentity() throws(StoreError)
}

/// The stores that a coordinator has at a time. Those that it was made with, in that order, without those that have
/// been removed since.
struct StoreSet: Sendable {
  let all: [any AttachedStore]
  /// How many have been removed.
  let removals: Int
  private let byPlace: [(any AttachedStore)?]

  init(_ stores: [any AttachedStore], removals: Int) {
    all = stores
    self.removals = removals
    var byPlace: [(any AttachedStore)?] = []
    for store in stores {
      while byPlace.count <= store.place { byPlace.append(nil) }
      byPlace[store.place] = store
    }
    self.byPlace = byPlace
  }

  /// Whether one of the stores is in memory, which has no snapshots to read from.
  var isInMemory: Bool { all.contains(where: \.isInMemory) }

  subscript(id: UUID) -> (any AttachedStore)? { all.first { $0.storeID == id } }

  /// The store that holds an entity's objects; nil where none does.
  func store(of plan: EntityPlan) -> (any AttachedStore)? {
    guard let place = plan.storeIndex, place < byPlace.count else { return nil }
    return byPlace[place]
  }
}

/// What has a coordinator's stores open: SQLite, or an engine that somebody adds.
///
/// An engine serves several contexts at a time. Each of them reads by a session of its own, and one at a time writes.
protocol StoreEngine: AnyObject, Sendable {
  var model: ModelPlan { get }
  var stores: StoreSet { get }
  /// How many stores have been removed, for a context to notice that one has.
  var removalCount: Int { get }
  /// Where each store keeps its large values, by its place; nil for one that has no such place.
  var files: [ExternalFiles?] { get }
  /// Tells the saves of this engine from those of others in the history.
  var origin: String { get }
  /// Who is told of what is saved.
  var watch: HistoryWatch { get }

  /// What to read by until it is given back.
  func takeSession() throws -> any StoreSession
  /// - Parameter session: One that was taken, and is used no more.
  func giveBack(_ session: any StoreSession)
  /// Refuses to read where that would wait for what the calling thread writes.
  func checkIsReadable() throws

  /// Calls a body with what writes. A body keeps nothing of it.
  ///
  /// - Throws: ``StoreError/nestedWrite(_:)`` if the calling thread writes already.
  func write<R>(_ body: (any StoreWriteSession) throws -> R) throws -> R

  /// Reserves keys for new objects: never any that was reserved before, by whichever process.
  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey>
  /// Takes back keys that no object has had.
  func giveBackKeys(_ keys: Range<ObjectKey>, of root: Int)

  /// Lets go of a store.
  ///
  /// - Returns: Whether it was one of the stores.
  func remove(_ id: UUID) throws -> Bool
  /// Lets somebody know of each removal, from whichever thread it is made.
  func tellOfRemovals(_ observer: AnyObject, _ tell: @escaping @Sendable () -> Void)
  func stopTellingOfRemovals(_ id: ObjectIdentifier)
}
