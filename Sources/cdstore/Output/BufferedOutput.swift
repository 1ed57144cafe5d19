import Foundation

/// Lines for standard output that are written together, a block at a time.
struct BufferedOutput {
  private var bytes: [UInt8] = []
  private static let size = 1 << 16

  mutating func write(_ line: String) {
    bytes.append(contentsOf: line.utf8)
    bytes.append(UInt8(ascii: "\n"))
    if bytes.count >= Self.size { flush() }
  }

  /// Writes what is left: to be called at the end, whatever ends it.
  mutating func flush() {
    guard !bytes.isEmpty else { return }
    FileHandle.standardOutput.write(Data(bytes))
    bytes.removeAll(keepingCapacity: true)
  }
}
