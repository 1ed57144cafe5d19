import CDRuntime
import Foundation
import Synchronization
import Testing

/// Runs a body in threads of its own, all at once, and waits for them. `DispatchQueue.concurrentPerform` runs only as many at
/// once as the machine has processors.
func inThreads(_ count: Int, _ body: @escaping @Sendable (_ index: Int) -> Void) {
  let group = DispatchGroup()
  for index in 0..<count {
    group.enter()
    let thread = Thread {
      body(index)
      group.leave()
    }
    thread.stackSize = 1 << 21
    thread.start()
  }
  group.wait()
}

/// Opens a store in threads at the same time, and returns the identifiers of the stores that were opened.
func storeIDs(
  ofOpenings count: Int, _ open: @escaping @Sendable () throws -> PersistentStoreCoordinator
) -> Set<UUID> {
  let ids = Mutex<Set<UUID>>([])
  inThreads(count) { _ in
    do {
      let coordinator = try open()
      ids.withLock { $0.formUnion(coordinator.storeIDs) }
    } catch { Issue.record(error) }
  }
  return ids.withLock(\.self)
}
