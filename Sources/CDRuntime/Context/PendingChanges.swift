/// The unsaved changes of a context: the objects that have changes, and what the next save has to report.
final class PendingChanges {
  /// Objects with changes, in the order of their first changes. Each has the flag ``ObjectFlags/listed``.
  private(set) var objects: [ManagedObject] = []
  /// Errors of insertions, deletions and changes that could not be made. The next save throws the first one and forgets
  /// them all.
  private var failures: [any Error] = []
  /// Properties that were set on objects that no save writes; the next save throws them.
  private var lostChanges = LostChanges()
  /// The root entities of objects with changes whose rows another context has changed too. Relationships to these
  /// entities are read again when conflicts have been resolved, and once the changes have been saved or taken back.
  private(set) var contestedRoots: Set<Int> = []
  /// Objects with changes whose rows another context has changed too, by the partner that each still refers to in a
  /// one-to-one relationship. The rows in the store may no longer have these references.
  private var contestedReferrers: [OneToOnePartner: [ObjectKey]] = [:]
  /// The members of the many-to-many relationships that objects with changes had when another context deleted their rows.
  /// A merge policy may insert the rows again, with these pairs.
  private var pairsOfLostRows: [ObjectIdentifier: [(slot: Int, keys: [ObjectKey])]] = [:]
  /// The storages of the former values that cannot be encoded, by object and slot. An object whose record of changes has
  /// such a value has its storage here. Other entries have no meaning.
  private var formerStorages: [ObjectIdentifier: [Int: Any]] = [:]
  /// The saved objects whose derived attributes were computed last.
  private(set) var derived: [ManagedObject] = []
  /// Increases when objects change, though not with each change: the changes of a new object count only while it is
  /// `tracked`.
  private(set) var changeCount = 0
  /// Increases with each rollback and reset. Code that calls an app's method compares it to detect that the method
  /// has reverted the context.
  private(set) var revertCount = 0

  // MARK: Objects

  /// Counts a change of an object that need not be listed.
  @inline(__always) func countChange() { changeCount &+= 1 }

  /// Records a change of an object, and lists the object.
  func add(_ object: ManagedObject, of context: ManagedObjectContext) {
    changeCount &+= 1
    if object.flags.contains(.listed) { return }
    // A reset may have removed the object from the context in the middle of a change.
    guard object.scope.context === context else { return }
    list(object)
  }

  /// Lists a new object.
  func addInserted(_ object: ManagedObject) { list(object) }

  @inline(__always) private func list(_ object: ManagedObject) {
    object.flags.insert(.listed)
    objects.append(object)
  }

  /// Removes an object whose changes have been taken back.
  func remove(_ object: ManagedObject) {
    object.flags.remove(.listed)
    objects.removeAll { $0 === object }
  }

  /// Removes the objects that a merge policy has removed from the context.
  func removeGone() { objects.removeAll { $0.flags.contains(.deletionSaved) } }

  /// Removes all objects except those that a save has not written. The caller has ended the changes of the others.
  func keepOnly(_ rest: [ManagedObject]) {
    objects = rest
    derived.removeAll()
    if rest.isEmpty, !formerStorages.isEmpty { formerStorages.removeAll() }
  }

  /// Records the saved objects whose derived attributes have been computed.
  func setDerived(_ objects: [ManagedObject]) { derived = objects }

  /// Removes and returns all objects, whose changes the caller ends, and forgets what the next save would report.
  func revert() -> [ManagedObject] {
    revertCount &+= 1
    changeCount &+= 1
    let former = objects
    objects.removeAll()
    derived.removeAll()
    failures.removeAll()
    lostChanges.removeAll()
    return former
  }

  /// Does the same for a context that forgets all its objects.
  func reset() -> [ManagedObject] {
    contestedReferrers.removeAll()
    pairsOfLostRows.removeAll()
    formerStorages.removeAll()
    return revert()
  }

  /// Removes all objects from a context that is being released.
  func leave() -> [WeakObject] {
    let left = objects.map(WeakObject.init)
    objects.removeAll()
    lostChanges.removeAll()
    return left
  }

  /// Takes over the objects of a released context, which are listed already.
  func takeOver(_ objects: [ManagedObject]) { self.objects = objects }

  // MARK: What the next save reports

  /// Whether the next save throws the error of something that could not be done, or of a lost change.
  var hasFailures: Bool { !failures.isEmpty || !lostChanges.isEmpty }

  /// Records the error of an insertion, a deletion or a change that could not be made.
  func noteFailure(_ error: any Error) { failures.append(error) }

  /// Removes and returns the newest of these errors, for a caller that throws it at once.
  func takeNewestFailure() -> (any Error)? { failures.popLast() }

  /// Removes all of these errors, and returns the first one.
  func takeFailures() -> (any Error)? {
    defer { failures.removeAll() }
    return failures.first
  }

  /// Records that a property was set on an object that no save writes.
  func noteLostChange(of object: ManagedObject, _ property: String) { lostChanges.add(object, property) }

  /// Records that an object has the values of its row now, so that its lost changes cannot come back.
  func confirmLostChanges(of object: ManagedObject) { lostChanges.confirm(object) }

  /// Removes all lost changes and returns those that were replaced, and those of objects that are still deleted or
  /// reset.
  func takeLostChanges() -> [LostChange] { lostChanges.take() }

  // MARK: Changes of rows that other contexts have changed too

  /// Records the root entity of an object whose row another context has changed too.
  func noteContested(root: Int) { contestedRoots.insert(root) }

  /// Removes and returns the root entities to which relationships have to be read again, after changes have ended; nil
  /// if there are none.
  func takeContestedRoots() -> Set<Int>? {
    if objects.isEmpty {
      contestedReferrers.removeAll()
      pairsOfLostRows.removeAll()
    }
    if contestedRoots.isEmpty { return nil }
    defer { contestedRoots.removeAll() }
    return contestedRoots
  }

  /// Records an object that refers to a partner although its row may no longer do so.
  func noteContestedReferrer(_ key: ObjectKey, to partner: OneToOnePartner) {
    if contestedReferrers[partner]?.contains(key) == true { return }
    contestedReferrers[partner, default: []].append(key)
  }

  /// Records the pairs of an object with changes whose row another context has deleted.
  func notePairsOfLostRow(of object: ManagedObject, _ pairs: [(slot: Int, keys: [ObjectKey])]) {
    pairsOfLostRows[ObjectIdentifier(object)] = pairs.isEmpty ? nil : pairs
  }

  /// Returns the pairs of an object together with those that its lost row had, without those removed since.
  func addingPairsOfLostRow(
    of object: ManagedObject, to pairs: [(slot: Int, keys: [ObjectKey])]
  ) -> [(slot: Int, keys: [ObjectKey])] {
    guard object.flags.contains(.rowDeletedElsewhere),
      let lost = pairsOfLostRows[ObjectIdentifier(object)]
    else { return pairs }
    var result = pairs
    for (slot, keys) in lost {
      let state = object.extras?.toManyState(slot)
      let kept = keys.filter { state?.removed.contains($0) != true }
      guard let index = result.firstIndex(where: { $0.slot == slot }) else {
        result.append((slot, kept))
        continue
      }
      let known = Set(kept)
      result[index].keys = kept + result[index].keys.filter { !known.contains($0) }
    }
    return result
  }

  // MARK: Former values that cannot be encoded

  /// Records the storage of a value before its first change.
  func noteFormerStorage(_ storage: Any?, of object: ManagedObject, _ slot: Int) {
    formerStorages[ObjectIdentifier(object), default: [:]][slot] = storage
  }

  /// Forgets the storages after a rollback, unless observers have changed objects since.
  func forgetFormerStorages() {
    if objects.isEmpty { formerStorages.removeAll() }
  }

  /// The storages of an object's values before their first changes.
  func formerStorages(of object: ManagedObject) -> [Int: Any] {
    formerStorages[ObjectIdentifier(object)] ?? [:]
  }

  // MARK: Referrers

  var hasContestedReferrers: Bool { !contestedReferrers.isEmpty }

  /// The objects that refer to a partner although their rows may no longer do so.
  func contestedReferrers(to partner: OneToOnePartner) -> [ObjectKey] { contestedReferrers[partner] ?? [] }
}
