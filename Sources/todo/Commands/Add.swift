import ArgumentParser
import CDRuntime
import Foundation

/// `todo add`
struct Add: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add a to-do.",
    discussion: """
      todo add "Water the plants"
      todo add "Call Grace" --due 5m --category Work
      todo add "Renew the passport" --due 2030-06-01
      """)

  @Argument(help: "The name of the to-do.")
  var name: String

  @Option(help: ArgumentHelp("The due date: \(DueDate.forms).", valueName: "when"))
  var due: DueDate?

  @Option(help: "The category of the to-do, which must exist.")
  var category: String?

  @OptionGroup var store: StoreOptions

  mutating func validate() throws {
    try Name.check(name, blank: "What is to be done needs a name.")
    name = Name.trimmed(name)
  }

  @MainActor
  func run() async throws {
    try store.change { context in
      let dueDate = due?.date ?? DueDate(argument: "1d")?.date ?? .now
      let toDo = ToDo(name: name, dueDate: dueDate, in: context)
      if let category { try Category.find(category, in: context).addToToDos(toDo) }
      return "\(toDo.number)  \(toDo.name), due \(toDo.dueDate.shortText)"
    }
  }
}
