import CDModel

/// A version that seems not to follow the one before it: what it lacks of that one comes back soon after.
///
/// Xcode does not write down which version follows which, and an order by numbers or dates is wrong where two people
/// worked at once. What a wrong order costs is data, for the step would drop what the sibling has.
struct OrderDoubt: Hashable {
  var version: String
  /// The one before it, and what that one is based on.
  var before: String
  var base: String
  /// The first version that has again what is lacking.
  var later: String
  var count: Int

  var message: String {
    "version '\(version)' lacks \(count) entities and properties that '\(before)' before it has and '\(later)' has "
      + "again: if it is a sibling of '\(before)', write '\(version) <- \(base)' and '\(later) <- \(before), …' into a "
      + "file for --order; if the order is another, write that"
  }

  /// Looks at all versions, oldest first.
  static func all(in versions: [ModelVersion]) -> [OrderDoubt] {
    guard versions.count > 3 else { return [] }
    let held = versions.map(parts)
    func label(_ place: Int) -> String { versions[place].label ?? "\(versions[place].number)" }
    return versions.indices.dropFirst(2).compactMap { place in
      // Who names the bases has thought of it.
      guard versions[place].basedOn == [versions[place - 1].number],
        let base = versions[place - 1].basedOn.first.flatMap({ number in
          versions.firstIndex { $0.number == number }
        })
      else { return nil }
      let lacking = held[place - 1].subtracting(held[place])
      // One or two properties come and go; a sibling's work does so as a whole.
      guard lacking.count > 2, held[base].subtracting(held[place]).count * 2 < lacking.count,
        let later = versions.indices[(place + 1)...].prefix(3).first(where: {
          held[$0].intersection(lacking).count * 2 > lacking.count
        })
      else { return nil }
      return OrderDoubt(
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
