import CDModel

/// A version that probably does not follow the one before it, because elements that it lacks come back soon after.
///
/// Xcode does not store which version follows which. An order by numbers or dates is wrong if two people worked at the
/// same time. A wrong order causes data loss, because the step would drop the sibling's elements.
struct SuspectVersionOrder: Hashable {
  var version: String
  /// The version before it, and the base of that version.
  var before: String
  var base: String
  /// The first later version that contains the missing elements again.
  var later: String
  var count: Int

  var message: String {
    "version '\(version)' lacks \(count) entities and properties that '\(before)' before it has and '\(later)' has "
      + "again: if it is a sibling of '\(before)', write '\(version) <- \(base)' and '\(later) <- \(before), …' into a "
      + "file for --order; if the order is another, write that"
  }

  /// Checks all versions, ordered from oldest to newest.
  static func all(in versions: [ModelVersion]) -> [SuspectVersionOrder] {
    guard versions.count > 3 else { return [] }
    let held = versions.map(parts)
    func label(_ place: Int) -> String { versions[place].label ?? "\(versions[place].number)" }
    return versions.indices.dropFirst(2).compactMap { place in
      // If the order names the bases explicitly, it is not doubted.
      guard versions[place].basedOn == [versions[place - 1].number],
        let base = versions[place - 1].basedOn.first.flatMap({ number in
          versions.firstIndex { $0.number == number }
        })
      else { return nil }
      let lacking = held[place - 1].subtracting(held[place])
      // One or two removed properties are normal. The work of a sibling version disappears as a whole.
      guard lacking.count > 2, held[base].subtracting(held[place]).count * 2 < lacking.count,
        let later = versions.indices[(place + 1)...].prefix(3).first(where: {
          held[$0].intersection(lacking).count * 2 > lacking.count
        })
      else { return nil }
      return SuspectVersionOrder(
        version: label(place), before: label(place - 1), base: label(base), later: label(later),
        count: lacking.count)
    }
  }

  /// The names of a version's entities and properties.
  private static func parts(_ version: ModelVersion) -> Set<String> {
    var result: Set<String> = []
    for entity in version.entities {
      result.insert(entity.name)
      for name in entity.attributes.map(\.name) + entity.relationships.map(\.name) {
        result.insert("\(entity.name).\(name)")
      }
    }
    return result
  }
}
