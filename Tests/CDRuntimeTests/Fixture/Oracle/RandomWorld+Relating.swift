import Foundation
import SeededRandom

@testable import CDRuntime

// Steps that change relationships.
extension RandomWorld {
  func relate(_ operation: RandomOperation, _ side: RandomSide) throws {
    switch operation {
    case .setToOne(let row, let relation, let other):
      guard let (number, relation, object, plan) = try resolve(row, relation, side, toMany: false) else {
        return
      }
      let target = other.flatMap { pick($0, side, relation.destination) }
      let targetObject = try target.map { try self.object($0, side) }
      object.setRelatedObject(targetObject, plan)
      if let target {
        side.graph.connect(number, relation, target)
      } else if let former = side.graph.rows[number]?.toOne[relation.name] {
        side.graph.disconnect(number, relation, former)
      }
    case .setToMany(let row, let relation, let others):
      guard let (number, relation, _, _) = try resolve(row, relation, side, toMany: true) else { return }
      var seen: Set<Int> = []
      let targets = others.compactMap { pick($0, side, relation.destination) }.filter {
        seen.insert($0).inserted
      }
      try set(number, relation, targets, side)
    case .add(let row, let relation, let other):
      guard let (number, relation, object, plan) = try resolve(row, relation, side, toMany: true),
        let target = pick(other, side, relation.destination)
      else { return }
      object.addRelated(try self.object(target, side), plan, at: nil)
      attempt(number, relation, target, side)
      side.graph.connect(number, relation, target)
    case .insertAt(let row, let relation, let other, let index):
      guard let (number, relation, object, plan) = try resolve(row, relation, side, toMany: true),
        let target = pick(other, side, relation.destination)
      else { return }
      object.addRelated(try self.object(target, side), plan, at: index)
      attempt(number, relation, target, side)
      side.graph.connect(number, relation, target)
      if relation.isOrdered { side.graph.move(number, relation, target, to: index) }
    case .remove(let row, let relation, let other):
      guard let (number, relation, object, plan) = try resolve(row, relation, side, toMany: true) else {
        return
      }
      let members = side.graph.related(number, relation)
      // Mostly one that is related, at times any.
      let target =
        other % 4 > 0 && !members.isEmpty
        ? members[other % members.count] : pick(other, side, relation.destination)
      guard let target else { return }
      object.removeRelated(try self.object(target, side), plan)
      attempt(number, relation, target, side)
      side.graph.disconnect(number, relation, target)
    case .reorder(let row, let relation, let seed):
      guard let (number, relation, _, _) = try resolve(row, relation, side, toMany: true) else { return }
      var random = SplitMix(seed: seed)
      try set(number, relation, side.graph.related(number, relation).shuffled(using: &random), side)
    default: break
    }
  }

  private func set(_ number: Int, _ relation: OracleGraph.Relation, _ targets: [Int], _ side: RandomSide)
    throws
  {
    let objects = try targets.map { try object($0, side) }
    try object(number, side).setValue(.objects(objects), forKey: relation.name)
    for former in side.graph.related(number, relation) where !targets.contains(former) {
      side.graph.disconnect(number, relation, former)
    }
    for target in targets { side.graph.connect(number, relation, target) }
    side.graph.arrange(number, relation, targets)
    for target in targets { attempt(number, relation, target, side) }
  }

  private func resolve(
    _ row: Int, _ relation: Int, _ side: RandomSide, toMany: Bool
  ) throws -> (Int, OracleGraph.Relation, ManagedObject, RelationshipPlan)? {
    guard let number = pick(row, side), let entity = side.graph.rows[number]?.entity else { return nil }
    let relations = stored.model.relations(of: entity).filter { $0.isToMany == toMany }
    guard !relations.isEmpty else { return nil }
    let picked = relations[relation % relations.count]
    let object = try object(number, side)
    guard let plan = object.scope.plan.slot(picked.name)?.relationship else {
      throw Difference(description: "no relationship \(picked.name)")
    }
    return (number, picked, object, plan)
  }

  private func attempt(_ number: Int, _ relation: OracleGraph.Relation, _ target: Int, _ side: RandomSide) {
    side.attempted[number, default: []].insert(relation.name)
    if let inverse = relation.inverse { side.attempted[target, default: []].insert(inverse) }
  }
}
