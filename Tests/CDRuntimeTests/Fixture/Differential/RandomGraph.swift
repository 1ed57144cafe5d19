import Foundation
import SeededRandom

@testable import CDRuntime

/// Random objects of a random model in a store, and random changes of them.
struct RandomGraph: RandomMaker {
  var random: SplitMix
  private var containers: [PersistentContainer]
  var container: PersistentContainer { containers[0] }
  let version: ModelVersion
  let graph: EntityGraph
  private let concrete: [String]

  init(random: SplitMix) throws {
    var maker = RandomModel(random: random)
    let version = maker.version()
    let model = ManagedObjectModel(
      name: "Random", id: UUID(), versions: [version], currentVersionNumber: 1)
    let store = ScratchStore()
    self.init(version, in: try PersistentContainer(scratchModel: model, store), random: maker.random)
    try fill()
    guard !store.kind.isInMemory else { return }
    // What is asked for is what the file holds. It has one owner, who goes first.
    containers.removeAll()
    containers = [try PersistentContainer(scratchModel: model, store)]
  }

  /// The objects of a store that is there already.
  init(_ version: ModelVersion, in container: PersistentContainer, random: SplitMix) {
    self.version = version
    self.random = random
    graph = EntityGraph(version)
    concrete = version.entities.filter { !$0.isAbstract }.map(\.name)
    containers = [container]
  }

  mutating func fill() throws {
    let context = container.newContext()
    try withExtendedLifetime(context) {
      for name in concrete {
        for _ in 0..<number(2...7) { try set(try context.insert(entityNamed: name)) }
      }
      try relate(try objects(in: context), in: context)
      try context.save()
      // Some objects have a version behind them, and some are gone.
      for object in try objects(in: context) where chance(6) {
        if chance(3) { context.delete(object) } else { try setSome(object) }
      }
      do {
        try context.save()
      } catch {
        // A relationship denies one of the deletions.
        context.rollback()
      }
    }
  }

  func objects(in context: ManagedObjectContext) throws -> [ManagedObject] {
    try version.entities.filter { $0.parent == nil }.flatMap {
      try context.fetch(FetchRequest<ManagedObject>(entityName: $0.name))
    }
  }

  /// Inserts, changes, relates and deletes, and saves nothing.
  mutating func change(_ context: ManagedObjectContext) throws {
    for _ in 0..<number(0...3) {
      if let name = one(of: concrete) { try set(try context.insert(entityNamed: name)) }
    }
    // A deletion may have deleted others.
    for object in try objects(in: context) where !object.isDeleted {
      if chance(5) { try setSome(object) }
      if chance(12) { context.delete(object) }
    }
    let rest = try objects(in: context)
    for object in rest where chance(5) { try relate(object, rest) }
  }

  // MARK: Values

  private mutating func set(_ object: ManagedObject) throws {
    for attribute in attributes(of: object) { try set(object, attribute) }
  }

  private mutating func setSome(_ object: ManagedObject) throws {
    for attribute in attributes(of: object) where chance(3) { try set(object, attribute) }
  }

  private mutating func set(_ object: ManagedObject, _ attribute: AttributeDescription) throws {
    var values = RandomStoredValue(random: random)
    var value = attribute.isOptional ? values.optional(attribute.type) : values.value(attribute.type)
    // Another version of the composite may have other fields.
    if case .composite(let name) = attribute.type, value != .null, let composite = graph.composite(name) {
      value = .composite(
        Dictionary(
          composite.fields.map { ($0.name, values.optional($0.type)) },
          uniquingKeysWith: { first, _ in first }
        ))
    }
    random = values.random
    try object.setValue(.attribute(value), forKey: attribute.name)
  }

  private func attributes(of object: ManagedObject) -> [AttributeDescription] {
    graph.slots(of: object.entity.name).compactMap { slot in
      if case .attribute(let attribute) = slot.property { return attribute }
      return nil
    }
  }

  // MARK: Relationships

  private mutating func relate(_ objects: [ManagedObject], in context: ManagedObjectContext) throws {
    for object in objects { try relate(object, objects) }
  }

  private mutating func relate(_ object: ManagedObject, _ others: [ManagedObject]) throws {
    for slot in graph.slots(of: object.entity.name) {
      guard case .relationship(let relationship) = slot.property, chance(2) else { continue }
      let fitting = others.filter { other in
        graph.lineage(of: other.entity.name).contains { $0.name == relationship.destination }
      }
      if relationship.isToMany {
        var some: [ManagedObject] = []
        for other in fitting where chance(3) { some.append(other) }
        try object.setValue(.objects(some), forKey: relationship.name)
      } else {
        try object.setValue(.object(chance(4) ? nil : one(of: fitting)), forKey: relationship.name)
      }
    }
  }
}
