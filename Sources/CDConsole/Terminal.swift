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

/// What a person's terminal shows in addition to the text that programs read.
package enum Terminal {
  /// A stream that a program writes.
  package enum Stream {
    case output, errors

    fileprivate var descriptor: Int32 {
      switch self {
      case .output: STDOUT_FILENO
      case .errors: STDERR_FILENO
      }
    }
  }

  /// The meaning of a text, which decides about its colour.
  package enum Meaning: String {
    case error = "1;31"
    case warning = "1;35"
    case note = "1;36"
    case success = "1;32"
    case strong = "1"
  }

  /// Whether a stream is a terminal. A pipe and a file get plain text.
  package static func isTerminal(_ stream: Stream) -> Bool { isatty(stream.descriptor) == 1 }

  /// Whether a stream is a terminal with colours. The environment variable `NO_COLOR` turns them off, as
  /// https://no-color.org describes it.
  package static func hasColors(_ stream: Stream) -> Bool {
    let environment = ProcessInfo.processInfo.environment
    return isTerminal(stream) && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
  }

  /// A text in the colour of its meaning, if the stream has colours.
  package static func text(_ text: String, _ meaning: Meaning, on stream: Stream) -> String {
    hasColors(stream) ? colored(text, meaning) : text
  }

  /// A message as compilers write it, such as `path:1:2: error: message`, with the severity in its colour if the stream
  /// has colours.
  package static func message(_ line: String, on stream: Stream) -> String {
    guard hasColors(stream) else { return line }
    let severities: [(String, Meaning)] = [("error", .error), ("warning", .warning), ("note", .note)]
    let found = severities.compactMap { word, meaning in
      line.firstRange(of: "\(word): ").map { (range: $0, word, meaning) }
    }
    guard let (range, word, meaning) = found.min(by: { $0.range.lowerBound < $1.range.lowerBound }) else {
      return line
    }
    let rest = line[range.upperBound...]
    return colored(String(line[..<range.lowerBound]), .strong) + colored("\(word):", meaning) + " "
      + colored(String(rest), .strong)
  }

  private static func colored(_ text: String, _ meaning: Meaning) -> String {
    text.isEmpty ? text : "\u{1B}[\(meaning.rawValue)m\(text)\u{1B}[0m"
  }

  /// A text without control characters, which could move the terminal's cursor or change its title. A tab stays.
  package static func plain(_ text: some StringProtocol) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          let isControl = scalar.value < 32 && scalar != "\t" || (127..<160).contains(scalar.value)
          return isControl ? "\u{FFFD}" : scalar
        }))
  }

  /// A text of several lines without other control characters.
  package static func plain(lines text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { plain($0) }.joined(separator: "\n")
  }

  /// The number of columns that a text takes. A character of several scalars, such as a flag, takes the columns of its widest
  /// scalar.
  package static func columns(of text: String) -> Int {
    text.reduce(0) { sum, character in
      // The selector asks for the form as an emoji.
      let isEmoji = character.unicodeScalars.contains("\u{FE0F}")
      return sum + (isEmoji ? 2 : character.unicodeScalars.map { columns(of: $0) }.max() ?? 0)
    }
  }

  /// The number of columns that a scalar takes.
  package static func columns(of scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    return wide.contains { $0.contains(scalar.value) } || scalar.properties.isEmojiPresentation ? 2 : 1
  }

  /// The characters of East Asian scripts that take two columns.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
    0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD,
  ]
}

extension Console {
  /// Writes a message as compilers write it to the error stream, in colour on a terminal.
  package static func report(_ message: String) { error(Terminal.message(message, on: .errors)) }
}
