import Foundation
import Testing

@testable import CDRuntime

/// Random changes, undone one by one to the graphs that there were, and redone.
///
/// `CDGEN_RANDOM_ROUNDS=N` makes N runs more, `CDGEN_RANDOM_SEED=S` begins them at a seed, and
/// `CDGEN_RANDOM_CHANGES=C` makes them C changes long.
@Suite struct RandomUndoTests {
  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func everyGraphComesBack(seed: UInt64) throws {
    let run = try RandomUndo(seed: seed)
    try run.run(changes: 250)
    #expect(run.saves > 5 && run.undoneSaves > 5)
  }

  @Test(arguments: 1...30 as ClosedRange<UInt64>)
  func relationshipsOfEveryShapeComeBack(seed: UInt64) throws {
    try RandomUndo(seed: seed, RandomShapes.version(seed: seed)).run(changes: 120)
  }

  @Test func furtherShapesComeBackToo() throws {
    let environment = ProcessInfo.processInfo.environment
    let rounds = environment["CDGEN_RANDOM_ROUNDS"].flatMap { UInt64($0) } ?? 0
    let first = environment["CDGEN_RANDOM_SEED"].flatMap { UInt64($0) } ?? 1000
    for seed in first..<first + rounds {
      let run = try RandomUndo(seed: seed, RandomShapes.version(seed: seed))
      try run.run(changes: 120)
      if run.hasFailed { return }
    }
  }

  @Test func furtherSeedsComeBackToo() throws {
    let environment = ProcessInfo.processInfo.environment
    func number(_ name: String) -> UInt64? { environment[name].flatMap { UInt64($0) } }
    let rounds = number("CDGEN_RANDOM_ROUNDS") ?? 0
    let first = number("CDGEN_RANDOM_SEED") ?? 1000
    let changes = number("CDGEN_RANDOM_CHANGES").map(Int.init) ?? 250
    for seed in first..<first + rounds {
      let run = try RandomUndo(seed: seed, stride: changes > 1000 ? 5 : 1)
      try run.run(changes: changes)
      if changes > 1000 {
        print("seed \(seed): \(run.saves) saves, \(run.undoneSaves) among undos, \(run.compared) graphs")
      }
      if run.hasFailed { return }
    }
  }
}
