import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Random stores that are migrated through random versions in several ways: each version in turn, or all at once, in the
/// file of SQLite or in one that is read whole. All ways give the same objects, and what a step does not change is as it was.
///
/// `CDGEN_RANDOM_ROUNDS=N` makes N runs more, and `CDGEN_RANDOM_SEED=S` begins them at a seed.
@Suite(.onceForAllKinds) struct RandomMigrationTests {
  @Test(arguments: 1...(isThorough ? 60 : 14) as ClosedRange<UInt64>)
  func allWaysGiveTheSameObjects(seed: UInt64) throws {
    try RandomMigration(seed: seed).run()
  }

  @Test func furtherSeedsGiveThemToo() throws {
    var failures = 0
    for seed in furtherSeeds where failures < 5 {
      do { try RandomMigration(seed: seed).run() } catch {
        Issue.record(error, "seed \(seed)")
        failures += 1
      }
    }
  }
}

private final class RandomMigration {
  /// Two ways have given different objects, or a step has changed a value that it must keep.
  struct Difference: Error, CustomStringConvertible {
    let description: String
  }

  private let seed: UInt64
  private let id = UUID()
  private let folder: URL
  private var evolution: RandomEvolution

  init(seed: UInt64) throws {
    self.seed = seed
    evolution = RandomEvolution(random: SplitMix(seed: seed), length: 2 + Int(seed % 3))
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func run() throws {
    let first = folder.appending(path: "first")
    try fill(first)
    let last = evolution.versions.count
    let expected = try migrateInTurn(try copy(of: first, "in turn", StoreLocation.sqlite))
    let ways: [(name: String, location: (URL) -> StoreLocation)] = [
      ("at once", { .sqlite($0) }), ("XML", { .xml($0) }), ("binary", { .binary($0) }),
    ]
    for way in ways {
      let location = try copy(of: first, way.name, way.location)
      let found = try using(location, last, way.name) { try contents(last, in: $0) }
      try compare(found, expected, "\(way.name) and in turn")
      try change(location, way.name)
    }
  }

  private func copy(of store: URL, _ name: String, _ location: (URL) -> StoreLocation) throws
    -> StoreLocation
  {
    let location = location(folder.appending(path: name))
    try PersistentStoreCoordinator.copyPersistentStore(at: .sqlite(store), to: location)
    return location
  }

  private func difference(_ text: String) -> Difference {
    let last = evolution.versions.count
    let steps = (1..<last).map { number -> String in
      let step = MigrationStep(
        from: evolution.versions[number - 1], to: evolution.versions[number],
        rules: evolution.mappings[number - 1])
      return "\(number) to \(number + 1): " + step.changes.map { "\($0.kind)" }.joined(separator: "; ")
    }
    return Difference(description: "seed \(seed): \(text)\n" + steps.joined(separator: "\n"))
  }

  // MARK: Stores

  private func fill(_ url: URL) throws {
    let coordinator = try PersistentStoreCoordinator(
      model: evolution.model(1, id: id), at: .sqlite(url))
    var graph = RandomGraph(
      evolution.versions[0], in: PersistentContainer(coordinator), random: evolution.random)
    try graph.fill()
    evolution.random = graph.random
  }

  /// Opens a store with the model of a version, whose objects nothing is wrong with.
  private func using<R>(
    _ location: StoreLocation, _ number: Int, _ way: String, _ body: (PersistentContainer) throws -> R
  ) throws -> R {
    do {
      let coordinator = try PersistentStoreCoordinator(
        model: evolution.model(number, id: id), at: location)
      let result = try body(PersistentContainer(coordinator))
      let findings = try coordinator.verify()
      guard findings.isEmpty else { throw difference("\(way), version \(number): \(findings)") }
      return result
    } catch let error where !(error is Difference) {
      throw difference("\(way), version \(number): \(error)")
    }
  }

  private func migrateInTurn(_ location: StoreLocation) throws -> Contents {
    var known = try using(location, 1, "before") { try contents(1, in: $0) }
    for number in 2...evolution.versions.count {
      let next = try using(location, number, "in turn") { try contents(number, in: $0) }
      try check(known, next, number)
      known = next
    }
    return known
  }

  /// Changes objects of a migrated store. A rule may refuse the save.
  private func change(_ location: StoreLocation, _ way: String) throws {
    let last = evolution.versions.count
    try using(location, last, "\(way), changed") { container throws -> Void in
      var graph = RandomGraph(evolution.versions[last - 1], in: container, random: evolution.random)
      let context = container.newContext()
      try withExtendedLifetime(context) {
        try graph.change(context)
        do { try context.save() } catch SaveError.validation, SaveError.notUnique {}
      }
    }
  }

  // MARK: Contents

  /// The objects of a store by the identity of their entity and by key, with their values as texts.
  private typealias Contents = [Object: [String: String]]

  private struct Object: Hashable {
    let entity: String
    let key: Int64
  }

  private func contents(_ number: Int, in container: PersistentContainer) throws -> Contents {
    let version = evolution.versions[number - 1]
    let graph = EntityGraph(version)
    let context = container.newContext()
    return try withExtendedLifetime(context) {
      var result: Contents = [:]
      for root in version.entities where root.parent == nil {
        for object in try context.fetch(FetchRequest<ManagedObject>(entityName: root.name)) {
          let entity = graph.entity(object.entity.name)
          var values: [String: String] = [:]
          for slot in graph.slots(of: object.entity.name) {
            let value = try object.value(forKey: slot.property.name)
            switch slot.property {
            case .attribute(let attribute):
              if !attribute.isTransient { values[attribute.identity] = text(value.attribute, version) }
            case .relationship(let relationship):
              values[relationship.identity] = text(value, relationship)
            case .fetched: break
            }
          }
          result[Object(entity: entity?.identity ?? "", key: object.objectID.key)] = values
        }
      }
      return result
    }
  }

  private func text(_ value: AttributeValue?, _ version: ModelVersion) -> String {
    guard case .composite(let fields)? = value else {
      // SQLite does not store the sign of zero.
      let text = value.map { "\($0)" } ?? ""
      return text.replacing("(-0.0)", with: "(0.0)").replacing(" -0.0)", with: " 0.0)")
    }
    return version.composites[0].fields.map { "\($0.identity)=\(text(fields[$0.name] ?? .null, version))" }
      .sorted().joined(separator: ",")
  }

  private func text(_ value: PropertyValue, _ relationship: RelationshipDescription) -> String {
    guard relationship.isToMany else { return value.object.map { "\($0.objectID.key)" } ?? "" }
    let keys = value.objects.map(\.objectID.key)
    return (relationship.isOrdered ? keys : keys.sorted()).map(String.init).joined(separator: " ")
  }

  private func compare(_ found: Contents, _ expected: Contents, _ ways: String) throws {
    for (object, values) in expected {
      guard let other = found[object] else { throw difference("\(ways): \(object) is missing") }
      for (property, value) in values where other[property] != value {
        throw difference(
          "\(ways): \(name(property)) of \(object) is \(other[property] ?? "not there") and not \(value)")
      }
    }
    guard found.count == expected.count else { throw difference("\(ways): there are more objects") }
  }

  /// The last name of a property.
  private func name(_ identity: String) -> String {
    for entity in evolution.versions.reversed().flatMap(\.entities) {
      if let attribute = entity.attributes.first(where: { $0.identity == identity }) {
        return "\(entity.name).\(attribute.name)"
      }
      if let relationship = entity.relationships.first(where: { $0.identity == identity }) {
        return "\(entity.name).\(relationship.name)"
      }
    }
    return identity
  }

  // MARK: What a step keeps

  /// Compares values that a step to a version does not change.
  private func check(_ old: Contents, _ new: Contents, _ number: Int) throws {
    let rules = evolution.mappings[number - 2]
    let (before, after) = (evolution.versions[number - 2], evolution.versions[number - 1])
    let (oldGraph, newGraph) = (EntityGraph(before), EntityGraph(after))
    let names = Dictionary(
      after.entities.map { ($0.identity, $0.name) }, uniquingKeysWith: { first, _ in first })
    let oldNames = Dictionary(
      before.entities.map { ($0.identity, $0.name) }, uniquingKeysWith: { first, _ in first })
    // Only one of several duplicates stays. References to the others lead to it now.
    guard rules.duplicates.isEmpty else { return }
    let keys = Set(new.keys.compactMap { object in root(object, newGraph, names) })
    for (object, values) in old {
      guard let name = names[object.entity], let oldName = oldNames[object.entity] else { continue }
      guard let found = new[object] else { throw difference("step to \(number): \(object) is lost") }
      for slot in newGraph.slots(of: name) {
        guard let value = values[slot.property.identity], let other = found[slot.property.identity] else {
          continue
        }
        let former = oldGraph.slots(of: oldName).first { $0.property.identity == slot.property.identity }
        switch (former?.property, slot.property) {
        case (.attribute(let was)?, .attribute(let attribute)):
          guard was.type == attribute.type, value != "null" || attribute.isOptional else { continue }
          if case .composite = was.type, before.composites[0].fields != after.composites[0].fields {
            continue
          }
          if value == other { continue }
        case (.relationship(let was)?, .relationship(let relationship)):
          guard isSame(was, relationship, oldName, name, oldGraph, newGraph) else { continue }
          let left = value.split(separator: " ").filter { key in
            newGraph.root(of: relationship.destination).map { keys.contains("\($0.identity) \(key)") }
              ?? false
          }
          if left.joined(separator: " ") == other { continue }
        default: continue
        }
        throw difference(
          "step to \(number): \(slot.property.name) of \(object) is \(other) and not \(value)")
      }
    }
  }

  private func root(_ object: Object, _ graph: EntityGraph, _ names: [String: String]) -> String? {
    names[object.entity].flatMap(graph.root(of:)).map { "\($0.identity) \(object.key)" }
  }

  /// Whether a relationship and its inverse can have the same objects in both versions.
  private func isSame(
    _ old: RelationshipDescription, _ new: RelationshipDescription, _ oldEntity: String, _ entity: String,
    _ oldGraph: EntityGraph, _ graph: EntityGraph
  ) -> Bool {
    let inverse = graph.inverse(of: new, in: entity)
    let former = oldGraph.inverse(of: old, in: oldEntity)
    return old.isToMany == new.isToMany && old.isOrdered == new.isOrdered
      && inverse?.identity == former?.identity && inverse?.isToMany == former?.isToMany
  }
}

extension PropertyDescription {
  /// What stays the same when the name changes.
  fileprivate var identity: String {
    switch self {
    case .attribute(let attribute): attribute.identity
    case .relationship(let relationship): relationship.identity
    case .fetched: ""
    }
  }
}
