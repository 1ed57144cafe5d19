import ArgumentParser
import CDConsole

/// `cdstore install-completions`
struct InstallCompletions: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Install the completions for a shell.",
    discussion: """
      Afterwards, the shell completes the commands, options and files of cdstore when you press the tabulator key. The command \
      prints the file that it has written. 'cdstore --generate-completion-script' prints the completions instead.

        cdstore install-completions
        cdstore install-completions --shell zsh
      """)

  @Option(help: "The shell: bash, zsh or fish. The default is your own, by the environment variable SHELL.")
  var shell: Shell?

  func run() throws {
    try reportingFailures { try CDStore.installCompletions(for: shell) }
  }
}
