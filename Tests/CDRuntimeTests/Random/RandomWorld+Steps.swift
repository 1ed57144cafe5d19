import Foundation

@testable import CDRuntime

// The steps of a run, taken by the runtime and by the oracle.
extension RandomWorld {
  func take(_ step: RandomStep) throws {
    if isOver { return }
    let side = sides[step.side]
    if side.behind != nil {
      // What the context sees is neither its own state nor the store's until it has been decided what to do.
      if case .rollback = step.operation { try rollBack(side) } else { try save(side) }
      return
    }
    try catchUp(side)
    switch step.operation {
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
      try relate(step.operation, side)
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

  /// Mostly with what a save asks for, so that most saves succeed.
  private func insert(_ entity: String, _ pick: Int, _ side: RandomSide) throws {
    let object = try side.context.insert(entityNamed: entity)
    let number = adopt(object, by: side)
    side.graph.insert(number, entity, key: object.key)
    guard pick % 8 > 0 else { return }
    for attribute in stored.model.attributes(of: entity)
    where !attribute.isOptional && attribute.defaultValue == nil {
      try set(number, attribute, 1 + pick % 6, side)
    }
    if stored.model.isKind(entity, of: "Node"), pick % 2 == 0 {
      try setCode(number, .string("c\(number)"), side)
    }
    for relation in stored.model.relations(of: entity) where !relation.isOptional {
      guard let other = self.pick(pick, side, relation.destination) else { continue }
      try object.setValue(self.object(other, side), forKey: relation.name)
      side.graph.connect(number, relation, other)
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
    }
  }

  func pick(_ row: Int, _ side: RandomSide, _ entity: String? = nil) -> Int? {
    let live = side.graph.live(entity)
    return live.isEmpty ? nil : live[row % live.count]
  }

  private func set(_ number: Int, _ attribute: AttributeDescription, _ value: Int, _ side: RandomSide) throws
  {
    let new: AttributeValue
    let isNull = value % (attribute.isOptional ? 7 : 49) == 0
    if attribute.type == .string {
      // Few codes, so that they meet.
      let names =
        attribute.name == "code" ? ["u", "v", "w", "x", "y", "z", "ü", "u\u{308}", "😀"] : RandomFetch.names
      new = isNull ? .null : .string(names[value % names.count])
    } else {
      new = isNull ? .null : .int(Int64(value % 4))
    }
    try object(number, side).setValue(.attribute(new), forKey: attribute.name)
    side.graph.set(number, attribute.name, new)
  }

  /// Exchanges two unique values, which a save can only write with a third in between.
  private func swapCodes(_ row: Int, _ other: Int, _ side: RandomSide) throws {
    let coded = side.graph.live("Node").filter { side.graph.rows[$0]?.attributes["code"] != nil }
    guard !coded.isEmpty else { return }
    let numbers = [coded[row % coded.count], coded[other % coded.count]]
    let codes = numbers.map { side.graph.rows[$0]?.attributes["code"] ?? .null }
    for (number, code) in zip(numbers, codes.reversed()) { try setCode(number, code, side) }
  }

  private func setCode(_ number: Int, _ code: AttributeValue, _ side: RandomSide) throws {
    try object(number, side).setValue(.attribute(code), forKey: "code")
    side.graph.set(number, "code", code)
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
