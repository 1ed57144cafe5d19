import CDModel

/// The generated classes of a model's entities, with which objects are created.
struct ClassBindings: Sendable {
  typealias Factory = @Sendable (ObjectSeed) -> ManagedObject

  private struct Binding {
    let factory: Factory
    let type: any EntityClass.Type
  }

  /// By entity index; empty if all objects are plain ``ManagedObject`` instances.
  private let bindings: [Binding]
  /// The traits that the classes give their objects, by entity name.
  let traits: [String: EntityTraits]

  /// No generated classes.
  static let none = ClassBindings()

  private init(_ bindings: [Binding] = [], traits: [String: EntityTraits] = [:]) {
    self.bindings = bindings
    self.traits = traits
  }

  /// Binds the classes of a model version, after checking that each class descends from its parent entity's class.
  /// To-many relationships and fetches later cast objects without a check, which is sound because of this.
  ///
  /// - Parameter factories: The functions that create objects, by entity name; empty for a model without classes.
  /// - Throws: ``ModelError/classMissing(entity:)`` or ``ModelError/wrongClass(entity:found:)``.
  init(_ factories: [String: Factory], of graph: EntityGraph) throws(ModelError) {
    guard !factories.isEmpty else {
      self.init()
      return
    }
    var bindings: [Binding] = []
    var traits: [String: EntityTraits] = [:]
    var probes: [String: ManagedObject] = [:]
    // In the order of the plan's entities, because bindings are found by index.
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

  /// The function that creates an entity's objects; nil if they are plain ``ManagedObject`` instances.
  func factory(of plan: EntityPlan) -> Factory? {
    bindings.indices.contains(plan.index) ? bindings[plan.index].factory : nil
  }

  /// An entity's class; nil if it has none.
  func type(of plan: EntityPlan) -> (any EntityClass.Type)? {
    bindings.indices.contains(plan.index) ? bindings[plan.index].type : nil
  }
}
