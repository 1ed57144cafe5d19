public import CDMapping

/// The app's own code for one custom entity mapping of a migration. It migrates one object at a time.
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
/// Each migration creates its own policies and uses them on the thread that opens the store. For one step:
///
/// 1. All policies begin.
/// 2. Each policy creates its objects.
/// 3. The rules create the relationships that they define.
/// 4. Each policy creates further relationships.
/// 5. Each policy validates the result.
/// 6. Each policy ends.
///
/// Within each phase, the policies run in the order of the mapping model.
///
/// An error that a hook throws ends the migration, and the store stays as it was. The app receives a ``MigrationError``
/// whose reason is ``MigrationError/Reason-swift.enum/policyFailed(_:)``, with the step, the entity and the row.
public protocol EntityMigrationPolicy {
  /// Called before any object is created. A mapping without a source creates its objects here. The default
  /// implementation does nothing.
  func begin(_ mapping: EntityMapping, manager: MigrationManager) throws

  /// Called for each source object that the mapping's filter accepts, in the order of their keys. It may create one
  /// object or several. If it creates none, the source object is left out.
  ///
  /// The default implementation calls ``MigrationManager/makeDestinationInstance(for:in:)``.
  func createDestinationInstances(
    for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws

  /// Called when all objects of the mapping have been created. The default implementation does nothing.
  func endInstanceCreation(of mapping: EntityMapping, manager: MigrationManager) throws

  /// Called for each object that the mapping has created, after the rules have created their relationships. The
  /// relationships that you set here are added to those of the rules, or replace them. The default implementation does
  /// nothing, and no object is read for it.
  func createRelationships(
    for destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws

  /// Called when all relationships of the mapping's objects have been created. The default implementation does nothing.
  func endRelationshipCreation(of mapping: EntityMapping, manager: MigrationManager) throws

  /// Called to check the result as a whole. Throw an error to refuse it. The default implementation does nothing.
  func validate(_ mapping: EntityMapping, manager: MigrationManager) throws

  /// Called last. The default implementation does nothing.
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
