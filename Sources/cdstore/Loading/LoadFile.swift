import CDConsole
import CDModel
import CDRuntime
import Foundation

/// Creates objects from JSON: entity name → list of rows. A row has `"@id"`, a key that is unique within its entity's
/// hierarchy, attributes by name, and relationships as the `"@id"`s of other rows.
struct LoadFile {
  let context: ManagedObjectContext
  let graph: EntityGraph
  /// The String attribute that stores the `"@id"`s; nil for none.
  let idAttribute: String?
  private let reading: AttributeReading
  private var mistakes: [String] = []
  private var rows: [Row] = []
  /// The objects by the root of their entity and by their `"@id"`.
  private var objects: [String: [String: ManagedObject]] = [:]
  /// What the rows have said of relationships that take one object.
  private var partners: [Side: (partner: ManagedObject, place: String)] = [:]

  /// A relationship of an object.
  private struct Side: Hashable {
    let object: ManagedObject
    let relationship: String
  }

  private struct Row {
    let object: ManagedObject
    let entity: String
    let place: String
    let members: [JSONValue.Member]
  }

  init(context: ManagedObjectContext, graph: EntityGraph, idAttribute: String?) {
    self.context = context
    self.graph = graph
    self.idAttribute = idAttribute
    reading = AttributeReading(graph: graph)
  }

  /// Creates the objects and sets their relationships, without saving.
  ///
  /// - Returns: The number of objects of each entity, in the order of the file.
  /// - Throws: ``Failure`` with every mistake.
  mutating func insert(_ json: JSONValue) throws -> [(entity: String, count: Int)] {
    guard case .object(let members) = json else {
      throw Failure(
        "the file contains \(json.kindName), but must contain an object: entity name → list of rows")
    }
    if let idAttribute, !members.contains(where: { keepsID($0.key) }) {
      mistakes.append("none of the entities has a String attribute '\(idAttribute)' for --id")
    }
    var counts: [(entity: String, count: Int)] = []
    for member in members {
      guard case .array(let list) = member.value else {
        mistakes.append("\(member.key): takes a list of rows, not \(member.value.kindName)")
        continue
      }
      guard checkEntity(member.key) else { continue }
      for (number, row) in list.enumerated() { make(row, member.key, "\(member.key) row \(number + 1)") }
      counts.append((member.key, list.count))
    }
    for row in rows { fill(row) }
    if !mistakes.isEmpty { throw Failure(mistakes.joined(separator: "\n")) }
    return counts
  }

  private mutating func checkEntity(_ name: String) -> Bool {
    guard let entity = graph.entity(name) else {
      let meant = closestName(to: name, in: graph.version.entities.map(\.name))
      mistakes.append("\(name): the model has no such entity" + Self.question(meant))
      return false
    }
    guard !entity.isAbstract else {
      mistakes.append("\(name): is abstract; give rows of its subentities")
      return false
    }
    return true
  }

  /// Whether an entity has the attribute that stores the `"@id"`s. Other entities do not store them.
  private func keepsID(_ entity: String) -> Bool {
    guard let idAttribute, case .attribute(let attribute)? = graph.property(idAttribute, of: entity) else {
      return false
    }
    return attribute.type == .string
  }

  private mutating func make(_ row: JSONValue, _ entity: String, _ place: String) {
    guard case .object(let members) = row else {
      mistakes.append("\(place): takes an object, not \(row.kindName)")
      return
    }
    do {
      let object = try context.insert(entityNamed: entity)
      rows.append(Row(object: object, entity: entity, place: place, members: members))
      guard let id = row["@id"] else { return }
      guard let key = Self.key(id) else {
        mistakes.append("\(place): @id takes a text or an integer, not \(id.kindName)")
        return
      }
      let root = graph.root(of: entity)?.name ?? entity
      if objects[root, default: [:]].updateValue(object, forKey: key) != nil {
        mistakes.append("\(place): another row has the @id '\(key)'")
      }
      if let idAttribute, keepsID(entity) { try object.setValue(key, forKey: idAttribute) }
    } catch {
      mistakes.append("\(place): \(error)")
    }
  }

  private static func question(_ meant: String?) -> String { meant.map { "; did you mean '\($0)'?" } ?? "" }

  private static func key(_ json: JSONValue) -> String? {
    switch json {
    case .string(let text): text
    case .int(let number): "\(number)"
    default: nil
    }
  }

  private mutating func fill(_ row: Row) {
    for member in row.members where member.key != "@id" {
      do {
        switch graph.property(member.key, of: row.entity) {
        case .attribute(let attribute)?:
          try row.object.setValue(try reading.value(member.value, attribute), forKey: member.key)
        case .relationship(let relationship)?: try relate(row, relationship, member.value)
        case .fetched?: throw Failure("is a fetched property, which cannot be set")
        case nil:
          let names =
            graph.attributes(of: row.entity).map(\.name) + graph.relationships(of: row.entity).map(\.name)
          let meant = closestName(to: member.key, in: names)
          throw Failure("the entity has no such property" + Self.question(meant))
        }
      } catch {
        mistakes.append("\(row.place), \(member.key): \(error)")
      }
    }
  }

  private func object(_ id: JSONValue, of entity: String) throws -> ManagedObject {
    guard let key = Self.key(id) else { throw Failure("takes the @id of a row, not \(id.kindName)") }
    guard let object = objects[graph.root(of: entity)?.name ?? entity]?[key] else {
      throw Failure("there is no row of '\(entity)' with the @id '\(key)'")
    }
    return object
  }

  private mutating func relate(
    _ row: Row, _ relationship: RelationshipDescription, _ json: JSONValue
  ) throws {
    switch json {
    case .null: if relationship.isToMany { throw Failure("takes a list of @ids") }
    case .array(let ids):
      guard relationship.isToMany else { throw Failure("takes one @id or null, not a list") }
      let related = try ids.map { try object($0, of: relationship.destination) }
      for (id, other) in zip(ids, related) { try notePartners(row, relationship, other, id) }
      // One side is enough: objects that the inverse has already added stay.
      let known = try row.object.value(forKey: relationship.name).objects
      let given = Set(related)
      let rest = known.filter { !given.contains($0) }
      try row.object.setValue(related + rest, forKey: relationship.name)
    default:
      guard !relationship.isToMany else { throw Failure("takes a list of @ids, not \(json.kindName)") }
      let other = try object(json, of: relationship.destination)
      try notePartners(row, relationship, other, json)
      try row.object.setValue(other, forKey: relationship.name)
    }
  }

  /// Notes what a row says of the sides that take one object.
  ///
  /// - Throws: ``Failure`` if another row has named another object. The order of the rows would decide which one counts.
  private mutating func notePartners(
    _ row: Row, _ relationship: RelationshipDescription, _ other: ManagedObject, _ id: JSONValue
  ) throws {
    if let inverse = graph.inverse(of: relationship, in: row.entity), !inverse.isToMany {
      let side = Side(object: other, relationship: inverse.name)
      try note(row.object, of: side, "'\(Self.key(id) ?? "")'", row.place)
    }
    if !relationship.isToMany {
      try note(other, of: Side(object: row.object, relationship: relationship.name), "the object", row.place)
    }
  }

  private mutating func note(
    _ partner: ManagedObject, of side: Side, _ subject: String, _ place: String
  ) throws {
    if let known = partners[side], known.partner !== partner {
      throw Failure(
        "\(subject) already has another '\(side.relationship)', because of \(known.place); keep one of the two"
      )
    }
    partners[side] = (partner, place)
  }
}
