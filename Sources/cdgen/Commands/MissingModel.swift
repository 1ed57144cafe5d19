import ArgumentParser
import CDConsole

/// `cdgen missing-model`, which the build plugin runs for a target that has no model.
///
/// The plugin does not refuse such a target itself: that would stop every build that is planned, also the one of
/// `swift package cdgen init`, which is to make the model.
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
