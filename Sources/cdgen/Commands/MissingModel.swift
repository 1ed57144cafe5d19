import ArgumentParser
import CDConsole

/// `cdgen missing-model`. The build plugin runs it for a target without a model.
///
/// The plugin does not report an error itself, because that would stop every planned build, including the one of
/// `swift package cdgen init`, which creates the model.
struct MissingModel: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say that a target has no model, and fail.", shouldDisplay: false)

  @Argument(help: "The target's name.")
  var target: String

  @Argument(help: "The target's folder, from the package's.")
  var folder: String

  func run() throws {
    Console.error(
      """
      error: target '\(target)' uses CDGenPlugin and has no model: add a folder NAME.cdmodel, or a symbolic \
      link to one, to \(folder), such as 'swift package --allow-writing-to-package-directory cdgen init \
      \(target) --directory \(folder)' makes
      """)
    throw ExitCode.failure
  }
}
