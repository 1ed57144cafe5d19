import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Random changes of a parent and of its children: what a child sees, what it leaves alone, and what a save gives.
@Suite struct RandomChildTests {
  @Test(arguments: 1...(isThorough ? 12 : 4) as ClosedRange<UInt64>)
  func aSaveMakesTheChildsGraphTheParents(seed: UInt64) throws {
    try RandomFamily(seed: seed).run(rounds: 25)
  }

  @Test func furtherSeedsAgreeToo() throws {
    for seed in furtherSeeds { try RandomFamily(seed: seed).run(rounds: 100) }
  }

  @Test(arguments: 1...(isThorough ? 60 : 20) as ClosedRange<UInt64>)
  func relationshipsOfEveryShapeAreGiven(seed: UInt64) throws {
    try RandomFamily(seed: seed, RandomShapes.version(seed: seed)).run(rounds: 12)
  }

  @Test func furtherShapesAreGivenToo() throws {
    for seed in furtherSeeds {
      try RandomFamily(seed: seed, RandomShapes.version(seed: seed)).run(rounds: 12)
    }
  }
}

private struct RandomFamily {
  let seed: UInt64
  let version: ModelVersion
  let container: PersistentContainer
  let parent: ManagedObjectContext
  let undoManager = ContextUndoManager()
  /// What has been done in the round, for a failure to tell.
  let log = RandomLog()

  init(seed: UInt64, _ version: ModelVersion = EveryRelationshipModel.version) throws {
    self.seed = seed
    self.version = version
    container = try PersistentContainer(
      scratchModel: ManagedObjectModel(
        name: "Random", id: UUID(), versions: [version], currentVersionNumber: version.number))
    parent = container.newContext()
    parent.undoManager = undoManager
  }

  func run(rounds: Int) throws {
    let changes = try RandomChanges(in: parent, random: SplitMix(seed: seed), of: version)
    for round in 0..<rounds {
      log.lines = []
      for _ in 0..<Int.random(in: 0...12, using: &changes.random) { log.add(try changes.change()) }
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
    let changes = try RandomChanges(in: child, random: SplitMix(seed: random.next()), of: version)
    if Bool.random(using: &random) { child.undoManager = ContextUndoManager() }
    log.add("-- child\(child.undoManager == nil ? "" : " with undo")")
    for _ in 0..<Int.random(in: 1...20, using: &random) { log.add(try changes.change()) }
    if isNested { try work(in: child, isNested: false, &random, place) }
    if child.undoManager != nil { try undoAll(in: child, place) }
    try expect(before, context, place + ": while a child changes")
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return
    case 1:
      child.rollback()
      #expect(!child.hasChanges, Comment(rawValue: place))
      return try expect(before, child, place + ": rolled back")
    default: break
    }
    var after: [String: String] = [:]
    for _ in 0..<20 {
      do {
        after = try GraphText.lines(child)
        log.add("-- save the child")
        try child.save()
        break
      } catch let error as SaveError {
        log.add("repair \(error)")
        try changes.repair(error)
      }
    }
    #expect(!child.hasChanges, Comment(rawValue: place))
    try expect(after, child, place + ": the child after its save")
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

  /// Takes all changes of a child back and makes them again.
  private func undoAll(in child: ManagedObjectContext, _ place: String) throws {
    let after = try GraphText.lines(child)
    while child.undoManager?.canUndo == true { child.undo() }
    while child.undoManager?.canRedo == true { child.redo() }
    try expect(after, child, place + ": undone and redone in the child")
  }

  private func save(_ changes: RandomChanges) throws {
    for _ in 0..<20 {
      do {
        log.add("-- save")
        try parent.save()
        break
      } catch let error as SaveError {
        try changes.repair(error)
      }
    }
    #expect(!parent.hasChanges)
    try expect(try GraphText.lines(parent), container.newContext(), "saved")
    let findings = try container.persistentStoreCoordinator.verify().filter {
      // A rule of `noAction` leaves these.
      if case .danglingReference = $0 { false } else { true }
    }
    if !findings.isEmpty { throw Difference(description: "seed \(seed): \(findings)") }
  }

  private func expect(
    _ expected: [String: String], _ context: ManagedObjectContext, _ place: String
  ) throws {
    let differences = GraphText.differences(expected, try GraphText.lines(context))
    guard !differences.isEmpty else { return }
    throw Difference(
      description: "seed \(seed), \(place):\n" + differences.joined(separator: "\n") + "\n"
        + log.lines.joined(separator: "\n") + "\n" + RandomShapes.text(version))
  }
}

private final class RandomLog {
  var lines: [String] = []

  func add(_ line: String) { lines.append(line) }
}
