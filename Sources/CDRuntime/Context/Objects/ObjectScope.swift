#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The data that all objects of one entity in one context share.
///
/// An object retains its scope, and the scope does not retain its context. When the context is released, the scope
/// retains what is kept of the context: ``ReleasedContext``.
final class ObjectScope {
  let plan: EntityPlan
  /// The context, as long as it is alive.
  // Safe, because the context's `deinit` sets it to nil before its memory is freed.
  unowned(unsafe) var live: ManagedObjectContext?
  /// What is kept of a released context.
  var releasedContext: ReleasedContext?
  /// The context that the objects had before it was reset. It reports changes that are made to them since.
  weak var formerContext: ManagedObjectContext?
  /// The UUID of the objects' store, also after the context has been released.
  let storeID: UUID
  /// The observed properties, by slot; empty if the class is not observable.
  private(set) lazy var observedProperties = makeObservedProperties()
  /// The generated class of the entity; nil if it has none.
  let objectType: (any EntityClass.Type)?

  /// The context; a replacement context if the objects' own one has been released; nil after a reset.
  @inline(__always) var context: ManagedObjectContext? {
    if let live { return live }
    return releasedContext == nil ? nil : restoredContext()
  }

  private func restoredContext() -> ManagedObjectContext? {
    releasedContext.map { ManagedObjectContext(restoring: $0) }
  }

  /// Whether there is a context, or a replacement can be created.
  var hasContext: Bool { live != nil || releasedContext != nil }

  init(plan: EntityPlan, context: ManagedObjectContext?) {
    storeID = context?.storeReader.stores.store(of: plan)?.storeID ?? EmptyValue.uuid
    objectType = context?.classes.type(of: plan)
    self.plan = plan
    live = context
  }

  /// Whether the entity's objects may have a class: its generated class or a subclass of it. Without a generated
  /// class, only ``ManagedObject`` itself.
  func admits(_ type: ManagedObject.Type) -> Bool {
    func isBelow<Object: EntityClass>(_ expected: Object.Type) -> Bool { type is Object.Type }
    guard let objectType else { return type == ManagedObject.self }
    return type == objectType || isBelow(objectType)
  }

  /// A scope for objects that belong to no context.
  static var detached: ObjectScope { ObjectScope(plan: noEntity, context: nil) }
  private static let noEntity = EntityPlan.unknown("")
}
