/// The lookup for ``EntityClass/objects(matching:_:in:)`` with one attribute. The context keeps it for the next call.
///
/// A ``FetchRun`` answers all other requests.
final class ValueMatch {
  // Keeps the key path alive, so that no other one gets its identity.
  let path: AnyKeyPath
  private let entity: EntityPlan
  private let lookup: any ValueLookup

  /// Nil if the store does not support this lookup.
  init?(path: AnyKeyPath, keys: [String], entity: EntityPlan, by session: any StoreSession) {
    guard keys.count == 1, let slot = entity.slot(keys[0]), let lookup = session.lookup(entity, slot)
    else { return nil }
    self.path = path
    self.entity = entity
    self.lookup = lookup
  }

  /// Returns the objects with a value; nil if the store leaves the lookup to a fetch.
  func objects(_ value: AttributeValue, isSingle: Bool, in context: ManagedObjectContext) throws
    -> [ManagedObject]?
  {
    // Called each time, because it may have to begin a snapshot.
    _ = try context.reader()
    var found: [ManagedObject] = []
    let isFound = try lookup.withRows(of: value, isSingle: isSingle) { rows in
      found = try context.objects(from: rows, of: entity)
    }
    return isFound ? found : nil
  }
}
