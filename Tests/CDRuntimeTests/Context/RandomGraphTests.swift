import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Random changes of an object graph: the runtime and a plain model of it see the same.
///
/// `CDGEN_RANDOM_ROUNDS=N` makes N runs more, and `CDGEN_RANDOM_SEED=S` begins them at a seed.
@Suite struct RandomGraphTests {
  private static let stepCount = 120

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func theContextAgreesWithTheOracle(seed: UInt64) { Self.run(seed) }

  @Test func furtherSeedsAgreeToo() {
    for seed in furtherSeeds { Self.run(seed) }
  }

  private static func run(_ seed: UInt64) {
    var random = SplitMix(seed: seed)
    var steps = RandomStep.list(&random, count: stepCount)
    let kind = seed % 4 > 0 ? StoreKind.ofScratch : .ofEnvironment
    guard var failure = failure(of: steps, kind) else { return }
    steps = Array(steps.prefix(failure.step + 1))
    // Larger parts first, then smaller ones, as long as it still fails.
    var size = steps.count / 2
    while size > 0 {
      let count = steps.count
      var start = 0
      while start < steps.count {
        var fewer = steps
        fewer.removeSubrange(start..<min(start + size, steps.count))
        if let other = Self.failure(of: fewer, kind) {
          failure = other
          steps = Array(fewer.prefix(other.step + 1))
        } else {
          start += size
        }
      }
      // As long as single steps can be left out, others may be able to go too.
      size = size == 1 && steps.count < count ? 1 : size / 2
    }
    let list = steps.map { "  \($0.side)\($0.isInOneState ? ", in one state" : ""): \($0.operation)" }.joined(
      separator: "\n")
    Issue.record("seed \(seed), \(kind): \(failure.text)\n\(list)")
  }

  private static func failure(of steps: [RandomStep], _ kind: StoreKind) -> (step: Int, text: String)? {
    var place = 0
    do {
      let world = try RandomWorld(kind)
      for (step, operation) in steps.enumerated() {
        place = step
        try world.take(operation)
      }
      for side in world.sides where !world.isOver && side.behind == nil && !side.isClean {
        try world.compareAll(side)
      }
      return nil
    } catch {
      return (place, "\(error)")
    }
  }
}
