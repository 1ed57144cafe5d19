import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// One run: a context with an undo manager, and the graph after each group.
final class RandomUndo {
  /// Objects with all their values, as text or, in a long run, as hashes, by entity and key.
  typealias Graph = [String: Int]

  let seed: UInt64
  private let version: ModelVersion
  /// Every how many groups the graph is kept.
  private let stride: Int
  private let changes: RandomChanges
  let container: PersistentContainer
  let context: ManagedObjectContext
  private let undoManager = ContextUndoManager()
  /// Graphs by the number of groups that can be undone.
  private var graphs: [Int: Graph] = [:]
  private var texts: [Int: String] = [:]
  private var log: [String] = []
  private(set) var saves = 0
  private(set) var undoneSaves = 0
  private(set) var compared = 0
  private(set) var hasFailed = false

  init(
    seed: UInt64, stride: Int = 1, _ version: ModelVersion = EveryRelationshipModel.version
  ) throws {
    self.seed = seed
    self.stride = stride
    self.version = version
    container = try PersistentContainer(
      scratchModel: ManagedObjectModel(
        name: "Random", id: UUID(), versions: [version], currentVersionNumber: version.number))
    context = container.newContext()
    changes = try RandomChanges(in: context, random: SplitMix(seed: seed), of: version)
    context.undoManager = undoManager
  }

  func run(changes count: Int) throws {
    graphs[0] = try graph()
    while changes.count < count, !hasFailed {
      try group { for _ in 0..<Int.random(in: 1...3, using: &changes.random) { note(try changes.change()) } }
      switch Int.random(in: 0..<12, using: &changes.random) {
      case 0, 1: try save()
      case 2: try readAgain()
      case 3: try goBackAndForth()
      default: break
      }
    }
    for isUndo in [true, false, true, false] {
      while !hasFailed, isUndo ? undoManager.canUndo : undoManager.canRedo { try go(isUndo) }
    }
    if !hasFailed { try check(at: undoManager.undoable.count) }
  }

  private func note(_ text: String) {
    if stride == 1 { log.append(text) }
  }

  private func group(_ body: () throws -> Void) throws {
    let number = undoManager.undoable.count
    undoManager.beginUndoGrouping()
    try body()
    undoManager.endUndoGrouping()
    let now = undoManager.undoable.count
    if now == number { return try check(at: now) }
    graphs[now] = now % stride == 0 ? try graph() : nil
    if stride == 1 { log.append("-- group \(now)") }
  }

  /// Some steps back, and sometimes as many forth.
  private func goBackAndForth() throws {
    let steps = Int.random(in: 1...5, using: &changes.random)
    var done = 0
    while done < steps, undoManager.canUndo, !hasFailed {
      try go(true)
      done += 1
    }
    let returning = Int.random(in: 0...done, using: &changes.random)
    for _ in 0..<returning where !hasFailed { try go(false) }
  }

  private func go(_ isUndo: Bool) throws {
    if isUndo { context.undo() } else { context.redo() }
    if stride == 1 { log.append(isUndo ? "-- undo" : "-- redo") }
    try check(at: undoManager.undoable.count)
    switch Int.random(in: 0..<12, using: &changes.random) {
    case 0:
      if try trySave() == nil { undoneSaves += 1 }
    case 1: try readAgain()
    default: break
    }
    try check(at: undoManager.undoable.count)
  }

  private func check(at number: Int) throws {
    guard let expected = graphs[number], !hasFailed else { return }
    let lines = try GraphText.lines(context)
    compared += 1
    guard graph(lines) != expected else { return }
    let known = expected.mapValues { texts[$0] ?? "something else" }
    fail(GraphText.differences(known, lines), "graph \(number)")
  }

  private func fail(_ lines: [String], _ what: String) {
    hasFailed = true
    let text =
      "seed \(seed), \(what)\n" + lines.joined(separator: "\n") + "\n"
      + log.suffix(80).joined(separator: "\n") + "\n" + RandomShapes.text(version)
    Issue.record(Comment(rawValue: text))
  }

  // MARK: The store

  /// Lets go of what nobody holds, or reads what is there once more.
  private func readAgain() throws {
    if Bool.random(using: &changes.random) {
      context.registry.sweep()
    } else {
      context.refreshAllObjects()
      for object in context.updatedObjects where Int.random(in: 0..<4, using: &changes.random) == 0 {
        context.refresh(object, mergeChanges: true)
      }
    }
    if stride == 1 { log.append("-- read again") }
  }

  private func trySave() throws -> SaveError? {
    do {
      try context.save()
    } catch let error as SaveError {
      return error
    }
    if stride == 1 { log.append("-- saved") }
    let differences = GraphText.differences(
      try GraphText.lines(context), try GraphText.lines(container.newContext()))
    if !differences.isEmpty { fail(differences, "the store has something else than memory") }
    return nil
  }

  /// Saves, with what stands in the way of it put right in groups of its own.
  private func save() throws {
    for _ in 0..<20 {
      guard let error = try trySave() else {
        saves += 1
        return
      }
      try group {
        note("repair \(error)")
        try changes.repair(error)
      }
    }
  }

  // MARK: The graph

  private func graph() throws -> Graph { graph(try GraphText.lines(context)) }

  private func graph(_ lines: [String: String]) -> Graph {
    let result = lines.mapValues(\.hashValue)
    if stride == 1 { for line in lines.values { texts[line.hashValue] = line } }
    return result
  }
}
