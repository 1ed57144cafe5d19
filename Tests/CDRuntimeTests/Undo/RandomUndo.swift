import Foundation
import Testing

@testable import CDRuntime

/// One run: a context with an undo manager, and the graph after each group.
final class RandomUndo {
  /// Objects with all their values, as text or, in a long run, as hashes, by entity and key.
  typealias Graph = [String: Int]

  let seed: UInt64
  /// Every how many groups the graph is kept.
  private let stride: Int
  var random: SplitMix
  let container: PersistentContainer
  let context: ManagedObjectContext
  private let undoManager = ContextUndoManager()
  var objects: [ManagedObject] = []
  var count = 0
  let model = OracleModel(EveryRelationshipModel.version)
  /// Graphs by the number of groups that can be undone.
  private var graphs: [Int: Graph] = [:]
  private var texts: [Int: String] = [:]
  private var log: [String] = []
  private(set) var saves = 0
  private(set) var undoneSaves = 0
  private(set) var compared = 0
  private(set) var hasFailed = false

  init(seed: UInt64, stride: Int = 1) throws {
    self.seed = seed
    self.stride = stride
    random = SplitMix(seed: seed)
    container = try PersistentContainer(inMemoryModel: EveryRelationshipModel.model)
    context = container.newContext()
    context.undoManager = undoManager
  }

  func run(changes: Int) throws {
    graphs[0] = graph(context)
    while count < changes, !hasFailed {
      try group { for _ in 0..<Int.random(in: 1...3, using: &random) { note(try change()) } }
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1: try save()
      case 2: try readAgain()
      case 3: try goBackAndForth()
      default: break
      }
    }
    for isUndo in [true, false, true, false] {
      while !hasFailed, isUndo ? undoManager.canUndo : undoManager.canRedo { try go(isUndo) }
    }
    if !hasFailed { check(at: undoManager.undoable.count) }
  }

  private func note(_ text: String) {
    count += 1
    if stride == 1 { log.append(text) }
  }

  private func group(_ body: () throws -> Void) throws {
    let number = undoManager.undoable.count
    undoManager.beginUndoGrouping()
    try body()
    undoManager.endUndoGrouping()
    let now = undoManager.undoable.count
    if now == number { return check(at: now) }
    graphs[now] = now % stride == 0 ? graph(context) : nil
    if stride == 1 { log.append("-- group \(now)") }
  }

  /// Some steps back, and sometimes as many forth.
  private func goBackAndForth() throws {
    let steps = Int.random(in: 1...5, using: &random)
    var done = 0
    while done < steps, undoManager.canUndo, !hasFailed {
      try go(true)
      done += 1
    }
    let returning = Int.random(in: 0...done, using: &random)
    for _ in 0..<returning where !hasFailed { try go(false) }
  }

  private func go(_ isUndo: Bool) throws {
    if isUndo { context.undo() } else { context.redo() }
    if stride == 1 { log.append(isUndo ? "-- undo" : "-- redo") }
    check(at: undoManager.undoable.count)
    switch Int.random(in: 0..<12, using: &random) {
    case 0:
      if try trySave() == nil { undoneSaves += 1 }
    case 1: try readAgain()
    default: break
    }
    check(at: undoManager.undoable.count)
  }

  private func check(at number: Int) {
    guard let expected = graphs[number], !hasFailed else { return }
    var lines: [String: String] = [:]
    let found = graph(context, &lines)
    compared += 1
    guard found != expected else { return }
    let keys = Set(expected.keys).union(found.keys).filter { expected[$0] != found[$0] }.sorted()
    fail(
      keys.map { key in
        let text = expected[key].map { texts[$0] ?? "something else" } ?? "none"
        return "\(key):\n  expected \(text)\n  found    \(lines[key] ?? "none")"
      }, "graph \(number)")
  }

  private func fail(_ lines: [String], _ what: String) {
    hasFailed = true
    Issue.record(
      "seed \(seed), \(what)\n\(lines.joined(separator: "\n"))\n\(log.suffix(700).joined(separator: "\n"))")
  }

  // MARK: The store

  /// Lets go of what nobody holds, or reads what is there once more.
  private func readAgain() throws {
    if Bool.random(using: &random) {
      context.sweep()
    } else {
      context.refreshAllObjects()
      for object in context.updatedObjects where Int.random(in: 0..<4, using: &random) == 0 {
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
    var (mine, stored): ([String: String], [String: String]) = ([:], [:])
    if graph(context, &mine) != graph(container.newContext(), &stored) {
      let keys = Set(mine.keys).union(stored.keys).filter { mine[$0] != stored[$0] }.sorted()
      fail(
        keys.map { "\($0):\n  memory \(mine[$0] ?? "none")\n  store  \(stored[$0] ?? "none")" },
        "saved other than it is")
    }
    return nil
  }

  /// Saves, with what stands in the way of it put right in groups of its own.
  private func save() throws {
    for _ in 0..<20 {
      guard let error = try trySave() else {
        saves += 1
        return
      }
      try group { try repair(error) }
    }
  }

  private func repair(_ error: SaveError) throws {
    note("repair \(error)")
    switch error {
    case .validation(let errors):
      for error in errors {
        guard let object = context.registeredObject(for: error.objectID) else { continue }
        if error.reason == .deleteDenied, let name = error.property,
          let relationship = object.scope.plan.slot(name)?.relationship
        {
          for member in object.relatedObjects(relationship) { context.delete(member) }
        } else {
          context.delete(object)
        }
      }
    case .notUnique(let conflicts):
      for conflict in conflicts {
        for object in conflict.objectIDs.dropFirst().compactMap(context.registeredObject) {
          for property in conflict.properties { try object.setValue(.attribute(.null), forKey: property) }
        }
      }
    default: throw error
    }
  }

  // MARK: The graph

  private func graph(_ context: ManagedObjectContext) -> Graph {
    var lines: [String: String] = [:]
    let result = graph(context, &lines)
    if stride == 1 { for (key, line) in lines { texts[result[key] ?? 0] = line } }
    return result
  }

  private func graph(_ context: ManagedObjectContext, _ lines: inout [String: String]) -> Graph {
    var result: Graph = [:]
    for name in model.entityNames where model.isRoot(name) {
      let found = try? context.fetch(FetchRequest<ManagedObject>(entityName: name))
      for object in found ?? [] {
        var text = ""
        for slot in object.scope.plan.slots {
          text += slot.name
          switch object.value(of: slot) {
          case .attribute(let value): text += "=\(value) "
          case .object(let other): text += "=\(other.map { "\($0.key)" } ?? "-") "
          case .objects(let others):
            let keys = others.map(\.key)
            text += "=\(slot.relationship?.isOrdered == true ? keys : keys.sorted()) "
          }
        }
        let key = "\(object.entity.name) \(object.key)"
        lines[key] = text
        result[key] = text.hashValue
      }
    }
    return result
  }
}
