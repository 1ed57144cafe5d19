/// What an object is made from: an insertion, a row, or nothing but a name.
///
/// One word, for it goes through the initialisers of a class and all its parents. What it leads to is the
/// context's and serves one object after another: between a seed's making and
/// ``ManagedObject/init(_seed:)``, which reads it, stands nothing but generated code.
@_spi(Generated) public struct ObjectSeed {
  let state: State

  final class State {
    // Checks of exclusive access and counting of references would cost more than all else here. Nothing is called
    // while a property is set, and a scope is its context's, or `ownScope`.
    @exclusivity(unchecked) unowned(unsafe) var scope: ObjectScope
    @exclusivity(unchecked) var key: ObjectKey = 0
    @exclusivity(unchecked) var version: Int64 = 0
    @exclusivity(unchecked) var flags: ObjectFlags = []
    /// Whether the object registers itself with its context; where it does not, its maker does so.
    @exclusivity(unchecked) var isInsertion = false
    /// A scope that is no context's.
    private let ownScope: ObjectScope

    init(ownScope: ObjectScope) {
      self.ownScope = ownScope
      scope = ownScope
    }
  }

  /// The seed of an object whose maker registers it.
  ///
  /// - Parameter scope: One of the context whose state it is.
  init(_ state: State, scope: ObjectScope, key: ObjectKey, version: Int64, flags: ObjectFlags) {
    state.scope = scope
    state.key = key
    state.version = version
    state.flags = flags
    state.isInsertion = false
    self.state = state
  }

  /// The seed of an object that belongs to no context.
  init(detached scope: ObjectScope) {
    self.init(State(ownScope: scope), scope: scope, key: 0, version: 0, flags: .inaccessible)
  }

  /// The seed of a new object.
  ///
  /// - Parameter isComplete: Whether the maker gives a value to every mandatory attribute that has no default.
  ///   Where it does not, a save refuses the object until each has been set.
  ///
  /// Where the context's model has no such entity, or an abstract one, the object belongs to no context and
  /// ``ManagedObjectContext/errors`` says why.
  public init(inserting entity: String, in context: ManagedObjectContext, isComplete: Bool = false) {
    guard let scope = context.scopeForInsertion(of: entity) else {
      self.init(detached: ObjectScope(plan: EntityPlan.unknown(entity), context: nil))
      return
    }
    self.init(inserting: scope, in: context, isComplete: isComplete)
  }

  /// The seed of a new object with a key that is its own already.
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
