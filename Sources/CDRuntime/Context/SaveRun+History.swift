#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The row of the history that a save leaves in each store.
extension SaveRun {
  mutating func writeHistory() throws {
    // What goes to several files says so in each, for a check to find what has not reached one of them.
    let id = context.unfinishedSave ?? (touched.count > 1 ? UUID.random() : nil)
    let mark = id.map { HistoryText.Mark(save: $0, stores: touched.map(\.storeID)) }
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
  static func changes(_ plan: SavePlan, ofStore place: Int, _ mark: Mark? = nil) -> String {
    var entities: [String: [JSONValue.Member]] = [:]
    for (kind, objects) in [
      ("deleted", plan.deleted), ("inserted", plan.inserted),
      // A change of pairs changes what both sides read.
      (
        "updated",
        plan.updated + plan.related.filter { !$0.flags.contains(.inserted) && !$0.flags.contains(.updated) }
      ),
    ] {
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
    return JSONValue.object(
      (mark.map { [JSONValue.Member(Mark.key, $0.json)] } ?? [])
        + entities.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .object($0.value)) }
    ).canonicalText
  }
}
