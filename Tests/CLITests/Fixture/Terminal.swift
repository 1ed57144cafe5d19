import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension BuiltTool {
  /// Runs the program with a terminal as its output and its errors.
  ///
  /// - Returns: The exit status, and all that the terminal shows.
  func runOnTerminal(
    _ arguments: [String], in folder: URL, environment: [String: String] = [:]
  ) throws -> (status: Int32, text: String) {
    let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    try #require(terminal >= 0)
    let path = try Self.pathOfOtherEnd(terminal)
    let program = open(path, O_RDWR | O_NOCTTY)
    try #require(program >= 0)
    let handle = FileHandle(fileDescriptor: program, closeOnDealloc: false)
    let process = Process()
    process.executableURL = url
    process.arguments = arguments
    process.currentDirectoryURL = folder
    var values = ProcessInfo.processInfo.environment
    values["NO_COLOR"] = nil
    values["TERM"] = "xterm"
    process.environment = values.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = handle
    process.standardError = handle
    try process.run()
    // A terminal keeps only some text for its reader, so it is read while the program runs.
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 4096)
    func readAvailable(wait: Int32) -> Bool {
      var wanted = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
      guard poll(&wanted, 1, wait) > 0 else { return false }
      let count = read(terminal, &block, 4096)
      if count > 0 { bytes += block.prefix(count) }
      return count > 0
    }
    while process.isRunning { _ = readAvailable(wait: 20) }
    while readAvailable(wait: 0) {}
    process.waitUntilExit()
    close(program)
    close(terminal)
    return (
      process.terminationStatus, String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "\n")
    )
  }

  /// Unlocks a terminal, and returns the path that a program opens.
  private static func pathOfOtherEnd(_ terminal: Int32) throws -> String {
    #if os(Linux)
      // The functions of the C library for this are hidden from Swift. These are their requests to the system.
      var number: Int32 = 0
      try #require(ioctl(terminal, 0x4004_5431, &number) == 0)
      try #require(ioctl(terminal, 0x8004_5430, &number) == 0)
      return "/dev/pts/\(number)"
    #else
      try #require(grantpt(terminal) == 0 && unlockpt(terminal) == 0)
      return String(cString: try #require(ptsname(terminal)))
    #endif
  }
}
