// Merging changes that the app names.
extension ManagedObjectContext {
  /// Updates the objects in memory after changes that were made elsewhere: objects whose rows were changed read them
  /// again when they are next used, objects whose rows were deleted become inaccessible, and relationships are read
  /// again. Objects with unsaved changes keep them; their save detects conflicts.
  ///
  /// A context does this by itself when it next reads: the stores' histories have the saves and batches of other
  /// contexts. Call this method if you cannot wait for that, or if you have changed rows by other means. Changes of
  /// other stores and of entities that the model does not have are ignored.
  ///
  /// ```swift
  /// let result = try context.execute(BatchDeleteRequest<Book>(where: \.price > 100))
  /// container.viewContext.mergeChanges(from: result.changes)
  /// ```
  @_optimize(none)
  public func mergeChanges(from changes: ObjectChanges) {
    endReading()
    var roots: Set<Int> = []
    var lost: Set<Int> = []
    var referrers: Set<Int> = []
    for group in changes.inserted.groups {
      guard let plan = plan(of: group) else { continue }
      roots.insert(plan.root)
      noteReturn(to: group.keys, of: plan.root)
      referrers.formUnion(forgetReferences(to: group.keys, of: plan.root))
    }
    // Combined changes have a row that was deleted and inserted again in both sets. The row exists.
    let returned =
      changes.deleted.isEmpty
      ? ManagedObjectIDs() : changes.inserted.subtracting(changes.inserted.subtracting(changes.deleted))
    for group in changes.updated.groups + changes.refreshed.groups + returned.groups {
      guard let plan = plan(of: group) else { continue }
      roots.insert(plan.root)
      merge(group.keys, of: plan.root) { noteUpdate(of: $0) }
    }
    for group in changes.deleted.subtracting(returned).groups {
      guard let plan = plan(of: group) else { continue }
      roots.insert(plan.root)
      lost.insert(plan.root)
      merge(group.keys, of: plan.root) { noteDeletion(of: $0) }
    }
    if !roots.isEmpty { forgetRelationships(to: roots, lost: lost) }
    let refreshed = changes.asRefreshed
    if !children.isEmpty { invalidateChildren(of: roots.union(referrers)) }
    publishWithChildren(refreshed)
    notifyObservers()
  }

  private func plan(of group: ManagedObjectIDs.Group) -> EntityPlan? {
    guard let plan = model.entity(group.entityName), registry.scope(of: plan).storeID == group.storeID else {
      return nil
    }
    return plan
  }
}

// Unique values that another object has: a new object becomes the existing object.
extension ManagedObjectContext {
  /// Returns the existing object that a new one has become in a save, because both had the same unique values; nil
  /// for any other object.
  ///
  /// ```swift
  /// context.mergePolicy = .mergeByPropertyObjectTrump
  /// let publisher = Publisher(name: "Ticknor and Fields", in: context)
  /// try context.save()
  /// let existing = try context.survivor(of: publisher) ?? publisher
  /// ```
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` if the existing object has been deleted since, and ``StoreError``.
  public func survivor<Object: ManagedObject>(of object: Object) throws -> Object? {
    guard object.scope.context === self, let key = object.extras?.survivor, key != 0 else { return nil }
    return try existingObject(
      with: ManagedObjectID(
        storeID: object.scope.storeID, entityName: object.scope.plan.name, key: key)) as? Object
  }

  @_optimize(none)
  func resolveUnique(_ object: ManagedObject, _ conflict: SaveConflict, _ error: SaveError) throws {
    guard let id = conflict.otherID else { throw error }
    // If another resolution has changed the other object since, the save tries again.
    guard let other = try? existingObject(with: id), other !== object, !leaves(other, conflict.keys, object)
    else { return }
    let (mine, snapshot) = (object.currentValues(), object.snapshotValues())
    let isNew = object.flags.contains(.inserted)
    let differing = object.conflict(
      .notUnique, object: mine, snapshot: isNew ? [:] : snapshot,
      store: other.scope.plan.root == object.scope.plan.root ? values(of: other, as: object) : [:])
    let full = SaveConflict(
      reason: .notUnique, objectID: object.objectID, keys: conflict.keys, values: differing.values,
      otherID: id)
    let resolution = try self.resolution(of: full, for: isNew ? other : object)
    guard isNew else { return try resolveChanged(object, conflict, resolution, error) }
    // A new object cannot become an object of another entity.
    guard object.scope.plan === other.scope.plan || resolution == .rollback else { throw error }
    switch resolution {
    case .rollback:
      for case let relationship? in object.scope.plan.relationships {
        if relationship.isToMany {
          object.setRelatedObjects([], relationship)
        } else {
          object.setRelatedObject(nil, relationship)
        }
      }
      removeFromContext(object)
      clearReferences(to: object)
    case .storeWins: unite(object, with: other, taking: [], isObjectFirst: false)
    case .objectWins: unite(object, with: other, taking: givenSlots(of: object), isObjectFirst: true)
    case .overwrite:
      unite(object, with: other, taking: object.scope.plan.storedSlots, isObjectFirst: true)
    case .values(let values):
      unite(object, with: other, taking: givenSlots(of: object), isObjectFirst: true)
      try setChosenValues(values, other)
    }
  }

  /// Whether an object is about to be saved with values that no longer stand in the way. A conflict of its own has
  /// kept its row from being written.
  private func leaves(_ other: ManagedObject, _ keys: [String], _ object: ManagedObject) -> Bool {
    guard other.isPending, let changed = other.extras?.changed else { return false }
    return keys.contains { key in
      let name = String(key.prefix { $0 != "." })
      guard let slot = other.scope.plan.slot(name)?.number, changed.contains(slot),
        let own = object.scope.plan.slot(name)?.number
      else { return false }
      return other.storedValue(slot) != object.storedValue(own)
    }
  }

  /// The values of an object, by the slots of another object's entity.
  @_optimize(none)
  private func values(of other: ManagedObject, as object: ManagedObject) -> [Int: AttributeValue] {
    var values: [Int: AttributeValue] = [:]
    for slot in object.scope.plan.storedSlots {
      if let own = other.scope.plan.slot(object.scope.plan.slots[slot].name)?.number {
        values[slot] = other.storedValue(own)
      }
    }
    return values
  }

  /// Resolves a conflict of a stored object that was given another object's unique values. Both have rows, so neither
  /// can become the other.
  @_optimize(none)
  private func resolveChanged(
    _ object: ManagedObject, _ conflict: SaveConflict, _ resolution: MergePolicy.Resolution,
    _ error: SaveError
  ) throws {
    switch resolution {
    case .objectWins, .overwrite: throw error
    case .rollback: dropContestedChanges(of: object)
    case .storeWins:
      for key in conflict.keys {
        guard let slot = object.scope.plan.slot(String(key.prefix { $0 != "." }))?.number,
          let old = object.extras?.oldValue(slot)
        else { continue }
        set(object, slot, old)
      }
      forgetEqualChanges(of: object)
    case .values(let values):
      try setChosenValues(values, object)
    }
  }

  /// The slots of a new object with values that are not the schema's defaults.
  private func givenSlots(of object: ManagedObject) -> [Int] {
    let plan = object.scope.plan
    let made = Set(plan.insertionDefaults.map(\.slot))
    return plan.storedSlots.filter { slot in
      if object.extras?.assigned.contains(slot) == true { return true }
      guard !made.contains(slot), !plan.slots[slot].isDerived else { return false }
      let value = object.storedValue(slot)
      return value != .null && value != plan.initialValues[slot]
    }
  }

  /// Makes a new object become an existing one. The existing object takes the values of the given slots, and
  /// everything that is related to the new object.
  @_optimize(none)
  private func unite(
    _ object: ManagedObject, with other: ManagedObject, taking slots: [Int], isObjectFirst: Bool
  ) {
    let plan = object.scope.plan
    for slot in slots where !plan.slots[slot].isDerived {
      set(other, slot, object.storedValue(slot))
    }
    for case let relationship? in plan.relationships {
      switch relationship.storage {
      case .reference:
        if object.referenceKey(relationship.slot) != 0 { setReference(of: object, relationship, to: nil) }
      case .inverseReference:
        guard let partner = partner(of: object, relationship), let inverse = inverse(of: relationship) else {
          continue
        }
        let isFree = isObjectFirst || self.partner(of: other, relationship) == nil
        setReference(of: partner, inverse, to: isFree ? other : nil)
      case .referencesOfOthers:
        guard let inverse = inverse(of: relationship) else { continue }
        for member in objects(of: object, relationship) { setReference(of: member, inverse, to: other) }
      case .join:
        for member in objects(of: object, relationship) {
          remove(member, from: object, relationship)
          add(member === object ? other : member, to: other, relationship, at: nil)
        }
      }
    }
    redirect(object, to: other)
    removeFromContext(object)
    object.requireExtras().survivor = other.key
  }

  /// Makes relationships without an inverse lead to another object.
  @_optimize(none)
  private func redirect(_ object: ManagedObject, to other: ManagedObject) {
    // Most models have no such relationship, and there may be as many objects to unite as there are changes.
    let isAny = model.entities.contains { entity in
      entity.relationships.contains { relationship in
        relationship.map { !$0.hasInverse && object.scope.plan.lineage.contains($0.destination) } ?? false
      }
    }
    guard isAny else { return }
    for referrer in pending where referrer.isPending && referrer !== object {
      for case let relationship? in referrer.scope.plan.relationships
      where !relationship.hasInverse && object.scope.plan.lineage.contains(relationship.destination) {
        if case .reference = relationship.storage {
          if referrer.referenceKey(relationship.slot) == object.key {
            setReference(of: referrer, relationship, to: other)
          }
        } else if referrer.extras?.toManyState(relationship.slot)?.added.contains(object.key) == true {
          remove(object, from: referrer, relationship)
          add(other, to: referrer, relationship, at: nil)
        }
      }
    }
  }
}
