// Single rows: deleted, updated, inserted.
extension SaveRun {
  mutating func delete(_ object: ManagedObject) throws {
    try external?.replace(object, slots: object.scope.plan.externalSlots)
    try noteUnknownPairs(of: object)
    if case .missing = try session.delete(object.scope.plan, object.key, version: object.version) {
      try noteConflict(object)
    }
  }

  private mutating func noteConflict(_ object: ManagedObject) throws {
    if let store = try storedValues(of: object) {
      conflicts.append(object.conflict(.changed, snapshot: object.snapshotValues(), store: store))
    } else if !object.flags.contains(.deleted) {
      conflicts.append(object.conflict(.deleted, snapshot: object.snapshotValues(), store: nil))
    }
    // Else what was to be deleted is: that is no conflict.
  }

  /// Notes the conflict of an object whose row was to be written anew and that others have written anew before.
  ///
  /// - Returns: Whether there is such a row.
  mutating func noteConflictOfNewRow(_ object: ManagedObject) throws -> Bool {
    guard object.version != 0, let store = try storedValues(of: object) else { return false }
    conflicts.append(object.conflict(.changed, snapshot: object.snapshotValues(), store: store))
    return true
  }

  /// The values of an object's row; nil where there is none.
  private func storedValues(of object: ManagedObject) throws -> [Int: AttributeValue]? {
    let plan = object.scope.plan
    let rows = try session.reader.row(object.key, of: plan)
    defer { rows.close() }
    guard try rows.next(), let row = rows.reader(of: plan, RowReport(files: context.engine.files)) else {
      return nil
    }
    var store: [Int: AttributeValue] = [:]
    for slot in plan.storedSlots { store[slot] = ManagedObject.storedValue(of: row, plan.slots[slot]) }
    return store
  }

  /// - Returns: The properties of a unique index that refuses the row; nil for none.
  mutating func update(_ object: ManagedObject) throws -> [String]? {
    let entity = object.scope.plan
    guard let extras = object.extras else {
      updated.add(object.key, of: entity, SlotSet())
      return nil
    }
    let outcome = try session.update(entity, extras.changed, object.key, version: object.version) {
      if let external { try external.replace(object, slots: entity.externalSlots.filter($0.contains)) }
      encode(object, $0, $1)
    }
    switch outcome {
    case .done: updated.add(object.key, of: entity, extras.changed)
    case .notUnique(let properties): return properties
    case .missing: try noteConflict(object)
    case .unwritable: try throwFailure(of: object, entity.storedSlots.filter(extras.changed.contains))
    }
    return nil
  }

  mutating func insert(_ object: ManagedObject) throws {
    let entity = object.scope.plan
    switch try session.insert(entity, object.key, { encode(object, entity.storedSlots, $0) }) {
    case .done, .missing:
      // Others may still have read the row that there was: a row that is written anew goes on counting its versions.
      if object.version != 0 {
        try session.setVersion(object.nextVersion(plan.versionStamp), of: entity, object.key)
      }
    case .notUnique(let properties):
      if try noteConflictOfNewRow(object) { return }
      try noteRefusal(of: object, properties)
    case .unwritable: try throwFailure(of: object, entity.storedSlots)
    }
  }

  @inline(__always) func encode(_ object: ManagedObject, _ slots: [Int], _ writer: RowWriter) {
    if let external, !object.scope.plan.externalSlots.isEmpty {
      for slot in slots {
        if let name = external.name(object, slot) {
          writer.string(name)
        } else {
          object._encode(slot, writer)
        }
      }
    } else if !object.scope.plan.isTyped {
      object.encodeValues(slots, writer)
    } else {
      for slot in slots { object._encode(slot, writer) }
    }
  }

  /// Throws what is wrong with values that could not be written.
  private func throwFailure(of object: ManagedObject, _ slots: [Int]) throws {
    let errors = slots.compactMap { slot in
      session.failure { encode(object, [slot], $0) }.map { failure in
        ValidationError(
          reason: failure is RowWriter.TooLarge ? .tooLarge : .notEncodable, entity: object.scope.plan.name,
          property: object.scope.plan.slots[slot].name, objectID: object.objectID)
      }
    }
    throw SaveError.validation(errors)
  }
}
