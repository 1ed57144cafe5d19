package import ArgumentParser

/// `install-completions`, a command of each program.
package struct InstallCompletions<Program: ParsableCommand>: ParsableCommand {
  package static var configuration: CommandConfiguration {
    let program = Program._commandName
    return CommandConfiguration(
      commandName: "install-completions", abstract: "Install the completions for a shell.",
      discussion: """
        Afterwards, the shell completes the commands, options and files of \(program) when you press the Tab key. The \
        command prints the path of the file that it has written. '\(program) --generate-completion-script' prints the completions instead.

          \(program) install-completions
          \(program) install-completions --shell zsh
        """)
  }

  @Option(
    help: "The shell: bash, zsh or fish. The default is the shell that the environment variable SHELL names.")
  package var shell: Shell?

  package init() {}

  package func run() throws {
    try reportingFailures { try Program.installCompletions(for: shell) }
  }
}
