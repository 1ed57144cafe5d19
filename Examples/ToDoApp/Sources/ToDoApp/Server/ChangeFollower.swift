import CDRuntime
import Foundation

/// Follows the saves of all windows and of other programs, and tells the pages about them.
///
/// The server of a store can be unreachable for a while. The pages then say so. When the server answers again, the pages read
/// the list again, because they may have missed saves.
actor ChangeFollower {
  private let list: OpenList
  private let broadcast: Broadcast
  private let executor = QueueExecutor(label: "changes")

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ list: OpenList, broadcast: Broadcast) {
    self.list = list
    self.broadcast = broadcast
  }

  /// Follows until the process ends.
  ///
  /// - Parameter whenChanged: Called after each save of anybody, and when the store is back.
  func run(_ whenChanged: @escaping @Sendable () async -> Void) async {
    while true {
      do {
        // Asks the store, so that an answer means that it is there.
        let changes = try list.coordinator.changes(after: list.coordinator.currentHistoryToken())
        if broadcast.absence != nil {
          complain("The list can be reached again.")
          broadcast.send(.back)
          await whenChanged()
        }
        for try await transaction in changes {
          broadcast.send(.changed(author: transaction.author))
          await whenChanged()
        }
      } catch {
        if broadcast.absence == nil { complain("The list cannot be reached: \(error)") }
        broadcast.send(.away(explanation(of: error)))
      }
      try? await Task.sleep(for: .seconds(1))
    }
  }
}
