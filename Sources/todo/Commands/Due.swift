import ArgumentParser
import CDRuntime
import Foundation

/// `todo due`
struct Due: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Alert of what is due soon.",
    discussion: """
      What has alerted does not do so again for as long, so that a timer can run this every minute.

        todo due --within 5m
      """)

  @Option(help: ArgumentHelp("How soon: a time such as 90s, 5m, 1h30m or 2d.", valueName: "time"))
  var within: TimeSpan

  @OptionGroup var store: StoreOptions

  @MainActor
  func run() async throws {
    try store.withContext { context in
      let now = Date.now
      let due = try ToDo.dueForAlert(
        now: now, later: now + within.seconds, before: now - within.seconds, in: context
      ).filter { !$0.completed }
      for toDo in due { toDo.lastAlertDate = now }
      return Table(
        "No", "Due", "Name",
        rows: due.map { [$0.number, TimeSpan(from: now, to: $0.dueDate).relativeText, $0.name] }
      ).text
    }
  }
}
