extension PersistentStoreCoordinator {
  /// The identifier that an object has in all replicas of its store: also of an object that has not been saved, or that
  /// has been deleted since. Nil for an identifier of no store of this coordinator, or of no entity of its model.
  ///
  /// - Throws: ``StoreError``, for instance ``StoreError/damagedMetadata(_:key:)`` if the store's notes about replicas
  ///   and migrations cannot be read.
  public func globalID(of id: ManagedObjectID) throws -> GlobalObjectID? {
    let session = try engine.takeSession()
    defer { engine.giveBack(session) }
    guard let entity = plan.entity(id.entityName), let store = session.stores[id.storeID],
      entity.storeIndex == store.place, id.key > 0, id.key < .max
    else { return nil }
    let tables = try session.births(of: store).tables
    return tables.intervals(of: id.key...id.key, in: plan.entities[entity.root].name).first?.first
  }

  /// The identifier that the object of a global identifier has in this coordinator's stores; nil if none of them has such
  /// an object. Objects that are not saved yet are not found.
  ///
  /// - Throws: ``StoreError``, for instance ``StoreError/damagedMetadata(_:key:)`` if a store's notes about replicas and
  ///   migrations cannot be read.
  public func managedObjectID(of globalID: GlobalObjectID) throws -> ManagedObjectID? {
    let session = try engine.takeSession()
    defer { engine.giveBack(session) }
    for store in session.stores.all {
      let roots = plan.entities.filter { $0.root == $0.index && $0.storeIndex == store.place }
      for (name, key) in try session.births(of: store).tables.keys(of: globalID, in: roots.map(\.name)) {
        guard let root = plan.entity(name) else { continue }
        let rows = try session.row(key, ofKind: root)
        defer { rows.close() }
        guard try rows.next() else { continue }
        let entityName = rows.isMixed ? rows.entityName : name
        guard plan.entity(entityName) != nil else { continue }
        return ManagedObjectID(storeID: store.storeID, entityName: entityName, key: key)
      }
    }
    return nil
  }
}
