public import CDRuntime

extension VersionedStore {
  /// Inserts one object of each entity that is not abstract, and saves the objects. Each attribute gets a value that
  /// satisfies its rules, and relationships get objects.
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

/// Creates one object of each entity.
private struct SampleObjects {
  private(set) var objects: [String: ManagedObject] = [:]
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

  mutating func object(of name: String) throws -> ManagedObject {
    if let object = objects[name] { return object }
    let object = try context.insert(entityNamed: name)
    // Stored before the relationships are set, because some of them lead back.
    objects[name] = object
    for attribute in graph.attributes(of: name) where attribute.derivation == nil && attribute.isStored {
      let owner = graph.declaringEntity(of: attribute.name, in: name)?.name ?? name
      if let value = given["\(name).\(attribute.name)"] ?? given["\(owner).\(attribute.name)"] {
        try object.setValue(value.value, forKey: attribute.name)
      } else if let value = try values.next(for: attribute, of: name) {
        try object.setValue(.attribute(value), forKey: attribute.name)
      }
    }
    for relationship in graph.relationships(of: name)
    where !relationship.isOptional || (relationship.minimumCount ?? 0) > 0 {
      try relate(object, by: relationship)
    }
    return object
  }

  /// Sets the optional relationships that have no object yet on either side.
  mutating func relate() throws {
    for entity in graph.version.entities {
      guard let object = objects[entity.name] else { continue }
      for relationship in graph.relationships(of: entity.name) where relationship.isOptional {
        guard try isEmpty(relationship.name, of: object) else { continue }
        try relate(object, by: relationship)
      }
    }
  }

  private mutating func relate(_ object: ManagedObject, by relationship: RelationshipDescription) throws {
    let candidates = [relationship.destination] + graph.descendants(of: relationship.destination).map(\.name)
    guard let name = candidates.first(where: { graph.entity($0)?.isAbstract == false }) else { return }
    let other = try self.object(of: name)
    if let inverse = graph.inverse(of: relationship, in: object.entity.name), !inverse.isToMany,
      relationship.isOptional
    {
      // Taking the object from its present owner might leave that owner without one.
      guard try isEmpty(inverse.name, of: other) else { return }
    }
    try object.setValue(relationship.isToMany ? .objects([other]) : .object(other), forKey: relationship.name)
  }

  private func isEmpty(_ name: String, of object: ManagedObject) throws -> Bool {
    let value = try object.value(forKey: name)
    return value.object == nil && value.objects.isEmpty
  }
}
