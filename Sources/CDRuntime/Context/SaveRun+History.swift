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
    for store in touched {
      let changes = HistoryText.changes(plan, ofStore: store.place, mark)
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
  /// The text for the objects of a save that are in one store.
  static func changes(_ plan: SavePlan, ofStore place: Int, _ mark: Mark) -> String {
    let updated =
      // A change of pairs changes what both sides read.
      plan.updated + plan.related.filter { !$0.flags.contains(.inserted) && !$0.flags.contains(.updated) }
    var entities: [String: [JSONValue.Member]] = [:]
    var counts: [String: Int] = [:]
    for (kind, objects) in [("deleted", plan.deleted), ("inserted", plan.inserted), ("updated", updated)] {
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
        if kind == "updated" { counts[entity] = keys.count }
        entities[entity, default: []].append(JSONValue.Member(kind, .array(ranges(keys.sorted()))))
      }
    }
    for (entity, members) in ChangedProperties(of: updated, inStore: place).byEntity(counts) {
      entities[entity, default: []].append(JSONValue.Member(properties, .object(members)))
    }
    return JSONValue.object(
      [JSONValue.Member(Mark.key, mark.json)]
        + entities.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .object($0.value)) }
    ).canonicalText
  }
}

/// Which properties of which objects a save changes.
///
/// Most objects of a save have changed in the same properties: keys are collected by the set of them, and come to each
/// property afterwards.
private struct ChangedProperties {
  private struct Kind: Hashable {
    let entity: Int
    let slots: SlotSet
  }

  private struct Group {
    let plan: EntityPlan
    let slots: SlotSet
    var keys: [ObjectKey] = []
  }

  private var groups: [Group] = []

  init(of objects: [ManagedObject], inStore place: Int) {
    var places: [Kind: Int] = [:]
    // The group of the last object, whose keys are not in it yet.
    var last = (entity: -1, place: 0, slots: SlotSet(), keys: [ObjectKey]())
    for object in objects {
      guard let extras = object.extras else { continue }
      let plan = object.scope.plan
      if plan.index != last.entity || extras.changed != last.slots {
        if plan.storeIndex != place || extras.changed.isEmpty { continue }
        if last.entity >= 0 { groups[last.place].keys += last.keys }
        let kind = Kind(entity: plan.index, slots: extras.changed)
        let place = places[kind] ?? groups.count
        if place == groups.count { groups.append(Group(plan: plan, slots: kind.slots)) }
        places[kind] = place
        last = (kind.entity, place, kind.slots, [])
      }
      last.keys.append(object.key)
    }
    if last.entity >= 0 { groups[last.place].keys += last.keys }
  }

  /// The properties of each entity, with the keys of the objects.
  ///
  /// - Parameter counts: How many objects of each entity are updated.
  func byEntity(_ counts: [String: Int]) -> [String: [JSONValue.Member]] {
    var result: [String: [JSONValue.Member]] = [:]
    for (_, groups) in Dictionary(grouping: groups, by: \.plan.index) {
      let plan = groups[0].plan
      var members: [JSONValue.Member] = []
      for slot in plan.slots.indices {
        let holders = groups.filter { $0.slots.contains(slot) }
        let count = holders.reduce(0) { $0 + $1.keys.count }
        if count == 0 { continue }
        let keys: JSONValue =
          count == counts[plan.name]
          ? .bool(true) : .array(HistoryText.ranges(holders.flatMap(\.keys).sorted()))
        members.append(JSONValue.Member(plan.slots[slot].name, keys))
      }
      result[plan.name] = members.sorted { $0.key < $1.key }
    }
    return result
  }
}
