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
  /// Where the objects of to-one relationships are, by slot. Nil for a relationship that has not been read.
  private var targets: [Target?] = []

  /// The place of the objects that a to-one relationship mostly leads to.
  private struct Target {
    /// The identity map. The context, and so its maps, exist as long as `live` is not nil.
    let map: Unmanaged<IdentityMap>
    /// The scope of the relationship's destination entity. An object of a subentity has another one.
    let scope: ObjectIdentifier
  }

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

  // MARK: Objects of to-one relationships

  /// Returns the object of a to-one relationship if it is in memory with its values, and if another object of the
  /// relationship has been read before. Otherwise the context knows whether there is one.
  ///
  /// A program may read relationships for each row of a list. Therefore nothing is retained on the way to the object.
  @inline(__always) func target(_ key: ObjectKey, _ slot: Int) -> ManagedObject? {
    guard live != nil, slot < targets.count, let target = targets[slot],
      let object = target.map._withUnsafeGuaranteedRef({ $0[key] }),
      ObjectIdentifier(object.scope) == target.scope, object.flags.isDisjoint(with: .absent)
    else { return nil }
    return object
  }

  /// Records where the objects of a to-one relationship are.
  ///
  /// - Parameters:
  ///   - map: The map of the destination in the context of this scope.
  ///   - scope: The destination's scope in the same context.
  func noteTarget(_ slot: Int, _ map: IdentityMap, _ scope: ObjectScope) {
    if targets.isEmpty { targets = Array(repeating: nil, count: plan.slots.count) }
    guard targets.indices.contains(slot) else { return }
    targets[slot] = Target(map: .passUnretained(map), scope: ObjectIdentifier(scope))
  }

  /// Leaves a released context for another one, which has other maps and scopes.
  func move(to context: ManagedObjectContext) {
    live = context
    releasedContext = nil
    targets = []
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
