import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Random changes of a parent and of its children: what a child sees, what it leaves alone, and what a save gives.
@Suite struct RandomChildTests {
  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func aSaveMakesTheChildsGraphTheParents(seed: UInt64) throws {
    try RandomFamily(seed: seed).run(rounds: 25)
  }

  @Test func furtherSeedsAgreeToo() throws {
    let environment = ProcessInfo.processInfo.environment
    let rounds = environment["CDGEN_RANDOM_ROUNDS"].flatMap { UInt64($0) } ?? 0
    let first = environment["CDGEN_RANDOM_SEED"].flatMap { UInt64($0) } ?? 1000
    for seed in first..<first + rounds { try RandomFamily(seed: seed).run(rounds: 100) }
  }
}

private struct RandomFamily {
  let seed: UInt64
  let container: PersistentContainer
  let parent: ManagedObjectContext
  let undoManager = ContextUndoManager()

  init(seed: UInt64) throws {
    self.seed = seed
    container = try PersistentContainer(scratchModel: EveryRelationshipModel.model)
    parent = container.newContext()
    parent.undoManager = undoManager
  }

  func run(rounds: Int) throws {
    let changes = try RandomChanges(in: parent, random: SplitMix(seed: seed))
    for round in 0..<rounds {
      for _ in 0..<Int.random(in: 0...12, using: &changes.random) { _ = try changes.change() }
      undoManager.endEvent()
      let isNested = Bool.random(using: &changes.random)
      try work(in: parent, isNested: isNested, &changes.random, "round \(round)")
      if Int.random(in: 0..<3, using: &changes.random) == 0 { try save(changes) }
    }
  }

  /// Changes a child, which then is let go of, rolled back or saved.
  private func work(
    in context: ManagedObjectContext, isNested: Bool, _ random: inout SplitMix, _ place: String
  ) throws {
    let before = try GraphText.lines(context)
    let child = ManagedObjectContext(parent: context)
    try expect(before, child, place + ": what a child sees")
    let changes = try RandomChanges(in: child, random: SplitMix(seed: random.next()))
    for _ in 0..<Int.random(in: 1...20, using: &random) { _ = try changes.change() }
    if isNested { try work(in: child, isNested: false, &random, place) }
    try expect(before, context, place + ": while a child changes")
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return
    case 1:
      child.rollback()
      #expect(!child.hasChanges, Comment(rawValue: place))
      return try expect(before, child, place + ": rolled back")
    default: break
    }
    for _ in 0..<20 {
      do {
        try child.save()
        break
      } catch let error as SaveError {
        try changes.repair(error)
      }
    }
    #expect(!child.hasChanges, Comment(rawValue: place))
    let after = try GraphText.lines(child)
    try expect(after, context, place + ": given to the parent")
    try expect(after, ManagedObjectContext(parent: context), place + ": another child")
    if context === parent, before != after {
      context.undo()
      try expect(before, context, place + ": undone")
      try expect(before, child, place + ": undone, the child")
      context.redo()
      try expect(after, context, place + ": redone")
      try expect(after, child, place + ": redone, the child")
    }
  }

  private func save(_ changes: RandomChanges) throws {
    for _ in 0..<20 {
      do {
        try parent.save()
        break
      } catch let error as SaveError {
        try changes.repair(error)
      }
    }
    #expect(!parent.hasChanges)
    try expect(try GraphText.lines(parent), container.newContext(), "saved")
  }

  private func expect(
    _ expected: [String: String], _ context: ManagedObjectContext, _ place: String
  ) throws {
    let differences = GraphText.differences(expected, try GraphText.lines(context))
    guard !differences.isEmpty else { return }
    throw Difference(description: "seed \(seed), \(place):\n" + differences.joined(separator: "\n"))
  }
}
