/// A typed, read-only view of an object of an older version, which generated code gives to an app's own migration.
///
/// Generated code declares one for each entity that a custom step reads, `ToDoModel.Version1.ToDo` for instance.
///
/// ```swift
/// func keys(of snapshot: some EntitySnapshot) throws -> [String] {
///   snapshot.object.entity.attributes.map(\.name)
/// }
/// ```
public protocol EntitySnapshot {
  /// The name of the entity in its version.
  static var entityName: String { get }
  @_spi(Generated) var _object: ManagedObject { get }
  @_spi(Generated) init(_object: ManagedObject)
}

extension EntitySnapshot {
  /// The object, in the migration's source context. An entity's own property of this name hides it.
  public var object: ManagedObject { _object }

  /// The identifier. The migrated object keeps it, unless it was created with an identifier of its own.
  public var objectID: ManagedObjectID { _object.objectID }

  /// The object as an object of a related entity, such as a subentity; nil if it is not of that entity.
  public func cast<Other: EntitySnapshot>(to type: Other.Type = Other.self) -> Other? {
    _object.scope.plan.lineageNames.contains(Other.entityName) ? Other(_object: _object) : nil
  }
}

/// A typed view of an object of a newer version that an app's own migration creates.
///
/// Generated code declares one for each entity that a custom step creates, `ToDoModel.NewVersion2.ToDo` for instance.
/// You can keep it as long as the step runs.
///
/// ```swift
/// func discard(_ made: some MigratedEntity, manager: MigrationManager) {
///   manager.destinationContext.delete(made.object)
/// }
/// ```
public protocol MigratedEntity {
  /// The name of the entity in its version.
  static var entityName: String { get }
  @_spi(Generated) var _object: ManagedObject { get }
  @_spi(Generated) init(_object: ManagedObject)
}

extension MigratedEntity {
  /// The object, in the migration's destination context. An entity's own property of this name hides it.
  public var object: ManagedObject { _object }

  /// The identifier. If the object was created from a source object, it is usually that object's identifier.
  public var objectID: ManagedObjectID { _object.objectID }

  /// The object as an object of a related entity, such as a parent entity; nil if it is not of that entity.
  public func cast<Other: MigratedEntity>(to type: Other.Type = Other.self) -> Other? {
    _object.scope.plan.lineageNames.contains(Other.entityName) ? Other(_object: _object) : nil
  }
}

extension MigrationManager {
  /// The first object of a type that was created from a source object; nil if there is none.
  ///
  /// ```swift
  /// func count<New: MigratedEntity>(
  ///   _ sources: [some EntitySnapshot], as type: New.Type, manager: MigrationManager
  /// ) throws -> Int {
  ///   try sources.filter { try manager.destination(type, of: $0) != nil }.count
  /// }
  /// ```
  ///
  /// If you give a mapping name, only objects that the entity mapping of that name created count.
  ///
  /// - Throws: ``StoreError`` if the new store cannot be read.
  public func destination<New: MigratedEntity>(
    _ type: New.Type = New.self, of source: some EntitySnapshot, in mappingName: String? = nil
  ) throws -> New? {
    try destinationInstances(for: [source._object], in: mappingName)
      .first { $0.scope.plan.lineageNames.contains(New.entityName) }.map(New.init(_object:))
  }

  /// The objects of a type that were created from source objects, in the order of the source objects.
  ///
  /// If you give a mapping name, only objects that the entity mapping of that name created count.
  ///
  /// - Throws: ``StoreError`` if the new store cannot be read.
  public func destinations<New: MigratedEntity>(
    _ type: New.Type = New.self, of sources: [some EntitySnapshot], in mappingName: String? = nil
  ) throws -> [New] {
    try destinationInstances(for: sources.map(\._object), in: mappingName)
      .filter { $0.scope.plan.lineageNames.contains(New.entityName) }.map(New.init(_object:))
  }
}
