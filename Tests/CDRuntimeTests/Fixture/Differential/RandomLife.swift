import Foundation
import SeededRandom

@testable import CDRuntime

/// A store of some kind, two contexts of it and children of theirs, led through a random life. What happens and what is
/// seen is noted: the same seed gives the same notes, whatever the kind.
final class RandomLife {
  enum Place: String, CaseIterable, Sendable {
    case memory, sqlite, xml, binary, json
  }

  private let place: Place
  private let folder: URL
  private var random: SplitMix
  private var container: PersistentContainer
  private var contexts: [ManagedObjectContext] = []
  /// What the last save of each context has changed.
  private var saved: [ObjectChanges?] = [nil, nil]
  /// Objects have other keys in each kind of store, where some were reserved in vain. In their tables they are numbered
  /// in the order in which they were made.
  private var numbers: [String: [Int64: Int]] = [:]
  private var counts: [String: Int] = [:]
  private(set) var notes: [String] = []
  private(set) var saves = 0
  private(set) var conflicts = 0

  init(_ place: Place, seed: UInt64) throws {
    self.place = place
    random = SplitMix(seed: seed)
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-life-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    container = try Self.open(place, folder)
    begin()
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private static func open(_ place: Place, _ folder: URL) throws -> PersistentContainer {
    let url = folder.appending(path: "store")
    let location: StoreLocation =
      switch place {
      case .memory: .inMemory
      case .sqlite: .sqlite(url)
      case .xml: .xml(url)
      case .binary: .binary(url)
      case .json: .custom(url, JSONStoreFormat())
      }
    return PersistentContainer(
      try PersistentStoreCoordinator(model: EveryRelationshipModel.model, at: location))
  }

  private func begin() {
    contexts = [container.newContext(), container.newContext()]
    contexts[0].undoManager = ContextUndoManager()
    saved = [nil, nil]
  }

  func run(steps: Int) throws {
    for step in 0..<steps {
      notes.append("-- step \(step)")
      try take()
      for (number, context) in contexts.enumerated() {
        note("context \(number)", try lines(context))
        notes.append("changed: \(context.hasChanges)")
      }
    }
    try noteStore()
  }

  // MARK: What is seen

  private func number(_ entity: String, _ key: Int64) -> Int {
    let root = container.persistentStoreCoordinator.plan.graph.root(of: entity)?.name ?? entity
    if let number = numbers[root]?[key] { return number }
    counts[root, default: 0] += 1
    numbers[root, default: [:]][key] = counts[root]
    return counts[root] ?? 0
  }

  private func name(_ id: ManagedObjectID) -> String { "\(id.entityName) \(number(id.entityName, id.key))" }

  private func note(_ title: String, _ lines: [String]) {
    notes.append(title)
    for line in lines { notes.append("  " + line) }
  }

  /// What was done, with the objects' numbers.
  private func note(_ text: String) {
    notes.append(
      text.replacing(/<(\w+) p(\d+)[^>]*>/) { found in
        "\(found.1) \(number(String(found.1), Int64(found.2) ?? 0))"
      })
  }

  /// All objects with all their values.
  private func lines(_ context: ManagedObjectContext) throws -> [String] {
    let model = OracleModel(EveryRelationshipModel.version)
    return try model.entityNames.filter(model.isRoot).flatMap { name in
      try sorted(context.fetch(FetchRequest<ManagedObject>(entityName: name))).map(line)
    }
  }

  private func sorted(_ objects: [ManagedObject]) -> [ManagedObject] {
    objects.sorted { order($0.objectID) < order($1.objectID) }
  }

  private func order(_ id: ManagedObjectID) -> Int { number(id.entityName, id.key) }

  /// The numbers of the objects that are in the store.
  private func savedNumbers() throws -> [String: [Int64: Int]] {
    let model = OracleModel(EveryRelationshipModel.version)
    let context = container.newContext()
    var result: [String: [Int64: Int]] = [:]
    for name in model.entityNames where model.isRoot(name) {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: name)) {
        result[name, default: [:]][object.key] = order(object.objectID)
      }
    }
    return result
  }

  private func makeChanges(in context: ManagedObjectContext) throws -> RandomChanges {
    let seed = random.next()
    return try RandomChanges(in: context, random: SplitMix(seed: seed)) { [unowned self] in order($0) }
  }

  private func line(_ object: ManagedObject) -> String {
    var text = name(object.objectID) + ":"
    for slot in object.scope.plan.slots {
      text += " \(slot.name)="
      switch object.value(of: slot) {
      case .attribute(let value): text += "\(value)"
      case .object(let other): text += other.map { "\(number($0.scope.plan.name, $0.key))" } ?? "-"
      case .objects(let others):
        let members = others.map { number($0.scope.plan.name, $0.key) }
        text += "\(slot.relationship?.isOrdered == true ? members : members.sorted())"
      }
    }
    return text
  }

  private func noteStore() throws {
    note("store", try lines(container.newContext()))
    let findings = try container.persistentStoreCoordinator.verify().filter {
      // A rule of noAction leaves such.
      if case .danglingReference("Item", _, "Owner") = $0 { return false }
      return true
    }
    if !findings.isEmpty { throw Difference(description: "\(place): \(findings)") }
  }

  // MARK: Steps

  private func take() throws {
    let number = Int.random(in: 0..<3, using: &random) == 0 ? 1 : 0
    let kind = Int.random(in: 0..<42, using: &random)
    // Nobody may hold a context then.
    if kind > 39 { return try openAgain() }
    let context = contexts[number]
    switch kind {
    case 0..<14: try change(context)
    case 14..<23: try save(number)
    case 23:
      notes.append("roll back \(number)")
      context.rollback()
    case 24..<28: goBackAndForth()
    case 28:
      notes.append("refresh all of \(number)")
      context.refreshAllObjects()
    case 29:
      notes.append("sweep \(number)")
      context.registry.sweep()
    case 30, 31: try refreshOne(of: context)
    case 32..<35: try raise(context)
    case 35, 36:
      guard let changes = saved[number] else { return }
      notes.append("merge the changes of \(number) into the other")
      contexts[1 - number].mergeChanges(from: changes)
    case 37:
      notes.append("reset \(number)")
      context.reset()
    default: try batch(context)
    }
  }

  private func change(_ context: ManagedObjectContext) throws {
    let changes = try makeChanges(in: context)
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      note(try changes.change())
    }
    context.undoManager?.endEvent()
  }

  private func goBackAndForth() {
    let context = contexts[0]
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let isUndo = Int.random(in: 0..<3, using: &random) > 0
      notes.append(isUndo ? "undo" : "redo")
      if isUndo { context.undo() } else { context.redo() }
    }
  }

  private func refreshOne(of context: ManagedObjectContext) throws {
    let isMerging = Bool.random(using: &random)
    let all = try sorted(context.fetch(FetchRequest<ManagedObject>(entityName: "Node")))
    guard let object = all.randomElement(using: &random), object.exists else { return }
    notes.append("refresh \(name(object.objectID)), merging \(isMerging)")
    context.refresh(object, mergeChanges: isMerging)
  }

  /// A child that changes something, and saves it or not.
  private func raise(_ parent: ManagedObjectContext) throws {
    let child = ManagedObjectContext(parent: parent)
    child.mergePolicy = policy()
    notes.append("a child")
    try change(child)
    // The parent goes on meanwhile, at times.
    if Int.random(in: 0..<3, using: &random) == 0 {
      notes.append("the parent")
      try change(parent)
    }
    guard Int.random(in: 0..<4, using: &random) > 0 else { return notes.append("it is let go of") }
    try settle(child)
    note("child", try lines(child))
  }

  private func batch(_ context: ManagedObjectContext) throws {
    let number = Int64.random(in: 0..<50, using: &random)
    do {
      if Bool.random(using: &random) {
        let rows = (0..<3).map { row in
          ["x": FetchedValue.attribute(.int(number)), "y": .attribute(.int(Int64(row) + 100 * number))]
        }
        let result = try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Mark", rows: rows))
        notes.append("batch of marks: \(result.count)")
      } else {
        let request = FetchRequest<ManagedObject>(
          entityName: "Badge", where: try FetchPredicate(format: "label != nil AND owner.name == nil"))
        let result = try context.execute(BatchDeleteRequest(request))
        notes.append("batch deletion of badges: \(result.count)")
      }
    } catch { notes.append("batch: \(text(error))") }
  }

  private func openAgain() throws {
    notes.append("open again")
    // What was never saved is gone, and its key may come again.
    numbers = try savedNumbers()
    if place != .memory {
      contexts.removeAll()
      container = try Self.open(.memory, folder)
      container = try Self.open(place, folder)
    }
    begin()
    try noteStore()
  }

  // MARK: Saving

  private func policy() -> MergePolicy {
    switch Int.random(in: 0..<5, using: &random) {
    case 0: .error
    case 1: .mergeByPropertyObjectTrump
    case 2: .mergeByPropertyStoreTrump
    case 3: .overwrite
    default: .rollback
    }
  }

  private func save(_ number: Int) throws {
    let context = contexts[number]
    context.mergePolicy = policy()
    notes.append("save \(number)")
    let changes = ObjectChanges(
      inserted: ManagedObjectIDs(context.insertedObjects.map(\.objectID)),
      updated: ManagedObjectIDs(context.updatedObjects.map(\.objectID)),
      deleted: ManagedObjectIDs(context.deletedObjects.map(\.objectID)))
    if try settle(context) {
      saved[number] = changes
      saves += 1
      try noteStore()
    }
  }

  /// Saves, with what stands in the way put right; or else gives up.
  @discardableResult private func settle(_ context: ManagedObjectContext) throws -> Bool {
    for _ in 0..<8 {
      do {
        try context.save()
        return true
      } catch let error as SaveError {
        notes.append(text(error))
        switch error {
        case .validation, .notUnique:
          try makeChanges(in: context).repair(error)
        case .conflict(let found):
          conflicts += 1
          for conflict in found {
            guard let object = context.registeredObject(for: conflict.objectID) else { continue }
            context.refresh(object, mergeChanges: true)
          }
        default: break
        }
      }
    }
    context.rollback()
    notes.append("given up")
    return false
  }

  /// An error, without the store's identifier.
  private func text(_ error: any Error) -> String {
    guard let error = error as? SaveError else { return "\(type(of: error))" }
    switch error {
    case .validation(let errors):
      return "validation: \(errors.map { "\(name($0.objectID)).\($0.property ?? "") \($0.reason)" }.sorted())"
    case .conflict(let conflicts):
      return
        "conflicts: \(conflicts.map { "\(name($0.objectID)) \($0.reason) \($0.keys.sorted())" }.sorted())"
    case .notUnique(let conflicts):
      return "not unique: \(conflicts.map { "\($0.objectIDs.map(name).sorted()) \($0.properties)" }.sorted())"
    case .unstableObjects(let ids): return "unstable: \(ids.map(name).sorted())"
    case .danglingReferences(let ids): return "dangling: \(ids.map(name).sorted())"
    case .partlySaved(_, let reason): return "partly saved: \(reason)"
    case .changesLost(let changes): return "lost: \(changes.map { "\(name($0.objectID)).\($0.property)" })"
    case .nested, .changedWhileWriting: return "\(error)"
    }
  }
}
