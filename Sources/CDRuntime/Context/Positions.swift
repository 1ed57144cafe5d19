/// The positions that keep the order of an ordered relationship: integers with gaps, so that an object goes
/// between two others without their rows being written.
enum Positions {
  /// The distance of neighbours at the end of a list: 32 objects find room at one place before the list is
  /// numbered anew.
  static let gap: Int64 = 1 << 32

  /// The positions to write so that the objects stand in the order of the keys.
  ///
  /// - Parameter known: Stored positions. Those of a longest row of objects that are in order already stay.
  static func changes(
    for keys: [ObjectKey], given known: [ObjectKey: Int64]
  ) -> [(key: ObjectKey, position: Int64)] {
    let kept = longestRise(keys.map { known[$0] })
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
      for place in index..<end {
        let (next, isBeyond) = last.addingReportingOverflow(step)
        if isBeyond { return renumbered(keys) }
        last = next
        changes.append((keys[place], last))
      }
      index = end
    }
    return changes
  }

  /// The positions of objects behind the last of those that there are; nil where the numbers end.
  static func appended(
    _ keys: [ObjectKey], behind last: Int64
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

  /// Positions for a list of objects from its beginning.
  static func renumbered(_ keys: [ObjectKey]) -> [(key: ObjectKey, position: Int64)] {
    keys.enumerated().map { ($0.element, Int64($0.offset + 1) * gap) }
  }

  /// The places of a longest strictly rising row among the positions that there are.
  static func longestRise(_ positions: [Int64?]) -> Set<Int> {
    var ends: [Int] = []
    var before: [Int: Int] = [:]
    for (place, position) in positions.enumerated() {
      guard let position, position > 0 else { continue }
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if (positions[ends[middle]] ?? 0) < position { low = middle + 1 } else { high = middle }
      }
      if low > 0 { before[place] = ends[low - 1] }
      if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    var result: Set<Int> = []
    var next = ends.last
    while let place = next {
      result.insert(place)
      next = before[place]
    }
    return result
  }
}

/// Where the positions of a relationship are kept.
struct PositionTable {
  /// The greatest position of an object's related ones.
  let maximum: String
  /// The related objects that have a position, in their order.
  let others: String
  /// Sets a position: parameters are the position, the object and the related one.
  let update: String
  /// The same for an object that was related just now, of which nobody knows whether it was so before: one that
  /// has a position keeps it.
  let updateNew: String

  init?(_ relationship: RelationshipPlan, in model: ModelPlan) {
    switch relationship.storage {
    case .join(let place, let isSource):
      let table = SQLite.quoted(model.joins[place].table)
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      let position = isSource ? "_position" : "_inverse_position"
      maximum = "SELECT coalesce(max(\(position)), 0) FROM \(table) WHERE \(own) = ?1"
      others =
        "SELECT \(other) FROM \(table) WHERE \(own) = ?1 AND \(position) IS NOT NULL ORDER BY \(position), \(other)"
      update = "UPDATE \(table) SET \(position) = ?1 WHERE \(own) = ?2 AND \(other) = ?3"
      updateNew = update + " AND \(position) IS NULL"
    case .referencesOfOthers:
      guard let column = model.referenceColumn(behind: relationship).map({ SQLite.quoted($0.name) }),
        let position = model.positionColumn(of: relationship).map(SQLite.quoted)
      else { return nil }
      let table = SQLite.quoted(model.entities[relationship.destination].table)
      maximum = "SELECT coalesce(max(\(position)), 0) FROM \(table) WHERE \(column) = ?1"
      others =
        "SELECT _pk FROM \(table) WHERE \(column) = ?1 AND \(position) IS NOT NULL ORDER BY \(position), _pk"
      update = "UPDATE \(table) SET \(position) = ?1 WHERE \(column) = ?2 AND _pk = ?3"
      // Its reference was written just now: a position would be that among the objects of another.
      updateNew = update
    case .reference, .inverseReference: return nil
    }
  }
}
