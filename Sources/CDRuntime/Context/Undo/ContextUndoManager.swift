/// Takes back changes of a context, and makes them again.
///
/// A context has no undo manager by default, and its changes then have no extra cost. With an undo manager, each
/// group of changes keeps the values that it has replaced and the objects that it concerns.
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
/// ### Covered changes
///
/// Undo covers insertions, deletions with all effects of their delete rules, attributes including transient ones, and
/// relationships with their orders, on both sides. The state of the store does not matter: after a save, an undo is a
/// change like any other, which the next save writes. An object whose deletion has been saved comes back as the same
/// instance with the same identifier. Derived attributes are computed again. Changes that the context has learnt of
/// from other contexts stay: an object that another context has added to a relationship is not removed. If a merge
/// policy has taken a deletion back, the object keeps the values of its row, and there is no deletion to undo.
///
/// Undo does not cover values that an object sets in ``ManagedObjectLifecycle/awakeFromFetch()``, or values that
/// ``ManagedObjectContext/refresh(_:mergeChanges:)`` reads again. ``ManagedObjectContext/rollback()`` and
/// ``ManagedObjectContext/reset()`` forget all actions.
///
/// ### Groups
///
/// Changes outside of ``beginUndoGrouping()`` and ``endUndoGrouping()`` are grouped by event while ``groupsByEvent``
/// is true. An event ends with the outermost ``ManagedObjectContext/perform(_:)``, with a save, when a group begins,
/// and, for the main actor's context, with the turn. Nested groups are undone with the outermost group.
///
/// While a context has an undo manager, some changes read more: a change of an ordered relationship loads it, and a
/// deletion loads the object's many-to-many relationships and searches for objects that refer to it by a relationship
/// without an inverse.
///
/// ## Topics
///
/// ### Undoing and redoing
/// - ``undo()``
/// - ``redo()``
/// - ``canUndo``
/// - ``canRedo``
/// - ``undoActionName``
/// - ``redoActionName``
/// - ``setActionName(_:)``
///
/// ### Groups
/// - ``groupsByEvent``
/// - ``endEvent()``
/// - ``beginUndoGrouping()``
/// - ``endUndoGrouping()``
/// - ``groupingLevel``
///
/// ### Limits
/// - ``init(levelsOfUndo:)``
/// - ``levelsOfUndo``
/// - ``removeAllActions()``
///
/// ### Registration
/// - ``isUndoRegistrationEnabled``
/// - ``disableUndoRegistration()``
/// - ``enableUndoRegistration()``
/// - ``context``
public final class ContextUndoManager {
  /// The context; nil until the manager is set as a context's ``ManagedObjectContext/undoManager``.
  public internal(set) weak var context: ManagedObjectContext?

  /// The maximum number of groups that can be undone; 0 for any number. The oldest groups are forgotten, and the
  /// objects that they hold are released.
  public var levelsOfUndo: Int {
    didSet { trim() }
  }

  /// Whether changes outside a group form a group of their own. If false, these changes cannot be undone.
  public var groupsByEvent = true

  var undoable: [UndoGroup] = []
  private var redoable: [UndoGroup] = []
  /// The group that records changes now.
  var open: UndoGroup?
  private var disabledCount = 0
  /// The number of groups that have begun and not ended, without the group of the event.
  public private(set) var groupingLevel = 0
  /// The name of the group that has begun, while the group has no changes.
  private var nameOfEmptyGroup: String?
  /// Whether an undo or redo is running.
  private var isRestoring = false

  /// Creates an undo manager.
  ///
  /// - Parameter levelsOfUndo: The maximum number of groups that can be undone; 0 for any number.
  public init(levelsOfUndo: Int = 0) { self.levelsOfUndo = levelsOfUndo }

  // MARK: Groups

  /// Begins a group. Each call needs a matching call of ``endUndoGrouping()``.
  public func beginUndoGrouping() {
    if groupingLevel == 0 { close() }
    groupingLevel += 1
  }

  /// Ends a group; does nothing if no group has begun.
  public func endUndoGrouping() {
    guard groupingLevel > 0 else { return }
    groupingLevel -= 1
    if groupingLevel == 0 { close() }
  }

  /// Ends the group of an event, unless a group is open that was begun explicitly.
  public func endEvent() {
    if groupingLevel == 0 { close() }
  }

  private func close() {
    nameOfEmptyGroup = nil
    guard let group = open else { return }
    open = nil
    guard let context else { return }
    group.close(in: context)
    guard !group.isEmpty else { return }
    undoable.append(group)
    trim()
  }

  /// Records that all changes until now have been saved. An open group may get changes after the save.
  func noteSave() {
    open?.notePairsSaved()
    for group in undoable.reversed() {
      if group.isSaved { break }
      group.notePairsSaved()
      group.isSaved = true
    }
  }

  /// Records that a merge policy has taken back the newest deletion of an object, which has not been saved.
  func noteDeletionTakenBack(_ object: ManagedObject) {
    if open?.noteDeletionTakenBack(object) == true { return }
    for group in undoable.reversed() where !group.isSaved && group.noteDeletionTakenBack(object) {
      // A person would choose an undo that does nothing.
      if group.isEmpty { undoable.removeAll { $0 === group } }
      return
    }
    // An undo of an insertion is a deletion too, and its redo has the values.
    for group in redoable.reversed() where group.noteDeletionTakenBack(object) { return }
  }

  private func trim() {
    guard levelsOfUndo > 0 else { return }
    if undoable.count > levelsOfUndo { undoable.removeFirst(undoable.count - levelsOfUndo) }
    if redoable.count > levelsOfUndo { redoable.removeFirst(redoable.count - levelsOfUndo) }
  }

  // MARK: Registration

  /// Whether changes are recorded.
  public var isUndoRegistrationEnabled: Bool { disabledCount == 0 }

  /// Stops recording changes until ``enableUndoRegistration()`` has been called equally often. Undoing recorded
  /// changes may then lead to a state without the changes that were not recorded.
  public func disableUndoRegistration() { disabledCount += 1 }

  /// Starts recording changes again.
  public func enableUndoRegistration() { disabledCount = max(0, disabledCount - 1) }

  // MARK: Undo and redo

  /// Whether there are changes to undo.
  public var canUndo: Bool { !undoable.isEmpty || open.map { !$0.isEmpty } ?? false }

  /// Whether there are undone changes to make again. Any other change removes them.
  public var canRedo: Bool { !redoable.isEmpty && open.map { $0.isEmpty } ?? true }

  /// Takes back the newest group of changes. If a group is open, it is ended first, however deeply it is nested. Does
  /// nothing while an undo or redo is running, whose changes call hooks and observers.
  public func undo() {
    guard !isRestoring else { return }
    groupingLevel = 0
    close()
    guard let group = undoable.popLast(), let inverse = restore(group) else { return }
    redoable.append(inverse)
  }

  /// Redoes the changes that were undone last. If a group is open, it is ended first; its changes leave nothing to
  /// redo. Does nothing while an undo or redo is running.
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
    let reverts = context.pendingChanges.revertCount
    var restoration = UndoRestoration(group, in: context)
    let inverse = restoration.run()
    // A hook has rolled the context back or reset it, so the inverse group no longer applies.
    return context.pendingChanges.revertCount == reverts ? inverse : nil
  }

  /// Forgets all groups that can be undone or redone.
  public func removeAllActions() {
    undoable.removeAll()
    redoable.removeAll()
    open = nil
    nameOfEmptyGroup = nil
    groupingLevel = 0
  }

  // MARK: Names

  /// Names the open group, or else the group that would be undone next. A menu shows this name.
  ///
  /// Between ``beginUndoGrouping()`` and ``endUndoGrouping()`` the name is that of the group, before its first change
  /// too. If the group has no changes when it ends, the name is forgotten.
  public func setActionName(_ name: String) {
    if let open {
      open.name = name
    } else if groupingLevel > 0 {
      nameOfEmptyGroup = name
    } else {
      undoable.last?.name = name
    }
  }

  /// The name of the group that would be undone; empty if it has none.
  public var undoActionName: String { (open ?? undoable.last)?.name ?? "" }

  /// The name of the group that would be redone; empty if it has none.
  public var redoActionName: String { canRedo ? redoable.last?.name ?? "" : "" }

  // MARK: Noting

  /// Returns the group that a change belongs to; nil if the change must not be recorded.
  func group(in context: ManagedObjectContext) -> UndoGroup? {
    let activity = context.activity
    guard !isRestoring, disabledCount == 0, !activity.isAwakening, !activity.isDeriving else { return nil }
    if open == nil {
      guard groupingLevel > 0 || groupsByEvent && !activity.isSaving else { return nil }
      let group = UndoGroup()
      if let nameOfEmptyGroup { group.name = nameOfEmptyGroup }
      nameOfEmptyGroup = nil
      open = group
      if groupingLevel == 0 { context.undoRegistration.eventDidBegin() }
    }
    redoable.removeAll()
    return open
  }
}

@available(*, unavailable)
extension ContextUndoManager: Sendable {}
