#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the objects of one entity in one context share.
///
/// An object keeps its scope, and the scope does not keep its context: when the context goes it empties its
/// scopes, and their objects are inaccessible from then on.
final class ObjectScope {
  let plan: EntityPlan
  // Unsafe in name only: the context's deinit sets it to nil before its memory goes.
  unowned(unsafe) var context: ManagedObjectContext?
  /// The context that the objects had before a reset of it, to tell what is done to them since.
  weak var formerContext: ManagedObjectContext?
  /// The UUID of the store that the objects are of, also when the context has gone.
  let storeID: UUID
  /// What observers know the properties by, by slot; none where the class is not observable.
  private(set) lazy var observedProperties = plan.observedProperties()

  init(plan: EntityPlan, context: ManagedObjectContext?) {
    storeID = context?.stores.home(of: plan)?.storeID ?? EmptyValue.uuid
    self.plan = plan
    self.context = context
  }

  /// A scope for objects that belong to no context.
  static var detached: ObjectScope { ObjectScope(plan: EntityPlan.unknown(""), context: nil) }
}
