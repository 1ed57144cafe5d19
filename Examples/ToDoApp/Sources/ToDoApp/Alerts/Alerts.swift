import CDRuntime
import Foundation

/// An item that is due soon, as the windows show it.
struct Alert: Hashable, Sendable {
  var id: ManagedObjectID
  var title: String
  var dueDate: Date
}

/// What a person answers to an alert.
enum AlertAnswer: String, Decodable, Sendable {
  case dismiss, remind, never
}

/// Finds the items that are due, once a minute, and stores the answers of people to the alerts.
///
/// The store has the state of all alerts: an item is shown from its `remindDate` on, until somebody answers. So all
/// windows of all processes show the same alerts, an answer in one of them holds for all, and no alert is lost with a
/// process. Alerts have a context of their own and save at once, and no window is edited by them.
actor Alerts {
  private let context: ManagedObjectContext
  private let clock: Clock
  private let broadcast: Broadcast
  private let executor = QueueExecutor(label: "alerts")
  private(set) var open: [Alert] = []
  private var isCheckPlanned = false
  private var hasComplained = false

  private static let lead: TimeInterval = 5 * 60

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ list: OpenList, clock: Clock, broadcast: Broadcast) {
    context = list.container.newContext()
    context.transactionAuthor = "alerts"
    self.clock = clock
    self.broadcast = broadcast
  }

  /// Looks for due items once a minute, until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      check()
      try? await Task.sleep(
        for: .seconds(60 - clock.now.timeIntervalSince1970.truncatingRemainder(dividingBy: 60)))
    }
  }

  /// Looks again because somebody has saved. One look serves all saves of a short time.
  func checkSoon() {
    guard !isCheckPlanned else { return }
    isCheckPlanned = true
    Task {
      try? await Task.sleep(for: .milliseconds(200))
      isCheckPlanned = false
      check()
    }
  }

  /// Finds the items that are due within five minutes, and those whose alert nobody has answered yet.
  func check() {
    let now = clock.now
    do {
      let found = try context.perform {
        let due = try ToDo.dueForAlert(
          now: now, later: now + Self.lead, before: now - Self.lead, in: context)
        for toDo in due where !isShown(toDo, at: now) {
          toDo.lastAlertDate = now
          toDo.remindDate = now
        }
        // Another process may have shown the alert at the same time, and somebody may have answered it already.
        context.mergePolicy = .mergeByPropertyStoreTrump
        try context.save()
        return due.filter { isShown($0, at: now) }.map {
          Alert(id: $0.objectID, title: $0.title, dueDate: $0.dueDate)
        }
      }
      hasComplained = false
      guard found != open else { return }
      open = found
      broadcast.send(.alerts(fragment))
    } catch {
      context.rollback()
      // The next look finds the same items.
      if !hasComplained { complain("Alerts cannot be looked for: \(error)") }
      hasComplained = true
    }
  }

  /// Whether an item has an alert that was shown and not answered.
  private func isShown(_ toDo: ToDo, at now: Date) -> Bool {
    guard !toDo.isInaccessible, !toDo.completed, !toDo.doNotAlert, let remindDate = toDo.remindDate else {
      return false
    }
    return remindDate <= now && toDo.lastAlertDate.map { $0 >= remindDate } ?? false
  }

  /// Stores the answer to an alert. It holds for all windows.
  ///
  /// - Throws: ``StoreError`` if the answer cannot be stored. The alert then stays.
  func answer(_ answer: AlertAnswer, to id: ManagedObjectID) throws {
    do {
      try context.perform {
        let toDo = try ToDo.object(with: id, in: context)
        toDo.remindDate = answer == .remind ? clock.now + Self.lead : nil
        if answer == .never { toDo.doNotAlert = true }
        // Somebody may have edited the item. Its values and the answer are combined.
        context.mergePolicy = .mergeByPropertyObjectTrump
        try context.save()
      }
    } catch FetchError.unknownObject {
      // The item has been deleted, and its alert with it.
    } catch {
      context.rollback()
      complain("The answer to an alert cannot be saved: \(error)")
      throw error
    }
    check()
  }

  /// The dialog of the alerts as a part of the page.
  var fragment: Fragment { Fragment(part: .alerts, html: AlertDialog(alerts: open).html) }
}
