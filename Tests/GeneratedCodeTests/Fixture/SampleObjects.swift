import CDRuntime
import Testing

/// An object of each concrete entity of a model, with a value for every attribute and an object for every
/// relationship that is mandatory or one-sided.
struct SampleObjects {
  /// What a property holds, in terms that two contexts have in common.
  enum Content: Equatable {
    case attribute(AttributeValue)
    case object(ManagedObjectID?)
    case list([ManagedObjectID])
    case set(Set<ManagedObjectID>)
  }

  private(set) var objects: [String: ManagedObject] = [:]
  /// The attributes that were set, by entity and name.
  private(set) var given: [String: [String: AttributeValue]] = [:]
  private let context: ManagedObjectContext
  private let graph: EntityGraph
  private var values: SampleValues

  init(_ graph: EntityGraph, in context: ManagedObjectContext) throws {
    self.context = context
    self.graph = graph
    values = SampleValues(graph)
    for entity in graph.version.entities where !entity.isAbstract { _ = try object(of: entity.name) }
  }

  private mutating func object(of name: String) throws -> ManagedObject {
    if let object = objects[name] { return object }
    let object = try context.insert(entityNamed: name)
    // Before its relationships are followed: some lead back.
    objects[name] = object
    for attribute in graph.attributes(of: name) where attribute.derivation == nil {
      let value = try values.next(for: attribute)
      try object.setValue(.attribute(value), forKey: attribute.name)
      given[name, default: [:]][attribute.name] = value
    }
    for relationship in graph.relationships(of: name) {
      let isRequired = !relationship.isOptional || (relationship.minimumCount ?? 0) > 0
      guard isRequired || relationship.inverse == nil else { continue }
      let candidates =
        [relationship.destination] + graph.descendants(of: relationship.destination).map(\.name)
      let concrete = try #require(candidates.first { graph.entity($0)?.isAbstract == false })
      let other = try self.object(of: concrete)
      if relationship.isToMany {
        try object.setValue([other], forKey: relationship.name)
      } else {
        try object.setValue(other, forKey: relationship.name)
      }
    }
    return object
  }

  /// The stored properties of an object.
  static func contents(of object: ManagedObject, _ entity: String, _ graph: EntityGraph) throws -> [String:
    Content]
  {
    var result: [String: Content] = [:]
    for attribute in graph.attributes(of: entity) where attribute.isStored {
      result[attribute.name] = .attribute(try #require(try object.value(forKey: attribute.name).attribute))
    }
    for relationship in graph.relationships(of: entity) {
      let value = try object.value(forKey: relationship.name)
      result[relationship.name] =
        if !relationship.isToMany {
          .object(value.object?.objectID)
        } else if relationship.isOrdered {
          .list(value.objects.map(\.objectID))
        } else {
          .set(Set(value.objects.map(\.objectID)))
        }
    }
    return result
  }
}
