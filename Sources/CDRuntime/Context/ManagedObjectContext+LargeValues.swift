#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Reading the values of `external:` attributes that rows have left out: see `ManagedObject.readLargeValue(_:)`.
extension ManagedObjectContext {
  /// Reads a value that the row of an object has left out: see ``ManagedObject/readLargeValue(_:)``.
  func readLargeValue(_ slot: Int, of object: ManagedObject) {
    do {
      try readLargeValueForCaller(slot, of: object)
    } catch {
      // A fetch that finds the row with another version reads it again.
      if !object.isPending { object.version = 0 }
      object.flags.insert(.inaccessible)
      object.report(.readFailed("\(error)"), slot: slot)
    }
  }

  func readLargeValueForCaller(_ slot: Int, of object: ManagedObject) throws {
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
    object.setUnreadable(slot, false)
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
    // The parent's instance may have other values by now: its own, or all of a row that another context has changed.
    if original.version != object.version || object.flags.contains(.hasParentChanges), !object.isPending {
      refreshValues(from: original, into: object)
      return notifyObserversUnlessReading()
    }
    object.setStoredValues([slot: original.storedValue(slot)])
    object.setUnreadable(slot, original.isUnreadable(slot))
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
      group[index].setUnreadable(attribute.slot, false)
      group[index].setStoredValues([attribute.slot: value])
    }
    return found.last.flatMap { waiting[$0.key] }.map { $0 + 1 } ?? group.count
  }

  private func canRead(_ slot: Int, _ object: ManagedObject) -> Bool {
    !object.flags.contains(.fault) && !object.flags.contains(.inaccessible) && object.isUnread(slot)
  }
}
