import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// A migration keeps global identifiers. Where it changes keys or tables, it records where the objects were inserted.
extension StepPlan {
  /// The first key for new objects of a root entity of the destination. No object of a root entity with this name has had
  /// the key or a greater one.
  ///
  /// - Parameter nextKeys: The next free keys of the source roots, by their indexes.
  @_optimize(none)
  func firstKey(of root: EntityPlan, _ origins: InsertionOrigins, nextKeys: [Int: ObjectKey]) -> ObjectKey {
    let same = source.entityIndices[root.name].flatMap { nextKeys[$0] } ?? 1
    return max(origins.formerKeys[root.name] ?? 1, same)
  }

  /// Returns the record of the new store. The offsets of the keys must be known.
  ///
  /// - Parameters:
  ///   - nextKeys: The next free keys of the source roots, by their indexes.
  ///   - saves: The range of the numbers of the history's entries; nil if the history is empty.
  @_optimize(none)
  func migratedOrigins(
    _ origins: InsertionOrigins, nextKeys: [Int: ObjectKey], saves: ClosedRange<Int64>?
  ) -> InsertionOrigins {
    var result = origins
    result.tables.intervals = [:]
    for root in destination.entities where root.root == root.index && root.storeIndex == 0 {
      var list: [InsertionOrigins.Interval] = []
      var groups: Set<Int> = []
      for each in sourceMappings
      where each.destination.root == root.index && groups.insert(each.group).inserted {
        guard let next = nextKeys[each.source.root], next > 1 else { continue }
        list += origins.tables.intervals(of: 1...next - 1, in: source.entities[each.source.root].name).map {
          $0.moved(by: each.offset, branch: each.branch)
        }
      }
      result.tables.set(list, of: root.name)
      result.formerKeys[root.name] = nil
    }
    for (index, next) in nextKeys where next > 1 && !isRoot(source.entities[index].name) {
      let name = source.entities[index].name
      result.formerKeys[name] = max(result.formerKeys[name] ?? 1, next)
    }
    guard let saves else {
      result.past = []
      return result
    }
    result.past.removeAll { $0.lastSave < saves.lowerBound }
    let isOther = result.tables != origins.tables || !keepsRoots
    // If several steps run without a save in between, the entries are from before the first step.
    if isOther, result.past.last?.lastSave ?? -1 < saves.upperBound {
      result.past.append(
        InsertionOrigins.Past(
          lastSave: saves.upperBound,
          period: InsertionOrigins.Period(roots: sourceRoots, tables: origins.tables)))
    }
    return result
  }

  /// Returns the record of changed keys after the step. The offsets of the keys must be known.
  ///
  /// An old identifier leads to its object only if the mapping continues the entity. A record for any other mapping would
  /// make identifiers of the destination's own objects lead to other objects.
  @_optimize(none)
  func movedKeys(after old: [MovedKeys]) -> [MovedKeys] {
    var result = old
    var seen: Set<Int> = []
    for each in sourceMappings where isContinuation(each.mapping) {
      guard seen.insert(each.source.index).inserted else { continue }
      // Entities can exchange their names, so only the names before the step are compared.
      for index in old.indices where old[index].entity == each.source.name {
        result[index].entity = each.destination.name
        result[index].offset += each.offset
      }
      guard each.offset != 0 else { continue }
      let below = nextSourceKeys[each.source.root] ?? 1
      result.append(MovedKeys(entity: each.destination.name, below: below, offset: each.offset))
    }
    return result
  }

  @_optimize(none)
  private func isRoot(_ name: String) -> Bool {
    destination.entity(name).map { $0.root == $0.index && $0.storeIndex == 0 } ?? false
  }

  @_optimize(none)
  private var sourceRoots: [String: String] {
    source.entities.filter { $0.storeIndex == 0 }.reduce(into: [:]) {
      $0[$1.name] = source.entities[$1.root].name
    }
  }

  /// Whether every entity keeps its root entity.
  @_optimize(none)
  private var keepsRoots: Bool {
    sourceRoots.allSatisfy { name, root in
      destination.entity(name).map { destination.entities[$0.root].name } == root
    }
  }
}

extension InsertionOrigins.Interval {
  /// - Parameter branch: See ``StepPlan/SourceMapping/branch``.
  fileprivate func moved(by offset: ObjectKey, branch: String?) -> InsertionOrigins.Interval {
    let entity = first.entityName + (branch.map { "/" + $0 } ?? "")
    return InsertionOrigins.Interval(
      keys: keys.lowerBound + offset...keys.upperBound + offset,
      first: GlobalObjectID(storeID: first.storeID, entityName: entity, key: first.key))
  }
}
