/// Takes changes of a context back, and makes them again.
///
/// A context has none unless it is given one: changes then cost nothing more than before. With one, each group of
/// changes keeps the values that it replaced and the objects that it is about.
///
/// ```swift
/// let undoManager = ContextUndoManager(levelsOfUndo: 50)
/// context.undoManager = undoManager
/// undoManager.beginUndoGrouping()
/// book.title = "Walden"
/// context.delete(author)
/// undoManager.setActionName("Tidying Up")
/// undoManager.endUndoGrouping()
/// context.undo()
/// context.redo()
/// ```
///
/// ### What is undone
///
/// Insertions, deletions with all that their rules did, attributes, transient ones too, and relationships with their
/// orders, on both sides. What the store has meanwhile does not matter: after a save, an undo is a change like any
/// other, which the next save writes. An object whose deletion has been saved comes back as the same instance with
/// the same identifier. Derived attributes are computed anew. Changes of others that a context has come to know of
/// stay: what they added to a relationship is not taken out of it.
///
/// Not undone are what an object sets in ``ManagedObjectLifecycle/awakeFromFetch()`` and what
/// ``ManagedObjectContext/refresh(_:mergeChanges:)`` reads again. ``ManagedObjectContext/rollback()`` and
/// ``ManagedObjectContext/reset()`` forget all actions.
///
/// ### Groups
///
/// Changes outside ``beginUndoGrouping()`` and ``endUndoGrouping()`` are grouped by event while ``groupsByEvent`` is
/// on. An event ends with the outermost ``ManagedObjectContext/perform(_:)``, with a save, with the beginning of a
/// group, and, on the main actor's context, with the turn. Groups within groups are undone with the outermost.
///
/// While an undo manager is set, a change of an ordered relationship loads it, a deletion loads the many-to-many
/// relationships of its object and looks for those who refer to it by a relationship without an inverse.
public final class ContextUndoManager {
  /// The context; nil until the manager is set as one's ``ManagedObjectContext/undoManager``.
  public internal(set) weak var context: ManagedObjectContext?

  /// How many groups can be undone; 0 for any number. The oldest are forgotten, with the objects that they hold.
  public var levelsOfUndo: Int {
    didSet { trim() }
  }

  /// Whether changes outside a group make one of their own. Where it is off such changes cannot be undone.
  public var groupsByEvent = true

  var undoable: [UndoGroup] = []
  private var redoable: [UndoGroup] = []
  /// The group that collects changes now.
  var open: UndoGroup?
  private var disabledCount = 0
  /// How many groups have been begun and not ended; the event's is none of them.
  public private(set) var groupingLevel = 0
  /// Whether an undo or redo is running.
  private var isRestoring = false

  /// Makes an undo manager.
  ///
  /// - Parameter levelsOfUndo: How many groups can be undone; 0 for any number.
  public init(levelsOfUndo: Int = 0) { self.levelsOfUndo = levelsOfUndo }

  // MARK: Groups

  /// Begins a group. It ends with the same number of calls of ``endUndoGrouping()``.
  public func beginUndoGrouping() {
    if groupingLevel == 0 { close() }
    groupingLevel += 1
  }

  /// Ends a group; does nothing where none has been begun.
  public func endUndoGrouping() {
    guard groupingLevel > 0 else { return }
    groupingLevel -= 1
    if groupingLevel == 0 { close() }
  }

  /// Ends the group of an event, unless a group that was begun is open.
  public func endEvent() {
    if groupingLevel == 0 { close() }
  }

  private func close() {
    guard let group = open else { return }
    open = nil
    guard let context else { return }
    group.close(in: context)
    guard !group.isEmpty else { return }
    undoable.append(group)
    trim()
  }

  /// Notes that all changes until now have been saved.
  func noteSave() {
    open?.isSaved = true
    for group in undoable.reversed() {
      if group.isSaved { break }
      group.isSaved = true
    }
  }

  private func trim() {
    guard levelsOfUndo > 0 else { return }
    if undoable.count > levelsOfUndo { undoable.removeFirst(undoable.count - levelsOfUndo) }
    if redoable.count > levelsOfUndo { redoable.removeFirst(redoable.count - levelsOfUndo) }
  }

  // MARK: Registration

  /// Whether changes are noted.
  public var isUndoRegistrationEnabled: Bool { disabledCount == 0 }

  /// Lets changes go unnoted until ``enableUndoRegistration()`` has been called as often. What is noted already may
  /// then be undone to a state that leaves the others out.
  public func disableUndoRegistration() { disabledCount += 1 }

  /// Lets changes be noted again.
  public func enableUndoRegistration() { disabledCount = max(0, disabledCount - 1) }

  // MARK: Undo and redo

  /// Whether there is anything to undo.
  public var canUndo: Bool { !undoable.isEmpty || open.map { !$0.isEmpty } ?? false }

  /// Whether there is anything to redo: what was undone, until something else changes.
  public var canRedo: Bool { !redoable.isEmpty && open.map { $0.isEmpty } ?? true }

  /// Takes the newest group back. A group that is open is ended first, however often it was begun. Does nothing while
  /// an undo or a redo is running, whose changes call hooks and observers.
  public func undo() {
    guard !isRestoring else { return }
    groupingLevel = 0
    close()
    guard let group = undoable.popLast(), let inverse = restore(group) else { return }
    redoable.append(inverse)
  }

  /// Makes the group again that was taken back last. A group that is open is ended first; its changes leave nothing
  /// to redo. Does nothing while an undo or a redo is running.
  public func redo() {
    guard !isRestoring else { return }
    groupingLevel = 0
    close()
    guard let group = redoable.popLast(), let inverse = restore(group) else { return }
    undoable.append(inverse)
  }

  private func restore(_ group: UndoGroup) -> UndoGroup? {
    guard let context else { return nil }
    isRestoring = true
    defer { isRestoring = false }
    let reverts = context.revertCount
    var restoration = UndoRestoration(group, in: context)
    let inverse = restoration.run()
    // A hook has rolled the context back meanwhile: there is nothing to go on from.
    return context.revertCount == reverts ? inverse : nil
  }

  /// Forgets all that can be undone and redone.
  public func removeAllActions() {
    undoable.removeAll()
    redoable.removeAll()
    open = nil
    groupingLevel = 0
  }

  // MARK: Names

  /// Names the group that is open, or else the one that would be undone next: what a menu shows.
  public func setActionName(_ name: String) {
    if let open { open.name = name } else { undoable.last?.name = name }
  }

  /// The name of what would be undone; empty where it has none.
  public var undoActionName: String { (open ?? undoable.last)?.name ?? "" }

  /// The name of what would be redone.
  public var redoActionName: String { canRedo ? redoable.last?.name ?? "" : "" }

  // MARK: Noting

  /// The group that a change belongs to; nil where it is not to be noted.
  func group(in context: ManagedObjectContext) -> UndoGroup? {
    guard !isRestoring, disabledCount == 0, !context.isAwakening, !context.isDeriving else { return nil }
    if open == nil {
      guard groupingLevel > 0 || groupsByEvent && !context.isSaving else { return nil }
      open = UndoGroup()
      if groupingLevel == 0 { context.scheduleEndOfEvent?() }
    }
    redoable.removeAll()
    return open
  }
}

@available(*, unavailable)
extension ContextUndoManager: Sendable {}
