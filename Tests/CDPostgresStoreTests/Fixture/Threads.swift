import Foundation

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
