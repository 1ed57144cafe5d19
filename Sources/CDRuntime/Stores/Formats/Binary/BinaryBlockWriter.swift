#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Writes numbers, texts and bytes in blocks, each with its length and its checksum.
struct BinaryBlockWriter {
  private let output: StoreOutput
  private var buffer: [UInt8] = []
  private var number: UInt64 = 0

  init(_ output: StoreOutput) {
    self.output = output
    buffer.reserveCapacity(2 * BinaryStoreFormat.blockSize)
  }

  mutating func byte(_ byte: UInt8) { buffer.append(byte) }

  /// Writes seven bits in each byte, the lowest first. The highest bit of a byte says that another byte follows.
  mutating func varint(_ number: UInt64) {
    var number = number
    while number >= 0x80 {
      buffer.append(UInt8(truncatingIfNeeded: number) | 0x80)
      number >>= 7
    }
    buffer.append(UInt8(truncatingIfNeeded: number))
  }

  mutating func count(_ count: Int) { varint(UInt64(count)) }

  mutating func text(_ text: String) throws {
    count(text.utf8.count)
    buffer.append(contentsOf: text.utf8)
    try writeFullBlocks()
  }

  /// - Parameter before: The integer in the same column of the previous row. It is set to this integer.
  mutating func value(_ value: StoreValue, after before: inout Int64) throws {
    switch value {
    case .null: byte(BinaryStoreFormat.Tag.null)
    case .integer(let number):
      if number == before &+ 1 {
        byte(BinaryStoreFormat.Tag.successor)
      } else if number >= 0, number < BinaryStoreFormat.Tag.shortText - BinaryStoreFormat.Tag.small {
        byte(BinaryStoreFormat.Tag.small + UInt8(truncatingIfNeeded: number))
      } else {
        byte(BinaryStoreFormat.Tag.integer)
        // A zigzag encoding: numbers near zero are short, whether positive or negative.
        varint(UInt64(bitPattern: number << 1 ^ number >> 63))
      }
      before = number
    case .real(let number):
      byte(BinaryStoreFormat.Tag.real)
      withUnsafeBytes(of: number.bitPattern.littleEndian) { buffer.append(contentsOf: $0) }
    case .text(let text):
      let length = text.utf8.count
      if length < 128 {
        byte(BinaryStoreFormat.Tag.shortText + UInt8(truncatingIfNeeded: length))
      } else {
        byte(BinaryStoreFormat.Tag.text)
        count(length)
      }
      buffer.append(contentsOf: text.utf8)
    case .bytes(let data):
      byte(BinaryStoreFormat.Tag.bytes)
      count(data.count)
      buffer.append(contentsOf: data)
    }
  }

  mutating func writeFullBlocks() throws {
    guard buffer.count >= BinaryStoreFormat.blockSize else { return }
    var start = 0
    while buffer.count - start >= BinaryStoreFormat.blockSize {
      try write(start..<start + BinaryStoreFormat.blockSize)
      start += BinaryStoreFormat.blockSize
    }
    buffer.removeFirst(start)
  }

  /// Writes the remaining bytes, and the empty block that marks the end.
  mutating func finish() throws {
    try writeFullBlocks()
    if !buffer.isEmpty { try write(0..<buffer.count) }
    try write(0..<0)
  }

  private mutating func write(_ range: Range<Int>) throws {
    var checksum = BlockChecksum()
    checksum.add(number)
    checksum.add(UInt64(range.count))
    buffer.withUnsafeBytes { checksum.add(UnsafeRawBufferPointer(rebasing: $0[range])) }
    try output.write(withUnsafeBytes(of: UInt32(range.count).littleEndian) { Array($0) })
    try output.write(withUnsafeBytes(of: checksum.value.littleEndian) { Array($0) })
    try output.write(buffer[range])
    number += 1
  }
}
