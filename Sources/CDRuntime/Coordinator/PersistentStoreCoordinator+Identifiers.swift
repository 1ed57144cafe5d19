#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension PersistentStoreCoordinator {
  /// Returns the identifier for a URI; nil if no identifier of these stores has this URI. The URI may be from before a
  /// migration. If the entity was renamed since, its `renamedFrom` leads to the new name.
  public func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
    ManagedObjectID(uri: uri).flatMap(currentID)
  }

  /// The identifier that an object has now, for an identifier from before any migration; nil if the entity or the store
  /// is gone.
  @_optimize(none)
  private func currentID(of id: ManagedObjectID) -> ManagedObjectID? {
    guard let name = managedObjectModel.currentName(ofEntity: id.entityName),
      engine.stores[id.storeID] != nil
    else { return nil }
    let moved: [MovedKeys]
    do {
      // A reading session, so that nobody who writes is waited for.
      let session = try engine.takeSession()
      defer { engine.returnSession(session) }
      guard let store = session.stores[id.storeID] else { return nil }
      moved = try session.movedKeys(of: store)
    } catch {
      // Without the list, the key may belong to another object now.
      return nil
    }
    let applying = moved.filter {
      id.key < $0.below && managedObjectModel.currentName(ofEntity: $0.entity) == name
    }
    let key = id.key + (applying.min { $0.below < $1.below }?.offset ?? 0)
    return ManagedObjectID(storeID: id.storeID, entityName: name, key: key)
  }

  /// Returns the identifier that an object has in all replicas of its store. The object may be unsaved or deleted. The
  /// result is nil if the coordinator does not have the identifier's store or the model does not have its entity.
  ///
  /// - Throws: ``StoreError``, for example ``StoreError/damagedMetadata(_:key:)`` if the store's record of replicas and
  ///   migrations cannot be read.
  public func globalID(of id: ManagedObjectID) throws -> GlobalObjectID? {
    let session = try engine.takeSession()
    defer { engine.returnSession(session) }
    guard let entity = plan.entity(id.entityName), let store = session.stores[id.storeID],
      entity.storeIndex == store.index, id.key > 0, id.key < .max
    else { return nil }
    let tables = try session.insertionOrigins(of: store).tables
    return tables.intervals(of: id.key...id.key, in: plan.entities[entity.root].name).first?.first
  }

  /// Returns the identifier that an object has in this coordinator's stores, by its global identifier; nil if no store has
  /// the object. Unsaved objects are not found.
  ///
  /// - Throws: ``StoreError``, for example ``StoreError/damagedMetadata(_:key:)`` if a store's record of replicas and
  ///   migrations cannot be read.
  @_optimize(none)
  public func managedObjectID(of globalID: GlobalObjectID) throws -> ManagedObjectID? {
    let session = try engine.takeSession()
    defer { engine.returnSession(session) }
    for store in session.stores.all {
      let roots = plan.entities.filter { $0.root == $0.index && $0.storeIndex == store.index }
      for (name, key) in try session.insertionOrigins(of: store).tables.keys(
        of: globalID, in: roots.map(\.name))
      {
        guard let root = plan.entity(name) else { continue }
        let rows = try session.row(key, inSubtreeOf: root)
        defer { rows.close() }
        guard try rows.next() else { continue }
        let entityName = rows.isMixed ? rows.entityName : name
        guard plan.entity(entityName)?.description.isAbstract == false else { continue }
        return ManagedObjectID(storeID: store.storeID, entityName: entityName, key: key)
      }
    }
    return nil
  }
}
