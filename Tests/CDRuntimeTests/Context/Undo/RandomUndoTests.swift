import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Random changes, undone one by one to the graphs that there were, and redone.
///
/// `CDGEN_RANDOM_ROUNDS=N` makes N runs more, `CDGEN_RANDOM_SEED=S` begins them at a seed, and
/// `CDGEN_RANDOM_CHANGES=C` makes them C changes long.
@Suite struct RandomUndoTests {
  @Test(arguments: 1...(isThorough ? 12 : 5) as ClosedRange<UInt64>)
  func everyGraphComesBack(seed: UInt64) throws {
    let run = try RandomUndo(seed: seed)
    try run.run(changes: 250)
    #expect(run.saves > 5 && run.undoneSaves > 5)
  }

  @Test(arguments: 1...(isThorough ? 30 : 15) as ClosedRange<UInt64>)
  func relationshipsOfEveryShapeComeBack(seed: UInt64) throws {
    try RandomUndo(seed: seed, RandomShapes.version(seed: seed)).run(changes: 120)
  }

  @Test func furtherShapesComeBackToo() throws {
    for seed in furtherSeeds {
      let run = try RandomUndo(seed: seed, RandomShapes.version(seed: seed))
      try run.run(changes: 120)
      if run.hasFailed { return }
    }
  }

  @Test func furtherSeedsComeBackToo() throws {
    let changes = ProcessInfo.processInfo.environment["CDGEN_RANDOM_CHANGES"].flatMap { Int($0) } ?? 250
    for seed in furtherSeeds {
      let run = try RandomUndo(seed: seed, stride: changes > 1000 ? 5 : 1)
      try run.run(changes: changes)
      if changes > 1000 {
        print("seed \(seed): \(run.saves) saves, \(run.undoneSaves) among undos, \(run.compared) graphs")
      }
      if run.hasFailed { return }
    }
  }
}
