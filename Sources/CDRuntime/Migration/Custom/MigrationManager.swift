public import CDMapping

/// One step of a migration, as the app's own code sees it: the objects of before, and those that are being made.
///
/// ```swift
/// struct KeepOpen: EntityMigrationPolicy {
///   func createDestinationInstances(
///     for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
///   ) throws {
///     guard try source.value(forKey: "completed").attribute == .bool(false) else { return }
///     let task = try manager.makeDestinationInstance(for: source, in: mapping)
///     let list = try source.value(forKey: "category").object
///     let lists = try manager.destinationInstances(for: [list].compactMap(\.self))
///     try task.setValue(.object(lists.first), forKey: "list")
///   }
/// }
/// ```
///
/// A manager belongs to the thread that opens the store, and is used up when its step ends. Objects of both contexts are
/// ``ManagedObject``s without a generated class.
///
/// ## Topics
///
/// ### The step
/// - ``sourceModel``
/// - ``destinationModel``
/// - ``mappingModel``
/// - ``sourceContext``
/// - ``destinationContext``
///
/// ### Making objects
/// - ``makeDestinationInstance(for:in:)``
/// - ``associate(_:with:in:)``
///
/// ### Which became which
/// - ``destinationInstances(for:in:)``
/// - ``sourceInstances(for:in:)``
/// - ``destination(_:of:in:)``
/// - ``destinations(_:of:in:)``
///
/// ### Progress
/// - ``progress``
/// - ``cancel()``
public final class MigrationManager {
  /// The version that the step starts from.
  public let sourceModel: ModelVersion
  /// The version that it leads to.
  public let destinationModel: ModelVersion
  /// What rules and inference say of the step.
  public let mappingModel: MappingModel
  /// The objects of before. They can be read, and not changed: a save throws. What nobody holds is let go of.
  public let sourceContext: ManagedObjectContext
  /// The objects that are being made, over the store that is being made. It is saved as the step goes on, and what
  /// nobody holds is let go of then.
  ///
  /// Objects of entities whose mappings are inferred or mapped are there from the beginning. Further objects can be
  /// inserted, of any entity that the store holds.
  public let destinationContext: ManagedObjectContext

  let work: CustomWork

  init(
    sourceModel: ModelVersion, destinationModel: ModelVersion, mappingModel: MappingModel,
    sourceContext: ManagedObjectContext, destinationContext: ManagedObjectContext, work: CustomWork
  ) {
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
    self.mappingModel = mappingModel
    self.sourceContext = sourceContext
    self.destinationContext = destinationContext
    self.work = work
  }

  // MARK: Making objects

  /// Makes the object that a source object becomes, with the values that the mapping's rules give. It keeps the
  /// source object's identifier, and the two are associated. A second object of the same source object, and one of
  /// a source object that is not of the mapping's entity, have identifiers of their own.
  ///
  /// - Throws: ``MigrationError`` where the mapping makes no objects in this step, or where a rule gives no fitting
  ///   value.
  @discardableResult
  public func makeDestinationInstance(
    for source: ManagedObject, in mapping: EntityMapping
  ) throws -> ManagedObject {
    try work.make(for: source, inMappingNamed: mapping.name)
  }

  /// Notes that an object was made of a source object, for relationships that rules give to follow, and for
  /// ``destinationInstances(for:in:)``. What ``makeDestinationInstance(for:in:)`` makes is associated already.
  public func associate(
    _ source: ManagedObject, with destination: ManagedObject, in mapping: EntityMapping
  ) {
    work.associate(source, with: destination, in: mapping)
  }

  // MARK: Which became which

  /// The objects that were made of source objects, in their order; those of an inferred or mapped entity too.
  ///
  /// While objects are being made, those of mappings whose turn is yet to come are not there.
  ///
  /// Where a name is given, only what the entity mapping of that name made counts.
  ///
  /// - Throws: ``StoreError`` where the new store cannot be read.
  public func destinationInstances(
    for sources: [ManagedObject], in mappingName: String? = nil
  ) throws -> [ManagedObject] {
    try work.destinations(of: sources, in: mappingName)
  }

  /// The source objects that objects were made of, in their order.
  ///
  /// Where a name is given, only what the entity mapping of that name made counts.
  ///
  /// - Throws: ``StoreError`` where the old store cannot be read.
  public func sourceInstances(
    for destinations: [ManagedObject], in mappingName: String? = nil
  ) throws -> [ManagedObject] {
    try work.sources(of: destinations, in: mappingName)
  }

  // MARK: Progress

  /// How far the step is, from 0 to 1.
  public var progress: Double { work.progress }

  /// Ends the migration after the hook that is running, as ``MigrationObserver`` can. The store is as it was.
  public func cancel() { work.isCancelled = true }

  // MARK: Policies

  /// Notes that the policy that is running makes no relationships of its own: its objects are not read for it.
  @_spi(Generated) public func _leaveRelationships() { work.leavesRelationships = true }

  func associateIfNeeded(_ source: ManagedObject, with object: ManagedObject, in mapping: EntityMapping) {
    work.associateIfNeeded(source, with: object, in: mapping)
  }

  func discardMade() { work.discardMade() }
}

@available(*, unavailable)
extension MigrationManager: Sendable {}
