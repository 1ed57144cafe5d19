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
        entities[entity, default: []].append(JSONValue.Member(kind, .array(ranges(keys.sorted()))))
      }
    }
    for (entity, changed) in ChangedProperties(of: updated, inStore: place).byEntity {
      let members = changed.map { JSONValue.Member($0.name, .array(ranges($0.keys.sorted()))) }
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

  private var groups: [(plan: EntityPlan, slots: SlotSet, keys: [ObjectKey])] = []

  init(of objects: [ManagedObject], inStore place: Int) {
    var places: [Kind: Int] = [:]
    var last: (kind: Kind, place: Int)?
    for object in objects {
      let plan = object.scope.plan
      guard plan.storeIndex == place, let changed = object.extras?.changed, !changed.isEmpty else { continue }
      let kind = Kind(entity: plan.index, slots: changed)
      if kind != last?.kind {
        let place = places[kind] ?? groups.count
        if place == groups.count { groups.append((plan, changed, [])) }
        places[kind] = place
        last = (kind, place)
      }
      if let last { groups[last.place].keys.append(object.key) }
    }
  }

  /// The keys of each property, by the name of the entity.
  var byEntity: [String: [(name: String, keys: [ObjectKey])]] {
    var slots: [Int: (plan: EntityPlan, keys: [Int: [ObjectKey]])] = [:]
    for group in groups {
      for slot in group.plan.slots.indices where group.slots.contains(slot) {
        slots[group.plan.index, default: (group.plan, [:])].keys[slot, default: []] += group.keys
      }
    }
    var result: [String: [(name: String, keys: [ObjectKey])]] = [:]
    for (plan, keys) in slots.values {
      result[plan.name] = keys.map { (plan.slots[$0.key].name, $0.value) }.sorted { $0.name < $1.name }
    }
    return result
  }
}
