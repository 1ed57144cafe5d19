import Foundation
import Testing

@testable import CDRuntime

/// How far a context has followed a history, whose numbers may also begin again.
@Suite(.onceForAllKinds) struct HistoryPositionTests {
  private struct Refusal: Error {}

  private let position = HistoryPosition()
  private let folder: TemporaryStore
  private let coordinator: PersistentStoreCoordinator
  private let store: any AttachedStore

  init() throws {
    folder = try TemporaryStore()
    coordinator = try folder.container().persistentStoreCoordinator
    store = try #require(coordinator.engine.stores.all.first)
  }

  /// The saves after which those until the newest one are applied. Nil stands for all saves.
  private func applied(until newest: Int64) -> [Int64?] {
    var result: [Int64?] = []
    position.advance(to: newest, of: store) { result.append($0) }
    return result
  }

  @Test func newerSavesAreApplied() {
    #expect(applied(until: 5) == [])
    #expect(applied(until: 5) == [])
    #expect(applied(until: 7) == [5])
    #expect(applied(until: 7) == [])
  }

  /// A server that takes over may lack the last saves.
  @Test func aHistoryThatLacksSavesIsReadAnew() {
    #expect(applied(until: 5) == [])
    #expect(applied(until: 3) == [nil])
    #expect(applied(until: 3) == [])
    #expect(applied(until: 4) == [3])
  }

  /// Another save has got the number of the context's own one.
  @Test func aHistoryThatLacksOwnSavesIsReadAnew() {
    #expect(applied(until: 5) == [])
    position.noteOwnSaves([(store: store, id: 6), (store: store, id: 7)], unfinished: nil)
    #expect(applied(until: 6) == [nil])
    #expect(!position.isOwnSave(7, of: store))
    #expect(applied(until: 7) == [6])
  }

  @Test func whatCannotBeAppliedIsAppliedAgain() {
    #expect(applied(until: 5) == [])
    position.noteOwnSaves([(store: store, id: 6)], unfinished: nil)
    for _ in 0..<2 {
      #expect(throws: Refusal.self) {
        try position.advance(to: 3, of: store) { seen in
          #expect(seen == nil)
          throw Refusal()
        }
      }
    }
    #expect(position.isOwnSave(6, of: store))
    #expect(applied(until: 3) == [nil])
  }

  /// A save of the context gets a number that it has seen before.
  @Test func aNumberThatWasSeenBeforeMeansThatSavesAreMissing() {
    #expect(applied(until: 5) == [])
    #expect(position.seenSave(beforeOthersBefore: 6, of: store) == nil)
    #expect(position.seenSave(beforeOthersBefore: 7, of: store) == 5)
    #expect(position.seenSave(beforeOthersBefore: 5, of: store) == 5)
    #expect(position.seenSave(beforeOthersBefore: 4, of: store) == 5)
  }
}
