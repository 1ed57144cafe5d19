import ArgumentParser
import CDRuntime

/// `todo mute`
struct Mute: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Turn off the alerts of a to-do.",
    discussion: """
      todo mute "Water the plants"
      todo mute 3
      """)

  @Argument(help: "The number of the to-do in the list, or its name.")
  var toDo: String

  @OptionGroup var store: StoreOptions

  @MainActor
  func run() async throws {
    try store.change { context in
      let found = try ToDo.find(toDo, in: context)
      found.doNotAlert = true
      return "\(found.number)  \(found.name), muted"
    }
  }
}
