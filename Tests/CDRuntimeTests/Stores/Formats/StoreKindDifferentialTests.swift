import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// The same random life in a store of each kind: insertions, changes, deletions, undos, children, saves under every merge
/// policy, merges, batches. All of it is to look the same.
///
/// `CDGEN_RANDOM_ROUNDS=N` makes N runs more, `CDGEN_RANDOM_SEED=S` begins them at a seed.
@Suite(.onceForAllKinds) struct StoreKindDifferentialTests {
  @Test(arguments: 1...(isThorough ? 6 : 3) as ClosedRange<UInt64>)
  func everyKindOfStoreLeadsTheSameLife(seed: UInt64) throws {
    let lives = try Self.compare(seed, steps: 60)
    #expect(lives.allSatisfy { $0.saves > 0 })
  }

  @Test func furtherSeedsAgreeToo() throws {
    for seed in furtherSeeds { try Self.compare(seed, steps: 150) }
  }

  @discardableResult private static func compare(_ seed: UInt64, steps: Int) throws -> [RandomLife] {
    var lives: [RandomLife] = []
    var failures: [(any Error)?] = []
    for place in RandomLife.Place.allCases {
      let life = try RandomLife(place, seed: seed)
      do {
        try life.run(steps: steps)
        failures.append(nil)
      } catch { failures.append(error) }
      lives.append(life)
    }
    let first = lives[0]
    for (life, (place, failure)) in zip(lives, zip(RandomLife.Place.allCases, failures)) {
      if let failure { Issue.record("seed \(seed), \(place): \(failure)\n\(tail(life.notes[...]))") }
      guard life.notes != first.notes else { continue }
      let same = zip(first.notes, life.notes).prefix { $0 == $1 }.count
      func line(_ notes: [String]) -> String { same < notes.count ? notes[same] : "the end" }
      Issue.record(
        """
        seed \(seed): \(place) differs from memory
        memory: \(line(first.notes))
        \(place): \(line(life.notes))
        \(tail(first.notes[..<same]))
        """)
    }
    return lives
  }

  /// What was done last, without what was seen.
  private static func tail(_ notes: ArraySlice<String>) -> String {
    notes.filter { !$0.hasPrefix("  ") }.suffix(60).joined(separator: "\n")
  }
}
