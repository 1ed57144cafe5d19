public import CDMapping

/// The policy that generated code creates for an entity mapping from the app's implementation of a requirement.
@_spi(Generated) public struct TypedMigrationPolicy: EntityMigrationPolicy {
  /// Creates the destination object of a source object; nil leaves the source object out.
  public typealias Make = (_ source: ManagedObject, MigrationManager) throws -> ManagedObject?
  public typealias Relate = (_ destination: ManagedObject, MigrationManager) throws -> Void
  public typealias Fill = (MigrationManager) throws -> Void

  private let make: Make?
  private let relate: Relate?
  private let fill: Fill?
  private let hooks: (begin: Fill?, end: Fill?, validate: Fill?)

  /// Creates the policy of a mapping.
  ///
  /// - Parameters:
  ///   - make: Nil for a mapping without a source.
  ///   - fill: Creates the objects of a mapping without a source; nil for any other mapping.
  ///   - relate: Called for each object that was created, like `createRelationships`. An implementation that does nothing
  ///     calls ``MigrationManager/_leaveRelationships()``, and is not called again.
  public init(
    make: Make? = nil, fill: Fill? = nil, relate: Relate? = nil, begin: Fill? = nil, end: Fill? = nil,
    validate: Fill? = nil
  ) {
    self.make = make
    self.fill = fill
    self.relate = relate
    hooks = (begin, end, validate)
  }

  public func begin(_ mapping: EntityMapping, manager: MigrationManager) throws {
    try beginStep(manager)
    try fill?(manager)
  }

  public func endRelationshipCreation(of mapping: EntityMapping, manager: MigrationManager) throws {
    try endStep(manager)
  }

  public func validate(_ mapping: EntityMapping, manager: MigrationManager) throws {
    try validateStep(manager)
  }

  /// Calls what the app does before a whole step, if the generated code has attached it to this policy.
  func beginStep(_ manager: MigrationManager) throws { try hooks.begin?(manager) }

  /// Calls what the app does after a whole step, if the generated code has attached it to this policy.
  func endStep(_ manager: MigrationManager) throws { try hooks.end?(manager) }

  /// Calls the app's check of a whole step, if the generated code has attached it to this policy.
  func validateStep(_ manager: MigrationManager) throws { try hooks.validate?(manager) }

  public func createDestinationInstances(
    for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    if let object = try make?(source, manager) {
      manager.associateIfNeeded(source, with: object, in: mapping)
    } else {
      manager.discardCreated()
    }
  }

  public func createRelationships(
    for destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    if let relate { try relate(destination, manager) } else { manager._leaveRelationships() }
  }
}

extension MigrationManager {
  /// Creates the destination object of a source object by the rules of a mapping: see
  /// ``makeDestinationInstance(for:in:)``.
  @_spi(Generated) public func _make(from source: ManagedObject, mapping: String) throws -> ManagedObject {
    try work.make(for: source, inMappingNamed: mapping)
  }

  /// Inserts a destination object that has no source object.
  @_spi(Generated) public func _insert(_ entity: String) throws -> ManagedObject {
    try destinationContext.insert(entityNamed: entity)
  }
}
