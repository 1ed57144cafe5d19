public import CDMapping

/// One step of a migration for the app's own code. It gives access to the old objects and to the objects that are being
/// created.
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
/// A manager belongs to the thread that opens the store, and cannot be used after its step ends. Objects of both
/// contexts are ``ManagedObject``s without a generated class.
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
/// ### Source and destination objects
/// - ``destinationInstances(for:in:)``
/// - ``sourceInstances(for:in:)``
/// - ``destination(_:of:in:)``
/// - ``destinations(_:of:in:)``
///
/// ### Progress
/// - ``progress``
/// - ``cancel()``
public final class MigrationManager {
  /// The source version of the step.
  public let sourceModel: ModelVersion
  /// The destination version of the step.
  public let destinationModel: ModelVersion
  /// The step's mapping model, from mapping rules and inference.
  public let mappingModel: MappingModel
  /// The context of the old objects. You can read them, but not change them: a save throws. Objects that nobody holds
  /// are released.
  public let sourceContext: ManagedObjectContext
  /// The context of the new objects, in the store that is being created. It is saved repeatedly while the step runs,
  /// and objects that nobody holds are released then.
  ///
  /// The objects of inferred and mapped entity mappings exist from the beginning. You can insert further objects of any
  /// entity that the store holds.
  public let destinationContext: ManagedObjectContext

  let work: any MigrationWork

  init(
    sourceModel: ModelVersion, destinationModel: ModelVersion, mappingModel: MappingModel,
    sourceContext: ManagedObjectContext, destinationContext: ManagedObjectContext, work: any MigrationWork
  ) {
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
    self.mappingModel = mappingModel
    self.sourceContext = sourceContext
    self.destinationContext = destinationContext
    self.work = work
  }

  // MARK: Making objects

  /// Creates the destination object of a source object, with the values that the mapping's rules define.
  ///
  /// The new object keeps the source object's identifier, and the two are associated. A second object of the same
  /// source object has an identifier of its own, and so has an object whose source object is not of the mapping's
  /// source entity.
  ///
  /// - Throws: ``MigrationError`` if the mapping is not a custom mapping of this step, or if a rule gives a value that
  ///   does not fit.
  @discardableResult
  public func makeDestinationInstance(
    for source: ManagedObject, in mapping: EntityMapping
  ) throws -> ManagedObject {
    try work.make(for: source, inMappingNamed: mapping.name)
  }

  /// Records that an object was created from a source object. Relationships that rules define follow the association,
  /// and so does ``destinationInstances(for:in:)``. Objects of ``makeDestinationInstance(for:in:)`` are already
  /// associated.
  public func associate(
    _ source: ManagedObject, with destination: ManagedObject, in mapping: EntityMapping
  ) {
    work.associate(source, with: destination, in: mapping)
  }

  // MARK: Which became which

  /// The objects that were created from source objects, in the order of the source objects. They include objects of
  /// inferred and mapped entity mappings.
  ///
  /// While objects are being created, the objects of later mappings do not exist yet.
  ///
  /// If you give a mapping name, only objects that the entity mapping of that name created count.
  ///
  /// - Throws: ``StoreError`` if the new store cannot be read.
  public func destinationInstances(
    for sources: [ManagedObject], in mappingName: String? = nil
  ) throws -> [ManagedObject] {
    try work.destinations(of: sources, in: mappingName)
  }

  /// The source objects from which objects were created, in the order of those objects.
  ///
  /// If you give a mapping name, only objects that the entity mapping of that name created count.
  ///
  /// - Throws: ``StoreError`` if the old store cannot be read.
  public func sourceInstances(
    for destinations: [ManagedObject], in mappingName: String? = nil
  ) throws -> [ManagedObject] {
    try work.sources(of: destinations, in: mappingName)
  }

  // MARK: Progress

  /// The progress of the step, from 0 to 1.
  public var progress: Double { work.progress }

  /// Ends the migration after the hook that is running, as a ``MigrationObserver`` can. The store stays as it was.
  public func cancel() { work.isCancelled = true }

  // MARK: Policies

  /// Records that the running policy creates no relationships of its own, so that its objects need not be read.
  @_spi(Generated) public func _leaveRelationships() { work.leavesRelationships = true }

  func associateIfNeeded(_ source: ManagedObject, with object: ManagedObject, in mapping: EntityMapping) {
    work.associateIfNeeded(source, with: object, in: mapping)
  }

  func discardCreated() { work.discardCreated() }
}

@available(*, unavailable)
extension MigrationManager: Sendable {}

/// Runs the policies of a step. The manager passes the calls of the policies on to it.
protocol MigrationWork: AnyObject {
  /// Whether the running policy has cancelled the migration.
  var isCancelled: Bool { get set }
  /// Whether the running policy creates no relationships of its own.
  var leavesRelationships: Bool { get set }
  /// The progress of the step, from 0 to 1.
  var progress: Double { get }

  /// Creates the destination object of a source object by the rules of a custom mapping.
  func make(for source: ManagedObject, inMappingNamed name: String) throws -> ManagedObject
  /// Records that an object was created from a source object.
  func associate(_ source: ManagedObject, with object: ManagedObject, in mapping: EntityMapping)
  /// Records that an object was created from a source object, unless this is already recorded.
  func associateIfNeeded(_ source: ManagedObject, with object: ManagedObject, in mapping: EntityMapping)
  /// Discards the objects that were created from the current source object.
  func discardCreated()
  /// The objects that were created from source objects, in the order of the source objects.
  func destinations(of sources: [ManagedObject], in mappingName: String?) throws -> [ManagedObject]
  /// The source objects of objects, in the order of the objects.
  func sources(of destinations: [ManagedObject], in mappingName: String?) throws -> [ManagedObject]
}
