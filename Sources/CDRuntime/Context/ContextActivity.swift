/// The work of a context that is running: saves, a method of the app, the derivation of attributes. While it
/// runs, the context refuses some operations.
final class ContextActivity {
  /// A method of the app in which the context cannot be saved.
  enum Hook: String {
    /// The initialiser that sets the object's values is still running.
    case awakeFromInsert = "awakeFromInsert()"
    case willSave = "willSave()"
    case validation = "a method that validates"
    case awakeFromFetch = "awakeFromFetch()"
    case prepareForDeletion = "prepareForDeletion()"
    case mergePolicy = "the merge policy"
  }

  /// The number of saves that are running: ``ManagedObjectLifecycle/didSave()`` can start a save within a save.
  private var saveDepth = 0
  /// Whether a save is running that has not written its changes yet.
  private var isWriting = false
  /// The app's method that is running and in which the context cannot be saved; nil if there is none.
  private var hook: Hook?
  /// Whether ``ManagedObjectLifecycle/awakeFromFetch()`` is running. Values that it sets are not changes.
  private(set) var isAwakening = false
  /// The objects that deletions still running will delete, and whether their
  /// ``ManagedObjectLifecycle/prepareForDeletion()`` has returned. A deletion within them does not call it again.
  private var doomed: [ObjectIdentifier: Bool] = [:]
  /// Whether derived attributes are being computed.
  private(set) var isDeriving = false
  /// The number of fetched properties that are being fetched, each read by the condition of the one before.
  private var fetchDepth = 0

  /// The most saves that may run at once, each called by ``ManagedObjectLifecycle/didSave()`` of the one before. Each
  /// of them needs stack space.
  private static let maximumNestedSaves = 32

  /// The most fetched properties that may be fetched at once, because each fetch needs stack space. A condition that reads
  /// its own property would never end.
  private static let maximumNestedFetches = 16

  /// Whether a save is running. The save's own changes do not start an undo group.
  var isSaving: Bool { saveDepth > 0 }

  /// Whether a method of the app is running in which the context cannot be saved.
  var isRunningHook: Bool { hook != nil }

  /// Throws if the context's changes cannot be saved now.
  func checkMaySave() throws(SaveError) {
    if let hook { throw .nested(in: hook.rawValue) }
    if isWriting { throw .nested(in: "an observer, or by a value's own code,") }
    if saveDepth >= Self.maximumNestedSaves { throw .nested(in: "didSave()") }
  }

  /// Runs a save.
  func save(_ body: () throws -> Void) rethrows {
    saveDepth += 1
    isWriting = true
    defer {
      saveDepth -= 1
      isWriting = false
    }
    try body()
  }

  /// Records that the running save has written its changes. From now on the context can be saved again.
  func didWrite() { isWriting = false }

  /// Runs a method of the app.
  func run<R>(_ hook: Hook, _ body: () throws -> R) rethrows -> R {
    let outer = self.hook
    self.hook = hook
    defer { self.hook = outer }
    return try body()
  }

  /// Calls an object's ``ManagedObjectLifecycle/awakeFromFetch()``.
  func awake(_ lifecycle: any ManagedObjectLifecycle) {
    let wasAwakening = isAwakening
    isAwakening = true
    defer { isAwakening = wasAwakening }
    run(.awakeFromFetch) { lifecycle.awakeFromFetch() }
  }

  /// Runs a body that makes changes, also within ``ManagedObjectLifecycle/awakeFromFetch()``.
  func notAwakening<R>(_ body: () throws -> R) rethrows -> R {
    let wasAwakening = isAwakening
    isAwakening = false
    defer { isAwakening = wasAwakening }
    return try body()
  }

  /// Records that a deletion is about to delete an object.
  ///
  /// - Returns: False if a deletion that is running already deletes it.
  func willDelete(_ object: ManagedObject) -> Bool {
    if doomed[ObjectIdentifier(object)] != nil { return false }
    doomed[ObjectIdentifier(object)] = false
    return true
  }

  /// Records that the method of such an object has returned.
  func didPrepare(_ object: ManagedObject) { doomed[ObjectIdentifier(object)] = true }

  /// Whether the method of such an object has returned.
  func isPrepared(_ object: ManagedObject) -> Bool { doomed[ObjectIdentifier(object)] == true }

  /// Records the end of a deletion, which has kept its objects alive.
  func didDelete(_ objects: [ManagedObject]) {
    for object in objects { doomed[ObjectIdentifier(object)] = nil }
  }

  /// Computes derived attributes.
  func derive(_ body: () -> Void) {
    isDeriving = true
    defer { isDeriving = false }
    body()
  }

  /// Fetches the objects of a fetched property.
  ///
  /// - Throws: ``FetchError/evaluation(_:)`` if too many are being fetched.
  func fetch<R>(_ property: String, of entity: EntityPlan, _ body: () throws -> R) throws -> R {
    guard fetchDepth < Self.maximumNestedFetches else {
      throw FetchError.evaluation(
        "'\(entity.name).\(property)' is the last of \(fetchDepth + 1) fetched properties that read each "
          + "other; no condition may lead back to its own property")
    }
    fetchDepth += 1
    defer { fetchDepth -= 1 }
    return try body()
  }
}
