import Foundation
import Testing

@testable import CDPostgresStore

/// A server that one test has for itself, because it changes the server's settings. `.ci/postgresql` starts it, and ends it
/// with the object.
final class OwnServer {
  let server: PostgresServer
  private let process: Process
  private let input: Pipe
  private let folder: URL
  /// A command that makes the disk of limited size larger.
  private let growing: String

  private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: ".ci/postgresql")

  /// - Parameters:
  ///   - settings: Lines for `postgresql.conf`.
  ///   - files: A folder whose files the server gets.
  ///   - disk: The size of the server's disk, such as `200m`.
  init(_ settings: String = "", files: URL? = nil, disk: String? = nil) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-server-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appending(path: "settings")
    try settings.write(to: file, atomically: true, encoding: .utf8)
    process = Process()
    input = Pipe()
    let output = Pipe()
    process.executableURL = URL(filePath: "/bin/bash")
    var arguments = [Self.script.path, "--settings", file.path]
    if let files { arguments += ["--files", files.path] }
    if let disk { arguments += ["--disk", disk] }
    // The server runs until nothing more can come from this test.
    process.arguments =
      arguments + ["bash", "-c", #"echo "$CDGEN_POSTGRES_URL"; echo "$CDGEN_POSTGRES_GROW"; cat >/dev/null"#]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    func line() throws -> String {
      var line: [UInt8] = []
      while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
        line.append(byte)
      }
      return String(decoding: line, as: UTF8.self)
    }
    let url = try line()
    growing = try line()
    var server = try PostgresServer(url: url)
    server.schema = "test"
    server.poolSize = 4
    self.server = server
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Makes the disk larger, and starts the server if it has stopped.
  func grow() throws { try Shell.run(growing) }

  /// Whether the machine lets this process make a disk of limited size.
  static let canLimitDisks: Bool = {
    guard getuid() == 0 else { return false }
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-disk-\(UUID().uuidString)")
    let path = "'\(folder.path)'"
    let isPossible =
      (try? Shell.run("mkdir \(path) && mount -t tmpfs -o size=1m tmpfs \(path) && umount \(path)")) != nil
    try? FileManager.default.removeItem(at: folder)
    return isPossible
  }()
}

/// Commands of the system.
enum Shell {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Runs a command.
  ///
  /// - Returns: What it prints.
  @discardableResult
  static func run(_ text: String, in folder: URL? = nil) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: "/bin/bash")
    process.arguments = ["-c", "exec 2>&1; " + text]
    process.currentDirectoryURL = folder
    process.standardOutput = output
    try process.run()
    let printed = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(description: "\(text): \(printed)") }
    return printed
  }
}
