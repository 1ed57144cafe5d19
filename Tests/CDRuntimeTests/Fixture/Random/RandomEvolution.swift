import Foundation
import SeededRandom

@testable import CDRuntime

/// Random versions of a model, each made from the one before by changes that a proven step can make.
///
/// Each element has an identity in its `info`, which stays the same whatever its name becomes. So a test knows what a value
/// must be without asking what a migration infers.
struct RandomEvolution: RandomMaker {
  var random: SplitMix
  private(set) var versions: [ModelVersion] = []
  private(set) var mappings: [MappingRules] = []
  private var count = 0

  init(random: SplitMix, length: Int) {
    var maker = RandomModel(random: random)
    var first = maker.version()
    self.random = maker.random
    for index in first.entities.indices {
      mark(&first.entities[index].info)
      for place in first.entities[index].attributes.indices {
        mark(&first.entities[index].attributes[place].info)
      }
      for place in first.entities[index].relationships.indices {
        mark(&first.entities[index].relationships[place].info)
        // What a reference to an object that is gone becomes is another test's subject.
        if first.entities[index].relationships[place].deleteRule == .noAction {
          first.entities[index].relationships[place].deleteRule = .nullify
        }
      }
    }
    for place in first.composites[0].fields.indices { mark(&first.composites[0].fields[place].info) }
    versions = [first]
    for _ in 1..<length { addVersion(after: versions[versions.count - 1]) }
  }

  /// The model as it was when a version was the newest one.
  func model(_ number: Int, id: UUID) -> ManagedObjectModel {
    ManagedObjectModel(
      name: "Random", id: id, versions: Array(versions.prefix(number)), currentVersionNumber: number,
      mappings: Array(mappings.prefix(number - 1)))
  }

  private mutating func mark(_ info: inout [String: String]) {
    count += 1
    info["id"] = "\(count)"
  }

  private mutating func newName(_ prefix: String) -> String {
    count += 1
    return "\(prefix)\(count)"
  }

  private mutating func newInfo() -> [String: String] {
    var info: [String: String] = [:]
    mark(&info)
    return info
  }

  // MARK: Steps

  private mutating func addVersion(after old: ModelVersion) {
    var accepted = (version: Self.finished(old, after: old), rules: MappingRules(source: 0, destination: 0))
    accepted.rules = Self.rules(from: old, to: accepted.version) ?? accepted.rules
    for _ in 0..<number(1...6) {
      var changed = accepted.version
      change(&changed)
      let finished = Self.finished(changed, after: old)
      if let rules = Self.rules(from: old, to: finished) { accepted = (finished, rules) }
    }
    versions.append(accepted.version)
    mappings.append(accepted.rules)
  }

  /// The version with its number, and with what its elements were called before.
  private static func finished(_ version: ModelVersion, after old: ModelVersion) -> ModelVersion {
    var result = version
    (result.number, result.basedOn) = (old.number + 1, [old.number])
    var (entities, properties, fields): ([String: String], [String: String], [String: String]) = (
      [:], [:], [:]
    )
    for entity in old.entities {
      entities[entity.identity] = entity.name
      for attribute in entity.attributes { properties[attribute.identity] = attribute.name }
      for relationship in entity.relationships { properties[relationship.identity] = relationship.name }
    }
    for field in old.composites.flatMap(\.fields) { fields[field.identity] = field.name }
    func former(_ identity: String, _ name: String, _ names: [String: String]) -> String? {
      names[identity].flatMap { $0 == name ? nil : $0 }
    }
    for index in result.entities.indices {
      let entity = result.entities[index]
      result.entities[index].renamedFrom = former(entity.identity, entity.name, entities)
      for (place, attribute) in entity.attributes.enumerated() {
        result.entities[index].attributes[place].renamedFrom = former(
          attribute.identity, attribute.name, properties)
      }
      for (place, relationship) in entity.relationships.enumerated() {
        result.entities[index].relationships[place].renamedFrom = former(
          relationship.identity, relationship.name, properties)
      }
    }
    for index in result.composites.indices {
      for (place, field) in result.composites[index].fields.enumerated() {
        result.composites[index].fields[place].renamedFrom = former(field.identity, field.name, fields)
      }
    }
    return result
  }

  /// The rules that confirm what a step loses; nil if the step is not proven with them.
  private static func rules(from old: ModelVersion, to new: ModelVersion) -> MappingRules? {
    var rules = MappingRules(source: old.number, destination: new.number)
    for _ in 0..<6 {
      let step = MigrationStep(from: old, to: new, rules: rules)
      if step.isProven { return rules }
      let known = rules
      for change in step.openChanges { rules.confirm(change.remedies) }
      if rules == known { return nil }
    }
    return nil
  }

  // MARK: Changes

  private mutating func change(_ version: inout ModelVersion) {
    switch number(0...19) {
    case 0: renameEntity(&version)
    case 1: exchangeEntities(&version)
    case 2: removeEntity(&version)
    case 3: addEntity(&version)
    case 4: addParent(&version)
    case 5, 6: addAttribute(&version)
    case 7: removeAttribute(&version)
    case 8, 9: renameAttribute(&version)
    case 10: changeType(&version)
    case 11: changeOptionality(&version)
    case 12: moveAttribute(&version)
    case 13: renameRelationship(&version)
    case 14: removeRelationship(&version)
    case 15: addRelationship(&version)
    case 16: changeCardinality(&version)
    case 17: changeOrder(&version)
    case 18: addConstraint(&version)
    default: changeComposite(&version)
    }
  }

  private mutating func entity(_ version: ModelVersion) -> Int {
    number(0...version.entities.count - 1)
  }

  /// The indices of an entity and of one of its attributes.
  private mutating func attribute(_ version: ModelVersion) -> (Int, Int)? {
    let all = version.entities.indices.flatMap { entity in
      version.entities[entity].attributes.indices.map { (entity, $0) }
    }
    return one(of: all)
  }

  private mutating func relationship(_ version: ModelVersion) -> (Int, Int)? {
    let all = version.entities.indices.flatMap { entity in
      version.entities[entity].relationships.indices.map { (entity, $0) }
    }
    return one(of: all)
  }

  private mutating func renameEntity(_ version: inout ModelVersion) {
    let old = version.entities[entity(version)].name
    version.renameEntities([old: chance(4) ? old.lowercased() + "x" : newName("N")])
  }

  private mutating func exchangeEntities(_ version: inout ModelVersion) {
    let (first, second) = (version.entities[entity(version)].name, version.entities[entity(version)].name)
    if first != second { version.renameEntities([first: second, second: first]) }
  }

  private mutating func removeEntity(_ version: inout ModelVersion) {
    let index = entity(version)
    let name = version.entities[index].name
    guard version.entities.count > 2, !version.entities.contains(where: { $0.parent == name }) else { return }
    version.entities.remove(at: index)
    for index in version.entities.indices {
      version.entities[index].relationships.removeAll { $0.destination == name }
    }
  }

  private mutating func addEntity(_ version: inout ModelVersion) {
    let parent = chance(2) ? nil : version.entities[entity(version)].name
    version.entities.append(
      EntityDescription(
        name: newName("N"), parent: parent,
        attributes: [
          AttributeDescription(name: newName("a"), type: .string, isOptional: true, info: newInfo())
        ],
        info: newInfo()))
  }

  /// Puts a new entity between an entity and its parent, or above a root.
  private mutating func addParent(_ version: inout ModelVersion) {
    let index = entity(version)
    let parent = EntityDescription(
      name: newName("P"), isAbstract: chance(2), parent: version.entities[index].parent, info: newInfo())
    version.entities[index].parent = parent.name
    version.entities.append(parent)
  }

  private mutating func addAttribute(_ version: inout ModelVersion) {
    let type = one(of: RandomModel.types) ?? .string
    var isOptional = chance(2)
    if case .composite = type { isOptional = true }
    version.entities[entity(version)].attributes.append(
      AttributeDescription(
        name: newName("a"), type: type, isOptional: isOptional,
        defaultValue: isOptional ? nil : .value(value(type)),
        storesExternally: type == .data && chance(2), info: newInfo()))
  }

  private mutating func value(_ type: AttributeType) -> AttributeValue {
    var values = RandomStoredValue(random: random)
    defer { random = values.random }
    return values.value(type)
  }

  private mutating func removeAttribute(_ version: inout ModelVersion) {
    guard let (index, place) = attribute(version) else { return }
    let name = version.entities[index].attributes.remove(at: place).name
    version.entities[index].uniquenessConstraints.removeAll { $0.contains(name) }
  }

  private mutating func renameAttribute(_ version: inout ModelVersion) {
    guard let (index, place) = attribute(version) else { return }
    let old = version.entities[index].attributes[place].name
    if chance(3) {
      let other = number(0...version.entities[index].attributes.count - 1)
      let name = version.entities[index].attributes[other].name
      if name != old { version.entities[index].renameAttributes([old: name, name: old]) }
    } else {
      version.entities[index].renameAttributes([old: chance(4) ? old.uppercased() : newName("a")])
    }
  }

  private mutating func changeType(_ version: inout ModelVersion) {
    guard let (index, place) = attribute(version) else { return }
    switch version.entities[index].attributes[place].type {
    case .composite, .enumeration: return
    default: break
    }
    let type: AttributeType = one(
      .string, .int16, .int32, .int64, .float, .double, .decimal, .date, .data, .bool)
    version.entities[index].attributes[place].type = type
    version.entities[index].attributes[place].storesExternally = false
    if version.entities[index].attributes[place].defaultValue != nil {
      version.entities[index].attributes[place].defaultValue = .value(value(type))
    }
  }

  private mutating func changeOptionality(_ version: inout ModelVersion) {
    guard let (index, place) = attribute(version) else { return }
    let type = version.entities[index].attributes[place].type
    if case .composite = type { return }
    version.entities[index].attributes[place].isOptional.toggle()
    if !version.entities[index].attributes[place].isOptional {
      version.entities[index].attributes[place].defaultValue = .value(value(type))
    }
  }

  /// Moves an attribute to the parent, or to a subentity.
  private mutating func moveAttribute(_ version: inout ModelVersion) {
    guard let (index, place) = attribute(version) else { return }
    let source = version.entities[index]
    let fitting = version.entities.indices.filter {
      version.entities[$0].name == source.parent || version.entities[$0].parent == source.name
    }
    guard let target = one(of: fitting) else { return }
    var attribute = version.entities[index].attributes.remove(at: place)
    version.entities[index].uniquenessConstraints.removeAll { $0.contains(attribute.name) }
    if version.entities[target].name == source.parent, !attribute.isOptional {
      attribute.defaultValue = .value(value(attribute.type))
    }
    version.entities[target].attributes.append(attribute)
  }

  private mutating func renameRelationship(_ version: inout ModelVersion) {
    guard let (index, place) = relationship(version) else { return }
    let old = version.entities[index].relationships[place]
    let name = chance(4) ? old.name.uppercased() : newName("r")
    let source = version.entities[index].name
    version.entities[index].relationships[place].name = name
    for other in version.entities.indices where version.entities[other].name == old.destination {
      for place in version.entities[other].relationships.indices
      where version.entities[other].relationships[place].inverse == old.name
        && version.entities[other].relationships[place].destination == source
      {
        version.entities[other].relationships[place].inverse = name
      }
    }
  }

  /// Removes a relationship with its inverse, or only one of the two.
  private mutating func removeRelationship(_ version: inout ModelVersion) {
    guard let (index, place) = relationship(version) else { return }
    let old = version.entities[index].relationships.remove(at: place)
    let keepsInverse = chance(2)
    guard let inverse = old.inverse, inverse != old.name else { return }
    for other in version.entities.indices where version.entities[other].name == old.destination {
      guard let place = version.entities[other].relationships.firstIndex(where: { $0.name == inverse }) else {
        continue
      }
      if keepsInverse {
        version.entities[other].relationships[place].inverse = nil
      } else {
        version.entities[other].relationships.remove(at: place)
      }
    }
  }

  /// Adds a relationship with or without an inverse, or the inverse of one that has none.
  private mutating func addRelationship(_ version: inout ModelVersion) {
    let name = newName("r")
    if chance(3), let (index, place) = relationship(version) {
      let known = version.entities[index].relationships[place]
      let source = version.entities[index].name
      let target = version.entities.firstIndex { $0.name == known.destination }
      guard known.inverse == nil, let target else { return }
      version.entities[index].relationships[place].inverse = name
      version.entities[target].relationships.append(
        RelationshipDescription(
          name: name, destination: source, isToMany: chance(2), inverse: known.name, info: newInfo()))
      return
    }
    let (source, target) = (entity(version), entity(version))
    let inverse = chance(2) ? nil : name + "i"
    let isToMany = chance(2)
    version.entities[source].relationships.append(
      RelationshipDescription(
        name: name, destination: version.entities[target].name, isToMany: isToMany, inverse: inverse,
        isOrdered: isToMany && chance(2), info: newInfo()))
    guard let inverse else { return }
    version.entities[target].relationships.append(
      RelationshipDescription(
        name: inverse, destination: version.entities[source].name, isToMany: chance(2), inverse: name,
        info: newInfo()))
  }

  private mutating func changeCardinality(_ version: inout ModelVersion) {
    guard let (index, place) = relationship(version) else { return }
    version.entities[index].relationships[place].isToMany.toggle()
    version.entities[index].relationships[place].isOrdered = false
  }

  private mutating func changeOrder(_ version: inout ModelVersion) {
    guard let (index, place) = relationship(version) else { return }
    let old = version.entities[index].relationships[place]
    guard old.isToMany, old.inverse != old.name else { return }
    version.entities[index].relationships[place].isOrdered.toggle()
  }

  private mutating func addConstraint(_ version: inout ModelVersion) {
    guard let (index, place) = attribute(version) else { return }
    let attribute = version.entities[index].attributes[place]
    if case .composite = attribute.type { return }
    guard !attribute.isTransient, !attribute.storesExternally,
      version.entities[index].uniquenessConstraints.isEmpty
    else { return }
    version.entities[index].uniquenessConstraints = [[attribute.name]]
  }

  private mutating func changeComposite(_ version: inout ModelVersion) {
    let place = number(0...version.composites[0].fields.count - 1)
    switch number(0...3) {
    case 0:
      version.composites[0].fields.append(
        AttributeDescription(
          name: newName("f"), type: one(.string, .int32, .double), isOptional: true, info: newInfo()))
    case 1 where version.composites[0].fields.count > 1: version.composites[0].fields.remove(at: place)
    case 2:
      let other = number(0...version.composites[0].fields.count - 1)
      let names = (version.composites[0].fields[place].name, version.composites[0].fields[other].name)
      (version.composites[0].fields[other].name, version.composites[0].fields[place].name) = names
    default: version.composites[0].fields[place].name = newName("f")
    }
  }
}

extension MappingRules {
  /// Adds what confirms a loss, if that is a remedy.
  fileprivate mutating func confirm(_ remedies: [Remedy]) {
    for remedy in remedies {
      switch remedy {
      case .drop(let entity, let property):
        if let index = entities.firstIndex(where: { $0.destination == entity }) {
          if !entities[index].drops.contains(property) { entities[index].drops.append(property) }
        } else {
          entities.append(EntityRule(destination: entity, drops: [property]))
        }
        return
      case .dropEntity(let entity):
        if !drops.contains(entity) { drops.append(entity) }
        return
      case .duplicateRule(let entity, let properties):
        let rule = DuplicateRule(entity: entity, properties: properties, survivor: .keepLast)
        if !duplicates.contains(rule) { duplicates.append(rule) }
        return
      default: continue
      }
    }
  }
}

extension ModelVersion {
  fileprivate mutating func renameEntities(_ names: [String: String]) {
    func new(_ name: String) -> String { names[name] ?? name }
    for index in entities.indices {
      entities[index].name = new(entities[index].name)
      entities[index].parent = entities[index].parent.map(new)
      for place in entities[index].relationships.indices {
        entities[index].relationships[place].destination = new(
          entities[index].relationships[place].destination)
      }
    }
  }
}

extension EntityDescription {
  /// What stays the same when the name changes.
  var identity: String { info["id"] ?? "" }

  fileprivate mutating func renameAttributes(_ names: [String: String]) {
    for place in attributes.indices {
      attributes[place].name = names[attributes[place].name] ?? attributes[place].name
    }
    uniquenessConstraints = uniquenessConstraints.map { $0.map { names[$0] ?? $0 } }
  }
}

extension AttributeDescription {
  /// What stays the same when the name changes.
  var identity: String { info["id"] ?? "" }
}

extension RelationshipDescription {
  /// What stays the same when the name changes.
  var identity: String { info["id"] ?? "" }
}
