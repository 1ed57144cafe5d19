import ArgumentParser
import CDConsole
import CDModel
import CDSchema

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// `cdgen watch`
struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check models, or generate Swift from one, after each change of their files.",
    discussion: """
      Reports the mistakes of the models once, and again after each change, until you end the command with Control-C. \
      With --output, it also generates Swift code, as 'cdgen generate' does, if there are no errors.

        cdgen watch Schemas/*.cdmodel
        cdgen watch Schemas/ToDo.cdmodel --output Sources/App/ToDo+Generated.swift
      """)

  @Argument(help: "The folders of the models.", completion: .directory)
  var model: [String]

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file or the folder of the generated code, for one model.", valueName: "path"))
  var output: String?

  @Flag(help: "With --output, write a file for each entity, as 'cdgen generate --per-entity' does.")
  var perEntity = false

  @Option(help: ArgumentHelp("The seconds between two checks of the files.", valueName: "seconds"))
  var interval = 0.5

  func validate() throws {
    if output != nil, model.count != 1 { throw ValidationError("--output is for one model.") }
    if perEntity, output.map({ $0.hasSuffix(".swift") }) ?? true {
      throw ValidationError("With --per-entity, --output is a folder.")
    }
    if !(0.01...60).contains(interval) { throw ValidationError("--interval is from 0.01 to 60.") }
  }

  func run() throws {
    Self.unblockSignals()
    var known: [String: FolderState] = [:]
    while true {
      for path in model {
        let state = FolderState(path)
        if known[path] == state { continue }
        known[path] = state
        try update(path)
      }
      usleep(UInt32(interval * 1_000_000))
    }
  }

  /// A program that another one starts can have the signals blocked that end it, such as in a plugin of the package
  /// manager. Then Control-C would not end this command.
  private static func unblockSignals() {
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }

  private func update(_ path: String) throws {
    // The parser's own errors would end the command. A mistake in the model must not.
    if let output {
      let options = ["--output=" + output] + (perEntity ? ["--per-entity"] : [])
      do {
        try Generate.parse(options + ["--", path]).run()
        try Console.write(line: "\(ModelFolder.trimmed(path)): generated \(output)")
      } catch let code as ExitCode where code == .failure {}
    } else {
      do { try Check.parse([path]).run() } catch let code as ExitCode where code == .failure {}
    }
  }
}

/// What tells that a file of a folder has changed.
private struct FolderState: Equatable {
  private struct File: Equatable {
    let name: String
    let size: UInt64?
    let date: Date?
  }

  private let files: [File]

  init(_ folder: String) {
    let names = (try? FileSystem.names(in: folder)) ?? []
    files = names.map { name in
      // The attributes of a symbolic link stay the same when its file changes.
      let path = FileSystem.realPath(FileSystem.join(folder, name))
      let attributes = path.flatMap { try? FileManager.default.attributesOfItem(atPath: $0) }
      return File(
        name: name, size: attributes?[.size] as? UInt64,
        date: attributes?[.modificationDate] as? Date)
    }
  }
}
