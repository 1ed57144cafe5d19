#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the objects of one entity in one context share.
///
/// An object keeps its scope, and the scope does not keep its context. When the context goes, the scope keeps what that
/// leaves to its objects: ``ContextRemains``.
final class ObjectScope {
  let plan: EntityPlan
  /// The context, while somebody holds it.
  // Unsafe in name only: the context's deinit sets it to nil before its memory goes.
  unowned(unsafe) var live: ManagedObjectContext?
  /// What a context has left that nobody holds any more.
  var remains: ContextRemains?
  /// The context that the objects had before a reset of it, to tell what is done to them since.
  weak var formerContext: ManagedObjectContext?
  /// The UUID of the store that the objects are of, also when the context has gone.
  let storeID: UUID
  /// What observers know the properties by, by slot; none where the class is not observable.
  private(set) lazy var observedProperties = plan.observedProperties()

  /// The context; one that is made anew where nobody holds the objects' own; nil after a reset.
  @inline(__always) var context: ManagedObjectContext? {
    if let live { return live }
    return remains == nil ? nil : revived()
  }

  private func revived() -> ManagedObjectContext? { remains.map { ManagedObjectContext(reviving: $0) } }

  /// Whether there is a context, or one could be made.
  var hasContext: Bool { live != nil || remains != nil }

  init(plan: EntityPlan, context: ManagedObjectContext?) {
    storeID = context?.stores.home(of: plan)?.storeID ?? EmptyValue.uuid
    self.plan = plan
    live = context
  }

  /// A scope for objects that belong to no context.
  static var detached: ObjectScope { ObjectScope(plan: EntityPlan.unknown(""), context: nil) }
}
