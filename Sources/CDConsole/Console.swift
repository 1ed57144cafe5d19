import ArgumentParser

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Writes a command's output. Only the argument parser prints its help itself.
///
/// Output is not buffered. A failed write to standard output is an error of the command, because a reader would take a
/// truncated file for the complete answer. The error stream is for people: a failed write there is ignored, and the
/// command continues.
package enum Console {
  /// The exit status of a program that was ended by the signal for a broken pipe.
  private static let brokenPipe: Int32 = 128 + SIGPIPE

  /// Prepares the process.
  ///
  /// If the reader of the output closes it, the process must not end in the middle of a migration. Output that other
  /// code prints, such as the help, is checked when the process exits.
  package static func begin() {
    signal(SIGPIPE, SIG_IGN)
    atexit {
      // The library also flushes at exit, but does not report errors.
      guard fflush(nil) != 0, let failure = Console.flushFailure() else { return }
      if failure != EPIPE { Console.error("error: \(OutputFailure(code: failure))") }
      _exit(failure == EPIPE ? Console.brokenPipe : 1)
    }
  }

  /// The error of the last flush, unless it concerns an input stream.
  private static func flushFailure() -> Int32? {
    let code = errno
    // Standard input may be a stream that cannot be flushed.
    return code == ESPIPE || code == EBADF ? nil : code
  }

  /// Writes a text to standard output.
  ///
  /// - Throws: ``OutputFailure``. For a broken pipe an `ExitCode`, which ends the command without a message.
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

  /// Writes a text to a stream at a path, as ``FileSystem/isStream(_:)`` determines it.
  ///
  /// - Throws: ``Failure``. For a broken pipe an `ExitCode`, which ends the command without a message.
  package static func write(_ text: String, toStream path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    var code = descriptor < 0 ? errno : 0
    if code == 0 {
      defer { close(descriptor) }
      var text = text
      code = text.withUTF8 { put(UnsafeRawBufferPointer($0), to: descriptor) }
    }
    if code == EPIPE { throw ExitCode(brokenPipe) }
    if code != 0 { throw Failure(path, "cannot be written: \(String(cString: strerror(code)))") }
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
  /// - Returns: The system's error code; 0 on success.
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
      case EAGAIN: waitUntilReady(descriptor, for: POLLOUT)
      default: return errno
      }
    }
    return 0
  }

  /// Waits until a terminal or a pipe is ready, for at most a second. Another process that shares it has made it non-blocking.
  ///
  /// - Parameter event: `POLLIN` or `POLLOUT`.
  package static func waitUntilReady(_ descriptor: Int32, for event: Int32) {
    var wanted = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    _ = poll(&wanted, 1, 1000)
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

/// The error of a failed write to standard output.
package struct OutputFailure: Error, CustomStringConvertible {
  package let code: Int32

  package var description: String {
    "standard output cannot be written to (\(String(cString: strerror(code)))); the output is incomplete"
  }
}
