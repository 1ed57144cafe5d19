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
    let inserted = ObjectGroups(of: plan.inserted)
    let deleted = ObjectGroups(of: plan.deleted)
    for store in touched {
      let changes = HistoryText.changes(
        inserted: inserted, updated: updated, deleted: deleted, ofStore: store.place, mark)
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
  /// The text for the objects of a save that are in one store. The groups may have objects of other stores too.
  fileprivate static func changes(
    inserted: ObjectGroups, updated: ObjectGroups, deleted: ObjectGroups, ofStore place: Int, _ mark: Mark
  ) -> String {
    var entities: [String: [JSONValue.Member]] = [:]
    for (kind, objects) in [("deleted", deleted), ("inserted", inserted), ("updated", updated)] {
      for groups in objects.byEntity(ofStore: place) {
        var members = [JSONValue.Member(kind, keys(of: groups))]
        let changed = changedProperties(groups)
        if !changed.isEmpty { members.append(JSONValue.Member(properties, .object(changed))) }
        entities[groups[0].plan.name, default: []] += members
      }
    }
    return JSONValue.object(
      [JSONValue.Member(Mark.key, mark.json)]
        + entities.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .object($0.value)) }
    ).canonicalText
  }

  private static func keys(of groups: [ObjectGroups.Group]) -> JSONValue {
    .array(ranges(groups.flatMap(\.keys).sorted()))
  }

  /// The changed properties of one entity's objects. Each has the keys of the objects in which it is changed, or `true`
  /// for all of them.
  private static func changedProperties(_ groups: [ObjectGroups.Group]) -> [JSONValue.Member] {
    let slots = groups[0].plan.slots
    var members: [JSONValue.Member] = []
    for slot in slots.indices {
      let holders = groups.filter { $0.slots.contains(slot) }
      if holders.isEmpty { continue }
      let isInAll = holders.count == groups.count
      members.append(JSONValue.Member(slots[slot].name, isInAll ? .bool(true) : keys(of: holders)))
    }
    return members.sorted { $0.key < $1.key }
  }
}

/// The keys of a save's objects. A group has the objects of one entity in which the same properties are changed.
///
/// Most objects of a save have the same changed properties, so that there are few groups.
struct ObjectGroups {
  struct Group {
    let plan: EntityPlan
    /// The changed properties; none for objects that are inserted or deleted.
    let slots: SlotSet
    fileprivate(set) var keys: [ObjectKey]
  }

  private struct Kind: Hashable {
    let entity: Int
    let slots: SlotSet
  }

  private var groups: [Group] = []
  private var indices: [Kind: Int] = [:]
  /// The group of the object that was added last.
  private var last = 0

  init() {}

  /// Groups by entity alone.
  init(of objects: [ManagedObject]) {
    for object in objects { add(object.key, of: object.scope.plan, SlotSet()) }
  }

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

  /// The groups of the entities that a store holds, together for each entity.
  func byEntity(ofStore place: Int) -> [[Group]] {
    let ofStore = groups.filter { $0.plan.storeIndex == place }
    return Array(Dictionary(grouping: ofStore, by: \.plan.index).values)
  }
}
