import CDConsole
import CDRuntime
import Foundation

/// The fetches of the demonstration. Each result is printed below its code.
struct DemoFetches {
  var now: Date
  var context: ManagedObjectContext

  func run() throws {
    try show(
      "ToDo.objects(in: context)",
      try ToDo.objects(in: context).sorted { $0.number < $1.number })

    try show(
      #"ToDo.objects(matching: \.completed, true, in: context)"#,
      try ToDo.objects(matching: \.completed, true, in: context))

    try show(
      #"ToDo.object(matching: \.name, "Call Grace", in: context)"#,
      try ToDo.object(matching: \.name, "Call Grace", in: context))

    // The caller expects a single object. If there are several, the fetch throws an error instead of choosing one.
    try show(
      #"ToDo.object(matching: \.completed, false, in: context)"#,
      error: { _ = try ToDo.object(matching: \.completed, false, in: context) })

    try show(
      "ToDo.objects(matching: [.completed: false, .doNotAlert: true], using: .and, in: context)",
      try ToDo.objects(matching: [.completed: false, .doNotAlert: true], using: .and, in: context))

    try show(
      #"ToDo.objects(matching: [.completed: true, .doNotAlert: true], using: .or, in: context)"#,
      try ToDo.objects(matching: [.completed: true, .doNotAlert: true], using: .or, in: context)
        .sorted { $0.dueDate < $1.dueDate })

    let home = try Category.object(name: "Home", in: context)
    try show(#"Category.object(name: "Home", in: context)?.toDos"#, home?.toDos ?? [])

    try show(
      #"ToDo.fetch(where: \.category.name == "Work" && \.completed == false, sortedBy: \.dueDate, limit: 20, in: context)"#,
      try ToDo.fetch(
        where: \.category.name == "Work" && \.completed == false, sortedBy: \.dueDate, limit: 20, in: context)
    )

    try show(
      "ToDo.dueForAlert(now: now, later: now + 300, before: now - 300, in: context)",
      try ToDo.dueForAlert(now: now, later: now + 300, before: now - 300, in: context))
  }

  /// Shows the error of a fetch.
  private func show(_ code: String, error fetch: () throws -> Void) throws {
    do {
      try fetch()
    } catch let error as FetchError {
      try Console.write(line: code + "\n\n" + indented("error: \(error)") + "\n")
    }
  }

  private func show(_ code: String, _ toDo: ToDo?) throws {
    try show(code, toDo.map { [$0] } ?? [])
  }

  private func show(_ code: String, _ toDos: [ToDo]) throws {
    let rows = toDos.map { toDo in
      let state = toDo.completed ? "done" : toDo.doNotAlert ? "muted" : ""
      return [
        toDo.name, TimeSpan(from: now, to: toDo.dueDate).relativeText, toDo.category?.name ?? "", state,
      ]
    }
    let table = Table("Name", "Due", "Category", "State", rows: rows)
    try Console.write(line: code + "\n\n" + indented(table.text) + "\n")
  }

  private func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { "  " + $0 }.joined(separator: "\n")
  }
}
