/// Reads binary property lists. The result is nil if a reference points outside the bytes, if values contain each
/// other, or if the values are more than the bytes could hold. A limit on values is needed because values may be
/// shared: a small file could otherwise expand without end.
package struct BinaryPropertyList {
  private let bytes: [UInt8]
  private let offsets: [Int]
  private let referenceSize: Int
  /// The number of values that may still be read. Every unshared value, and every reference to it, takes at least one
  /// byte.
  private var budget: Int
  /// The number of bytes of text and data that may still be read. Each value is read only once.
  private var byteBudget: Int
  private var scalars: [Int: PropertyListValue] = [:]

  /// Reads the root value of a property list.
  package static func read(_ bytes: [UInt8]) -> PropertyListValue? {
    guard var list = BinaryPropertyList(bytes), let root = list.root else { return nil }
    return list.value(root, depth: 0)
  }

  private let root: Int?

  private init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: Array("bplist00".utf8)), bytes.count >= 40 else { return nil }
    self.bytes = bytes
    budget = bytes.count
    byteBudget = bytes.count
    let trailer = bytes.count - 32
    func number(_ start: Int, _ size: Int) -> Int? {
      guard size > 0, size <= 8, start >= 0, start <= bytes.count - size else { return nil }
      let value = bytes[start..<(start + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return Int(exactly: value)
    }
    let offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    guard let count = number(trailer + 8, 8), let root = number(trailer + 16, 8),
      let table = number(trailer + 24, 8),
      count <= bytes.count, root < count, table <= bytes.count, (1...8).contains(referenceSize)
    else { return nil }
    var offsets: [Int] = []
    for place in 0..<count {
      guard let offset = number(table + place * offsetSize, offsetSize), offset < trailer else { return nil }
      offsets.append(offset)
    }
    self.offsets = offsets
    self.root = root
  }

  private func number(_ start: Int, _ size: Int) -> Int? {
    guard size > 0, size <= 8, start >= 0, start <= bytes.count - size else { return nil }
    return Int(exactly: bytes[start..<(start + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  private mutating func value(_ place: Int, depth: Int) -> PropertyListValue? {
    budget -= 1
    guard offsets.indices.contains(place), depth < 64, budget > 0 else { return nil }
    let start = offsets[place]
    if let scalar = scalars[start] { return scalar }
    let low = Int(bytes[start] & 0x0F)
    switch bytes[start] >> 4 {
    case 0x0: return low == 8 ? .bool(false) : low == 9 ? .bool(true) : .null
    case 0x1:
      let size = 1 << low
      guard size <= 16, start + 1 + size <= bytes.count else { return .other }
      // An integer of 16 bytes exceeds the range of Int64.
      if size == 16 { return .other }
      let bits = bytes[(start + 1)..<(start + 1 + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return .int(size == 8 ? Int64(bitPattern: bits) : Int64(bits))
    case 0x2:
      let size = 1 << low
      guard size == 4 || size == 8, start + 1 + size <= bytes.count else { return nil }
      let bits = bytes[(start + 1)..<(start + 1 + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return .real(
        size == 8 ? Double(bitPattern: bits) : Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
    case 0x3:
      guard low == 3, start + 9 <= bytes.count else { return nil }
      let bits = bytes[(start + 1)..<(start + 9)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return .date(Double(bitPattern: bits))
    case 0x4, 0x5, 0x6:
      guard
        let scalar = scalar(start, low, isData: bytes[start] >> 4 == 4, unit: bytes[start] >> 4 == 6 ? 2 : 1)
      else { return nil }
      scalars[start] = scalar
      return scalar
    case 0x8: return number(start + 1, low + 1).map { .reference($0) }
    case 0xA, 0xC:
      guard let (first, count) = extent(start, low, unit: referenceSize) else { return nil }
      var values: [PropertyListValue] = []
      for each in 0..<count {
        guard let next = number(first + each * referenceSize, referenceSize),
          let value = value(next, depth: depth + 1)
        else { return nil }
        values.append(value)
      }
      return .list(values)
    case 0xD:
      guard let (first, count) = extent(start, low, unit: 2 * referenceSize) else { return nil }
      var values: [String: PropertyListValue] = [:]
      for each in 0..<count {
        guard let key = number(first + each * referenceSize, referenceSize),
          let place = number(first + (count + each) * referenceSize, referenceSize),
          case .string(let name)? = value(key, depth: depth + 1), let value = value(place, depth: depth + 1)
        else { return nil }
        values[name] = value
      }
      return .dictionary(values)
    default: return .other
    }
  }

  /// Reads data, or text in ASCII or UTF-16.
  private mutating func scalar(_ start: Int, _ low: Int, isData: Bool, unit: Int) -> PropertyListValue? {
    guard let (first, count) = extent(start, low, unit: unit) else { return nil }
    byteBudget -= count * unit
    guard byteBudget >= 0 else { return nil }
    if isData { return .data(Array(bytes[first..<(first + count)])) }
    if unit == 1 { return .string(String(decoding: bytes[first..<(first + count)], as: UTF8.self)) }
    let units = (0..<count).map { UInt16(bytes[first + 2 * $0]) << 8 | UInt16(bytes[first + 2 * $0 + 1]) }
    return .string(String(decoding: units, as: UTF16.self))
  }

  /// The offset of a value's contents and their number of units.
  private func extent(_ start: Int, _ low: Int, unit: Int) -> (first: Int, count: Int)? {
    var first = start + 1
    var count = low
    if low == 0x0F {
      guard first < bytes.count, bytes[first] >> 4 == 1, bytes[first] & 0x0F <= 3 else { return nil }
      let size = 1 << Int(bytes[first] & 0x0F)
      guard let number = number(first + 1, size) else { return nil }
      first += 1 + size
      count = number
    }
    guard count >= 0, count <= bytes.count / unit, first <= bytes.count - count * unit else { return nil }
    return (first, count)
  }
}
