// Letting go of objects that nobody uses.
extension ManagedObjectContext {
  /// Lets go of what nobody uses, where enough has come since it was last done.
  @inline(__always) func sweepIfDue(_ map: IdentityMap) {
    if map.isSweepDue { sweep(map) }
  }

  private func sweep(_ map: IdentityMap) {
    // To look at each object is to wait for its memory. A few say whether that is worth it.
    if isMostlyUsed(map) { return map.postponeSweep() }
    dropCaches()
    map.sweep()
  }

  /// Lets go of what nobody uses, however little it is.
  func sweep() {
    dropCaches()
    for map in maps where map?.count ?? 0 > 0 { map?.sweep() }
  }

  /// Whether most of a sample of objects are held by somebody who is not the context.
  private func isMostlyUsed(_ map: IdentityMap) -> Bool {
    var (seen, unused) = map.sampleOfUnused()
    // What only a relationship holds counts as unused, which shows when it holds it no more.
    let step = max(1, cachingStates.count / 16)
    var members: [(root: Int, key: ObjectKey)] = []
    for place in stride(from: 0, to: cachingStates.count, by: step) {
      let state = cachingStates[place]
      for object in state.cache?.prefix(32) ?? [] { members.append((object.scope.plan.root, object.key)) }
      state.cache = nil
    }
    for (root, key) in members where maps.indices.contains(root) {
      seen += 1
      if maps[root]?.isUnused(key) == true { unused += 1 }
    }
    return unused * 8 < seen
  }

  /// Lets relationships be made of their keys again when they are next asked for.
  func dropCaches() {
    for state in cachingStates { state.cache = nil }
    cachingStates.removeAll()
  }
}
