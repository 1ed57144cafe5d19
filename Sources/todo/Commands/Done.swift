import ArgumentParser
import CDConsole
import CDRuntime

/// `todo done`
struct Done: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Mark a to-do as done.",
    discussion: """
      todo done "Water the plants"
      todo done 3
      """)

  @Argument(help: "The number of the to-do in the list, or its name.")
  var toDo: String

  @OptionGroup var store: StoreOptions

  @MainActor
  func run() async throws {
    try store.change { context in
      let found = try ToDo.find(toDo, in: context)
      if found.completed { throw Failure("'\(found.name)' has been done already") }
      found.completed = true
      return "\(found.number)  \(found.name), done"
    }
  }
}
