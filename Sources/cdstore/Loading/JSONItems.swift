import CDConsole
import CDModel
import Foundation

/// Reads the JSON objects of a file one after another, in memory for one of them: objects in a row, such as one in each
/// line, and the elements of lists.
struct JSONItems {
  /// An object of the file.
  struct Item {
    let json: JSONValue
    /// The line in which the object begins, from 1.
    let line: Int
    /// The number of bytes of its text.
    let size: Int
    /// Whether the object is an element of a list.
    let isInList: Bool
  }

  private let file: FileHandle
  private var block: [UInt8] = []
  private var position = 0
  private var line = 1
  /// The line of a list that has not ended.
  private var listLine: Int?
  /// Whether a list has begun.
  private(set) var hasList = false
  /// The number of bytes that have been read.
  private(set) var bytesRead = 0

  private static let blockSize = 1 << 16

  /// Starts at the beginning of a file.
  init(_ file: FileHandle) throws {
    self.file = file
    try Self.seekToStart(of: file)
  }

  /// Seeks to the beginning of the text, after the mark that some programs write before UTF-8.
  static func seekToStart(of file: FileHandle) throws {
    try file.seek(toOffset: 0)
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    if try file.read(upToCount: mark.count) != Data(mark) { try file.seek(toOffset: 0) }
  }

  /// - Throws: ``Failure`` with the line, if the text is not JSON or not an object.
  mutating func next() throws -> Item? {
    while let byte = try peek() {
      switch byte {
      case UInt8(ascii: "{"): return try object()
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"):
        if byte == UInt8(ascii: "\n") { line += 1 }
      case UInt8(ascii: "[") where listLine == nil:
        listLine = line
        hasList = true
      case UInt8(ascii: "]") where listLine != nil: listLine = nil
      case UInt8(ascii: ",") where listLine != nil: break
      default: throw Failure("line \(line): this is not the JSON object of a row")
      }
      position += 1
    }
    if let listLine {
      throw Failure(
        "the list that begins in line \(listLine) has no end, so that the file is incomplete; write it again")
    }
    return nil
  }

  /// The next byte; nil at the end of the file.
  private mutating func peek() throws -> UInt8? {
    if position == block.count {
      block = Array(try file.read(upToCount: Self.blockSize) ?? Data())
      bytesRead += block.count
      position = 0
    }
    return block.isEmpty ? nil : block[position]
  }

  private mutating func object() throws -> Item {
    let start = line
    var bytes: [UInt8] = []
    var depth = 0
    var isInText = false
    var isEscaped = false
    var isComplete = false
    while !isComplete {
      guard try peek() != nil else {
        throw Failure(
          "line \(start): the file ends within this object, so that it is incomplete; write it again")
      }
      let from = position
      var lines = 0
      block.withUnsafeBufferPointer { block in
        while position < block.count, !isComplete {
          let byte = block[position]
          position += 1
          if byte == UInt8(ascii: "\n") { lines += 1 }
          if isEscaped {
            isEscaped = false
          } else if isInText {
            if byte == UInt8(ascii: "\\") { isEscaped = true } else { isInText = byte != UInt8(ascii: "\"") }
          } else if byte == UInt8(ascii: "\"") {
            isInText = true
          } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
            depth += 1
          } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
            depth -= 1
            isComplete = depth == 0
          }
        }
      }
      bytes += block[from..<position]
      line += lines
    }
    do {
      return Item(
        json: try JSONValue(parsing: bytes), line: start, size: bytes.count, isInList: listLine != nil)
    } catch {
      let before = bytes.prefix(error.offset)
      let ends = before.count { $0 == UInt8(ascii: "\n") }
      let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
      // The error's own position counts the bytes of the object.
      let reason = "\(error)".split(separator: ": ", maxSplits: 1).last ?? ""
      throw Failure("line \(start + ends), column \(column): \(reason)")
    }
  }
}
