package import ArgumentParser

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The shells for which a program has completions.
package enum Shell: String, CaseIterable, ExpressibleByArgument {
  case bash, zsh, fish

  /// The shell of the user, by the environment; nil for any other shell.
  package static var current: Shell? {
    let path = ProcessInfo.processInfo.environment["SHELL"] ?? ""
    return path.split(separator: "/").last.flatMap { Shell(rawValue: String($0)) }
  }

  fileprivate var completionShell: CompletionShell {
    switch self {
    case .bash: .bash
    case .zsh: .zsh
    case .fish: .fish
    }
  }

  /// The file in which the shell looks for the completions of a program.
  fileprivate func path(of program: String) throws -> String {
    let environment = ProcessInfo.processInfo.environment
    guard let home = environment["HOME"], !home.isEmpty else {
      throw Failure("the environment variable HOME is not set, so that there is no folder for completions")
    }
    func folder(_ variable: String, _ other: String) -> String {
      environment[variable].flatMap { $0.isEmpty ? nil : $0 } ?? FileSystem.join(home, other)
    }
    switch self {
    case .bash: return folder("XDG_DATA_HOME", ".local/share") + "/bash-completion/completions/\(program)"
    case .zsh: return FileSystem.join(home, ".zfunc/_\(program)")
    case .fish: return folder("XDG_CONFIG_HOME", ".config") + "/fish/completions/\(program).fish"
    }
  }

  /// What the user does once for completions to work; nil for nothing.
  fileprivate var remark: String? {
    switch self {
    case .bash: "note: completions need the package bash-completion; start a new shell"
    case .zsh:
      "note: if ~/.zshrc does not contain it, add the line: fpath=(~/.zfunc $fpath); autoload -Uz compinit && compinit"
    case .fish: nil
    }
  }
}

extension ParsableCommand {
  /// Writes the completions of this program to the place where a shell looks for them.
  ///
  /// - Throws: ``Failure``.
  fileprivate static func installCompletions(for shell: Shell?) throws {
    guard let shell = shell ?? .current else {
      throw Failure("the shell is not known; name it with --shell bash, zsh or fish")
    }
    let file = OutputFile(
      path: try shell.path(of: _commandName), contents: completionScript(for: shell.completionShell))
    try file.write()
    try Console.write(line: file.path)
    if let remark = shell.remark { Console.report(remark) }
  }
}

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
