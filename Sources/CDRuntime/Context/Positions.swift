/// The positions that keep the order of an ordered relationship: integers with gaps, so that an object can be
/// inserted between two others without writing their rows.
enum Positions {
  /// The distance between neighbours at the end of a list: 32 objects can be inserted one by one at the same position
  /// before the list must be renumbered.
  static let gap: Int64 = 1 << 32

  /// Returns the positions to write so that the objects have the order of the keys.
  ///
  /// - Parameter known: Stored positions. Those of a longest increasing subsequence are kept.
  static func changes(
    for keys: [ObjectKey], given known: [ObjectKey: Int64]
  ) -> [(key: ObjectKey, position: Int64)] {
    let kept = longestIncreasingRun(keys.map { known[$0] })
    var changes: [(key: ObjectKey, position: Int64)] = []
    var index = 0
    var last: Int64 = 0
    while index < keys.count {
      if kept.contains(index), let position = known[keys[index]] {
        last = position
        index += 1
        continue
      }
      var end = index
      while end < keys.count, !kept.contains(end) { end += 1 }
      let step: Int64
      if end == keys.count {
        step = gap
      } else {
        let next = known[keys[end]] ?? 0
        step = (next - last) / Int64(end - index + 1)
        if step == 0 { return renumbered(keys) }
      }
      for number in index..<end {
        let (next, isBeyond) = last.addingReportingOverflow(step)
        if isBeyond { return renumbered(keys) }
        last = next
        changes.append((keys[number], last))
      }
      index = end
    }
    return changes
  }

  /// Returns positions for objects after the last existing position; nil if they would overflow.
  static func appended(
    _ keys: [ObjectKey], after last: Int64
  ) -> [(key: ObjectKey, position: Int64)]? {
    var last = last
    var changes: [(key: ObjectKey, position: Int64)] = []
    for key in keys {
      let (position, isBeyond) = last.addingReportingOverflow(gap)
      if isBeyond { return nil }
      last = position
      changes.append((key, position))
    }
    return changes
  }

  /// Returns positions for all objects of a list, starting from the first position.
  static func renumbered(_ keys: [ObjectKey]) -> [(key: ObjectKey, position: Int64)] {
    keys.enumerated().map { ($0.element, Int64($0.offset + 1) * gap) }
  }

  /// The indices of a longest strictly increasing subsequence of the known positions.
  static func longestIncreasingRun(_ positions: [Int64?]) -> Set<Int> {
    var ends: [Int] = []
    var before: [Int: Int] = [:]
    for (number, position) in positions.enumerated() {
      guard let position, position > 0 else { continue }
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if (positions[ends[middle]] ?? 0) < position { low = middle + 1 } else { high = middle }
      }
      if low > 0 { before[number] = ends[low - 1] }
      if low == ends.count { ends.append(number) } else { ends[low] = number }
    }
    var result: Set<Int> = []
    var next = ends.last
    while let number = next {
      result.insert(number)
      next = before[number]
    }
    return result
  }
}
