public import CDMapping

/// The app's own code for one entity mapping of a migration, an object at a time.
///
/// ```swift
/// struct SplitNames: EntityMigrationPolicy {
///   func createDestinationInstances(
///     for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
///   ) throws {
///     let person = try manager.makeDestinationInstance(for: source, in: mapping)
///     guard case .string(let name)? = try source.value(forKey: "name").attribute else { return }
///     try person.setValue(String(name.prefix { $0 != " " }), forKey: "firstName")
///   }
/// }
/// ```
///
/// A policy is made anew for each migration, and used on the thread that opens the store. For a step, all policies are
/// asked to begin; then each makes its objects; then the relationships that rules give are made; then each makes
/// further ones; then each validates, and ends. The order among policies is that of the mapping model.
///
/// What a hook throws ends the migration, and the store is as it was. The error that the app sees is a
/// ``MigrationError`` whose reason is ``MigrationError/Reason-swift.enum/policyFailed(_:)``, with the step, the entity
/// and the row.
public protocol EntityMigrationPolicy {
  /// Called before any object is made. A mapping without a source makes its objects here. By default nothing is done.
  func begin(_ mapping: EntityMapping, manager: MigrationManager) throws

  /// Called for each object of the source that the mapping's filter takes, in the order of their keys. It may make
  /// one object, several, or none, which leaves the object out.
  ///
  /// By default it is ``MigrationManager/makeDestinationInstance(for:in:)``.
  func createDestinationInstances(
    for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws

  /// Called when all objects of the mapping have been made. By default nothing is done.
  func endInstanceCreation(of mapping: EntityMapping, manager: MigrationManager) throws

  /// Called for each object that the mapping has made, when the relationships that rules give have been made. What
  /// is set here comes beside them, or in their place. By default nothing is done, and no object is read for it.
  func createRelationships(
    for destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws

  /// Called when all relationships of the mapping's objects have been made. By default nothing is done.
  func endRelationshipCreation(of mapping: EntityMapping, manager: MigrationManager) throws

  /// Called to look at the result as a whole: one that throws refuses it. By default nothing is done.
  func validate(_ mapping: EntityMapping, manager: MigrationManager) throws

  /// Called last. By default nothing is done.
  func end(_ mapping: EntityMapping, manager: MigrationManager) throws
}

extension EntityMigrationPolicy {
  public func begin(_ mapping: EntityMapping, manager: MigrationManager) throws {}

  public func createDestinationInstances(
    for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try manager.makeDestinationInstance(for: source, in: mapping)
  }

  public func endInstanceCreation(of mapping: EntityMapping, manager: MigrationManager) throws {}

  public func createRelationships(
    for destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    manager._leaveRelationships()
  }

  public func endRelationshipCreation(of mapping: EntityMapping, manager: MigrationManager) throws {}

  public func validate(_ mapping: EntityMapping, manager: MigrationManager) throws {}

  public func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}
}
