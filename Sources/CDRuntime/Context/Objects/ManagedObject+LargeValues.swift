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

  /// Whether a slot is empty only because the file of its value could not be read. A save of other values keeps the file, and
  /// nothing may write the empty value in its place.
  final func isUnreadable(_ slot: Int) -> Bool {
    guard let extras, !extras.unreadable.isEmpty else { return false }
    return extras.unreadable.contains(slot) && !extras.changed.contains(slot) && !isUnread(slot)
  }

  /// Notes whether a slot is empty only because the file of its value could not be read.
  final func setUnreadable(_ slot: Int, _ isUnreadable: Bool) {
    guard isUnreadable || extras?.unreadable.contains(slot) == true else { return }
    let extras = requireExtras()
    extras.unreadable.removeAll { $0 == slot }
    if isUnreadable { extras.unreadable.append(slot) }
  }

  /// Notes that a large value has been set, if no record of changes says so: that of an object whose row is inserted again
  /// has none.
  final func noteLargeWrite(_ slot: Int) {
    if flags.contains(.inserted) { setUnreadable(slot, false) }
  }

  /// Forgets that a slot was set, if its former value could not be read and the empty value in its place has been restored.
  final func forgetLargeWrite(_ slot: Int) {
    guard !flags.contains(.inserted), let extras, extras.unreadable.contains(slot) else { return }
    extras.old.removeAll { $0.slot == slot }
    extras.changed.remove(slot)
  }

  /// The slots that are empty only because the files of their values could not be read.
  final var unreadableSlots: [Int] {
    extras?.unreadable.filter(isUnreadable) ?? []
  }

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
    noteLargeWrite(slot)
  }
}
