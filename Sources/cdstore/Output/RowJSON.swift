import CDModel
import CDRuntime

/// Writes objects as the rows that ``LoadFile`` reads.
struct RowJSON {
  private let graph: EntityGraph
  private let idAttribute: String?
  private let values: ValueJSON

  init(_ graph: EntityGraph, idAttribute: String?) {
    self.graph = graph
    self.idAttribute = idAttribute
    values = ValueJSON(graph: graph)
  }

  /// An object's key: the value of the attribute for keys, or else its URI.
  func id(_ object: ManagedObject) -> String { key(object) ?? object.objectID.description }

  /// The value of the attribute for keys; nil if the object has none.
  private func key(_ object: ManagedObject) -> String? {
    if let idAttribute, case .attribute(.string(let key))? = try? object.value(forKey: idAttribute) {
      return key
    }
    return nil
  }

  func row(_ object: ManagedObject) throws -> JSONValue {
    var members = [JSONValue.Member("@id", .string(id(object)))]
    let entity = object.entity.name
    // A key does not name the entity, as a URI does.
    if idAttribute != nil { members.append(JSONValue.Member("@entity", .string(entity))) }
    // Without a key, the attribute is in the row as null. Otherwise `load` would store the URI in it.
    let hasKey = key(object) != nil
    for attribute in graph.attributes(of: entity) where !hasKey || attribute.name != idAttribute {
      let value = try object.value(forKey: attribute.name).attribute ?? .null
      members.append(JSONValue.Member(attribute.name, values.json(value, attribute)))
    }
    for relationship in graph.relationships(of: entity) {
      if let references = try outsideReferences(relationship.name, object) {
        let json = references.map(OutsideForm.json)
        members.append(
          JSONValue.Member(relationship.name, relationship.isToMany ? .array(json) : json.first ?? .null))
        continue
      }
      let value = try object.value(forKey: relationship.name)
      let json: JSONValue =
        relationship.isToMany
        ? .array(value.objects.map { .string(id($0)) }) : value.object.map { .string(id($0)) } ?? .null
      members.append(JSONValue.Member(relationship.name, json))
    }
    return .object(members)
  }

  /// The column names of an entity's table. The first column contains the key.
  func header(_ entity: String) -> [String] {
    ["@id"] + columns(entity)
  }

  func cells(_ object: ManagedObject, of entity: String) throws -> [String] {
    [id(object)]
      + (try columns(entity).map { name -> String in
        if let references = try outsideReferences(name, object) {
          return references.first.map(OutsideForm.text) ?? ""
        }
        return switch try object.value(forKey: name) {
        case .attribute(let value): ValueJSON.text(value)
        case .object(let related): related.map(id) ?? ""
        case .objects: ""
        }
      })
  }

  /// The objects of a relationship to a store that is not open; nil for any other property. Reading them would be an error.
  /// Empty if the other store contains the relationship.
  private func outsideReferences(
    _ property: String, _ object: ManagedObject
  ) throws -> [OutsideReference]? {
    guard let context = object.managedObjectContext,
      context.leadsOutside(property, ofEntity: object.entity.name)
    else { return nil }
    return try context.outsideReferences(of: object, property)
  }

  private func columns(_ entity: String) -> [String] {
    graph.attributes(of: entity).map(\.name).filter { $0 != idAttribute }
      + graph.relationships(of: entity).filter { !$0.isToMany }.map(\.name)
  }
}
