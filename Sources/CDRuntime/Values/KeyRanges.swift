/// The keys of a table's rows. Consecutive keys are kept as one range.
package struct KeyRanges {
  /// The greatest key of an object. It is well below the greatest Int64, so that sums of keys and counts never
  /// overflow.
  package static let largestKey: ObjectKey = 1 << 62

  /// The ranges in the order in which they were appended.
  package private(set) var ranges: [ClosedRange<ObjectKey>] = []

  /// Creates an empty set of keys.
  package init() {}

  /// Appends a key.
  @inline(__always) package mutating func append(_ key: ObjectKey) {
    if let last = ranges.last, last.upperBound < .max, last.upperBound + 1 == key {
      ranges[ranges.count - 1] = last.lowerBound...key
    } else {
      ranges.append(key...key)
    }
  }

  /// Appends consecutive keys.
  package mutating func append(_ keys: ClosedRange<ObjectKey>) { ranges.append(keys) }

  /// The number of keys.
  package var count: Int { ranges.reduce(0) { $0 + $1.count } }

  /// The ranges in ascending order, with overlapping and adjacent ranges joined.
  static func normalized(_ ranges: [ClosedRange<ObjectKey>]) -> [ClosedRange<ObjectKey>] {
    // Most statements return keys in ascending order already.
    if zip(ranges, ranges.dropFirst()).allSatisfy({ areSeparate($0, $1) }) { return ranges }
    var result: [ClosedRange<ObjectKey>] = []
    for next in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = result.last, !areSeparate(last, next) {
        result[result.count - 1] = last.lowerBound...max(last.upperBound, next.upperBound)
      } else {
        result.append(next)
      }
    }
    return result
  }

  /// Whether a key is in one of some ranges, which must be normalized.
  static func contains(_ key: ObjectKey, in ranges: [ClosedRange<ObjectKey>]) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < key { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(key)
  }

  /// Whether at least one key lies between two ranges, the first of which is lower.
  @inline(__always)
  private static func areSeparate(_ left: ClosedRange<ObjectKey>, _ right: ClosedRange<ObjectKey>) -> Bool {
    left.upperBound < right.lowerBound && right.lowerBound - 1 != left.upperBound
  }

  /// The keys of some ranges without the keys of others. Both lists must be normalized.
  static func subtracting(
    _ taken: [ClosedRange<ObjectKey>], from keys: [ClosedRange<ObjectKey>]
  ) -> [ClosedRange<ObjectKey>] {
    var left: [ClosedRange<ObjectKey>] = []
    var index = 0
    for keys in keys {
      var rest: ClosedRange<ObjectKey>? = keys
      while index < taken.count, taken[index].upperBound < keys.lowerBound { index += 1 }
      var next = index
      while let keys = rest, next < taken.count, taken[next].lowerBound <= keys.upperBound {
        if keys.lowerBound < taken[next].lowerBound {
          left.append(keys.lowerBound...taken[next].lowerBound - 1)
        }
        rest = taken[next].upperBound < keys.upperBound ? taken[next].upperBound + 1...keys.upperBound : nil
        next += 1
      }
      if let rest { left.append(rest) }
    }
    return left
  }
}
