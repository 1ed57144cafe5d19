import CDRuntime
import Foundation

/// An item that is due soon, as the windows show it.
struct Alert: Sendable {
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
/// Alerts have a context of their own and save at once: an answer holds for all windows, and no window is edited by it.
actor Alerts {
  private let context: ManagedObjectContext
  private let clock: Clock
  private let broadcast: Broadcast
  private let executor = QueueExecutor(label: "alerts")
  private(set) var open: [Alert] = []

  private static let lead: TimeInterval = 5 * 60

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ list: OpenList, clock: Clock, broadcast: Broadcast) {
    context = list.container.newContext()
    context.transactionAuthor = "alerts"
    // A window can save the same item. Its values and the dates of alerts are combined.
    context.mergePolicy = .mergeByPropertyObjectTrump
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

  /// Shows an alert for each item that is due within five minutes, and for each item whose reminder is due.
  func check() {
    let now = clock.now
    do {
      try context.perform {
        let due = try ToDo.dueForAlert(
          now: now, later: now + Self.lead, before: now - Self.lead, in: context)
        guard !due.isEmpty else { return }
        for toDo in due {
          toDo.lastAlertDate = now
          toDo.remindDate = nil
        }
        try context.save()
        for toDo in due {
          open.removeAll { $0.id == toDo.objectID }
          open.append(Alert(id: toDo.objectID, title: toDo.title, dueDate: toDo.dueDate))
        }
      }
      show()
    } catch {
      context.rollback()
      complain("Alerts cannot be saved: \(error)")
    }
  }

  func answer(_ answer: AlertAnswer, to id: ManagedObjectID) {
    open.removeAll { $0.id == id }
    do {
      try context.perform {
        let toDo = try ToDo.object(with: id, in: context)
        switch answer {
        case .dismiss: toDo.remindDate = nil
        case .remind: toDo.remindDate = clock.now + Self.lead
        case .never: toDo.doNotAlert = true
        }
        try context.save()
      }
    } catch {
      // The item has been deleted, or the store cannot be written. Then it can alert again.
      context.rollback()
      complain("The answer to an alert cannot be saved: \(error)")
    }
    show()
  }

  private func show() {
    broadcast.send(.alerts(Fragment(part: .alerts, html: AlertDialog(alerts: open).html)))
  }
}
