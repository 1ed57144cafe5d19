import CDValues
import SeededRandom
import Testing

@Suite("Sorting by shared code") struct OrderingTests {
  @Test(arguments: [0, 1, 2, 3, 31, 32, 33, 500])
  func `It gives the order of the standard library`(count: Int) {
    var random = SplitMix(seed: UInt64(count))
    let numbers = (0..<count).map { _ in Int.random(in: -50...50, using: &random) }
    #expect(numbers.ordered() == numbers.sorted())
    #expect(Set(numbers).ordered() == Set(numbers).sorted())
    #expect(numbers.ordered(by: >) == numbers.sorted(by: >))
    let texts = Dictionary(grouping: numbers.map { "\($0)" }, by: \.count)
    #expect(texts.orderedByKey().map(\.key) == texts.keys.sorted())
    #expect(texts.orderedByKey().allSatisfy { texts[$0.key] == $0.value })
  }

  @Test func `Equal elements keep their order`() {
    let elements = (0..<200).map { (key: $0 % 7, number: $0) }
    let ordered = elements.ordered { $0.key < $1.key }
    let pairs = zip(ordered, ordered.dropFirst())
    #expect(pairs.allSatisfy { ($0.key, $0.number) < ($1.key, $1.number) })
  }
}
