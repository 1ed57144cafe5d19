import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// A store of several merged models: each of them moves along its own line, one after the other, beside the others as
// they are.
extension MigrationRoute {
  /// Finds the way of a store of several parts of a merged model.
  mutating func addParts(
    of merged: ManagedObjectModel, carrying carried: ModelVersion, infers: Bool,
    hash: (ModelVersion) -> String?, holds: (ModelVersion) -> Set<String>
  ) throws(MigrationError) {
    let held = merged.currentVersion.map(holds) ?? []
    let before = holds(carried)
    var numbers: [UUID: Int] = [:]
    for part in merged.parts {
      let number = try number(of: part, in: carried)
      // One whose objects are in another store moves there.
      let isHeld =
        !(part.currentVersion.map { held.isDisjoint(with: $0.entities.map(\.name)) } ?? true)
        || !(part.version(number).map { before.isDisjoint(with: $0.entities.map(\.name)) } ?? true)
      numbers[part.id] = isHeld ? number : part.currentVersionNumber
    }
    try addDraft(of: merged, at: numbers, carrying: carried, hash: hash)
    var waiting = merged.parts.filter { numbers[$0.id] != $0.currentVersionNumber }
    while refusal == nil, !waiting.isEmpty {
      // One may have to give up an entity before another can have it.
      var movable: (place: Int, line: ManagedObjectModel)?
      for (place, part) in waiting.enumerated() where movable == nil {
        movable = line(of: part, in: merged, beside: numbers).map { (place, $0) }
      }
      guard let (place, line) = movable else {
        throw MigrationError(url, .collidingModels(waiting.map(\.name)))
      }
      let part = waiting.remove(at: place)
      guard let number = numbers[part.id] else { continue }
      try addWay(of: part, along: line, from: number, infers: infers)
      numbers[part.id] = part.currentVersionNumber
    }
  }

  /// The version that a part has in a store: the one that the store notes, where that fits; or else one that does; or
  /// else the one that the store has a draft of.
  private func number(of part: ManagedObjectModel, in carried: ModelVersion) throws(MigrationError) -> Int {
    let stored = carried.hashes.entities
    func fits(_ version: ModelVersion) -> Bool {
      version.hashes.entities.allSatisfy { stored[$0.key]?.data == $0.value.data }
    }
    let noted = found.partVersions[part.id]
    if let noted, let version = part.version(noted), fits(version) { return noted }
    // A version with fewer entities fits where more are; of two that store the same the newest has to do.
    let fitting = part.versions.reversed().filter(fits).max { $0.entities.count < $1.entities.count }
    if let fitting { return fitting.number }
    guard let noted else { return part.currentVersionNumber }
    if VersionLine(part).path(from: noted, to: part.currentVersionNumber) != nil { return noted }
    guard noted <= part.versions.map(\.number).max() ?? 0 else {
      throw MigrationError(url, .newerStore(current: part.currentVersionNumber))
    }
    return part.currentVersionNumber
  }

  /// A draft of some version becomes that one first.
  private mutating func addDraft(
    of merged: ManagedObjectModel, at numbers: [UUID: Int], carrying carried: ModelVersion,
    hash: (ModelVersion) -> String?
  ) throws(MigrationError) {
    guard let first = merged.parts.first, let number = numbers[first.id],
      var start = merged.line(ofPart: first.id, beside: numbers)?.version(number)
    else { throw MigrationError(url, .collidingModels(merged.parts.map(\.name))) }
    if hash(start) == found.dataHash { return }
    start.number = carried.number
    addDraft(carried, to: start)
  }

  /// The line of a part, where it is whole as far as the part goes; one without a way is for others to refuse.
  private func line(
    of part: ManagedObjectModel, in merged: ManagedObjectModel, beside numbers: [UUID: Int]
  ) -> ManagedObjectModel? {
    guard let line = merged.line(ofPart: part.id, beside: numbers), let number = numbers[part.id] else {
      return nil
    }
    let current = part.currentVersionNumber
    let path =
      VersionLine(part).path(from: number, to: current) ?? VersionLine(part).path(from: current, to: number)
      ?? [number, current]
    return path.allSatisfy { line.version($0) != nil } ? line : nil
  }
}
