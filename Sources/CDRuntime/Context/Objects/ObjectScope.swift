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
  private(set) lazy var observedProperties = makeObservedProperties()
  /// The generated class of the entity; nil where it has none.
  let objectType: (any EntityClass.Type)?

  /// The context; one that is made anew where nobody holds the objects' own; nil after a reset.
  @inline(__always) var context: ManagedObjectContext? {
    if let live { return live }
    return remains == nil ? nil : revived()
  }

  private func revived() -> ManagedObjectContext? { remains.map { ManagedObjectContext(reviving: $0) } }

  /// Whether there is a context, or one could be made.
  var hasContext: Bool { live != nil || remains != nil }

  init(plan: EntityPlan, context: ManagedObjectContext?) {
    storeID = context?.stores.store(of: plan)?.storeID ?? EmptyValue.uuid
    objectType = context?.classes.type(of: plan)
    self.plan = plan
    live = context
  }

  /// Whether the entity's objects may be of a class: the generated one or one below it, or, where the model came
  /// without classes, none but ``ManagedObject`` itself.
  func admits(_ type: ManagedObject.Type) -> Bool {
    func isBelow<Object: EntityClass>(_ expected: Object.Type) -> Bool { type is Object.Type }
    guard let objectType else { return type == ManagedObject.self }
    return type == objectType || isBelow(objectType)
  }

  /// A scope for objects that belong to no context.
  static var detached: ObjectScope { ObjectScope(plan: EntityPlan.unknown(""), context: nil) }
}
