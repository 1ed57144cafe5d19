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

  /// The stores, which are all of the coordinator's life. There is one now.
  let stores: [SQLiteStore]
  let plan: ModelPlan

  var store: SQLiteStore { stores[0] }

  /// The model.
  public var managedObjectModel: ManagedObjectModel { plan.model }

  /// The UUIDs of the stores, which they keep for good.
  public var storeIDs: [UUID] { stores.map(\.storeID) }

  /// Opens a store for a model of generated code.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(for model: any GeneratedModel.Type, at location: StoreLocation) throws {
    let definition = model._definition
    let parsed: ManagedObjectModel
    do {
      parsed = try ManagedObjectModel(canonicalJSON: definition.canonicalJSON)
    } catch {
      throw ModelError.unreadable(model: "\(model)", reason: "\(error)")
    }
    try self.init(plan: ModelPlan(parsed, classes: definition.classes), at: location)
  }

  /// Opens a store for a model without generated classes: all objects are ``ManagedObject``s.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(model: ManagedObjectModel, at location: StoreLocation) throws {
    try self.init(plan: ModelPlan(model), at: location)
  }

  init(plan: ModelPlan, at location: StoreLocation) throws {
    self.plan = plan
    switch location {
    case .sqlite(let url): stores = [try SQLiteStore(at: url, model: plan)]
    case .inMemory: stores = [try SQLiteStore(inMemory: plan)]
    }
  }

  /// The identifier of a URI that an identifier of one of the stores gave; nil for any other.
  public func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
    guard let id = ManagedObjectID(uri: uri), storeIDs.contains(id.storeID),
      plan.entity(id.entityName) != nil
    else { return nil }
    return id
  }
}
