// Noting what is about to change. Nothing of this is called where there is no undo manager.
extension ManagedObjectContext {
  /// Notes a slot before its first change in a group.
  func noteUndo(_ object: ManagedObject, _ slot: Int) {
    // The end of an object that is deleted already is noted with all that it was.
    guard object.exists, object.scope.plan.isUndoable(slot),
      let group = currentUndoManager?.group(in: self)
    else { return }
    let place = group.place(of: object) ?? group.add(UndoEntry(object, existed: true))
    // A new object is undone as a whole.
    guard group.entries[place].existed else { return }
    note(slot, of: object, in: &group.entries[place])
  }

  func noteUndoOfInsertion(_ object: ManagedObject) {
    object.flags.insert(.tracked)
    guard let group = currentUndoManager?.group(in: self), group.place(of: object) == nil else { return }
    _ = group.add(UndoEntry(object, existed: false))
  }

  /// Notes all of an object that is about to be deleted, and who refers to it.
  func noteUndoOfDeletion(_ object: ManagedObject) {
    guard let group = currentUndoManager?.group(in: self) else { return }
    let place = group.place(of: object) ?? group.add(UndoEntry(object, existed: true))
    if group.entries[place].existed { noteWhole(object, in: &group.entries[place]) }
    // Their order is lost with the object.
    for case let relationship? in object.scope.plan.relationships {
      guard let inverse = inverse(of: relationship), inverse.isOrdered else { continue }
      for other in relationship.isToMany
        ? objects(of: object, relationship) : object.relatedObject(relationship).map({ [$0] }) ?? []
      {
        noteUndo(other, inverse.slot)
      }
    }
    for referrer in oneSidedReferrers(of: object) { noteUndo(referrer.object, referrer.relationship.slot) }
  }

  /// Notes all that an entry has not of an object yet.
  func noteWhole(_ object: ManagedObject, in entry: inout UndoEntry) {
    for slot in object.scope.plan.slots where object.scope.plan.isUndoable(slot.number) {
      note(slot.number, of: object, in: &entry)
    }
    entry.referrers =
      oneSidedReferrers(of: object).filter { !$0.relationship.isToMany } + untoldReferrers(of: object)
  }

  private func note(_ slot: Int, of object: ManagedObject, in entry: inout UndoEntry) {
    if object.scope.plan.relationships[slot]?.isToMany == true {
      if entry.lists[slot] == nil { entry.lists[slot] = visibleKeys(of: object, slot) }
    } else if entry.values[slot] == nil {
      object._willRead()
      entry.values[slot] = object.storedValue(slot)
    }
  }

  /// The objects of a to-many relationship that are there.
  func visibleKeys(of object: ManagedObject, _ slot: Int) -> [ObjectKey] {
    guard let relationship = object.scope.plan.relationships[slot] else { return [] }
    let state = object.toManyState(slot)
    if state.keys == nil { load(object, relationship, state) }
    let root = model.entities[relationship.destination].root
    return (state.keys?.keys ?? []).filter { registered($0, root: root)?.exists ?? true }
  }

  // MARK: Who refers to an object

  /// The objects whose references lead to one by a relationship with a rule that leaves them as they are.
  private func untoldReferrers(of object: ManagedObject) -> [UndoReferrer] {
    var result: [UndoReferrer] = []
    for case let relationship? in object.scope.plan.relationships {
      guard let inverse = inverse(of: relationship), !inverse.isToMany else { continue }
      switch relationship.description.deleteRule {
      case .nullify, .cascade: continue
      case .deny, .noAction: break
      }
      if case .reference = relationship.storage { continue }
      let others =
        relationship.isToMany
        ? objects(of: object, relationship) : partner(of: object, relationship).map { [$0] } ?? []
      result += others.map { UndoReferrer(object: $0, relationship: inverse) }
    }
    return result
  }

  /// The objects, in memory or not, that refer to an object by a relationship without an inverse.
  private func oneSidedReferrers(of object: ManagedObject) -> [UndoReferrer] {
    var result: [UndoReferrer] = []
    let lineage = object.scope.plan.lineage
    for plan in model.entities where stores.home(of: plan) != nil {
      for case let relationship? in plan.relationships
      where relationship.inverse == nil && relationship.owner == plan.name
        && lineage.contains(relationship.destination)
      {
        var seen: Set<ObjectKey> = []
        func add(_ holder: ManagedObject) {
          guard holder.exists, seen.insert(holder.key).inserted else { return }
          holder._willRead()
          let refers =
            relationship.isToMany
            ? visibleKeys(of: holder, relationship.slot).contains(object.key)
            : holder.referenceKey(relationship.slot) == object.key
          if refers { result.append(UndoReferrer(object: holder, relationship: relationship)) }
        }
        for holder in pending where holder.isPending && holder.scope.plan.isKind(of: plan) { add(holder) }
        guard !object.flags.contains(.inserted) else { continue }
        for key in keysOfReferrers(to: object, relationship, plan) {
          if let holder = registered(key, root: plan.root) ?? (try? fetchObject(key, plan)) { add(holder) }
        }
      }
    }
    return result
  }

  private func keysOfReferrers(
    to object: ManagedObject, _ relationship: RelationshipPlan, _ plan: EntityPlan
  ) -> [ObjectKey] {
    let sql: String
    switch relationship.storage {
    case .join(let place, _):
      sql = "SELECT _source FROM \(SQLite.quoted(model.joins[place].table)) WHERE _target = ?1"
    case .reference(let column):
      sql =
        "SELECT _pk FROM \(SQLite.quoted(plan.table)) WHERE \(SQLite.quoted(plan.columns[column].name)) = ?1"
    case .inverseReference, .referencesOfOthers: return []
    }
    do {
      let statement = try reader().statement(sql)
      defer { statement.reset() }
      statement.bind(object.key, at: 1)
      var keys: [ObjectKey] = []
      while try statement.step() { keys.append(statement.int64(0)) }
      return keys
    } catch {
      object.report(.readFailed("\(error)"))
      return []
    }
  }
}

extension EntityPlan {
  /// Whether a slot is put back by itself: a derived attribute is computed anew, and what an object has only by the
  /// references of others comes back with these.
  func isUndoable(_ slot: Int) -> Bool {
    guard slot < slots.count else { return false }
    switch slots[slot].kind {
    case .attribute(let attribute, _), .composite(let attribute, _): return attribute.derivation == nil
    case .relationship(let relationship):
      switch relationship.storage {
      case .reference, .join: return true
      case .referencesOfOthers: return relationship.isOrdered
      case .inverseReference: return false
      }
    }
  }
}
