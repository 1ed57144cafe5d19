/// Comparison of strings by their code units.
///
/// The code units are those of UTF-8. Their order is the order of code points, and the order of SQLite's BINARY
/// collation. UTF-16 has another order: it puts code points above U+FFFF before U+E000.
enum CodeUnits {
  /// Returns a negative number, 0 or a positive number if the left string comes before, equals or comes after the right
  /// one.
  static func order(_ left: String, _ right: String) -> Int {
    let fast = left.utf8.withContiguousStorageIfAvailable { first in
      right.utf8.withContiguousStorageIfAvailable { second in order(first, second) }
    }
    if let fast, let order = fast { return order }
    return order(Array(left.utf8), Array(right.utf8))
  }

  static func areEqual(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count && order(left, right) == 0
  }

  /// Compares bytes as unsigned numbers. A prefix comes before a longer sequence.
  static func order(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Int {
    var second = right.makeIterator()
    for byte in left {
      guard let other = second.next() else { return 1 }
      if byte != other { return byte < other ? -1 : 1 }
    }
    return second.next() == nil ? 0 : -1
  }

  /// Returns whether bytes contain a part at an anchor. An empty part is never contained.
  static func contains(_ bytes: [UInt8], _ part: [UInt8], _ anchor: SearchAnchor) -> Bool {
    guard !part.isEmpty, part.count <= bytes.count else { return false }
    switch anchor {
    case .start: return bytes.starts(with: part)
    case .end: return bytes.suffix(part.count).elementsEqual(part)
    case .anywhere:
      let first = part[0]
      let last = bytes.count - part.count
      var start = 0
      while start <= last {
        if bytes[start] == first, bytes[start..<start + part.count].elementsEqual(part) { return true }
        start += 1
      }
      return false
    }
  }
}

/// Where in a text a search expects a part.
package enum SearchAnchor: Int, Sendable {
  case start, end, anywhere
}
