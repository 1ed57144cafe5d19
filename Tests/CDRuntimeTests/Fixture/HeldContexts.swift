import CDRuntime

/// Contexts that a test needs to its end: objects do not keep theirs alive.
final class HeldContexts {
  var contexts: [ManagedObjectContext] = []
}
