/// An object of an older version, as generated code shows it to an app's own migration: typed, and to be read alone.
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

  /// The identifier, which what becomes of the object keeps.
  public var objectID: ManagedObjectID { _object.objectID }

  /// The object as one of a related entity, such as one that inherits from this; nil where it is none.
  public func cast<Other: EntitySnapshot>(to type: Other.Type = Other.self) -> Other? {
    _object.scope.plan.lineageNames.contains(Other.entityName) ? Other(_object: _object) : nil
  }
}

/// An object of a newer version that an app's own migration is making: a typed view of it.
///
/// Generated code declares one for each entity that a custom step makes, `ToDoModel.NewVersion2.ToDo` for instance. It can
/// be kept as long as the step runs.
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

  /// The identifier, which is that of the object of before, where there was one.
  public var objectID: ManagedObjectID { _object.objectID }

  /// The object as one of a related entity, such as one that it inherits from; nil where it is none.
  public func cast<Other: MigratedEntity>(to type: Other.Type = Other.self) -> Other? {
    _object.scope.plan.lineageNames.contains(Other.entityName) ? Other(_object: _object) : nil
  }
}

extension MigrationManager {
  /// The first object of a kind that was made of a source object; nil where there is none.
  ///
  /// ```swift
  /// func count<New: MigratedEntity>(
  ///   _ sources: [some EntitySnapshot], as type: New.Type, manager: MigrationManager
  /// ) throws -> Int {
  ///   try sources.filter { try manager.destination(type, of: $0) != nil }.count
  /// }
  /// ```
  ///
  /// Where a name is given, only what the entity mapping of that name made counts.
  ///
  /// - Throws: ``StoreError`` where the new store cannot be read.
  public func destination<New: MigratedEntity>(
    _ type: New.Type = New.self, of source: some EntitySnapshot, in mappingName: String? = nil
  ) throws -> New? {
    try destinationInstances(for: [source._object], in: mappingName)
      .first { $0.scope.plan.lineageNames.contains(New.entityName) }.map(New.init(_object:))
  }

  /// The objects of a kind that were made of source objects, in their order.
  ///
  /// Where a name is given, only what the entity mapping of that name made counts.
  ///
  /// - Throws: ``StoreError`` where the new store cannot be read.
  public func destinations<New: MigratedEntity>(
    _ type: New.Type = New.self, of sources: [some EntitySnapshot], in mappingName: String? = nil
  ) throws -> [New] {
    try destinationInstances(for: sources.map(\._object), in: mappingName)
      .filter { $0.scope.plan.lineageNames.contains(New.entityName) }.map(New.init(_object:))
  }
}
