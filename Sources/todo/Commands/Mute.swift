import ArgumentParser
import CDRuntime

/// `todo mute`
struct Mute: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Let something not alert any more.",
    discussion: """
      todo mute "Water the plants"
      todo mute 3
      """)

  @Argument(help: "Its number in the list, or its name.")
  var toDo: String

  @OptionGroup var store: StoreOptions

  @MainActor
  func run() async throws {
    try store.withContext { context in
      let found = try ToDo.find(toDo, in: context)
      found.doNotAlert = true
      return "\(found.number)  \(found.name), muted"
    }
  }
}
