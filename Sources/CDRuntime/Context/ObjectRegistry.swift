/// The objects of a context that are in memory, the scopes that they share, and the keys for new objects.
///
/// It finds objects by key. It does not know which of them have changes.
final class ObjectRegistry {
  private let model: ModelPlan
  /// The identity maps, by the index of the root entity; nil for other entities.
  private let maps: [IdentityMap?]
  /// The scopes of all entities, by entity index.
  private var scopes: [ObjectScope] = []
  /// Relationship states whose caches the next sweep drops.
  private var cachingStates: [ToManyState] = []
  /// The keys for new objects, by the index of the root entity.
  private var reservedKeys: [ReservedKeys]
  /// The scope of the last object that was looked up by its identifier, and the identity map of this scope.
  ///
  /// A program may look objects up by the thousand. Therefore nothing is retained on the way to an object. The scope is in
  /// `scopes` and the map in `maps`; whatever replaces a scope forgets the last one.
  private var lastLookup: (scope: Unmanaged<ObjectScope>, map: Unmanaged<IdentityMap>)?
  /// The scope of the last new object. The next one mostly has the same entity.
  private var insertionScope: ObjectScope?

  init(_ model: ModelPlan) {
    self.model = model
    maps = model.entities.map { $0.index == $0.root ? IdentityMap() : nil }
    reservedKeys = Array(repeating: ReservedKeys(), count: model.entities.count)
  }

  // MARK: Scopes

  /// Creates the scopes of a context's objects.
  func makeScopes(for context: ManagedObjectContext) {
    forgetLastScopes()
    scopes = model.entities.map { ObjectScope(plan: $0, context: context) }
  }

  func scope(of plan: EntityPlan) -> ObjectScope { scopes[plan.index] }

  /// The identifier of an object that need not be in memory.
  ///
  /// - Parameter entity: The index of the object's entity.
  func objectID(_ key: ObjectKey, ofEntity entity: Int) -> ManagedObjectID {
    let scope = scopes[entity]
    return ManagedObjectID(storeID: scope.storeID, entityName: scope.plan.name, key: key)
  }

  /// The identifiers of objects of one entity.
  ///
  /// - Parameter entity: The index of the entity.
  func objectIDs(_ keys: KeyRanges, ofEntity entity: Int) -> ManagedObjectIDs.Group {
    let scope = scopes[entity]
    return ManagedObjectIDs.Group(storeID: scope.storeID, entityName: scope.plan.name, keys: keys.ranges)
  }

  /// The scope for a new object; nil if the model does not have the entity, or if the entity is abstract.
  func scopeForInsertion(of entity: String) -> ObjectScope? {
    if let insertionScope, insertionScope.plan.name == entity { return insertionScope }
    guard let plan = model.entity(entity), !plan.description.isAbstract else { return nil }
    insertionScope = scopes[plan.index]
    return insertionScope
  }

  /// The scope of the last lookup, if it is the scope of an identifier's entity too.
  @inline(__always) func lastScope(of id: ManagedObjectID) -> ObjectScope? {
    guard let lastLookup, isScope(lastLookup.scope, of: id) else { return nil }
    return lastLookup.scope.takeUnretainedValue()
  }

  @inline(__always) private func isScope(_ scope: Unmanaged<ObjectScope>, of id: ManagedObjectID) -> Bool {
    scope._withUnsafeGuaranteedRef { $0.plan.name == id.entityName && $0.storeID == id.storeID }
  }

  /// The object of an identifier if it is in memory without any of some flags, and if the last lookup was for the same entity.
  @inline(__always) func lastKindObject(_ id: ManagedObjectID, without flags: ObjectFlags) -> ManagedObject? {
    guard let lastLookup, isScope(lastLookup.scope, of: id),
      let object = lastLookup.map._withUnsafeGuaranteedRef({ $0[id.key] }),
      object.flags.isDisjoint(with: flags)
    else { return nil }
    return object
  }

  /// The scope of an identifier's entity, for the lookup of its object; nil if the identifier belongs to another
  /// store.
  func scopeForLookup(of id: ManagedObjectID, _ plan: EntityPlan) -> ObjectScope? {
    let scope = scopes[plan.index]
    guard scope.storeID == id.storeID else { return nil }
    lastLookup = map(of: plan).map { (.passUnretained(scope), .passUnretained($0)) }
    return scope
  }

  /// Forgets the scopes of the last lookup and the last insertion, after a store was removed and before scopes are
  /// replaced.
  func forgetLastScopes() {
    insertionScope = nil
    lastLookup = nil
  }

  // MARK: Objects

  /// The object with a key; nil if it is not in memory.
  @inline(__always) func object(_ key: ObjectKey, root: Int) -> ManagedObject? { maps[root]?[key] }

  /// Records where the objects of a to-one relationship are.
  func noteTarget(_ relationship: RelationshipPlan, of scope: ObjectScope) {
    let destination = model.entities[relationship.destination]
    if let map = map(of: destination) {
      scope.noteTarget(relationship.slot, map, scopes[destination.index])
    }
  }

  /// All objects in memory, in no order.
  var objects: [ManagedObject] { maps.flatMap { $0?.objects ?? [] } }

  /// The objects of a root entity that are in memory, in no order.
  func objects(ofRoot root: Int) -> [ManagedObject] { maps[root]?.objects ?? [] }

  /// The identity map of an entity, for code that handles many rows.
  @inline(__always) func map(of plan: EntityPlan) -> IdentityMap? { maps[plan.root] }

  /// Adds an object whose key no other object has.
  func add(_ object: ManagedObject) {
    guard let map = maps[object.scope.plan.root] else { return }
    sweepIfDue(map)
    map.insert(object)
  }

  func remove(_ object: ManagedObject) { maps[object.scope.plan.root]?.remove(object.key) }

  /// Removes all objects of a root entity, and gives up the keys that were reserved for it.
  func removeAll(ofRoot root: Int, _ willRemove: (ManagedObject) -> Void) {
    reservedKeys[root].discardAll()
    for object in objects(ofRoot: root) { willRemove(object) }
    maps[root]?.removeAll()
  }

  /// Removes all objects, which no longer belong to the context, and creates new scopes.
  func reset(of context: ManagedObjectContext) {
    for scope in scopes {
      scope.live = nil
      scope.releasedContext = nil
      scope.formerContext = context
    }
    makeScopes(for: context)
    cachingStates.removeAll()
  }

  /// Removes all objects.
  func removeAll(_ willRemove: (ManagedObject) -> Void) {
    for map in maps {
      for object in map?.objects ?? [] { willRemove(object) }
      map?.removeAll()
    }
  }

  // MARK: Releasing unused objects

  /// Records how many objects of a root entity other code holds.
  func expectHeld(_ held: Int, root: Int) { maps[root]?.expectHeld(held) }

  /// Records how many objects other code holds, whatever their entities are.
  func expectHeld(_ held: Int) {
    for map in maps where map?.count ?? 0 > 0 { map?.expectHeld(held) }
  }

  /// Releases unused objects if enough objects have been added since the last sweep.
  @inline(__always) func sweepIfDue(_ map: IdentityMap) {
    if map.isSweepDue { sweep(map) }
  }

  private func sweep(_ map: IdentityMap) {
    // Looking at each object waits for its memory. A sample shows whether that is worthwhile.
    if isMostlyUsed(map) { return map.postponeSweep() }
    dropCaches()
    map.sweep()
  }

  /// Releases all unused objects.
  func sweep() {
    dropCaches()
    for map in maps where map?.count ?? 0 > 0 { map?.sweep() }
  }

  /// Whether code other than the context holds most of a sample of objects.
  private func isMostlyUsed(_ map: IdentityMap) -> Bool {
    var (seen, unused) = map.sampleOfUnused()
    // An object that only a relationship's cache holds counts as unused. Clearing the cache shows that.
    let step = max(1, cachingStates.count / 16)
    var members: [(root: Int, key: ObjectKey)] = []
    for index in stride(from: 0, to: cachingStates.count, by: step) {
      let state = cachingStates[index]
      for object in state.cache?.prefix(32) ?? [] { members.append((object.scope.plan.root, object.key)) }
      state.cache = nil
    }
    for (root, key) in members where maps.indices.contains(root) {
      seen += 1
      if maps[root]?.isUnused(key) == true { unused += 1 }
    }
    return unused * 8 < seen
  }

  /// Caches the objects of a relationship until the next sweep.
  func cache(_ objects: [ManagedObject], of state: ToManyState) {
    state.cache = objects
    cachingStates.append(state)
  }

  /// Drops the cached objects of relationships, which are built again from keys when they are next used.
  func dropCaches() {
    for state in cachingStates { state.cache = nil }
    cachingStates.removeAll()
  }

  // MARK: Keys for new objects

  /// A reserved key for a new object; nil if no key is left.
  @inline(__always) func takeKey(ofRoot root: Int) -> ObjectKey? { reservedKeys[root].takeFirst() }

  /// Reserves keys for new objects.
  ///
  /// - Returns: The first of them.
  func reserveKeys(ofRoot root: Int, from engine: any StoreEngine) throws -> ObjectKey {
    let range = try engine.reserveKeys(of: model.entities[root], count: reservedKeys[root].nextCount)
    return reservedKeys[root].replace(with: range)
  }

  /// Gives the reserved keys back that no object has used.
  func returnKeys(to engine: any StoreEngine) {
    for (root, keys) in reservedKeys.enumerated() { engine.returnKeys(keys.rest, of: root) }
  }

  // MARK: The end of the context

  /// Separates the scopes from a context that is being released.
  func detach() { for scope in scopes { scope.live = nil } }

  /// Leaves the objects that other code holds to the data of a released context.
  ///
  /// - Parameter pending: The objects with changes.
  /// - Returns: Whether other code still holds objects of the context.
  func leave(to released: ReleasedContext, pending: [WeakObject]) -> Bool {
    guard released.adopt(scopes, maps, pending: pending) else { return false }
    for scope in scopes { scope.releasedContext = released }
    return true
  }

  /// Takes over the objects that a released context has left.
  func takeOver(_ released: ReleasedContext, for context: ManagedObjectContext) {
    forgetLastScopes()
    for (index, scope) in released.liveScopes.enumerated() {
      guard let scope else { continue }
      scope.move(to: context)
      scopes[index] = scope
    }
    for (index, table) in released.tables.enumerated() { maps[index]?.orphans = table }
  }
}
