/// The name that was probably meant by one that is not known: the nearest of those that are, if it is near.
///
/// Near is a third of the name's characters added, dropped, changed or swapped with a neighbour. Case counts
/// half of a change, since it is what people get wrong most.
public func closestName(to name: String, in names: some Sequence<String>) -> String? {
  let wanted = Array(name)
  guard !wanted.isEmpty, wanted.count <= 100 else { return nil }
  let limit = max(2, (wanted.count * 2) / 3)
  var best: (name: String, distance: Int)?
  for candidate in names where candidate != name {
    let distance = EditDistance.halves(wanted, Array(candidate))
    guard distance <= limit, distance < best?.distance ?? Int.max else { continue }
    // Of a short name nearly everything is near: something of it must be left.
    if distance >= 2 * min(wanted.count, candidate.count) { continue }
    best = (candidate, distance)
  }
  return best?.name
}

private enum EditDistance {
  /// The distance of two texts in half changes, a swap of neighbours being one change.
  static func halves(_ left: [Character], _ right: [Character]) -> Int {
    if left.isEmpty || right.isEmpty { return 2 * max(left.count, right.count) }
    var beforeLast = [Int](repeating: 0, count: right.count + 1)
    var last = (0...right.count).map { 2 * $0 }
    for row in 1...left.count {
      var next = [2 * row] + [Int](repeating: 0, count: right.count)
      for column in 1...right.count {
        let (a, b) = (left[row - 1], right[column - 1])
        let change = a == b ? 0 : a.lowercased() == b.lowercased() ? 1 : 2
        var distance = min(last[column] + 2, next[column - 1] + 2, last[column - 1] + change)
        if row > 1, column > 1, a == right[column - 2], left[row - 2] == b {
          distance = min(distance, beforeLast[column - 2] + 2)
        }
        next[column] = distance
      }
      (beforeLast, last) = (last, next)
    }
    return last[right.count]
  }
}
