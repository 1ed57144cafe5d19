import CDConsole

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The non-empty lines of standard input, each as soon as it is there.
struct InputLines {
  struct Line {
    /// The number of the line, from 1.
    let number: Int
    /// The line as it came, with its end if it has one.
    let bytes: [UInt8]

    /// The line without its end.
    var content: [UInt8] {
      var content = bytes
      for end in [UInt8(ascii: "\n"), UInt8(ascii: "\r")] where content.last == end { content.removeLast() }
      return content
    }
  }

  private var block: [UInt8] = []
  private var position = 0
  private var number = 0

  /// The mark that some programs write before UTF-8.
  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// The next line; nil at the end of the input.
  ///
  /// - Throws: ``Failure`` if the input cannot be read, whose end is then unknown.
  mutating func next() throws -> Line? {
    while var bytes = try nextBytes() {
      number += 1
      if number == 1, bytes.starts(with: Self.mark) { bytes.removeFirst(Self.mark.count) }
      if !bytes.allSatisfy(Self.isBlank) { return Line(number: number, bytes: bytes) }
    }
    return nil
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || (UInt8(ascii: "\t")...UInt8(ascii: "\r")).contains(byte)
  }

  /// The next line with its end; nil at the end of the input.
  private mutating func nextBytes() throws -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      if position == block.count {
        block = try Self.nextBlock()
        position = 0
        if block.isEmpty { return line.isEmpty ? nil : line }
      }
      guard let end = block[position...].firstIndex(of: UInt8(ascii: "\n")) else {
        line += block[position...]
        position = block.count
        continue
      }
      line += block[position...end]
      position = end + 1
      return line
    }
  }

  /// The bytes that are there, after waiting for some; empty at the end of the input.
  private static func nextBlock() throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
      while true {
        let result = read(STDIN_FILENO, buffer.baseAddress, buffer.count)
        if result >= 0 {
          count = result
          return
        }
        switch errno {
        case EINTR: continue
        case EAGAIN: Console.waitUntilReady(STDIN_FILENO, for: POLLIN)
        default: throw Failure("standard input", "cannot be read", code: errno)
        }
      }
    }
  }
}
