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
  /// The object, in the migration's source context.
  var object: ManagedObject { get }
  @_spi(Generated) init(_object: ManagedObject)
}

/// An object of a newer version that an app's own migration is making: a typed view of it.
///
/// Generated code declares one for each entity that a custom step makes, `ToDoModel.Version2.ToDo` for instance. It can
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
  /// The object, in the migration's destination context.
  var object: ManagedObject { get }
  @_spi(Generated) init(_object: ManagedObject)
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
    try destinationInstances(for: [source.object], in: mappingName)
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
    try destinationInstances(for: sources.map(\.object), in: mappingName)
      .filter { $0.scope.plan.lineageNames.contains(New.entityName) }.map(New.init(_object:))
  }
}
