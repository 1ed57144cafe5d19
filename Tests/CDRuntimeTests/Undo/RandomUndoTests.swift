import Foundation
import Testing

@testable import CDRuntime

/// Random changes, undone one by one to the graphs that there were, and redone.
///
/// `CDGEN_RANDOM_ROUNDS=N` makes N runs more, and `CDGEN_RANDOM_SEED=S` begins them at a seed.
@Suite struct RandomUndoTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func everyGraphComesBack(seed: UInt64) throws { try RandomUndo(seed: seed).run(count: 125) }

  @Test func furtherSeedsComeBackToo() throws {
    let environment = ProcessInfo.processInfo.environment
    let rounds = environment["CDGEN_RANDOM_ROUNDS"].flatMap { UInt64($0) } ?? 0
    let first = environment["CDGEN_RANDOM_SEED"].flatMap { UInt64($0) } ?? 1000
    for seed in first..<first + rounds { try RandomUndo(seed: seed).run(count: 125) }
  }
}

/// One run: a context with an undo manager, and the graph after each group.
private final class RandomUndo {
  private let seed: UInt64
  private var random: SplitMix
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let undoManager = ContextUndoManager()
  private var objects: [ManagedObject] = []
  private let model = OracleModel(EveryRelationshipModel.version)

  init(seed: UInt64) throws {
    self.seed = seed
    random = SplitMix(seed: seed)
    container = try PersistentContainer(inMemoryModel: EveryRelationshipModel.model)
    context = container.newContext()
    context.undoManager = undoManager
  }

  func run(count: Int) throws {
    var graphs = [graph(context)]
    var log: [String] = []
    for step in 0..<count {
      undoManager.beginUndoGrouping()
      for _ in 0..<Int.random(in: 1...3, using: &random) { log.append("\(step): \(try change())") }
      undoManager.endUndoGrouping()
      graphs.append(graph(context))
      if try mayReadAgain() { log.append("\(step): saved or let go") }
    }
    // As many groups as there were graphs, but for those that changed nothing.
    for (way, isUndo) in [true, false, true, false].enumerated() {
      var position = isUndo ? graphs.count - 1 : 0
      while isUndo ? undoManager.canUndo : undoManager.canRedo {
        if isUndo { context.undo() } else { context.redo() }
        let found = graph(context)
        position += isUndo ? -1 : 1
        while graphs.indices.contains(position), graphs[position] != found,
          graphs[position] == graphs[position + (isUndo ? 1 : -1)]
        {
          position += isUndo ? -1 : 1
        }
        guard graphs.indices.contains(position), graphs[position] == found else {
          let expected = graphs.indices.contains(position) ? graphs[position] : [:]
          let keys = Set(expected.keys).union(found.keys).filter { expected[$0] != found[$0] }.sorted()
          let lines = keys.map { "\($0): expected \(expected[$0] ?? "none"), found \(found[$0] ?? "none")" }
          Issue.record(
            "seed \(seed), way \(way), graph \(position)\n\(lines.joined(separator: "\n"))\n\(log.filter { $0.hasPrefix("\(position):") || $0.hasPrefix("\(position - 1):") }.joined(separator: "\n"))"
          )
          return
        }
        _ = try mayReadAgain()
      }
      let end = isUndo ? graphs.first : graphs.last
      #expect(graph(context) == end, "seed \(seed), way \(way)")
    }
  }

  /// Now and then saves, which is no change, or lets go of what nobody holds.
  private func mayReadAgain() throws -> Bool {
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1:
      do {
        try context.save()
      } catch is SaveError {
        return false
      }
      let fresh = container.newContext()
      let (mine, stored) = (graph(context), graph(fresh))
      #expect(mine == stored, "seed \(seed): what was saved is not what there is")
      return true
    case 2:
      for state in context.cachingStates { state.cache = nil }
      context.cachingStates.removeAll()
      for map in context.maps { map?.sweep() }
      return true
    case 3:
      context.refreshAllObjects()
      return true
    default: return false
    }
  }

  private func pick(_ entity: String? = nil) -> ManagedObject? {
    objects.filter { $0.exists && (entity.map($0.scope.plan.lineageNames.contains) ?? true) }
      .randomElement(using: &random)
  }

  private func change() throws -> String {
    let kind = Int.random(in: 0..<20, using: &random)
    if kind < 5 || objects.count < 6 {
      guard let name = model.entityNames.randomElement(using: &random) else { return "" }
      let object = try context.insert(entityNamed: name)
      objects.append(object)
      for attribute in model.attributes(of: name) where !attribute.isOptional && attribute.type == .string {
        try object.setValue("s\(objects.count)", forKey: attribute.name)
      }
      for relation in model.relations(of: name) where !relation.isOptional && !relation.isToMany {
        if let other = pick(relation.destination) { try object.setValue(other, forKey: relation.name) }
      }
      return "insert \(object)"
    }
    guard let object = pick() else { return "" }
    if kind < 7 {
      context.delete(object)
      return "delete \(object)"
    }
    if kind < 10 {
      guard let attribute = model.attributes(of: object.entity.name).randomElement(using: &random) else {
        return ""
      }
      let number = Int64.random(in: 0..<50, using: &random)
      if attribute.type == .string {
        try object.setValue("v\(number)-\(objects.count)", forKey: attribute.name)
      } else {
        try object.setValue(number, forKey: attribute.name)
      }
      return "set \(object).\(attribute.name)"
    }
    guard let relation = model.relations(of: object.entity.name).randomElement(using: &random),
      let plan = object.scope.plan.slot(relation.name)?.relationship
    else { return "" }
    let other = pick(relation.destination)
    guard relation.isToMany else {
      object.setRelatedObject(Int.random(in: 0..<4, using: &random) == 0 ? nil : other, plan)
      return "relate \(object).\(relation.name)"
    }
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      let some = (0..<3).compactMap { _ in pick(relation.destination) }
      object.setRelatedObjects(Array(Set(some)).sorted { $0.key < $1.key }, plan)
    case 1: object.setRelatedObjects(object.relatedObjects(plan).shuffled(using: &random), plan)
    case 2:
      if let first = object.relatedObjects(plan).randomElement(using: &random) {
        object.removeRelated(first, plan)
      }
    case 3: if let other { object.addRelated(other, plan, at: 0) }
    default: if let other { object.addRelated(other, plan, at: nil) }
    }
    return "change \(object).\(relation.name)"
  }

  /// All objects with all their values, as text by their identifiers.
  private func graph(_ context: ManagedObjectContext) -> [String: String] {
    var result: [String: String] = [:]
    for name in model.entityNames where model.isRoot(name) {
      let found = try? context.fetch(FetchRequest<ManagedObject>(entityName: name))
      for object in found ?? [] {
        var parts: [String] = []
        for slot in object.scope.plan.slots {
          switch object.value(of: slot) {
          case .attribute(let value): parts.append("\(slot.name)=\(value)")
          case .object(let other): parts.append("\(slot.name)=\(other.map { "\($0.key)" } ?? "-")")
          case .objects(let others):
            let keys = others.map(\.key)
            parts.append("\(slot.name)=\(slot.relationship?.isOrdered == true ? keys : keys.sorted())")
          }
        }
        result["\(object.entity.name) \(object.key)"] = parts.joined(separator: " ")
      }
    }
    return result
  }
}
