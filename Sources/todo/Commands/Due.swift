import ArgumentParser
import CDConsole
import CDRuntime
import Foundation

/// `todo due`
struct Due: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the to-dos that are due soon.",
    discussion: """
      A to-do that was printed is not printed again for the given time. Therefore a timer can run this command every \
      minute.

        todo due --within 5m
      """)

  @Option(
    help: ArgumentHelp(
      "The time within which the to-dos are due, such as 90s, 5m, 1h30m or 2d.", valueName: "time"))
  var within: TimeSpan

  @OptionGroup var store: StoreOptions

  @MainActor
  func run() async throws {
    try store.withContext { context in
      let now = Date.now
      let due = try ToDo.dueForAlert(
        now: now, later: now + within.seconds, before: now - within.seconds, in: context
      ).filter { !$0.completed }
      let table = Table(
        "No", "Due", "Name",
        rows: due.map { [$0.number, TimeSpan(from: now, to: $0.dueDate).relativeText, $0.name] })
      // Before the save: an alert that is printed twice is better than one that nobody sees.
      try Console.write(line: table.text)
      for toDo in due { toDo.lastAlertDate = now }
      // Another program can change the same to-dos meanwhile. Its values stay.
      context.mergePolicy = .mergeByPropertyStoreTrump
      try context.save()
    }
  }
}
