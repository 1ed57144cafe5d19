@_spi(Generated) public import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension VersionedStore {
  /// Inserts an object, with values by the property names of the store's version. Relationships take objects.
  ///
  /// ```swift
  /// let store = try VersionedStore(of: ToDoModel.self, version: 1)
  /// let home = try store.insert("Category", ["name": "Home"])
  /// try store.insert("ToDo", ["name": "Milk", "dueDate": .init(Date()), "category": .object(home)])
  /// ```
  ///
  /// - Throws: `FetchError.unknownEntity`, or a `PropertyError` for a value that the property cannot have.
  @discardableResult
  public func insert(_ entityName: String, _ values: [String: StoredValue] = [:]) throws -> ManagedObject {
    let object = try context.insert(entityNamed: entityName)
    for (key, value) in values { try object.setValue(value.value, forKey: key) }
    return object
  }

  /// Returns all objects of an entity and its subentities, in the order of their identifiers.
  public func objects(of entityName: String) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: entityName))
  }

  /// Returns all objects of an entity and its subentities, as typed snapshots like those that the app's own migrations
  /// use.
  ///
  /// ```swift
  /// func ids<Snapshot: EntitySnapshot>(of type: Snapshot.Type, in old: VersionedStore) throws -> [ManagedObjectID] {
  ///   try old.snapshots(type).map(\.objectID)
  /// }
  /// ```
  ///
  /// - Parameter type: A snapshot type of this store's version. The property names and numbers of another version's
  ///   snapshots do not fit.
  public func snapshots<Snapshot: EntitySnapshot>(_ type: Snapshot.Type = Snapshot.self) throws -> [Snapshot]
  {
    try objects(of: Snapshot.entityName).map(Snapshot.init(_object:))
  }

  /// Returns the number of objects of an entity and its subentities.
  public func count(of entityName: String) throws -> Int {
    try context.count(for: FetchRequest<ManagedObject>(entityName: entityName))
  }

  /// Returns the migrated object of an object in the store that this one was migrated from: the object that has kept
  /// its identifier. Nil if there is none. If several mappings migrate the object, it is the object of the first
  /// mapping that created one.
  ///
  /// - Throws: The errors of reading the store.
  public func counterpart(of object: ManagedObject, from old: VersionedStore) throws -> ManagedObject? {
    let id = object.objectID
    let names = KeptProperties(old, self).destinations(of: object.entity.name)
    let uri = id.uriRepresentation
    if let current = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri),
      let found = try existing(current, names)
    {
      return found
    }
    // A mapping may lead to another entity that is not the same entity renamed. The object still keeps its key.
    for name in names {
      let other = uri.deletingLastPathComponent().deletingLastPathComponent().appending(path: name)
        .appending(path: uri.lastPathComponent)
      if let id = ManagedObjectID(uri: other), let found = try existing(id, names) { return found }
    }
    return nil
  }

  private func existing(_ id: ManagedObjectID, _ names: [String]) throws -> ManagedObject? {
    do {
      let found = try context.existingObject(with: id)
      return names.contains(found.entity.name) ? found : nil
    } catch is FetchError { return nil }
  }
}
