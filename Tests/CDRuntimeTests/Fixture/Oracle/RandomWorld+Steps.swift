import Foundation

@testable import CDRuntime

// The steps of a run, taken by the runtime and by the oracle.
extension RandomWorld {
  func take(_ step: RandomStep) throws {
    if isOver { return }
    let side = sides[step.side]
    if step.isInOneState {
      try side.context.perform { try take(step.operation, side) }
    } else {
      try take(step.operation, side)
    }
  }

  private func take(_ operation: RandomOperation, _ side: RandomSide) throws {
    if side.behind != nil {
      // What the context sees is neither its own state nor the store's until it has been decided what to do.
      if case .rollback = operation { try rollBack(side) } else { try save(side) }
      return
    }
    try catchUp(side)
    switch operation {
    case .insert(let entity):
      let names = stored.model.entityNames
      let name = names[entity % names.count]
      try insert(name, entity / names.count, side)
    case .delete(let row):
      guard let number = pick(row, side) else { return }
      side.context.delete(try object(number, side))
      side.graph.delete(number)
    case .set(let row, let attribute, let value):
      guard let number = pick(row, side), let entity = side.graph.rows[number]?.entity else { return }
      let attributes = stored.model.attributes(of: entity)
      try set(number, attributes[attribute % attributes.count], value, side)
    case .swapCodes(let row, let other):
      try swapCodes(row, other, side)
    case .setToOne, .setToMany, .add, .insertAt, .remove, .reorder:
      try relate(operation, side)
    case .fetch(let fetch): try compare(fetch, side)
    case .compare(let row):
      if let number = pick(row, side) { try compare(number, side) }
    case .compareAll: try compareAll(side)
    case .letGo: side.letGo()
    case .refresh(let row, let merging):
      guard let number = pick(row, side) else { return }
      try refresh(number, merging: merging, side)
    case .refreshAll: side.context.refreshAllObjects()
    case .rollback: try rollBack(side)
    case .reset:
      side.context.reset()
      side.held.removeAll()
      side.start(from: stored)
    case .save: try save(side)
    }
  }

  private func refresh(_ number: Int, merging: Bool, _ side: RandomSide) throws {
    let object = try object(number, side)
    guard !merging, let row = side.graph.rows[number], let old = side.base.rows[number] else {
      return side.context.refresh(object, mergeChanges: merging)
    }
    let relations = stored.model.relations(of: row.entity)
    let changed = side.graph.changedProperties(of: number).union(side.attempted[number] ?? [])
    var owned: [OracleGraph.Relation] = []
    for relation in relations {
      switch object.scope.plan.slot(relation.name)?.relationship?.storage {
      case .reference, .join: owned.append(relation)
      default:
        // Which order is left where others have come and gone is nobody's promise.
        if relation.isOrdered, changed.contains(relation.name) { return }
      }
    }
    side.context.refresh(object, mergeChanges: false)
    for attribute in stored.model.attributes(of: row.entity) where changed.contains(attribute.name) {
      side.graph.set(number, attribute.name, old.attributes[attribute.name] ?? .null)
    }
    for relation in owned {
      let former = side.base.related(number, relation)
      for other in side.graph.related(number, relation) where !former.contains(other) {
        side.graph.disconnect(number, relation, other)
      }
      let present = former.filter(side.graph.isLive)
      for other in present { side.graph.connect(number, relation, other) }
      side.graph.arrange(number, relation, present)
      if present.count == former.count { side.graph.forgetChanges(number, of: [relation.name]) }
    }
  }

  func pick(_ row: Int, _ side: RandomSide, _ entity: String? = nil) -> Int? {
    let live = side.graph.live(entity)
    return live.isEmpty ? nil : live[row % live.count]
  }

  /// Brings a context without changes to what has been saved.
  private func catchUp(_ side: RandomSide) throws {
    guard side.isClean else { return }
    guard side.saves != saves else { return }
    side.saves = saves
    _ = try side.context.fetch(FetchRequest<ManagedObject>(entityName: "Mark"))
    side.start(from: stored)
  }

  private func rollBack(_ side: RandomSide) throws {
    let gone = side.held.filter { side.graph.rows[$0.key]?.isInserted == true }
    side.context.rollback()
    guard !side.context.hasChanges else { throw Difference(description: "changes after a rollback") }
    for object in gone.values {
      guard object.isInaccessible else { throw Difference(description: "\(object) after a rollback") }
      // Reading it does not trap.
      _ = object.changedValues
      for property in object.entity.attributes { _ = try object.value(forKey: property.name) }
    }
    let isBehind = side.behind != nil
    side.start(from: isBehind ? stored : side.base)
    if isBehind {
      _ = try side.context.fetch(FetchRequest<ManagedObject>(entityName: "Mark"))
      try compareAll(side)
    }
  }
}
