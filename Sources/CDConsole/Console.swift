import ArgumentParser

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Where a command's output goes: all of it, but for the help of the argument parser.
///
/// Nothing is kept in a buffer. What standard output does not take is an error of the command, for who reads a file that
/// is cut off takes it for the answer. The error stream is for people: what it does not take is lost, and the work goes
/// on.
package enum Console {
  /// The status of a program that the signal of a broken pipe has ended.
  private static let brokenPipe: Int32 = 128 + SIGPIPE

  /// Prepares the process.
  ///
  /// If the reader of the output goes away, the process must not end in the middle of a migration. Output that other
  /// code prints, such as the help, is checked when the process ends.
  package static func begin() {
    signal(SIGPIPE, SIG_IGN)
    atexit {
      // Now, since the library's own attempt at the end tells nobody.
      guard fflush(nil) != 0, let failure = Console.flushFailure() else { return }
      if failure != EPIPE { Console.error("error: \(OutputFailure(code: failure))") }
      _exit(failure == EPIPE ? Console.brokenPipe : 1)
    }
  }

  /// The error of the last flush, if it was that of output.
  private static func flushFailure() -> Int32? {
    let code = errno
    // Standard input may be one that cannot be flushed.
    return code == ESPIPE || code == EBADF ? nil : code
  }

  /// Writes a text to standard output.
  ///
  /// - Throws: ``OutputFailure``; for a broken pipe an `ExitCode`, which ends the command without a message.
  package static func write(_ text: String) throws {
    var text = text
    try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
  }

  /// Writes a line to standard output.
  package static func write(line: String) throws { try write(line + "\n") }

  /// Writes bytes to standard output.
  package static func write(_ bytes: UnsafeRawBufferPointer) throws {
    let code = put(bytes, to: STDOUT_FILENO)
    if code == EPIPE { throw ExitCode(brokenPipe) }
    if code != 0 { throw OutputFailure(code: code) }
  }

  /// Writes a line to the error stream.
  package static func error(_ line: String) { error(text: line + "\n") }

  /// Writes a text to the error stream.
  package static func error(text: String) {
    var text = text
    text.withUTF8 { _ = put(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
  }

  /// Writes all bytes.
  ///
  /// - Returns: The code of the system's error; 0 for none.
  private static func put(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = writeOnce(descriptor, UnsafeRawBufferPointer(rebasing: rest))
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        // Somebody who shares the terminal or the pipe has set it not to wait.
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wanted, 1, 1000)
      default: return errno
      }
    }
    return 0
  }

  private static func writeOnce(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.write(descriptor, bytes.baseAddress, bytes.count)
    #elseif canImport(Glibc)
      Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    #elseif canImport(Musl)
      Musl.write(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }
}

/// Why standard output takes no more.
package struct OutputFailure: Error, CustomStringConvertible {
  package let code: Int32

  package var description: String {
    "standard output cannot be written to (\(String(cString: strerror(code)))); what was printed is incomplete"
  }
}
