#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ManagedObjectContext {
  /// Writes all changes to the store in one transaction.
  ///
  /// An initialiser of a generated class cannot throw. Where no object could be made, since its entity is none of the
  /// model's or no key could be had, it gives an inaccessible object, which no save writes; the first save after it
  /// says so once, by throwing. The next one saves the rest. ``insert(entityNamed:)`` throws at once instead.
  ///
  /// - Throws: ``SaveError`` with every mistake, or ``StoreError``. Nothing has been written then, and the
  ///   changes are still there.
  public func save() throws {
    if let error = insertionErrors.first {
      insertionErrors.removeAll()
      throw error
    }
    guard hasChanges else { return forgetPending() }
    try prepareForSave()
    try deriveAttributes()
    try validate()
    let plan = SavePlan(pending)
    // Reads end before the write begins, so that nothing is left reading an old state afterwards.
    endReading()
    try database.writer.use { connection in
      var run = try SaveRun(context: self, connection: connection, plan: plan)
      try run.write()
      for save in run.saves { noteOwnSave(save.id, in: save.store) }
    }
    let saved = savedObjects(plan)
    let changes = changeObservers == nil ? nil : self.changes(of: plan)
    finish(plan)
    for object in saved { object.didSave() }
    database.watch.announce()
    if let changes { changeObservers?.tell(changes) }
  }

  private func finish(_ plan: SavePlan) {
    for object in plan.deleted {
      maps[object.scope.plan.root]?.remove(object.key)
      object.flags = [.gone, .inaccessible]
      object.extras?.toMany.removeAll()
    }
    for object in plan.inserted { object.version = 1 }
    for object in plan.updated { object.version += 1 }
    for object in pending where !object.flags.contains(.gone) {
      if object.flags.isSuperset(of: [.inserted, .deleted]) {
        maps[object.scope.plan.root]?.remove(object.key)
        object.flags = [.gone, .inaccessible]
      }
      object.flags.subtract([.inserted, .draft, .updated, .touched, .listed])
      guard let extras = object.extras else { continue }
      forgetChanges(of: extras)
      for entry in extras.toMany { entry.state.didSave() }
    }
    pending.removeAll()
  }

  private func forgetPending() {
    for object in pending {
      object.flags.subtract([.inserted, .draft, .updated, .touched, .listed])
      if object.flags.contains(.deleted) {
        maps[object.scope.plan.root]?.remove(object.key)
        object.flags = [.gone, .inaccessible]
      }
    }
    pending.removeAll()
  }
}

/// What a save writes.
///
/// In the order of the rows, table by table: SQLite then goes through its pages once, however the changes were
/// made, and a statement serves many rows in turn.
struct SavePlan {
  var inserted: [ManagedObject] = []
  var updated: [ManagedObject] = []
  var deleted: [ManagedObject] = []
  /// Objects with changed to-many relationships.
  var related: [ManagedObject] = []

  init(_ pending: [ManagedObject]) {
    for object in pending {
      let flags = object.flags
      if flags.contains(.deleted) {
        if !flags.contains(.inserted) { deleted.append(object) }
        continue
      }
      if flags.contains(.inserted) {
        inserted.append(object)
      } else if flags.contains(.updated) {
        updated.append(object)
      }
      if object.extras?.toMany.contains(where: { $0.state.isChanged }) == true { related.append(object) }
    }
    inserted = Self.inOrderOfRows(inserted)
    updated = Self.inOrderOfRows(updated)
    deleted = Self.inOrderOfRows(deleted)
  }

  /// The stores whose rows are written.
  func stores(in database: SQLiteDatabase) -> [SQLiteStore] {
    if database.stores.count == 1 { return database.stores }
    var places: Set<Int> = []
    for object in inserted + updated + deleted + related {
      if let home = object.scope.plan.home { places.insert(home) }
    }
    return database.stores.filter { places.contains($0.place) }
  }

  private static func inOrderOfRows(_ objects: [ManagedObject]) -> [ManagedObject] {
    struct Row {
      let table: Int
      let key: ObjectKey
      let place: Int

      static func precedes(_ left: Row, _ right: Row) -> Bool {
        (left.table, left.key) < (right.table, right.key)
      }
    }
    let rows = objects.enumerated().map { place, object in
      Row(table: object.scope.plan.root, key: object.key, place: place)
    }
    if !zip(rows, rows.dropFirst()).contains(where: { Row.precedes($1, $0) }) { return objects }
    return rows.sorted(by: Row.precedes).map { objects[$0.place] }
  }
}
