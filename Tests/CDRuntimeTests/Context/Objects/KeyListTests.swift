import SeededRandom
import Testing

@testable import CDRuntime

/// Lists of keys against arrays.
@Suite struct KeyListTests {
  /// How a list's first keys are ordered.
  enum Beginning: CaseIterable, Sendable {
    case none, ascending, descending, almostAscending, random
  }

  /// A list, whose searches change it.
  private final class Tested {
    var list: KeyList

    init(_ keys: [Int64]) { list = KeyList(keys) }

    func contains(_ key: Int64) -> Bool { list.contains(key) }
    func remove(_ key: Int64) -> Bool { list.remove(key) }
    func isEqual(to array: [Int64]) -> Bool {
      list.keys == array && list.count == array.count && list.isEmpty == array.isEmpty
    }
  }

  private func keys(_ beginning: Beginning, _ count: Int, _ random: inout SplitMix) -> [Int64] {
    var all = Array((1...Int64(4 * max(1, count))).shuffled(using: &random).prefix(count))
    switch beginning {
    case .none: return []
    case .ascending: all.sort()
    case .descending: all.sort { $0 > $1 }
    case .almostAscending:
      all.sort()
      if count > 1 { all.swapAt(count - 2, count - 1) }
    case .random: break
    }
    return all
  }

  @Test(arguments: Beginning.allCases, [0, 1, 15, 16, 17, 18, 40, 200])
  func everyStepIsThatOfAnArray(_ beginning: Beginning, _ count: Int) {
    for seed in 0..<20 {
      var random = SplitMix(seed: UInt64(seed))
      var array = keys(beginning, count, &random)
      let tested = Tested(array)
      for _ in 0..<120 {
        step(tested, &array, &random)
        #expect(tested.isEqual(to: array))
      }
      for key in array { #expect(tested.contains(key)) }
      let next = (array.max() ?? 0) + 1
      #expect(!tested.contains(next))
      for key in array.shuffled(using: &random) {
        #expect(tested.remove(key))
        #expect(!tested.contains(key))
      }
      #expect(tested.isEqual(to: []))
    }
  }

  private func step(_ tested: Tested, _ array: inout [Int64], _ random: inout SplitMix) {
    let greatest = array.max() ?? 0
    // A key of the list, or one that is at an end of the list, or behind it, or in a gap.
    let any = [1, max(1, greatest), greatest + 1, Int64.random(in: 1...(greatest + 40), using: &random)]
    let all = Bool.random(using: &random) && !array.isEmpty ? array : any
    let key = all.randomElement(using: &random) ?? 1
    let isIn = array.contains(key)
    switch Int.random(in: 0..<8, using: &random) {
    case 0: #expect(tested.contains(key) == isIn)
    case 1, 2:
      #expect(tested.remove(key) == isIn)
      array.removeAll { $0 == key }
    case 3:
      if isIn { return }
      let index = Int.random(in: -2...(array.count + 2), using: &random)
      tested.list.insert(key, at: index)
      array.insert(key, at: min(max(0, index), array.count))
    case 4, 5, 6:
      let next = Bool.random(using: &random) || isIn ? greatest + 1 : key
      tested.list.append(next)
      array.append(next)
    default:
      // A copy has changes of its own.
      var copy = tested.list
      for key in array.prefix(3) { copy.remove(key) }
      copy.append(greatest + 9)
      #expect(copy.keys == Array(array.dropFirst(3)) + [greatest + 9])
    }
  }

  /// The gaps between ascending keys hold no key.
  @Test(arguments: [17, 18, 31, 32, 33, 1000]) func ascendingKeysAreFoundAndNoOthers(_ count: Int) {
    let tested = Tested([])
    for number in 1...count { tested.list.append(Int64(3 * number)) }
    for key in 1...Int64(3 * count + 3) {
      let isIn = key % 3 == 0 && key <= 3 * count
      #expect(tested.contains(key) == isIn)
    }
  }

  /// A list that is searched in halves no longer is after a removal, or when a key is appended that is less than the last.
  @Test(arguments: [50, 101] as [Int64]) func aSearchedListIsSearchedAgain(_ removed: Int64) {
    let tested = Tested(Array(1...100))
    #expect(tested.contains(50))
    tested.list.append(101)
    #expect(tested.contains(101) && tested.contains(1))
    #expect(tested.remove(removed))
    #expect(!tested.contains(removed) && tested.contains(100))
    tested.list.append(removed)
    #expect(tested.contains(removed) && tested.contains(1))
    tested.list.insert(200, at: 0)
    #expect(tested.contains(200) && tested.contains(100) && tested.list.keys.first == 200)
    let other = Tested(Array(51...100))
    #expect(other.contains(70))
    other.list.append(7)
    #expect(other.contains(7) && other.contains(99) && !other.contains(8))
  }
}
