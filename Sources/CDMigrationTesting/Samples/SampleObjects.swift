public import CDRuntime

extension VersionedStore {
  /// Inserts one object of each entity that is not abstract, and saves the objects. Each attribute gets a value that
  /// satisfies its rules, and relationships get objects. If a mandatory relationship needs more objects than these, further
  /// ones are inserted, such as the second object for `count: 2...`. They get the same given values, and are not in the
  /// result.
  ///
  /// ```swift
  /// let store = try VersionedStore(of: LibraryModel.self, version: 1)
  /// let samples = try store.insertSamples(["Book.isbn": "0-000000-00-0"])
  /// let book = samples["Book"]
  /// ```
  ///
  /// - Parameter values: Values for attributes, by `Entity.attribute` with the entity that declares the attribute. Give
  ///   a value, for example, for an attribute whose pattern is not simple, because no sample can be created for it.
  /// - Returns: The objects, by the names of their entities.
  /// - Throws: ``VersionedStoreError/noSample(entity:attribute:reason:)``, and the errors of the save.
  @discardableResult
  public func insertSamples(_ values: [String: StoredValue] = [:]) throws -> [String: ManagedObject] {
    var samples = SampleObjects(graph, in: context, values)
    for entity in version.entities where !entity.isAbstract { _ = try samples.object(of: entity.name) }
    try samples.relate()
    try context.save()
    return samples.objects
  }
}

/// Creates one object of each entity, and the further objects that mandatory relationships need.
private struct SampleObjects {
  private(set) var objects: [String: ManagedObject] = [:]
  /// All objects, in the order of their creation.
  private var inserted: [ManagedObject] = []
  /// The entities of which a further object is being created. Such an object gets no further object of its own entity,
  /// because there might be no end of them.
  private var pending: Set<String> = []
  private let context: ManagedObjectContext
  private let graph: EntityGraph
  private let given: [String: StoredValue]
  private var values: SampleValues

  init(_ graph: EntityGraph, in context: ManagedObjectContext, _ given: [String: StoredValue]) {
    self.context = context
    self.graph = graph
    self.given = given
    values = SampleValues(graph)
  }

  /// The object of an entity that is in the result.
  mutating func object(of name: String) throws -> ManagedObject {
    if let object = objects[name] { return object }
    let object = try insert(name)
    // Stored before the relationships are set, because some of them lead back.
    objects[name] = object
    try relateMandatory(object)
    return object
  }

  /// Inserts an object with attributes, but without relationships.
  private mutating func insert(_ name: String) throws -> ManagedObject {
    let object = try context.insert(entityNamed: name)
    inserted.append(object)
    for attribute in graph.attributes(of: name) where attribute.derivation == nil && attribute.isStored {
      let owner = graph.declaringEntity(of: attribute.name, in: name)?.name ?? name
      if let value = given["\(name).\(attribute.name)"] ?? given["\(owner).\(attribute.name)"] {
        try object.setValue(value.value, forKey: attribute.name)
      } else if let value = try values.next(for: attribute, of: name) {
        try object.setValue(.attribute(value), forKey: attribute.name)
      }
    }
    return object
  }

  /// Sets the optional relationships that have no object yet on either side.
  mutating func relate() throws {
    for entity in graph.version.entities {
      guard let object = objects[entity.name] else { continue }
      for relationship in graph.relationships(of: entity.name) where relationship.isOptional {
        guard try related(relationship.name, of: object).isEmpty, let name = destinations(relationship).first
        else { continue }
        let other = try self.object(of: name)
        // Taking the object from its present owner might leave that owner without one.
        guard try hasRoom(other, for: graph.inverse(of: relationship, in: entity.name)) else { continue }
        try relate(object, to: other, by: relationship)
      }
    }
  }

  private mutating func relateMandatory(_ object: ManagedObject) throws {
    for relationship in graph.relationships(of: object.entity.name)
    where !relationship.isOptional || (relationship.minimumCount ?? 0) > 0 {
      try satisfy(relationship, of: object)
    }
  }

  /// Relates an object to as many objects as a mandatory relationship needs: the one of the result, other ones that no
  /// object has yet, and then further ones.
  private mutating func satisfy(_ relationship: RelationshipDescription, of object: ManagedObject) throws {
    let names = destinations(relationship)
    guard let name = names.first else { return }
    let inverse = graph.inverse(of: relationship, in: object.entity.name)
    let wanted = relationship.isToMany ? max(1, relationship.minimumCount ?? 0) : 1
    let first = try self.object(of: name)
    for other in [first] + inserted where names.contains(other.entity.name) {
      guard try related(relationship.name, of: object).count < wanted else { return }
      if try hasRoom(other, for: inverse) { try relate(object, to: other, by: relationship) }
    }
    while try related(relationship.name, of: object).count < wanted {
      // The save reports the relationship that this leaves with too few objects.
      guard let other = try furtherObject(of: name, relatedTo: object, by: inverse) else { return }
      try relate(object, to: other, by: relationship)
    }
  }

  /// Inserts an object that is not in the result. Its relationship back is set first, so that nothing else is set there.
  /// Nil if such an object is being inserted already.
  private mutating func furtherObject(
    of name: String, relatedTo object: ManagedObject, by inverse: RelationshipDescription?
  ) throws -> ManagedObject? {
    guard pending.insert(name).inserted else { return nil }
    defer { pending.remove(name) }
    let other = try insert(name)
    if let inverse { try relate(other, to: object, by: inverse) }
    try relateMandatory(other)
    return other
  }

  /// The entities that objects of a relationship can have.
  private func destinations(_ relationship: RelationshipDescription) -> [String] {
    let names = [relationship.destination] + graph.descendants(of: relationship.destination).map(\.name)
    return names.filter { graph.entity($0)?.isAbstract == false }
  }

  /// Adds an object to the related ones.
  private func relate(
    _ object: ManagedObject, to other: ManagedObject, by relationship: RelationshipDescription
  ) throws {
    let present = try related(relationship.name, of: object)
    if present.contains(where: { $0 === other }) { return }
    let value: PropertyValue = relationship.isToMany ? .objects(present + [other]) : .object(other)
    try object.setValue(value, forKey: relationship.name)
  }

  /// Whether an object can get one more object by a relationship.
  private func hasRoom(_ object: ManagedObject, for relationship: RelationshipDescription?) throws -> Bool {
    guard let relationship else { return true }
    let limit = relationship.isToMany ? relationship.maximumCount ?? .max : 1
    return try related(relationship.name, of: object).count < limit
  }

  private func related(_ name: String, of object: ManagedObject) throws -> [ManagedObject] {
    let value = try object.value(forKey: name)
    return value.object.map { [$0] } ?? value.objects
  }
}
