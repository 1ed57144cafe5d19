#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A model and the stores that its objects are in, shared by any number of contexts.
public final class PersistentStoreCoordinator: Sendable {
  /// Where a coordinator's objects are.
  public enum StoreLocation: Hashable, Sendable {
    /// A SQLite file, which is made where there is none.
    case sqlite(URL)
    /// Memory, for as long as the coordinator lives.
    case inMemory
  }

  let database: SQLiteDatabase
  let plan: ModelPlan

  /// The model.
  public var managedObjectModel: ManagedObjectModel { plan.model }

  /// The UUIDs of the stores, which they keep for good.
  public var storeIDs: [UUID] { database.stores.map(\.storeID) }

  /// Opens a store for a model of generated code.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(for model: any GeneratedModel.Type, at location: StoreLocation) throws {
    try self.init(for: model, stores: [PersistentStoreDescription(location)])
  }

  /// Opens several stores, each for a configuration of a generated code's model.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; existing stores are then as they were.
  public convenience init(
    for model: any GeneratedModel.Type, stores: [PersistentStoreDescription]
  ) throws {
    let definition = model._definition
    let parsed: ManagedObjectModel
    do {
      parsed = try ManagedObjectModel(canonicalJSON: definition.canonicalJSON)
    } catch {
      throw ModelError.unreadable(model: "\(model)", reason: "\(error)")
    }
    try self.init(
      plan: ModelPlan(parsed, classes: definition.classes, stores: stores), stores: stores)
  }

  /// Opens a store for a model without generated classes: all objects are ``ManagedObject``s.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(model: ManagedObjectModel, at location: StoreLocation) throws {
    try self.init(model: model, stores: [PersistentStoreDescription(location)])
  }

  /// Opens several stores, each for a configuration of a model without generated classes.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; existing stores are then as they were.
  public convenience init(model: ManagedObjectModel, stores: [PersistentStoreDescription]) throws {
    try self.init(plan: ModelPlan(model, stores: stores), stores: stores)
  }

  init(plan: ModelPlan, stores: [PersistentStoreDescription]) throws {
    self.plan = plan
    database = try SQLiteDatabase(stores, model: plan)
  }

  /// The identifier of a URI that an identifier of one of the stores gave, before a migration too; nil for any
  /// other. An entity that was renamed since is followed by its `renamedFrom`.
  public func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
    ManagedObjectID(uri: uri).flatMap(currentID)
  }
}
