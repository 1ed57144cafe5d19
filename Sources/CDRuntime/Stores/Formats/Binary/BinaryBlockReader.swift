#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads the output of a ``BinaryBlockWriter``. The checksum of a block is verified before any of its contents is used.
struct BinaryBlockReader {
  private let input: StoreInput
  private var block: [UInt8] = []
  private var head: [UInt8] = []
  private var index = 0
  private var number: UInt64 = 0
  private var isAtEnd = false
  /// The offset of the current block in the file.
  private(set) var offset: Int
  private var next: Int

  init(_ input: StoreInput, offset: Int) {
    self.input = input
    self.offset = offset
    next = offset
  }

  /// Reads the next block.
  ///
  /// - Returns: Whether the block has contents. An empty block is the last one.
  private mutating func load() throws -> Bool {
    guard !isAtEnd else { return false }
    offset = next
    try input.read(upToCount: 8, into: &head)
    guard head.count == 8 else { throw StoreFormatError(.truncated) }
    let words = head.withUnsafeBytes {
      (
        UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 0, as: UInt32.self)),
        UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
      )
    }
    guard words.0 <= BinaryStoreFormat.blockSize else { throw StoreFormatError(.checksum) }
    let length = Int(words.0)
    try input.read(upToCount: length, into: &block)
    guard block.count == length else { throw StoreFormatError(.truncated) }
    var checksum = BlockChecksum()
    checksum.add(number)
    checksum.add(UInt64(length))
    block.withUnsafeBytes { checksum.add($0) }
    guard checksum.value == words.1 else { throw StoreFormatError(.checksum) }
    index = 0
    number += 1
    next = offset + 8 + length
    isAtEnd = length == 0
    return !isAtEnd
  }

  mutating func byte() throws -> UInt8 {
    if index == block.count {
      guard try load() else { throw StoreFormatError(.truncated) }
    }
    defer { index += 1 }
    return block[index]
  }

  private mutating func varint() throws -> UInt64 {
    var result: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = try byte()
      guard shift < 63 || (shift == 63 && byte <= 1) else {
        throw StoreFormatError(.syntax("a number that is too large"))
      }
      result |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return result }
      shift += 7
    }
  }

  /// Reads the number of following items or bytes. The limit is 1,000,000,000, because SQLite has no longer value.
  mutating func count() throws -> Int {
    let number = try varint()
    guard number <= 1_000_000_000 else { throw StoreFormatError(.syntax("a number that is too large")) }
    return Int(number)
  }

  mutating func text() throws -> String { try text(count()) }

  private mutating func text(_ length: Int) throws -> String {
    if index + length <= block.count {
      defer { index += length }
      guard let text = String(validating: block[index..<index + length], as: UTF8.self) else {
        throw StoreFormatError(.encoding)
      }
      return text
    }
    guard let text = String(validating: try bytes(length), as: UTF8.self) else {
      throw StoreFormatError(.encoding)
    }
    return text
  }

  /// Reads bytes, which may span several blocks. The memory grows block by block, so that a wrong length never
  /// allocates more than the file contains.
  private mutating func bytes(_ length: Int) throws -> [UInt8] {
    var result: [UInt8] = []
    while result.count < length {
      if index == block.count {
        guard try load() else { throw StoreFormatError(.truncated) }
      }
      let end = min(block.count, index + length - result.count)
      result += block[index..<end]
      index = end
    }
    return result
  }

  mutating func value(after before: inout Int64) throws -> StoreValue {
    let tag = try byte()
    switch tag {
    case BinaryStoreFormat.Tag.shortText...:
      return .text(try text(Int(tag - BinaryStoreFormat.Tag.shortText)))
    case BinaryStoreFormat.Tag.small..<BinaryStoreFormat.Tag.shortText:
      before = Int64(tag - BinaryStoreFormat.Tag.small)
      return .integer(before)
    case BinaryStoreFormat.Tag.null: return .null
    case BinaryStoreFormat.Tag.integer:
      let number = try varint()
      before = Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
      return .integer(before)
    case BinaryStoreFormat.Tag.successor:
      before &+= 1
      return .integer(before)
    case BinaryStoreFormat.Tag.real:
      var pattern: UInt64 = 0
      for shift in stride(from: 0 as UInt64, to: 64, by: 8) { pattern |= UInt64(try byte()) << shift }
      return .real(Double(bitPattern: pattern))
    case BinaryStoreFormat.Tag.text: return .text(try text())
    case BinaryStoreFormat.Tag.bytes: return .bytes(Data(try bytes(count())))
    default: throw StoreFormatError(.syntax("a value of unknown type"))
    }
  }

  /// Checks that nothing follows.
  mutating func finish() throws {
    guard index == block.count, try !load() else {
      throw StoreFormatError(.syntax("bytes after the last table"))
    }
    guard try input.read(upToCount: 1) == nil else {
      throw StoreFormatError(.syntax("bytes after the end"), offset: next)
    }
  }
}
