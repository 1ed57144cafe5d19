import ArgumentParser
import CDConsole

/// `cdgen missing-model`. The build plugin runs it for a target without a model.
///
/// The plugin does not report an error itself, because that would stop every planned build, including the one of
/// `swift package cdgen init`, which creates the model.
struct MissingModel: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Report that a target has no model, and fail.", shouldDisplay: false)

  @Argument(help: "The name of the target.")
  var target: String

  @Argument(help: "The folder of the target, relative to the folder of the package.")
  var folder: String

  func run() throws {
    let name = SuggestedCommand.modelName(forTarget: target)
    let directory = SuggestedCommand.word(folder)
    Console.error(
      """
      error: target '\(target)' uses CDGenPlugin and has no model: add a folder NAME.cdmodel, or a symbolic \
      link to one, to \(folder), such as this command makes: \
      swift package --allow-writing-to-package-directory cdgen init \(name) --directory \(directory)
      """)
    throw ExitCode.failure
  }
}
