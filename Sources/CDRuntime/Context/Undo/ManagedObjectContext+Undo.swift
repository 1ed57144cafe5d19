extension ManagedObjectContext {
  /// What takes changes back; nil, which costs nothing, unless it is set. One belongs to one context.
  public var undoManager: ContextUndoManager? {
    get { currentUndoManager }
    set {
      guard newValue !== currentUndoManager else { return }
      currentUndoManager?.removeAllActions()
      currentUndoManager?.context = nil
      newValue?.context?.undoManager = nil
      newValue?.removeAllActions()
      newValue?.context = self
      currentUndoManager = newValue
      // A new object's changes are not noted unless somebody wants to know.
      for object in pending where object.flags.contains(.inserted) {
        if newValue == nil { object.flags.remove(.tracked) } else { object.flags.insert(.tracked) }
      }
    }
  }

  /// Takes the newest group of changes back: see ``ContextUndoManager``. Does nothing without an undo manager.
  public func undo() { currentUndoManager?.undo() }

  /// Makes the changes again that were taken back last.
  public func redo() { currentUndoManager?.redo() }

  /// Runs what brings in changes of others, which no undo takes back.
  func unnoted<R>(_ body: () throws -> R) rethrows -> R {
    currentUndoManager?.disableUndoRegistration()
    defer { currentUndoManager?.enableUndoRegistration() }
    return try body()
  }
}
