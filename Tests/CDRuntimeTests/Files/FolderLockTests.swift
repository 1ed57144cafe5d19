import Dispatch
import Foundation
import Testing

@testable import CDRuntime

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Locks on folders that others hold.
@Suite(.onceForAllKinds) final class FolderLockTests {
  private let folder: URL
  private var store: URL { folder.appending(path: "store.sqlite") }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "FolderLockTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// A descriptor that is closed twice closes the file that another thread has opened in between.
  @Test(.timeLimit(.minutes(1))) func aLockThatIsNotGrantedClosesNoFileOfOthers() throws {
    let (url, count) = (store, 48)
    let held = try FolderLock(.exclusive, of: url, timeout: 0)
    // The system gives the lowest free number to a new descriptor. So those of the locks have numbers below the limit.
    let probe = open("/dev/null", O_RDONLY | O_CLOEXEC)
    #expect(probe >= 0)
    let limit = probe + Int32(count)
    close(probe)
    var kept: [Int32] = []
    for _ in 0..<3 {
      let group = DispatchGroup()
      for _ in 0..<count {
        group.enter()
        Thread.detachNewThread {
          _ = try? FolderLock(.shared, of: url, timeout: 0)
          group.leave()
        }
      }
      // Every thread has its descriptor by then, and none has given up.
      usleep(125_000)
      while group.wait(timeout: .now()) == .timedOut {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { continue }
        // A number of the locks is kept, so that the next file gets the number of the next lock.
        if descriptor < limit { kept.append(descriptor) } else { close(descriptor) }
      }
      #expect(Set(kept).count == kept.count, "a file was closed, and its number was used again")
      #expect(kept.allSatisfy { fcntl($0, F_GETFD) >= 0 }, "a file was closed")
      for descriptor in kept { close(descriptor) }
      kept = []
    }
    withExtendedLifetime(held) {}
  }
}
