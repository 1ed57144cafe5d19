#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Values of `external:` attributes that an object reads when they are used.
//
// A row of objects may leave these values out: see `LargeValue`. A generated class keeps such a value in a `LargeValue`;
// for an object without a class, `ObjectExtras.unread` names its slot. `storedValue(_:)` reads the value first, so that
// all code gets it. Code that must not read it, or need not, asks `isUnread(_:)`: a value that has not been read has not
// been changed either.
extension ManagedObject {
  /// Whether the store has the value of a slot and the object has not read it.
  final func isUnread(_ slot: Int) -> Bool {
    let plan = scope.plan
    guard !plan.laterSlots.isEmpty, plan.laterSlots.contains(slot) else { return false }
    guard plan.isTyped else { return extras?.unread.contains(slot) == true }
    let writer = scope.context?.captureWriter ?? RowWriter()
    writer.startCapture()
    _encode(slot, writer)
    return writer.failure is RowWriter.UnreadValue
  }

  /// The slots whose values the object has not read.
  final var unreadSlots: [Int] { scope.plan.laterSlots.filter(isUnread) }

  /// The stored value of a slot; nil if it must be read and cannot be.
  final func knownValue(_ slot: Int) -> AttributeValue? {
    let value = storedValue(slot)
    return isUnread(slot) ? nil : value
  }

  /// Reads a value that the object's row has left out.
  ///
  /// In a snapshot, this is the value of the snapshot. Otherwise it is the newest one. If another context has changed
  /// the row since, an object without changes gets all values of the row. An object with changes keeps its other values,
  /// and its save finds that the row has another version.
  ///
  /// If there is no row any more, or if the store cannot be read, the value stays unread, and
  /// ``ManagedObjectContext/errors`` gives the reason. After a failure to read, the object is inaccessible, as a fault
  /// would be: nothing that was derived from an empty value can be saved to it. A refresh makes it accessible again, and so does
  /// a fetch if the object has no changes.
  final func readLargeValue(_ slot: Int) {
    // The reason has been reported when the object became inaccessible.
    guard !flags.contains(.inaccessible) else { return }
    guard let context = scope.context else {
      flags.insert(.inaccessible)
      return
    }
    context.readLargeValue(slot, of: self)
  }

  /// Reads all values that the object's row has left out. An object without changes then has all values of one version of
  /// its row.
  final func readLargeValues() {
    guard !scope.plan.laterSlots.isEmpty else { return }
    _willRead()
    var read: Int64
    repeat {
      read = version
      for slot in unreadSlots { readLargeValue(slot) }
    } while version != read
  }

  /// Reads a value that the object's row has left out, for a caller that can report the error. If that fails, the
  /// object is as before, and the next use reads again.
  final func readLargeValueForCaller(_ slot: Int) throws {
    _willRead()
    guard isUnread(slot), !flags.contains(.inaccessible), let context = scope.context else { return }
    try context.readLargeValueForCaller(slot, of: self)
  }

  /// Called before several values are read, which should be those of one version of the row.
  @_spi(Generated) public final func _readLarge() { readLargeValues() }

  /// Called by the getter of an attribute whose value has not been read.
  @_spi(Generated) public final func _readLarge(_ slot: Int) { readLargeValue(slot) }

  /// Called before a large value is set. The former value is read first: undo, conflicts and ``committedValues`` need it.
  @_spi(Generated) public final func _willWriteLarge(_ slot: Int) {
    _willRead()
    if isUnread(slot) { readLargeValue(slot) }
    _willWrite(slot)
  }
}

extension ManagedObjectContext {
  /// Reads a value that the row of an object has left out: see ``ManagedObject/readLargeValue(_:)``.
  fileprivate func readLargeValue(_ slot: Int, of object: ManagedObject) {
    do {
      try readLargeValueForCaller(slot, of: object)
    } catch {
      // A fetch that finds the row with another version reads it again.
      if !object.isPending { object.version = 0 }
      object.flags.insert(.inaccessible)
      object.report(.readFailed("\(error)"), slot: slot)
    }
  }

  fileprivate func readLargeValueForCaller(_ slot: Int, of object: ManagedObject) throws {
    // The app's methods are called after the row has been read and closed.
    defer { if storeReader.hasFetched { awakeFetched() } }
    if let parent { return try copyLargeValue(slot, into: object, parent) }
    try readRow(of: object, with: slot)
  }

  private func readRow(of object: ManagedObject, with slot: Int) throws {
    let plan = object.scope.plan
    let column = plan.slots[slot].columns.lowerBound
    let rows = try reader().row(object.key, of: plan, reading: column)
    defer { rows.close() }
    guard try rows.next(), let row = rows.reader(of: plan, rowReport) else {
      return noteMissingRow(of: object)
    }
    // The history, which may have been read with the row, may have made the object a fault.
    if object.flags.contains(.fault) || object.version != rows.version && !object.isPending {
      refresh(object, from: row, rows.version)
      return notifyObserversUnlessReading()
    }
    object.setStoredValues([slot: row.value(column, .data)])
    if !rowReport.isEmpty { reportColumns(of: object) }
  }

  /// Notes that the row of an object with unread values is gone. An object with changes keeps them: its save meets the
  /// conflict.
  private func noteMissingRow(of object: ManagedObject) {
    guard !object.flags.contains(.inaccessible) else { return }
    object.report(.objectGone)
    if !object.isPending || object.flags.contains(.fault) { object.flags.insert(.inaccessible) }
  }

  /// Gives a child's object the value that the parent's instance has now, or all of its values: see
  /// ``ManagedObject/readLargeValue(_:)``.
  private func copyLargeValue(
    _ slot: Int, into object: ManagedObject, _ parent: ManagedObjectContext
  ) throws {
    guard let original = try parent.liveObject(object.key, object.scope.plan) else {
      return noteMissingRow(of: object)
    }
    try original.readLargeValueForCaller(slot)
    // The parent has noticed that the row is gone.
    guard !original.isUnread(slot) else { return noteMissingRow(of: object) }
    // Another context has changed the row since, and the parent's instance has got all of its values.
    if original.version != object.version, !object.isPending {
      refreshValues(from: original, into: object)
      return notifyObserversUnlessReading()
    }
    object.setStoredValues([slot: original.storedValue(slot)])
  }
}

// Large values of many objects.
extension ManagedObjectContext {
  /// The most objects whose values are read together.
  private static let mostRead = 256
  /// The most bytes that are read together, not counting the first value.
  private static let mostBytes = 16 << 20

  private struct LargeAttribute: Hashable {
    let entity: Int
    let slot: Int
  }

  /// Calls a body with each object, for which it has read the large values of many objects together: of each attribute, up
  /// to 16 MB. Afterwards, the object does not have these values any more, unless it has changes.
  package func forEach(
    _ objects: some Sequence<ManagedObject>, _ body: (ManagedObject) throws -> Void
  ) throws {
    var iterator = objects.makeIterator()
    while true {
      var group: [ManagedObject] = []
      while group.count < Self.mostRead, let object = iterator.next() { group.append(object) }
      if group.isEmpty { return }
      try forEach(in: group, body)
    }
  }

  private func forEach(in group: [ManagedObject], _ body: (ManagedObject) throws -> Void) throws {
    // Where the objects end whose values of an attribute have been read.
    var ends: [LargeAttribute: Int] = [:]
    for (index, object) in group.enumerated() {
      let plan = object.scope.plan
      let unread = parent == nil && !plan.laterSlots.isEmpty ? Set(object.unreadSlots) : []
      for slot in unread {
        let attribute = LargeAttribute(entity: plan.index, slot: slot)
        guard index >= ends[attribute, default: 0] else { continue }
        ends[attribute] = try readLargeValues(of: attribute, group, from: index)
      }
      try body(object)
      guard !unread.isEmpty, !object.isPending, !object.flags.contains(.fault) else { continue }
      object.setStoredValues([:], unread: Array(unread))
    }
  }

  /// Reads the values of an attribute.
  ///
  /// - Returns: The end of the objects whose values have been read. Objects that still have none read their own.
  private func readLargeValues(
    of attribute: LargeAttribute, _ group: [ManagedObject], from start: Int
  ) throws -> Int {
    let plan = model.entities[attribute.entity]
    let column = plan.slots[attribute.slot].columns.lowerBound
    var waiting: [ObjectKey: Int] = [:]
    var keys: [ObjectKey] = []
    for (index, object) in group.enumerated().dropFirst(start)
    where object.scope.plan === plan && canRead(attribute.slot, object) {
      waiting[object.key] = index
      keys.append(object.key)
    }
    // The app's methods are called after the rows have been read.
    defer { if storeReader.hasFetched { awakeFetched() } }
    guard keys.count > 1,
      let found = try reader().laterValues(in: column, of: plan, keys, size: Self.mostBytes)
    else { return group.count }
    for (key, version, value) in found {
      // The history, which may have been read with the values, may have made the object a fault.
      guard let index = waiting[key], canRead(attribute.slot, group[index]), group[index].version == version
      else { continue }
      group[index].setStoredValues([attribute.slot: value])
    }
    return found.last.flatMap { waiting[$0.key] }.map { $0 + 1 } ?? group.count
  }

  private func canRead(_ slot: Int, _ object: ManagedObject) -> Bool {
    !object.flags.contains(.fault) && !object.flags.contains(.inaccessible) && object.isUnread(slot)
  }
}
