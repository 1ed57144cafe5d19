#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The row of the history that a save leaves in each store.
extension SaveRun {
  mutating func writeHistory() throws {
    // A save that is tried again after a commit that has failed is the same one.
    let id = context.unfinishedSave ?? UUID.random()
    // What goes to several files says so in each, for a check to find what has not reached one of them.
    let isOneOfSeveral = touched.count > 1 || context.unfinishedSave != nil
    let mark = HistoryText.Mark(save: id, stores: isOneOfSeveral ? touched.map(\.storeID) : [])
    saveID = id
    // A change of pairs changes what both sides read.
    for object in plan.related where !object.flags.contains(.inserted) && !object.flags.contains(.updated) {
      updated.add(object.key, of: object.scope.plan, object.extras?.changed ?? SlotSet())
    }
    for store in touched {
      let changes = HistoryText.changes(
        inserted: plan.inserted, updated: updated.groups, deleted: plan.deleted, ofStore: store.place, mark)
      let number = try session.addSave(
        to: store, at: Date(), origin: context.engine.origin, author: context.transactionAuthor, changes)
      saves.append((store, number))
    }
  }

  /// Whether the row of this save is in a store's history, after a commit that failed.
  func isWritten(_ id: Int64, in store: any AttachedStore) -> Bool {
    guard let saveID else { return false }
    let text = try? session.save(id, of: context.engine.origin, in: store)
    return (text ?? nil)?.contains(saveID.uuidString) == true
  }
}

extension HistoryText {
  /// The text for the objects of a save that are in one store; the objects and groups may be of others too.
  fileprivate static func changes(
    inserted: [ManagedObject], updated: [UpdatedObjects.Group], deleted: [ManagedObject],
    ofStore place: Int, _ mark: Mark
  ) -> String {
    var entities: [String: [JSONValue.Member]] = [:]
    for (kind, objects) in [("deleted", deleted), ("inserted", inserted)] {
      var keys: [(entity: String, keys: [ObjectKey])] = []
      var places: [Int: Int] = [:]
      var last = (entity: -1, place: 0)
      for object in objects where object.scope.plan.storeIndex == place {
        let entity = object.scope.plan.index
        if entity != last.entity {
          last = (entity, places[entity] ?? keys.count)
          if last.place == keys.count { keys.append((object.scope.plan.name, [])) }
          places[entity] = last.place
        }
        keys[last.place].keys.append(object.key)
      }
      for (entity, keys) in keys {
        entities[entity, default: []].append(JSONValue.Member(kind, .array(ranges(keys.sorted()))))
      }
    }
    let ofStore = updated.filter { $0.plan.storeIndex == place }
    for (_, groups) in Dictionary(grouping: ofStore, by: \.plan.index) {
      entities[groups[0].plan.name, default: []] += members(groups)
    }
    return JSONValue.object(
      [JSONValue.Member(Mark.key, mark.json)]
        + entities.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .object($0.value)) }
    ).canonicalText
  }

  /// What is said of the updated objects of one entity: their keys, and those of each changed property.
  private static func members(_ groups: [UpdatedObjects.Group]) -> [JSONValue.Member] {
    let plan = groups[0].plan
    var members: [JSONValue.Member] = []
    for slot in plan.slots.indices {
      let holders = groups.filter { $0.slots.contains(slot) }
      if holders.isEmpty { continue }
      let keys: JSONValue =
        holders.count == groups.count
        ? .bool(true) : .array(ranges(holders.flatMap(\.keys).sorted()))
      members.append(JSONValue.Member(plan.slots[slot].name, keys))
    }
    let updated = JSONValue.Member("updated", .array(ranges(groups.flatMap(\.keys).sorted())))
    if members.isEmpty { return [updated] }
    return [updated, JSONValue.Member(properties, .object(members.sorted { $0.key < $1.key }))]
  }
}

/// The objects that a save updates, with the properties that it changes.
///
/// Most objects of a save have changed in the same properties: keys are collected by the set of them, and come to each
/// property afterwards. They are collected while rows are written, when what an object has changed is at hand.
struct UpdatedObjects {
  struct Group {
    let plan: EntityPlan
    let slots: SlotSet
    fileprivate(set) var keys: [ObjectKey]
  }

  private struct Kind: Hashable {
    let entity: Int
    let slots: SlotSet
  }

  private(set) var groups: [Group] = []
  private var indices: [Kind: Int] = [:]
  /// The group of the object that was added last.
  private var last = 0

  mutating func add(_ key: ObjectKey, of plan: EntityPlan, _ slots: SlotSet) {
    if last < groups.count, groups[last].plan === plan, groups[last].slots == slots {
      groups[last].keys.append(key)
      return
    }
    let kind = Kind(entity: plan.index, slots: slots)
    last = indices[kind] ?? groups.count
    if last < groups.count {
      groups[last].keys.append(key)
    } else {
      indices[kind] = last
      groups.append(Group(plan: plan, slots: slots, keys: [key]))
    }
  }
}
