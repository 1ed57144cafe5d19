import CDRuntime
import Foundation
import Synchronization

/// The store of the server: it is being opened, open, or could not be opened.
final class ListStore: Sendable {
  enum State: Sendable {
    case opening(MigrationProgress?)
    case open(OpenList)
    case failed(any Error)
  }

  let address: StoreAddress
  private let current = Mutex<State>(.opening(nil))

  init(_ address: StoreAddress) { self.address = address }

  var state: State { current.withLock { $0 } }

  /// The list, if it is open.
  var list: OpenList? {
    if case .open(let list) = state { return list }
    return nil
  }

  /// Opens the store on a thread of its own, because a migration can take minutes.
  func open(_ whenOpen: @escaping @Sendable (OpenList) -> Void) {
    current.withLock { $0 = .opening(nil) }
    Thread.detachNewThread { [self] in
      do {
        let list = try OpenList(address) { [self] progress in
          current.withLock { $0 = .opening(progress) }
        }
        current.withLock { $0 = .open(list) }
        whenOpen(list)
      } catch {
        // The details are for the terminal. The page shows the texts for people.
        complain("The list cannot be opened: \(error)")
        current.withLock { $0 = .failed(error) }
      }
    }
  }
}

/// Writes a line to the standard error stream.
///
/// A full disk or a terminal that was closed must not end the program, because windows have unsaved changes.
func complain(_ text: String) {
  try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
}
