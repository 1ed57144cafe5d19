import CDConsole

/// Buffers lines for standard output and writes them in blocks.
struct BufferedOutput {
  private var bytes: [UInt8] = []
  private static let size = 1 << 16

  mutating func write(_ line: String) throws {
    bytes.append(contentsOf: line.utf8)
    bytes.append(UInt8(ascii: "\n"))
    if bytes.count >= Self.size { try flush() }
  }

  /// Writes the remaining lines. Call this at the end, also after an error.
  mutating func flush() throws {
    guard !bytes.isEmpty else { return }
    // A failed write is not repeated.
    defer { bytes.removeAll(keepingCapacity: true) }
    try bytes.withUnsafeBytes { try Console.write($0) }
  }
}
