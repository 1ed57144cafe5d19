import Synchronization

/// The name that was probably meant by one that is not known: the nearest of those that are, if it is near.
///
/// Near is a third of the name's characters added, dropped, changed or swapped with a neighbour. Case counts
/// half of a change, since it is what people get wrong most.
///
/// Within ``SuggestionBudget/run(_:)`` there is no answer when the budget is spent.
public func closestName(to name: String, in names: some Sequence<String>) -> String? {
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
    guard let found = search.halves(to: candidate, below: best?.distance ?? Int.max) else { continue }
    // Of a short name nearly everything is near: something of it must be left.
    if found.distance >= 2 * min(wanted.count, found.count) { continue }
    best = (candidate, found.distance)
  }
  budget?.spend(looks)
  return best?.name
}

/// How much looking for suggestions may cost in one load of a model. Each suggestion compares a name with all others: in
/// a model with thousands of mistakes nobody reads the last ones, and all of them would take minutes.
package final class SuggestionBudget: Sendable {
  @TaskLocal package static var current: SuggestionBudget?

  private let left: Atomic<Int>

  private init(looks: Int) { left = Atomic(looks) }

  /// Runs a body in which no more than two million names are compared.
  package static func run<R>(_ body: () throws -> R) rethrows -> R {
    if current != nil { return try body() }
    return try $current.withValue(SuggestionBudget(looks: 2_000_000)) { try body() }
  }

  fileprivate var isSpent: Bool { left.load(ordering: .relaxed) <= 0 }
  fileprivate func spend(_ looks: Int) { left.subtract(looks, ordering: .relaxed) }
}

/// The distances of texts from one text, in half changes, a swap of neighbours being one change.
///
/// Most texts are far away, and are known to be by their lengths or their characters alone.
private struct NearestText {
  private let wanted: [Character]
  private let limit: Int
  /// The text's bytes where it is ASCII: those are compared in place of characters.
  private let bytes: [UInt8]?
  /// How often each byte is in the text, small letters for capitals.
  private var counts: [Int]
  /// Rows of the table, kept for the next text.
  private var first: [Int] = []
  private var second: [Int] = []
  private var third: [Int] = []

  init(_ wanted: [Character], limit: Int) {
    self.wanted = wanted
    self.limit = limit
    bytes = Self.ascii(String(wanted))
    counts = [Int](repeating: 0, count: 128)
    for byte in bytes ?? [] { counts[Int(Self.folded(byte))] += 1 }
  }

  /// The distance of a text, and the number of its characters; nil where it is beyond the limit, or not below a number.
  mutating func halves(to text: String, below: Int) -> (distance: Int, count: Int)? {
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

  /// The bytes of a text of single characters; nil for others. Only a line's end is one character of two bytes.
  private static func ascii(_ text: String) -> [UInt8]? {
    let bytes = Array(text.utf8)
    return bytes.allSatisfy { $0 < 0x80 && $0 != 0x0D } ? bytes : nil
  }

  private static func folded(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }

  /// False where so many bytes are in one of the texts only that the distance is above a number.
  private mutating func mayBeNear(_ other: [UInt8], _ most: Int) -> Bool {
    var added = 0
    for byte in other {
      let place = Int(Self.folded(byte))
      counts[place] -= 1
      if counts[place] < 0 { added += 1 }
    }
    for byte in other { counts[Int(Self.folded(byte))] += 1 }
    let dropped = wanted.count - (other.count - added)
    return 2 * max(added, dropped) <= most
  }

  /// - Returns: Nil where the distance is above a number.
  private mutating func distance<Element: Equatable>(
    _ left: [Element], _ right: [Element], _ most: Int, _ isSameLetter: (Element, Element) -> Bool
  ) -> Int? {
    if left.isEmpty || right.isEmpty {
      let distance = 2 * max(left.count, right.count)
      return distance <= most ? distance : nil
    }
    var (beforeLast, last, next) = (first, second, third)
    // Nobody else may have them while they are written.
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
      // A swap adds two to the row before, whose least is two below this one's at the most.
      if least > most { return nil }
      (beforeLast, last, next) = (last, next, beforeLast)
    }
    return last[right.count] <= most ? last[right.count] : nil
  }
}
