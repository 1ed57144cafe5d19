import Foundation
import Testing

@testable import CDRuntime

/// Many identifiers as ranges are what a set of them would be.
@Suite struct ManagedObjectIDsTests {
  private static let stores = [UUID(), UUID()]

  private func random(_ generator: inout some RandomNumberGenerator, _ count: Int) -> Set<ManagedObjectID> {
    Set(
      (0..<count).map { _ in
        ManagedObjectID(
          storeID: Self.stores.randomElement(using: &generator) ?? UUID(),
          entityName: ["A", "B", "C"].randomElement(using: &generator) ?? "",
          key: .random(in: 1...30, using: &generator))
      })
  }

  @Test func everyOperationIsThatOfSets() {
    var generator = SystemRandomNumberGenerator()
    for round in 0..<200 {
      let (left, right) = (random(&generator, round % 60), random(&generator, round / 4))
      let (some, others) = (ManagedObjectIDs(left), ManagedObjectIDs(right))
      #expect(some.count == left.count && Set(some) == left && Array(some).count == left.count)
      #expect(Set(some.union(others)) == left.union(right))
      #expect(Set(some.subtracting(others)) == left.subtracting(right))
      #expect(right.allSatisfy { some.contains($0) == left.contains($0) })
      #expect(ManagedObjectIDs(left.shuffled(using: &generator)) == some)
    }
  }

  @Test func rangesOfAnyLengthAreNoTrap() {
    let group = { (keys: ClosedRange<Int64>, name: String) in
      ManagedObjectIDs.Group(storeID: Self.stores[0], entityName: name, keys: [keys])
    }
    let ids = ManagedObjectIDs(groups: [group(1...2, "A"), group(1...(.max), "B"), group(5...(.max), "C")])
    #expect(ids.count >= 2 && ids.first?.key == 1)
    #expect(ids.count <= Int.max && ids.contains(ids[1]))
  }

  @Test func rangesInAnyOrderBecomeOnesThatDoNotTouch() {
    func group(_ keys: [ClosedRange<Int64>]) -> ManagedObjectIDs.Group {
      ManagedObjectIDs.Group(storeID: Self.stores[0], entityName: "A", keys: keys)
    }
    let ids = ManagedObjectIDs(groups: [group([5...9, 1...2]), group([3...3, 8...12, 20...20]), group([])])
    #expect(ids.groups.map(\.keys) == [[1...3, 5...12, 20...20]])
    #expect(ids.map(\.key) == Array(1...3) + Array(5...12) + [20])
  }

  @Test func laterChangesAreJoinedToEarlierOnes() {
    func ids(_ keys: Int64...) -> ManagedObjectIDs {
      ManagedObjectIDs(keys.map { ManagedObjectID(storeID: Self.stores[0], entityName: "A", key: $0) })
    }
    let first = ObjectChanges(inserted: ids(1, 2), updated: ids(3, 4), deleted: ids(5))
    let second = ObjectChanges(inserted: ids(6), updated: ids(2, 3, 7), deleted: ids(1, 4))
    #expect(
      first.followed(by: second)
        == ObjectChanges(inserted: ids(2, 6), updated: ids(3, 7), deleted: ids(4, 5)))
  }

  /// The number of parts that are combined with each other grows with the logarithm of the number of saves.
  @Test func theChangesOfManySavesAreCombinedInFewSteps() {
    var generator = SystemRandomNumberGenerator()
    func ids(_ key: Int64) -> ManagedObjectIDs {
      ManagedObjectIDs([ManagedObjectID(storeID: Self.stores[0], entityName: "A", key: key)])
    }
    var present: Set<Int64> = [1, 3, 5, 7]
    var combined = CombinedChanges()
    var expected = ObjectChanges()
    for _ in 0..<1000 {
      let key = Int64.random(in: 1...40, using: &generator)
      let next: ObjectChanges
      switch (present.contains(key), Int.random(in: 0..<3, using: &generator)) {
      case (false, _):
        present.insert(key)
        next = ObjectChanges(inserted: ids(key))
      case (true, 0):
        present.remove(key)
        next = ObjectChanges(deleted: ids(key))
      case (true, 1): next = ObjectChanges(updated: ids(key))
      case (true, _): next = ObjectChanges(refreshed: ids(key))
      }
      combined.append(next)
      expected = expected.followed(by: next)
      #expect(combined.all == expected && combined.parts.count <= 10)
    }
    #expect(CombinedChanges().all.isEmpty)
  }
}
