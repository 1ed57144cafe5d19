import Foundation

/// The open windows.
actor Windows {
  private struct Entry {
    var window: Window
    var connections = 0
    /// How many pages have said that they are going away, and still have their connections.
    var closing = 0
    /// When the last connection ended, or the window was opened.
    var idleSince = ContinuousClock.now
    /// Whether the page was closed, after the person was asked about unsaved changes.
    var isClosed = false
    /// Whether another page of the window is there, for example in a tab that was duplicated.
    var hasOtherPages: Bool { connections > closing }
  }

  private var entries: [String: Entry] = [:]

  func open(_ list: OpenList, clock: Clock) -> Window {
    let window = Window(list, clock: clock)
    entries[window.id] = Entry(window: window)
    return window
  }

  func window(_ id: String) -> Window? { entries[id]?.window }

  /// The windows whose changes are saved when the server stops. Who closes a window has been asked about its changes.
  var unclosed: [Window] { entries.values.filter { !$0.isClosed || $0.hasOtherPages }.map(\.window) }

  func connect(_ id: String) {
    entries[id]?.connections += 1
    entries[id]?.isClosed = false
  }

  func disconnect(_ id: String) {
    guard var entry = entries[id] else { return }
    entry.connections -= 1
    entry.closing = max(0, entry.closing - 1)
    if entry.hasOtherPages { entry.isClosed = false }
    entry.idleSince = .now
    entries[id] = entry
  }

  /// The page is going away: the window is closed, or the page is loaded again, which connects again.
  func close(_ id: String) {
    guard var entry = entries[id] else { return }
    entry.closing = min(entry.closing + 1, entry.connections)
    entry.isClosed = true
    entry.idleSince = .now
    entries[id] = entry
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
