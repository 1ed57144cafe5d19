import Foundation

/// The open windows.
actor Windows {
  private struct Entry {
    var window: Window
    var connections = 0
    /// When the last connection ended, or the window was opened.
    var idleSince = ContinuousClock.now
    /// Whether the page was closed, after the person was asked about unsaved changes.
    var isClosed = false
  }

  private var entries: [String: Entry] = [:]

  func open(_ list: OpenList, clock: Clock) -> Window {
    let window = Window(list, clock: clock)
    entries[window.id] = Entry(window: window)
    return window
  }

  func window(_ id: String) -> Window? { entries[id]?.window }

  /// The windows whose changes are saved when the server stops. Who closes a window has been asked about its changes.
  var unclosed: [Window] { entries.values.filter { !$0.isClosed }.map(\.window) }

  func connect(_ id: String) {
    entries[id]?.connections += 1
    entries[id]?.isClosed = false
  }

  func disconnect(_ id: String) {
    entries[id]?.connections -= 1
    entries[id]?.idleSince = .now
  }

  /// The page is going away: the window is closed, or the page is loaded again, which connects again.
  func close(_ id: String) {
    entries[id]?.isClosed = true
    entries[id]?.idleSince = .now
  }

  /// Forgets windows that were closed, and windows without changes whose browser is gone. A window with unsaved changes
  /// whose browser has crashed is kept, and saved when the server stops.
  func sweep() async {
    for (id, entry) in entries where entry.connections <= 0 {
      let idle = entry.idleSince.duration(to: .now)
      guard idle > .seconds(entry.isClosed ? 10 : 120) else { continue }
      if !entry.isClosed, await entry.window.isEdited { continue }
      if let now = entries[id], now.connections <= 0 { entries[id] = nil }
    }
  }
}
