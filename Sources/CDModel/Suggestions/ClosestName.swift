import Synchronization

/// Returns the known name that was probably meant by an unknown one: the nearest known name, if it is near enough.
///
/// A name is near if at most a third of its characters are added, removed, changed or swapped with a neighbour. A
/// difference in case counts as half a change, because it is the most common mistake.
///
/// Inside `SuggestionBudget.run(_:)`, the result is nil once the budget is used up.
package func closestName(to name: String, in names: some Sequence<String>) -> String? {
  let wanted = Array(name)
  guard !wanted.isEmpty, wanted.count <= 100 else { return nil }
  let budget = SuggestionBudget.current
  if budget?.isSpent == true { return nil }
  let limit = max(2, (wanted.count * 2) / 3)
  var search = NearestText(wanted, limit: limit)
  var best: (name: String, distance: Int)?
  var looks = 0
  for candidate in names where candidate != name {
    looks += 1
    guard let found = search.distanceInHalfChanges(to: candidate, below: best?.distance ?? Int.max) else {
      continue
    }
    // Almost everything is near a short name, so some of its characters must be left unchanged.
    if found.distance >= 2 * min(wanted.count, found.count) { continue }
    best = (candidate, found.distance)
  }
  budget?.spend(looks)
  return best?.name
}

/// Limits the work spent on suggestions in one load of a model. Each suggestion compares a name with all other names.
/// In a model with thousands of mistakes, nobody reads the last suggestions, and computing all of them would take
/// minutes.
package final class SuggestionBudget: Sendable {
  @TaskLocal package static var current: SuggestionBudget?

  private let left: Atomic<Int>

  private init(looks: Int) { left = Atomic(looks) }

  /// Runs a body and limits it to two million comparisons of names, or to another number. A limit around it stays.
  package static func run<R>(looks: Int = 2_000_000, _ body: () throws -> R) rethrows -> R {
    if current != nil { return try body() }
    return try $current.withValue(SuggestionBudget(looks: looks)) { try body() }
  }

  fileprivate var isSpent: Bool { left.load(ordering: .relaxed) <= 0 }
  fileprivate func spend(_ looks: Int) { left.subtract(looks, ordering: .relaxed) }
}

/// Computes distances from one text to others, in half changes. A swap of neighbours is one change.
///
/// Most texts are far away. Comparing their lengths or their characters is enough to exclude them.
private struct NearestText {
  private let wanted: [Character]
  private let limit: Int
  /// The text's bytes if it is ASCII. They are then compared instead of characters.
  private let bytes: [UInt8]?
  /// How often each byte occurs in the text. Capital letters count as small ones.
  private var counts: [Int]
  /// The rows of the distance table, reused for the next text.
  private var first: [Int] = []
  private var second: [Int] = []
  private var third: [Int] = []

  @_optimize(none)
  init(_ wanted: [Character], limit: Int) {
    self.wanted = wanted
    self.limit = limit
    bytes = Self.ascii(String(wanted))
    counts = [Int](repeating: 0, count: 128)
    for byte in bytes ?? [] { counts[Int(Self.folded(byte))] += 1 }
  }

  /// Returns the distance of a text and the number of its characters. Returns nil if the distance exceeds the limit or
  /// is not below `below`.
  mutating func distanceInHalfChanges(to text: String, below: Int) -> (distance: Int, count: Int)? {
    let most = min(limit, below - 1)
    if let bytes, let other = Self.ascii(text) {
      guard 2 * abs(bytes.count - other.count) <= most, mayBeNear(other, most),
        let distance = distance(bytes, other, most, { Self.folded($0) == Self.folded($1) })
      else { return nil }
      return (distance, other.count)
    }
    let other = Array(text)
    guard 2 * abs(wanted.count - other.count) <= most,
      let distance = distance(wanted, other, most, { $0.lowercased() == $1.lowercased() })
    else { return nil }
    return (distance, other.count)
  }

  /// The bytes of a text in which every byte is one character; nil for other texts. A carriage return is excluded,
  /// because a line end of two bytes is one character.
  private static func ascii(_ text: String) -> [UInt8]? {
    let bytes = Array(text.utf8)
    return bytes.allSatisfy { $0 < 0x80 && $0 != 0x0D } ? bytes : nil
  }

  private static func folded(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }

  /// False if so many bytes are in only one of the texts that the distance must exceed `most`.
  @_optimize(none)
  private mutating func mayBeNear(_ other: [UInt8], _ most: Int) -> Bool {
    var added = 0
    for byte in other {
      let letter = Int(Self.folded(byte))
      counts[letter] -= 1
      if counts[letter] < 0 { added += 1 }
    }
    for byte in other { counts[Int(Self.folded(byte))] += 1 }
    let dropped = wanted.count - (other.count - added)
    return 2 * max(added, dropped) <= most
  }

  /// - Returns: The distance; nil if it exceeds `most`.
  private mutating func distance<Element: Equatable>(
    _ left: [Element], _ right: [Element], _ most: Int, _ isSameLetter: (Element, Element) -> Bool
  ) -> Int? {
    if left.isEmpty || right.isEmpty {
      let distance = 2 * max(left.count, right.count)
      return distance <= most ? distance : nil
    }
    var (beforeLast, last, next) = (first, second, third)
    // Emptying the properties keeps each array uniquely referenced, so that writing to it does not copy it.
    (first, second, third) = ([], [], [])
    defer { (first, second, third) = (beforeLast, last, next) }
    if last.count <= right.count {
      last = [Int](repeating: 0, count: right.count + 1)
      (beforeLast, next) = (last, last)
    }
    for column in 0...right.count { last[column] = 2 * column }
    for row in 1...left.count {
      next[0] = 2 * row
      var least = next[0]
      for column in 1...right.count {
        let (a, b) = (left[row - 1], right[column - 1])
        let change = a == b ? 0 : isSameLetter(a, b) ? 1 : 2
        var distance = min(last[column] + 2, next[column - 1] + 2, last[column - 1] + change)
        if row > 1, column > 1, a == right[column - 2], left[row - 2] == b {
          distance = min(distance, beforeLast[column - 2] + 2)
        }
        next[column] = distance
        least = min(least, distance)
      }
      // A swap in the next row adds 2 to a value of the row before this one. The smallest value there is at least
      // this row's smallest value minus 2.
      if least > most { return nil }
      (beforeLast, last, next) = (last, next, beforeLast)
    }
    return last[right.count] <= most ? last[right.count] : nil
  }
}
