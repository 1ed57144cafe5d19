import ArgumentParser
import CDConsole
import CDRuntime

/// `todo list`
struct List: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the to-dos, the most urgent one first.",
    discussion: """
      todo list
      todo list --category Work --all
      """)

  @Option(help: "List only the to-dos of this category.")
  var category: String?

  @Flag(help: "Also list the to-dos that are done.")
  var all = false

  @OptionGroup var store: StoreOptions

  @MainActor
  func run() async throws {
    let table = try store.withContext { context in
      var toDos: [ToDo]
      if let category {
        let name = try Category.find(category, in: context).name
        toDos = try ToDo.fetch(where: \.category.name == name, sortedBy: \.dueDate, in: context)
      } else {
        toDos = try ToDo.fetch(sortedBy: \.dueDate, in: context)
      }
      if !all { toDos.removeAll(where: \.completed) }
      return Self.table(toDos)
    }
    try Console.write(line: table.text)
  }

  static func table(_ toDos: [ToDo]) -> Table {
    Table(
      "No", "Due", "Name", "Category", "State",
      rows: toDos.map { toDo in
        let state = toDo.completed ? "done" : toDo.doNotAlert ? "muted" : ""
        return [toDo.number, toDo.dueDate.shortText, toDo.name, toDo.category?.name ?? "", state]
      })
  }
}
