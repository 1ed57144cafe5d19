#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How far a context has followed the histories of its stores, which it compares to notice the saves of others.
final class HistoryPosition {
  /// The newest save in each store's history that the objects in memory reflect, by store index.
  private var seenSaves: [Int: Int64] = [:]
  /// The context's own saves after `seenSaves`, by store index.
  private var ownSaves: [Int: Set<Int64>] = [:]
  /// The identifier of a save that has reached only some of several stores. The next save writes the rest.
  private(set) var unfinishedSave: UUID?

  /// Whether the context has followed no history yet.
  var isEmpty: Bool { seenSaves.isEmpty }

  /// Follows a store's history to its newest save.
  ///
  /// - Parameter apply: Called with the last save that the context has seen, if there are newer ones. If it throws, the
  ///   next call applies these saves again.
  func advance(
    to newest: Int64, of store: any AttachedStore, _ apply: (_ seen: Int64) throws -> Void
  ) rethrows {
    guard let seen = seenSaves[store.index] else {
      seenSaves[store.index] = newest
      return
    }
    guard newest > seen else { return }
    // Before the saves are applied, because observers may fetch, which calls this method again.
    seenSaves[store.index] = newest
    do { try apply(seen) } catch {
      seenSaves[store.index] = seen
      throw error
    }
  }

  /// The newest save that the context has seen, if others have saved between it and a save of the context; nil if nobody
  /// has, and if the context has not read anything yet.
  ///
  /// - Parameter number: The context's save, which is not yet among the known ones.
  func seenSave(beforeOthersBefore number: Int64, of store: any AttachedStore) -> Int64? {
    guard let seen = seenSaves[store.index], number > seen + 1 else { return nil }
    let ownCount = ownSaves[store.index]?.count { $0 > seen && $0 < number } ?? 0
    return Int64(ownCount) < number - seen - 1 ? seen : nil
  }

  /// Whether a save is the context's own. Does not forget the save.
  func isOwnSave(_ id: Int64, of store: any AttachedStore) -> Bool {
    ownSaves[store.index]?.contains(id) == true
  }

  /// Whether a save is the context's own, whose changes its objects already have. Forgets the save.
  func takeOwnSave(_ id: Int64, of store: any AttachedStore) -> Bool {
    ownSaves[store.index]?.remove(id) != nil
  }

  /// Records the saves of the context in the histories of its stores.
  ///
  /// - Parameter unfinished: The identifier that these saves share, if others of several stores have not been written.
  func noteOwnSaves(_ saves: [(store: any AttachedStore, id: Int64)], unfinished: UUID?) {
    unfinishedSave = unfinished
    for save in saves {
      if seenSaves[save.store.index] == nil {
        // Nothing has been read before, so the objects in memory reflect this save.
        seenSaves[save.store.index] = save.id
      } else {
        ownSaves[save.store.index, default: []].insert(save.id)
      }
    }
  }

  /// Continues from the position of a released context.
  func takeOver(_ former: HistoryPosition) {
    seenSaves = former.seenSaves
    ownSaves = former.ownSaves
    unfinishedSave = former.unfinishedSave
  }
}
