import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Random programs of saves, deletions, copies, replicas, conversions and migrations: all stores agree on the global
/// identifier of each object, whatever way it has come.
///
/// `CDGEN_RANDOM_ROUNDS=N` makes N runs more, `CDGEN_RANDOM_SEED=S` begins them at a seed.
@Suite(.onceForAllKinds) struct RandomReplicaTests {
  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func allStoresAgree(seed: UInt64) throws {
    try RandomReplicas(seed: seed).run(steps: isThorough ? 40 : 25)
  }

  @Test func furtherSeedsAgreeToo() throws {
    for seed in furtherSeeds {
      let run = try RandomReplicas(seed: seed)
      try run.run(steps: 60)
      if run.hasFailed { return }
    }
  }
}

private final class RandomReplicas {
  /// A store, and what it is known to hold.
  private struct Store {
    var file: String
    var kind: StoreKind
    var version: Int
    /// The names of the objects.
    var names: Set<String> = []
    /// The names of the objects that each transaction inserted, updated and deleted.
    var history: [[Set<String>]] = []
  }

  private let seed: UInt64
  private let fixture: ReplicaFixture
  private var random: SplitMix
  private var stores: [Store]
  private var ids: [String: GlobalObjectID] = [:]
  private var names: [GlobalObjectID: String] = [:]
  private var count = 0
  private var files = 0
  private(set) var hasFailed = false

  init(seed: UInt64) throws {
    self.seed = seed
    random = SplitMix(seed: seed)
    fixture = try ReplicaFixture()
    stores = [Store(file: "0", kind: .sqlite, version: 1)]
  }

  func run(steps: Int) throws {
    try save(0)
    for step in 0..<steps where !hasFailed {
      let place = Int.random(in: 0..<stores.count, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5: try save(place)
      case 5, 6: try migrate(place)
      case 7: try copy(place, asReplica: true)
      case 8: try copy(place, asReplica: false)
      default: try save(place, closing: false)
      }
      if stores.count > 5 { stores.remove(at: Int.random(in: 0..<stores.count, using: &random)) }
      if hasFailed { Issue.record("seed \(seed), step \(step)") }
    }
    for place in stores.indices where !hasFailed { try check(place) }
  }

  private func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) {
    if isTrue { return }
    hasFailed = true
    Issue.record("seed \(seed): \(text())")
  }

  private func using<R>(_ place: Int, _ body: (ManagedObjectContext) throws -> R) throws -> R {
    let store = stores[place]
    return try fixture.using(
      store.file, try Self.models.get()[store.version - 1], store.kind,
      { description in
        description.migrationPolicies["Memos", from: 4, to: 5] = {
          TestPolicy(create: { source, mapping, manager in
            try manager.makeDestinationInstance(for: source, in: mapping)
            let more = try manager.makeDestinationInstance(for: source, in: mapping)
            let id = manager.sourceContext.persistentStoreCoordinator.storeIDs[0]
            try more.setValue("\(source.text("name")) in \(id)", forKey: "name")
          })
        }
      }, body)
  }

  private func save(_ place: Int, closing: Bool = true) throws {
    try using(place) { context in
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        var changes: [Set<String>] = [[], [], []]
        for _ in 0..<Int.random(in: 0...6, using: &random) {
          let entities = Self.versions[stores[place].version - 1].entities.filter { !$0.isAbstract }
          let entity = entities[Int.random(in: 0..<entities.count, using: &random)].name
          count += 1
          try ReplicaFixture.insert(entity, "\(count)", context)
          changes[0].insert("\(count)")
        }
        for object in try ReplicaFixture.allObjects(context) where !context.insertedObjects.contains(object) {
          let name = try object.text("name")
          switch Int.random(in: 0..<12, using: &random) {
          case 0:
            context.delete(object)
            changes[2].insert(name)
          case 1, 2:
            // An equal value is no change.
            if object.committedValues["n"] != .attribute(.int(Int64(count))) { changes[1].insert(name) }
            try object.setValue(.attribute(.int(Int64(count))), forKey: "n")
          default: break
          }
        }
        if changes.allSatisfy(\.isEmpty) { continue }
        try context.save()
        // An object that the next save deletes is known by its identifier too.
        ids.merge(try ReplicaFixture.ids(context)) { $1 }
        stores[place].names.formUnion(changes[0])
        stores[place].names.subtract(changes[2])
        stores[place].history.append(changes)
        if !closing { try check(place, context) }
      }
    }
    try check(place)
  }

  private func migrate(_ place: Int) throws {
    stores[place].version = Int.random(in: stores[place].version...Self.versions.count, using: &random)
    try check(place)
  }

  private func copy(_ place: Int, asReplica: Bool) throws {
    files += 1
    var copy = stores[place]
    copy.file = "\(files)"
    copy.kind = StoreKind.files[Int.random(in: 0..<StoreKind.files.count, using: &random)]
    try fixture.copy(stores[place].file, to: copy.file, copy.kind, asReplica: asReplica)
    // What stands for the original takes its place: two that go on by themselves have to be replicas.
    if asReplica { stores.append(copy) } else { stores[place] = copy }
    try check(asReplica ? stores.count - 1 : place)
  }

  private func check(_ place: Int) throws {
    try using(place) { try check(place, $0) }
  }

  private func check(_ place: Int, _ context: ManagedObjectContext) throws {
    let found = try ReplicaFixture.ids(context)
    expect(stores[place].names.isSubset(of: found.keys), "objects are missing in \(stores[place].file)")
    // Rules make objects of others, whose names tell which.
    stores[place].names = Set(found.keys)
    for (name, id) in found {
      expect(
        ids.updateValue(id, forKey: name) ?? id == id, "\(name) is \(id) now in \(stores[place].file)")
      expect(
        names.updateValue(name, forKey: id) ?? name == name, "\(id) is \(name) now in \(stores[place].file)")
    }
    let coordinator = context.persistentStoreCoordinator
    let history = try coordinator.globalHistory()
    let wanted = stores[place].history.map { $0.map { Set($0.map { ids[$0] }) } }
    expect(
      history.count == wanted.count && zip(history, wanted).allSatisfy { $0 == $1 },
      "another history in \(stores[place].file)")
    for transaction in try coordinator.history() {
      for object in transaction.globalChanges.updated {
        expect(transaction.updatedProperties(of: object) == ["n"], "\(object) has changed otherwise")
      }
      for id in transaction.changes.updated {
        expect(transaction.updatedProperties(of: id) == ["n"], "\(id) has changed otherwise")
      }
      let known = Set(transaction.globalChanges.updated)
      for id in transaction.changes.updated {
        expect(try coordinator.globalID(of: id).map(known.contains) == true, "\(id) was not changed")
      }
    }
    expect(try coordinator.verify().isEmpty, "\(stores[place].file) is damaged")
  }

  // MARK: The line of versions

  /// The model as it is with each version.
  private static let models = Result {
    let rules = try mappings()
    return versions.indices.map { last in
      MigrationFixture.model(
        Array(versions[...last]), mappings: rules.filter { $0.destination <= last + 1 })
    }
  }

  private static let attributes = [attribute("name", .string), attribute("n", .int64, .int(0))]

  private static let versions: [ModelVersion] = [
    [
      entity("Animal", isAbstract: true, attributes), entity("Dog", parent: "Animal"),
      entity("Cat", attributes), entity("Note", attributes),
    ],
    // A table comes into another one, and a table gets another name.
    [
      entity("Animal", isAbstract: true, attributes), entity("Dog", parent: "Animal"),
      entity("Feline", parent: "Animal", renamedFrom: "Cat"), entity("Memo", renamedFrom: "Note", attributes),
    ],
    // An entity gets a table of its own, and names come again.
    [
      entity("Animal", isAbstract: true, attributes), entity("Dog", parent: "Animal"),
      entity("Feline", attributes), entity("Memo", attributes), entity("Cat", attributes),
      entity("Note", attributes),
    ],
    // Two tables become one by rules, and two change their names.
    [
      entity("Animal", isAbstract: true, attributes), entity("Dog", parent: "Animal"),
      entity("Memo", renamedFrom: "Feline", attributes), entity("Feline", renamedFrom: "Memo", attributes),
      entity("Note", attributes),
    ],
    // The app makes objects, and rules make a second one.
    [
      entity("Animal", isAbstract: true, attributes), entity("Hound", parent: "Animal", renamedFrom: "Dog"),
      entity("Memo", parent: "Animal"), entity("Feline", attributes), entity("Note", attributes),
      entity("Backup", parent: "Animal"), entity("Rest", attributes),
    ],
    [
      entity("Being", renamedFrom: "Animal", attributes), entity("Hound", parent: "Being"),
      entity("Memo", parent: "Being"), entity("Feline", parent: "Being"), entity("Note", parent: "Feline"),
      entity("Backup", attributes), entity("Animal", renamedFrom: "Rest", attributes),
    ],
  ].enumerated().map { MigrationFixture.version($0.offset + 1, $0.element) }

  private static func mappings() throws -> [MappingRules] {
    func copied(_ prefix: String) throws -> [PropertyMapping] {
      [PropertyMapping(name: "name", value: try ValueExpression(format: "'\(prefix)' + name"))]
    }
    return [
      MappingRules(
        source: 3, destination: 4,
        entities: [
          EntityRule(destination: "Note", source: "Cat"), EntityRule(destination: "Note", source: "Note"),
        ]),
      MappingRules(
        source: 4, destination: 5,
        entities: [
          EntityRule(destination: "Memo", name: "Memos", isCustom: true),
          EntityRule(destination: "Note", source: "Note"),
          EntityRule(destination: "Backup", source: "Note", attributes: try copied("backup of ")),
          EntityRule(destination: "Rest", source: "Feline", attributes: try copied("rest of ")),
          EntityRule(destination: "Feline", source: "Feline"),
        ]),
    ]
  }
}
