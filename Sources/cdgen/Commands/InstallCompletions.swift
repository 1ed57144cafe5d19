import ArgumentParser
import CDConsole

/// `cdgen install-completions`
struct InstallCompletions: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Install the completions for a shell.",
    discussion: """
      Afterwards, the shell completes the commands, options and files of cdgen when you press the tabulator key. The command \
      prints the file that it has written. 'cdgen --generate-completion-script' prints the completions instead.

        cdgen install-completions
        cdgen install-completions --shell zsh
      """)

  @Option(help: "The shell: bash, zsh or fish. The default is your own, by the environment variable SHELL.")
  var shell: Shell?

  func run() throws {
    try reportingFailures { try CDGen.installCompletions(for: shell) }
  }
}
