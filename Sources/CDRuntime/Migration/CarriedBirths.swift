import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Global identifiers stay what they were: where keys or tables change, the store notes where objects come from.
extension StepPlan {
  /// The key from which on a root entity of the destination gives keys of its own: never one that objects of a root entity
  /// of this name have had before.
  ///
  /// - Parameter nextKeys: The next keys of the source's root entities, by their places.
  func firstKey(of root: EntityPlan, _ births: StoreBirths, nextKeys: [Int: ObjectKey]) -> ObjectKey {
    let same = source.places[root.name].flatMap { nextKeys[$0] } ?? 1
    return max(births.formerKeys[root.name] ?? 1, same)
  }

  /// What is noted after the step.
  ///
  /// - Parameters:
  ///   - nextKeys: The next keys of the source's root entities, by their places. Offsets are known.
  ///   - saves: The numbers of the entries of the history; nil if there are none.
  func carried(
    _ births: StoreBirths, nextKeys: [Int: ObjectKey], saves: ClosedRange<Int64>?
  ) -> StoreBirths {
    var result = births
    result.tables.intervals = [:]
    for root in destination.entities where root.root == root.index && root.storeIndex == 0 {
      var list: [StoreBirths.Interval] = []
      var groups: Set<Int> = []
      for each in sourceMappings
      where each.destination.root == root.index && groups.insert(each.group).inserted {
        guard let next = nextKeys[each.source.root], next > 1 else { continue }
        list += births.tables.intervals(of: 1...next - 1, in: source.entities[each.source.root].name).map {
          $0.moved(by: each.offset, branch: each.branch)
        }
      }
      result.tables.set(list, of: root.name)
      result.formerKeys[root.name] = nil
    }
    for (place, next) in nextKeys where next > 1 && !isRoot(source.entities[place].name) {
      let name = source.entities[place].name
      result.formerKeys[name] = max(result.formerKeys[name] ?? 1, next)
    }
    guard let saves else {
      result.past = []
      return result
    }
    result.past.removeAll { $0.lastSave < saves.lowerBound }
    let isOther = result.tables != births.tables || !keepsRoots
    // Of several steps without a save in between, the first one knows what the entries mean.
    if isOther, result.past.last?.lastSave ?? -1 < saves.upperBound {
      result.past.append(
        StoreBirths.Past(lastSave: saves.upperBound, roots: sourceRoots, tables: births.tables))
    }
    return result
  }

  private func isRoot(_ name: String) -> Bool {
    destination.entity(name).map { $0.root == $0.index && $0.storeIndex == 0 } ?? false
  }

  private var sourceRoots: [String: String] {
    source.entities.filter { $0.storeIndex == 0 }.reduce(into: [:]) {
      $0[$1.name] = source.entities[$1.root].name
    }
  }

  /// Whether each entity has the root entity that it had.
  private var keepsRoots: Bool {
    sourceRoots.allSatisfy { name, root in
      destination.entity(name).map { destination.entities[$0.root].name } == root
    }
  }
}

extension StoreBirths.Interval {
  /// - Parameter branch: See ``StepPlan/SourceMapping/branch``.
  fileprivate func moved(by offset: ObjectKey, branch: String?) -> StoreBirths.Interval {
    let entity = first.entityName + (branch.map { "/" + $0 } ?? "")
    return StoreBirths.Interval(
      keys: keys.lowerBound + offset...keys.upperBound + offset,
      first: GlobalObjectID(storeID: first.storeID, entityName: entity, key: first.key))
  }
}

extension MigrationSession {
  /// The next keys of the source's root entities, by their places.
  func nextKeys(of plan: StepPlan) throws -> [Int: ObjectKey] {
    var result: [Int: ObjectKey] = [:]
    for root in plan.source.entities where root.root == root.index && root.storeIndex == 0 {
      result[root.index] = try number(
        "SELECT max(coalesce((SELECT next FROM main._cdgen_keys WHERE entity = \(SQLite.literal(root.name))), 1), "
          + "coalesce((SELECT max(_pk) + 1 FROM main.\(SQLite.quoted(root.table))), 1))")
    }
    return result
  }

  /// What the old store notes.
  func births() throws -> StoreBirths {
    func value(_ key: String) throws -> String? {
      try rows("SELECT value FROM main._cdgen_metadata WHERE key = \(SQLite.literal(key))").first?.first
        ?? nil
    }
    let id = try value("storeUUID").flatMap { UUID(uuidString: $0) }
    do {
      guard let id else { throw StoreError.damagedMetadata(url, key: "storeUUID") }
      return try StoreBirths(text: value(StoreBirths.metadataKey), storeID: id, url: url)
    } catch { throw wrapped(error) }
  }

  /// Notes in a schema what is to be noted after a step.
  func write(
    _ births: StoreBirths, nextKeys: [Int: ObjectKey], after plan: StepPlan, to schema: String
  ) throws {
    let newest = try number("SELECT max(id) FROM main._cdgen_history")
    let oldest = try number("SELECT min(id) FROM main._cdgen_history")
    let carried = plan.carried(
      births, nextKeys: nextKeys, saves: newest > 0 && oldest <= newest ? oldest...newest : nil)
    if carried == births, schema == "main" { return }
    let key = StoreBirths.metadataKey
    if schema == "main" { try run("DELETE FROM main._cdgen_metadata WHERE key = \(bind: .string(key))") }
    if carried.isEmpty { return }
    try run(
      "INSERT INTO \(raw: schema)._cdgen_metadata (key, value) VALUES (\(bind: .string(key)), \(bind: .string(carried.text)))"
    )
  }
}
