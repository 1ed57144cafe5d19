/// The keys that a context has reserved for new objects of one root entity.
///
/// It stores two integers instead of a range: the runtime of the language takes about 0.1 ms to look up what the first
/// use of `Range<Int64>` needs, which an app would pay whenever it starts.
struct ReservedKeys {
  private var next: ObjectKey = 0
  private var end: ObjectKey = 0
  /// The number of keys to reserve next. It doubles each time.
  private(set) var nextCount: Int64 = 1

  /// The keys that are left.
  var rest: Range<ObjectKey> { next..<end }

  /// Removes and returns the first key; nil if no key is left.
  mutating func takeFirst() -> ObjectKey? {
    guard next < end else { return nil }
    defer { next += 1 }
    return next
  }

  /// Stores newly reserved keys, and returns the first of them.
  mutating func replace(with range: Range<ObjectKey>) -> ObjectKey {
    next = range.lowerBound + 1
    end = range.upperBound
    nextCount = min(4096, nextCount * 2)
    return range.lowerBound
  }

  mutating func discardAll() {
    next = 0
    end = 0
  }
}
