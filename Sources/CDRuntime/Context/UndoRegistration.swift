/// The undo manager of a context, and what ends the manager's events.
final class UndoRegistration {
  private(set) var manager: ContextUndoManager?
  /// Schedules the end of an undo manager's event; nil if only `perform` and `save` end events.
  private var scheduleEnd: (() -> Void)?

  /// Replaces the undo manager. An undo manager belongs to one context.
  func setManager(_ manager: ContextUndoManager?, of context: ManagedObjectContext) {
    guard manager !== self.manager else { return }
    self.manager?.removeAllActions()
    self.manager?.context = nil
    manager?.context?.undoManager = nil
    manager?.removeAllActions()
    manager?.context = context
    self.manager = manager
    // Changes of a new object are recorded only while there is an undo manager.
    for object in context.pending where object.flags.contains(.inserted) {
      if manager == nil { object.flags.remove(.tracked) } else { object.flags.insert(.tracked) }
    }
  }

  /// Sets what schedules the ends of events.
  func endEvents(by scheduleEnd: @escaping () -> Void) { self.scheduleEnd = scheduleEnd }

  /// Makes the end of a parent's event end the context's events too.
  func endEvents(with parent: UndoRegistration) {
    if parent.scheduleEnd != nil { scheduleEnd = { [weak parent] in parent?.eventDidBegin() } }
  }

  /// Schedules the end of an event.
  func eventDidBegin() { scheduleEnd?() }
}

extension ManagedObjectContext {
  /// Records a slot before its first change in a group, if there is an undo manager.
  @inline(__always) func noteUndoIfWanted(_ object: ManagedObject, _ slot: Int) {
    if undoRegistration.manager != nil { noteUndo(object, slot) }
  }
}
