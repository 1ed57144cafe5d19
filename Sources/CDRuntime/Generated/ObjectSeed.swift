/// What an object is made from: an insertion, a row, or nothing but a name.
@_spi(Generated) public struct ObjectSeed {
  let scope: ObjectScope
  let key: ObjectKey
  let version: Int64
  let flags: ObjectFlags
  /// The context that registers the object when it has been made; nil where the maker does so.
  let insertingContext: ManagedObjectContext?

  init(scope: ObjectScope, key: ObjectKey, version: Int64, flags: ObjectFlags) {
    self.scope = scope
    self.key = key
    self.version = version
    self.flags = flags
    insertingContext = nil
  }

  /// The seed of a new object.
  ///
  /// - Parameter isComplete: Whether the maker gives a value to every mandatory attribute that has no default.
  ///   Where it does not, a save refuses the object until each has been set.
  ///
  /// Where the context's model has no such entity, or an abstract one, the object belongs to no context and
  /// ``ManagedObjectContext/errors`` says why.
  public init(inserting entity: String, in context: ManagedObjectContext, isComplete: Bool = false) {
    if let scope = context.scopeForInsertion(of: entity) {
      self.scope = scope
      key = context.nextKey(for: scope.plan)
      version = 0
      flags = isComplete || scope.plan.requiredSlots.isEmpty ? .inserted : [.inserted, .draft]
      insertingContext = context
    } else {
      scope = ObjectScope(plan: EntityPlan.unknown(entity), context: nil)
      key = 0
      version = 0
      flags = .inaccessible
      insertingContext = nil
    }
  }
}
