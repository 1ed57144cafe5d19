public import CDModel

/// The paths between a model's versions: which version a store migrates to next on its way to another version.
///
/// A step leads from a version to one that is based on it, or over several versions at once if there is a mapping for
/// exactly that step. If another base of a version is itself based on a base, the earlier base is ignored: with
/// `basedOn: [3, 4]` and 4 based on 3, stores of version 3 migrate through version 4, so that the mapping between them
/// is never skipped.
public struct VersionPaths: Sendable {
  private let model: ManagedObjectModel
  private let versions: [Int: ModelVersion]
  /// The versions that a store of each version can migrate to in one step.
  private let nexts: [Int: [Int]]

  /// Finds the paths of a model.
  public init(_ model: ManagedObjectModel) {
    self.model = model
    let versions = Dictionary(model.versions.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    self.versions = versions
    let ancestors = Self.ancestors(versions)
    var nexts: [Int: [Int]] = [:]
    for version in model.versions {
      for base in version.basedOn where versions[base] != nil && base != version.number {
        let isFurther = version.basedOn.contains { $0 != base && ancestors[$0]?.contains(base) ?? false }
        if !isFurther { nexts[base, default: []].append(version.number) }
      }
    }
    for rules in model.mappings where versions[rules.source] != nil && versions[rules.destination] != nil {
      if nexts[rules.source]?.contains(rules.destination) ?? false { continue }
      nexts[rules.source, default: []].append(rules.destination)
    }
    self.nexts = nexts
  }

  /// All versions that each version is based on, directly or indirectly.
  private static func ancestors(_ versions: [Int: ModelVersion]) -> [Int: Set<Int>] {
    var result: [Int: Set<Int>] = [:]
    // A version can only be based on lower numbers. Other bases are mistakes and are ignored.
    for number in versions.keys.sorted() {
      var all: Set<Int> = []
      for base in versions[number]?.basedOn ?? [] where base < number {
        all.insert(base)
        all.formUnion(result[base] ?? [])
      }
      result[number] = all
    }
    return result
  }

  // MARK: Paths

  /// The versions on a store's path from one version to another, including both; nil if there is no path.
  ///
  /// The path with the fewest steps is chosen. If there are several, they are compared at the first fork: a step with a
  /// mapping is preferred, then the lower number.
  package func path(from start: Int, to end: Int) -> [Int]? {
    let distances = distances(to: end)
    guard versions[start] != nil, distances[start] != nil else { return nil }
    var path = [start]
    var here = start
    while here != end, let distance = distances[here] {
      let candidates = (nexts[here] ?? []).filter { distances[$0] == distance - 1 }
      let mapped = candidates.filter { rules(from: here, to: $0) != nil }
      guard let next = (mapped.isEmpty ? candidates : mapped).min() else { return nil }
      path.append(next)
      here = next
    }
    return path
  }

  /// The number of steps from each version to the given one.
  private func distances(to end: Int) -> [Int: Int] {
    var befores: [Int: [Int]] = [:]
    for (number, nexts) in nexts { for next in nexts { befores[next, default: []].append(number) } }
    var result = [end: 0]
    var pending = [end]
    while !pending.isEmpty {
      var further: [Int] = []
      for number in pending {
        for before in befores[number] ?? [] where result[before] == nil {
          result[before] = (result[number] ?? 0) + 1
          further.append(before)
        }
      }
      pending = further
    }
    return result
  }

  // MARK: Steps

  /// The rules of a step in addition to what can be inferred; nil if there are none.
  package func rules(from source: Int, to destination: Int) -> MappingRules? {
    model.mappings.first { $0.source == source && $0.destination == destination }
  }

  /// The step between two versions, with its rules; nil if the model lacks one of the versions.
  ///
  /// The step does not have to be on a path. For two siblings, or for the way back, it contains what can be inferred.
  public func step(from source: Int, to destination: Int) -> MigrationStep? {
    guard let old = versions[source], let new = versions[destination] else { return nil }
    let rules = rules(from: source, to: destination)
    if new.basedOn.contains(source) { return MigrationStep(from: old, to: new, rules: rules) }
    if let line = descent(from: source, to: destination) {
      return MigrationStep(line: line.compactMap { versions[$0] }, rules: rules)
    }
    if let line = descent(from: destination, to: source) {
      return MigrationStep(backAlong: line.reversed().compactMap { versions[$0] }, rules: rules)
    }
    return MigrationStep(ModelMatch(from: old, to: new, kind: .draft), rules)
  }

  /// The steps of the path from one version to another; nil if there is no path.
  public func steps(from source: Int, to destination: Int) -> [MigrationStep]? {
    guard let path = path(from: source, to: destination) else { return nil }
    return zip(path, path.dropFirst()).compactMap { step(from: $0, to: $1) }
  }

  /// A line of versions, each based on the one before; nil if `end` is not based on `start`.
  private func descent(from start: Int, to end: Int) -> [Int]? {
    var line: [Int] = []
    var seen: Set<Int> = []
    // Follows the first base that leads to `start`. The search ends, because versions are based on lower numbers only.
    func reaches(_ number: Int) -> Bool {
      guard seen.insert(number).inserted else { return false }
      for base in versions[number]?.basedOn ?? [] where base < number {
        if base == start || reaches(base) {
          line.append(base)
          return true
        }
      }
      return false
    }
    return reaches(end) ? line + [end] : nil
  }
}
