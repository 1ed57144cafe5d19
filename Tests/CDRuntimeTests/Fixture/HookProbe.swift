import CDRuntime

/// Code of an app's that the runtime calls.
enum Hook: String, CaseIterable, Sendable {
  case awakeFromInsert, awakeFromFetch, willSave, didSave, prepareForDeletion
  case validateForInsert, validateForUpdate, validateForDelete
  case mergePolicy, batchSequence, batchColumn, storeFormat, perform, cascade, undo, childSave
}

/// Runs an action in a hook: the first time that the hook is reached while the probe is set.
///
/// Unchecked: a probe is used on the thread of its test alone.
final class HookProbe: @unchecked Sendable {
  @TaskLocal static var current: HookProbe?

  private let hook: Hook
  private let action: (ManagedObject?) throws -> Void
  private(set) var wasReached = false
  private(set) var error: (any Error)?

  init(_ hook: Hook, _ action: @escaping (ManagedObject?) throws -> Void) {
    self.hook = hook
    self.action = action
  }

  static func reach(_ hook: Hook, _ object: ManagedObject? = nil) {
    guard let probe = current, probe.hook == hook, !probe.wasReached else { return }
    probe.wasReached = true
    do { try probe.action(object) } catch { probe.error = error }
  }
}
