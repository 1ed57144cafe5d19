import CDConsole

/// Lines for standard output that are written together, a block at a time.
struct BufferedOutput {
  private var bytes: [UInt8] = []
  private static let size = 1 << 16

  mutating func write(_ line: String) throws {
    bytes.append(contentsOf: line.utf8)
    bytes.append(UInt8(ascii: "\n"))
    if bytes.count >= Self.size { try flush() }
  }

  /// Writes what is left: to be called at the end, whatever ends it.
  mutating func flush() throws {
    guard !bytes.isEmpty else { return }
    // What could not be written is not tried again.
    defer { bytes.removeAll(keepingCapacity: true) }
    try bytes.withUnsafeBytes { try Console.write($0) }
  }
}
