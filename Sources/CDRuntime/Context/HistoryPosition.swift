#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How far a context has followed the histories of its stores, which it compares to notice the saves of others.
final class HistoryPosition {
  /// How far a store's history has been followed.
  private struct Position {
    /// The newest save that the objects in memory reflect; nil if nothing has been read or written yet.
    var seen: Int64?
    /// The context's own saves after `seen`; nil if there are none.
    var own: Set<Int64>?
  }

  // An array, because the types of dictionaries would take a part of the time in which a program opens its store.
  private var positions: [Position] = []
  /// A save that has reached only some of several stores, with the indexes of these stores. The next save writes the rest.
  private(set) var unfinished: (id: UUID, written: Set<Int>)?

  /// Whether the context has followed no history yet.
  var isEmpty: Bool { positions.allSatisfy { $0.seen == nil } }

  /// The position in a store's history.
  private subscript(_ store: any AttachedStore) -> Position {
    get { store.index < positions.count ? positions[store.index] : Position() }
    set {
      while positions.count <= store.index { positions.append(Position()) }
      positions[store.index] = newValue
    }
  }

  /// The newest save that the context has seen or made; nil if there is none.
  func newestKnown(of store: any AttachedStore) -> Int64? {
    let position = self[store]
    guard let own = position.own?.max() else { return position.seen }
    return max(own, position.seen ?? own)
  }

  /// Follows a store's history to its newest save.
  ///
  /// A server that takes over may lack the last saves of the one before it, and gives their numbers to other saves. Then any
  /// object may have changed, also through saves of the context itself.
  ///
  /// - Parameter apply: Called with the last save that the context has seen, if there are newer ones, and with nil if the
  ///   history no longer has a save that the context knows. If it throws, the next call does the same again.
  func advance(
    to newest: Int64, of store: any AttachedStore, _ apply: (_ seen: Int64?) throws -> Void
  ) rethrows {
    guard let seen = self[store].seen else {
      self[store].seen = newest
      return
    }
    let lacksSaves = newest < seen || self[store].own?.contains { $0 > newest } == true
    guard newest > seen || lacksSaves else { return }
    // Before the saves are applied, because observers may fetch, which calls this method again.
    self[store].seen = newest
    let own = self[store].own
    if lacksSaves { self[store].own = nil }
    do { try apply(lacksSaves ? nil : seen) } catch {
      self[store].seen = seen
      // Some of them may have been forgotten, and the history tells of them again.
      if let own { self[store].own = own.union(self[store].own ?? []) }
      throw error
    }
    // The history may have been purged of some of them.
    if own != nil { self[store].own = self[store].own?.filter { $0 > newest } }
  }

  /// The newest save that the context has seen, if others have saved between it and a save of the context, or if the history
  /// no longer has it; nil if neither is the case, and if the context has not read anything yet.
  ///
  /// - Parameter number: The context's save, which is not yet among the known ones.
  func seenSave(beforeOthersBefore number: Int64, of store: any AttachedStore) -> Int64? {
    guard let seen = self[store].seen else { return nil }
    if number <= seen { return seen }
    // Another program can have written any number.
    guard number - 1 > seen else { return nil }
    let ownCount = self[store].own?.count { $0 > seen && $0 < number } ?? 0
    return Int64(ownCount) < number &- seen &- 1 ? seen : nil
  }

  /// Whether a save is the context's own. Does not forget the save.
  func isOwnSave(_ id: Int64, of store: any AttachedStore) -> Bool {
    self[store].own?.contains(id) == true
  }

  /// Whether a save is the context's own, whose changes its objects already have. Forgets the save.
  func takeOwnSave(_ id: Int64, of store: any AttachedStore) -> Bool {
    guard isOwnSave(id, of: store) else { return false }
    return positions[store.index].own?.remove(id) != nil
  }

  /// Records the saves of the context in the histories of its stores.
  ///
  /// - Parameter unfinished: The identifier that these saves share and the indexes of the stores that they have reached, if
  ///   others of several stores have not been written.
  func noteOwnSaves(
    _ saves: [(store: any AttachedStore, id: Int64)], unfinished: (id: UUID, written: Set<Int>)?
  ) {
    let before = self.unfinished?.written ?? []
    self.unfinished = unfinished.map { ($0.id, $0.written.union(before)) }
    for save in saves {
      if self[save.store].seen == nil {
        // Nothing has been read before, so the objects in memory reflect this save.
        self[save.store].seen = save.id
      } else {
        if self[save.store].own == nil { self[save.store].own = [] }
        positions[save.store.index].own?.insert(save.id)
      }
    }
  }

  /// Forgets that a save has reached only some of several stores, because the rest of its changes is discarded.
  func forgetUnfinishedSave() { unfinished = nil }

  /// Continues from the position of a released context.
  func takeOver(_ former: HistoryPosition) {
    positions = former.positions
    unfinished = former.unfinished
  }
}
