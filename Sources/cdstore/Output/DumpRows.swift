import CDModel
import CDRuntime

/// Writes objects as the lines of a dump, from which ``RowImport`` makes the same objects.
///
/// A line has all that no other line has: stored attributes, to-one relationships in the object's own row, ordered
/// relationships, and the pairs of a many-to-many relationship on one side. It lacks the derived values that can be computed
/// from the other lines.
struct DumpRows {
  private let context: ManagedObjectContext
  private let values: ValueJSON
  private let attributes: [AttributeDescription]
  private let relationships: [RelationshipDescription]
  /// The relationships that lead to objects of another store, which the dump does not contain.
  private let outside: Set<String>
  private let entity: String

  init(of entity: String, _ graph: EntityGraph, in context: ManagedObjectContext) {
    self.context = context
    values = ValueJSON(graph: graph, isExact: true)
    attributes = graph.attributes(of: entity).filter {
      !$0.isTransient && !context.canDeriveAgain($0.name, ofEntity: entity)
    }
    relationships = graph.relationships(of: entity).filter { context.isListed($0.name, ofEntity: entity) }
    outside = Set(relationships.map(\.name).filter { context.leadsOutside($0, ofEntity: entity) })
    self.entity = entity
  }

  /// - Parameter outsideCounts: Receives the number of references to objects of another store.
  func row(_ object: ManagedObject, _ outsideCounts: inout OutsideCounts) throws -> JSONValue {
    var members = [JSONValue.Member("@id", .string(object.objectID.description))]
    for attribute in attributes {
      let value = try object.value(forKey: attribute.name).attribute ?? .null
      members.append(JSONValue.Member(attribute.name, values.json(value, attribute)))
    }
    for relationship in relationships {
      if outside.contains(relationship.name) {
        let references = try context.outsideReferences(of: object, relationship.name)
        outsideCounts.add(references.count, entity, relationship.name)
        let json = references.map(OutsideForm.json)
        members.append(
          JSONValue.Member(relationship.name, relationship.isToMany ? .array(json) : json.first ?? .null))
        continue
      }
      let value = try object.value(forKey: relationship.name)
      func id(_ object: ManagedObject) -> JSONValue { .string(object.objectID.description) }
      var related = value.objects
      if relationship.isToMany, !relationship.isOrdered {
        // Without an order, the store may give any. Equal stores have equal dumps.
        related.sort {
          ($0.objectID.entityName, $0.objectID.number) < ($1.objectID.entityName, $1.objectID.number)
        }
      }
      members.append(
        JSONValue.Member(
          relationship.name,
          relationship.isToMany ? .array(related.map(id)) : value.object.map(id) ?? .null))
    }
    return .object(members)
  }
}
