/// The data from which an object is created: for an insertion, from a row, or with only an entity name.
///
/// One word in size, because it is passed through the initialisers of a class and all of its superclasses. Its state
/// belongs to the context and is reused for one object after another: between the creation of a seed and
/// ``ManagedObject/init(_seed:)``, which reads it, only generated code runs.
@_spi(Generated) public struct ObjectSeed {
  let state: State

  final class State {
    // Reference counting would cost more than everything else here. The context or `ownScope` retains the scope.
    unowned(unsafe) var scope: ObjectScope
    var key: ObjectKey = 0
    var version: Int64 = 0
    var flags: ObjectFlags = []
    /// Whether the object registers itself with its context; if not, the code that creates it does so.
    var isInsertion = false
    /// A scope without a context.
    private let ownScope: ObjectScope

    init(ownScope: ObjectScope) {
      self.ownScope = ownScope
      scope = ownScope
    }
  }

  /// Creates the seed of an object that the caller registers.
  ///
  /// - Parameter scope: A scope of the context to which the state belongs.
  init(_ state: State, scope: ObjectScope, key: ObjectKey, version: Int64, flags: ObjectFlags) {
    state.scope = scope
    state.key = key
    state.version = version
    state.flags = flags
    state.isInsertion = false
    self.state = state
  }

  /// Creates the seed of an object without a context.
  init(detached scope: ObjectScope) {
    self.init(State(ownScope: scope), scope: scope, key: 0, version: 0, flags: .inaccessible)
  }

  /// Creates the seed of a new object.
  ///
  /// - Parameter isComplete: Whether the caller gives a value to every mandatory attribute that has no default. If
  ///   not, a save refuses the object until each of them has been set.
  ///
  /// If the entity is abstract or not in the context's model, the object belongs to no context, and
  /// ``ManagedObjectContext/errors`` reports the reason.
  public init(inserting entity: String, in context: ManagedObjectContext, isComplete: Bool = false) {
    guard let scope = context.scopeForInsertion(of: entity) else {
      self.init(detached: ObjectScope(plan: EntityPlan.unknown(entity), context: nil))
      return
    }
    self.init(inserting: scope, in: context, isComplete: isComplete)
  }

  /// Creates the seed of a new object that has its key already.
  init(inserting scope: ObjectScope, key: ObjectKey, in context: ManagedObjectContext) {
    state = context.seedState
    state.scope = scope
    state.key = key
    state.version = 0
    state.flags = .inserted
    state.isInsertion = true
  }

  init(inserting scope: ObjectScope, in context: ManagedObjectContext, isComplete: Bool) {
    let key = context.nextKey(for: scope.plan)
    state = context.seedState
    state.scope = scope
    state.key = key
    state.version = 0
    state.flags = isComplete || scope.plan.requiredSlots.isEmpty ? .inserted : [.inserted, .draft]
    state.isInsertion = true
  }
}
