import CDRuntime
import Foundation
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// The parts of the running application, and the tasks that connect them.
final class Server: Sendable {
  let options: Options
  let store: ListStore
  let windows = Windows()
  let broadcast = Broadcast()
  let clock = Clock()
  /// The token of the pages that are shown while the list is not open.
  let token = Secret.random()
  private let opened = Mutex<Alerts?>(nil)

  init(_ options: Options) {
    self.options = options
    store = ListStore(options.store)
    if let now = options.now { clock.set(now) }
  }

  /// The alerts of the list; nil while it is not open.
  var alerts: Alerts? { opened.withLock { $0 } }

  /// Opens the list, and then follows its changes and looks for alerts.
  func openList() {
    store.open { [self] list in
      let alerts = Alerts(list, clock: clock, broadcast: broadcast)
      opened.withLock { $0 = alerts }
      Task { await alerts.run() }
      Task { await ChangeFollower(list, broadcast: broadcast).run { await alerts.checkSoon() } }
    }
  }

  /// Serves until the process ends.
  ///
  /// - Throws: An error of the system if the port is taken.
  func run() async throws {
    openList()
    Task {
      while true {
        try await Task.sleep(for: .seconds(5))
        await windows.sweep()
        broadcast.send(.ping)
      }
    }
    var logger = Logger(label: "ToDoApp")
    logger.logLevel = .error
    let application = Application(
      router: router, configuration: .init(address: .hostname(options.host, port: options.port)),
      onServerRunning: { [options] channel in
        say("http://\(options.host):\(channel.localAddress?.port ?? options.port)/")
      }, logger: logger)
    try await application.run()
  }
}

/// Writes a line to the standard output at once. As with ``complain(_:)``, the program goes on if that fails.
func say(_ text: String) {
  try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
}
