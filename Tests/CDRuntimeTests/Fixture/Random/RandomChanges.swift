import Foundation
import SeededRandom

@testable import CDRuntime

/// Random changes of a context's objects, of `EveryRelationshipModel` or of another one whose attributes are strings and
/// integers.
final class RandomChanges {
  let context: ManagedObjectContext
  var random: SplitMix
  /// The objects that are changed.
  private(set) var objects: [ManagedObject] = []
  private(set) var count = 0
  /// What the objects are taken in the order of, where their keys say less; nil for the keys.
  private let order: ((ManagedObjectID) -> Int)?
  private let model: OracleModel

  init(
    in context: ManagedObjectContext, random: SplitMix,
    of version: ModelVersion = EveryRelationshipModel.version, order: ((ManagedObjectID) -> Int)? = nil
  ) throws {
    model = OracleModel(version)
    self.context = context
    self.random = random
    self.order = order
    for name in model.entityNames where model.isRoot(name) {
      objects += sorted(try context.fetch(FetchRequest<ManagedObject>(entityName: name)))
    }
  }

  private func sorted(_ objects: [ManagedObject]) -> [ManagedObject] {
    guard let order else { return objects }
    return objects.sorted { order($0.objectID) < order($1.objectID) }
  }

  /// The objects of a relationship, in its order where it has one.
  private func members(_ object: ManagedObject, _ plan: RelationshipPlan) -> [ManagedObject] {
    let members = object.relatedObjects(plan)
    return plan.description.isOrdered ? members : sorted(members)
  }

  /// - Returns: What has been done.
  func change() throws -> String {
    count += 1
    objects.removeAll { !$0.exists }
    let kind = Int.random(in: 0..<20, using: &random)
    if objects.count < 6 || kind < (objects.count < 40 ? 5 : 2) { return try insert() }
    guard let object = pick() else { return "" }
    if kind < 7 {
      context.delete(object)
      return "delete \(object)"
    }
    if kind < 10 { return try set(object) }
    guard let relation = model.relations(of: object.entity.name).randomElement(using: &random),
      let plan = object.scope.plan.slot(relation.name)?.relationship
    else { return "" }
    let other = pick(relation.destination)
    guard relation.isToMany else {
      let target = Int.random(in: 0..<4, using: &random) == 0 ? nil : other
      object.setRelatedObject(target, plan)
      return "relate \(object).\(relation.name) to \(target.map { "\($0)" } ?? "nil")"
    }
    return change(object, plan, other)
  }

  private func pick(_ entity: String? = nil) -> ManagedObject? {
    objects.filter { $0.exists && (entity.map($0.scope.plan.lineageNames.contains) ?? true) }
      .randomElement(using: &random)
  }

  private func insert() throws -> String {
    guard let name = model.entityNames.randomElement(using: &random) else { return "" }
    let object = try context.insert(entityNamed: name)
    objects.append(object)
    for attribute in model.attributes(of: name) where !attribute.isOptional && attribute.type == .string {
      try object.setValue("s\(count)", forKey: attribute.name)
    }
    for relation in model.relations(of: name) where !relation.isOptional && !relation.isToMany {
      if let other = pick(relation.destination) { try object.setValue(other, forKey: relation.name) }
    }
    return "insert \(object)"
  }

  private func set(_ object: ManagedObject) throws -> String {
    guard let attribute = model.attributes(of: object.entity.name).randomElement(using: &random) else {
      return ""
    }
    let number = Int64.random(in: 0..<50, using: &random)
    if attribute.type == .string {
      try object.setValue("v\(number)-\(count)", forKey: attribute.name)
    } else {
      try object.setValue(number, forKey: attribute.name)
    }
    return "set \(object).\(attribute.name)"
  }

  private func change(
    _ object: ManagedObject, _ plan: RelationshipPlan, _ other: ManagedObject?
  ) -> String {
    let what: String
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      let some = (0..<3).compactMap { _ in pick(plan.description.destination) }
      object.setRelatedObjects(sorted(Array(Set(some)).sorted { $0.key < $1.key }), plan)
      what = "set to \(some)"
    case 1:
      object.setRelatedObjects(members(object, plan).shuffled(using: &random), plan)
      what = "shuffle"
    case 2:
      let first = members(object, plan).randomElement(using: &random)
      if let first { object.removeRelated(first, plan) }
      what = "remove \(first.map { "\($0)" } ?? "-")"
    case 3:
      if let other { object.addRelated(other, plan, at: 0) }
      what = "put \(other.map { "\($0)" } ?? "-") first"
    default:
      if let other { object.addRelated(other, plan, at: nil) }
      what = "add \(other.map { "\($0)" } ?? "-")"
    }
    return "\(object).\(plan.name): \(what)"
  }

  /// Puts right what stands in the way of a save.
  func repair(_ error: SaveError) throws {
    switch error {
    case .validation(let errors):
      for error in errors {
        guard let object = context.registeredObject(for: error.objectID) else { continue }
        if error.reason == .deleteDenied, let name = error.property,
          let relationship = object.scope.plan.slot(name)?.relationship
        {
          let members =
            relationship.isToMany
            ? object.relatedObjects(relationship) : object.relatedObject(relationship).map { [$0] } ?? []
          for member in members { context.delete(member) }
        } else {
          context.delete(object)
        }
      }
    case .notUnique(let conflicts):
      for conflict in conflicts {
        let ids = order.map { order in conflict.objectIDs.sorted { order($0) < order($1) } }
        for object in (ids ?? conflict.objectIDs).dropFirst().compactMap(context.registeredObject) {
          for property in conflict.properties { try object.setValue(.attribute(.null), forKey: property) }
        }
      }
    default: throw error
    }
  }
}
