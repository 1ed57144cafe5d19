/// The lookup behind ``EntityClass/objects(matching:_:in:)`` for one attribute, kept by the context.
///
/// What it does not answer is left to ``FetchRun``.
final class ValueMatch {
  // Keeps the key path alive, so that no other one gets its identity.
  let path: AnyKeyPath
  private let entity: EntityPlan
  private let lookup: any ValueLookup

  /// Nil where the store has no such lookup.
  init?(path: AnyKeyPath, keys: [String], entity: EntityPlan, by session: any StoreSession) {
    guard keys.count == 1, let slot = entity.slot(keys[0]), let lookup = session.lookup(entity, slot)
    else { return nil }
    self.path = path
    self.entity = entity
    self.lookup = lookup
  }

  /// The objects that have a value; nil where the store leaves that to a fetch.
  func objects(_ value: AttributeValue, isSingle: Bool, in context: ManagedObjectContext) throws
    -> [ManagedObject]?
  {
    // Asked for at each call, for it may have to begin a snapshot.
    _ = try context.reader()
    return try lookup.withRows(of: value, isSingle: isSingle) { try context.objects(from: $0, of: entity) }
  }
}
