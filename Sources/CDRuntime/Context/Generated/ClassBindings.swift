import CDModel

/// The generated classes of a model's entities, by which their objects are made.
struct ClassBindings: Sendable {
  typealias Factory = @Sendable (ObjectSeed) -> ManagedObject

  private struct Binding {
    let factory: Factory
    let type: any EntityClass.Type
  }

  /// By the places of the entities; empty where all objects are plain ones.
  private let bindings: [Binding]
  /// What the classes mean for their objects, by the entities' names.
  let traits: [String: EntityTraits]

  /// No classes.
  static let none = ClassBindings()

  private init(_ bindings: [Binding] = [], traits: [String: EntityTraits] = [:]) {
    self.bindings = bindings
    self.traits = traits
  }

  /// The classes of a version, once it is certain that each descends from its parent's. Objects are cast without a check
  /// later on, in to-many relationships and in fetches: this is what makes that sound.
  ///
  /// - Parameter factories: What makes an object, by the entities' names; none for a model without classes.
  /// - Throws: ``ModelError/classMissing(entity:)`` or ``ModelError/wrongClass(entity:found:)``.
  init(_ factories: [String: Factory], of graph: EntityGraph) throws(ModelError) {
    guard !factories.isEmpty else {
      self.init()
      return
    }
    var bindings: [Binding] = []
    var traits: [String: EntityTraits] = [:]
    var probes: [String: ManagedObject] = [:]
    // In the order of a plan's entities.
    for entity in graph.entitiesParentsFirst {
      guard let factory = factories[entity.name] else { throw .classMissing(entity: entity.name) }
      let probe = factory(ObjectSeed(detached: .detached))
      guard let type = Swift.type(of: probe) as? any EntityClass.Type, type.entityName == entity.name else {
        throw .wrongClass(entity: entity.name, found: "\(Swift.type(of: probe))")
      }
      if let parent = graph.parent(of: entity.name), let above = probes[parent.name],
        let parentType = Swift.type(of: above) as? any EntityClass.Type,
        !Self.isInstance(probe, of: parentType)
      {
        throw .wrongClass(entity: entity.name, found: "\(type), which is no \(parentType)")
      }
      probes[entity.name] = probe
      bindings.append(Binding(factory: factory, type: type))
      traits[entity.name] = EntityTraits(
        isTyped: true, hasLifecycle: type is any ManagedObjectLifecycle.Type,
        isObservable: type is any ObservableEntityClass.Type)
    }
    self.init(bindings, traits: traits)
  }

  private static func isInstance<T: EntityClass>(_ object: ManagedObject, of type: T.Type) -> Bool {
    object is T
  }

  /// What makes an entity's objects; nil where they are plain ones.
  func factory(of plan: EntityPlan) -> Factory? {
    bindings.indices.contains(plan.index) ? bindings[plan.index].factory : nil
  }

  /// An entity's class; nil where it has none.
  func type(of plan: EntityPlan) -> (any EntityClass.Type)? {
    bindings.indices.contains(plan.index) ? bindings[plan.index].type : nil
  }
}
