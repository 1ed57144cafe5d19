import CDModel

/// The generated classes of a model's entities, with which objects are created.
struct ClassBindings: Sendable {
  /// By entity index; empty if all objects are plain ``ManagedObject`` instances.
  private let bindings: [GeneratedClass]
  /// The traits that the classes give their objects, by entity name.
  let traits: [String: EntityTraits]

  /// No generated classes.
  static let none = ClassBindings()

  private init(_ bindings: [GeneratedClass] = [], traits: [String: EntityTraits] = [:]) {
    self.bindings = bindings
    self.traits = traits
  }

  /// Binds the classes of a model version, after checking that each class descends from its parent entity's class.
  /// To-many relationships and fetches later cast objects without a check, which is sound because of this.
  ///
  /// - Parameter classes: The classes by entity name; empty for a model without classes.
  /// - Throws: ``ModelError/classMissing(entity:)`` or ``ModelError/wrongClass(entity:found:)``.
  init(_ classes: [String: GeneratedClass], of graph: EntityGraph) throws(ModelError) {
    guard !classes.isEmpty else {
      self.init()
      return
    }
    var bindings: [GeneratedClass] = []
    var traits: [String: EntityTraits] = [:]
    // In the order of the plan's entities, because bindings are found by index.
    for entity in graph.entitiesParentsFirst {
      guard let binding = classes[entity.name] else { throw .classMissing(entity: entity.name) }
      let object = binding.factory.make(ObjectSeed(detached: .detached))
      let type = Swift.type(of: object)
      guard ObjectIdentifier(type) == ObjectIdentifier(binding.type), binding.type.entityName == entity.name
      else {
        throw .wrongClass(entity: entity.name, found: "\(type)")
      }
      if let parent = graph.parent(of: entity.name), let parentType = classes[parent.name]?.type,
        !Self.isInstance(object, of: parentType)
      {
        throw .wrongClass(entity: entity.name, found: "\(type), which is no \(parentType)")
      }
      bindings.append(binding)
      // An app may declare the conformance in any of its modules, so that only a cast finds it.
      traits[entity.name] = EntityTraits(
        isTyped: true, isObservable: binding.isObservable,
        findLifecycle: { binding.type is any ManagedObjectLifecycle.Type })
    }
    self.init(bindings, traits: traits)
  }

  private static func isInstance<T: EntityClass>(_ object: ManagedObject, of type: T.Type) -> Bool {
    object is T
  }

  /// Creates an entity's objects.
  func factory(of plan: EntityPlan) -> ObjectFactory {
    bindings.indices.contains(plan.index) ? bindings[plan.index].factory : .plain
  }

  /// An entity's class; nil if it has none.
  func type(of plan: EntityPlan) -> (any EntityClass.Type)? {
    bindings.indices.contains(plan.index) ? bindings[plan.index].type : nil
  }
}

/// Creates the objects of a class.
///
/// It is a class, because the function itself would be converted wherever it is optional or generic, and each object would
/// then be created through several functions.
final class ObjectFactory: Sendable {
  let make: @Sendable (ObjectSeed) -> ManagedObject

  init(_ make: @escaping @Sendable (ObjectSeed) -> ManagedObject) { self.make = make }

  /// Creates objects without a generated class.
  static let plain = ObjectFactory { ManagedObject(_seed: $0) }
}

/// A generated class, and the function that creates its objects.
///
/// The compiler knows the protocols that generated code declares. A cast at run time would search the conformances of
/// the whole program for each class, which would take most of the time of opening a store.
@_spi(Generated) public struct GeneratedClass: Sendable {
  let type: any EntityClass.Type
  let isObservable: Bool
  let factory: ObjectFactory

  public init<Object: EntityClass>(
    _ type: Object.Type, _ factory: @escaping @Sendable (ObjectSeed) -> ManagedObject
  ) {
    self.type = type
    isObservable = false
    self.factory = ObjectFactory(factory)
  }

  public init<Object: ObservableEntityClass>(
    observable type: Object.Type, _ factory: @escaping @Sendable (ObjectSeed) -> ManagedObject
  ) {
    self.type = type
    isObservable = true
    self.factory = ObjectFactory(factory)
  }
}
