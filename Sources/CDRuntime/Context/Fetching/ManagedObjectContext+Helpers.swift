public import CDModel

// Short ways to what requests say at length: by a format, by a template's name, by an object of another context,
// and new objects by their entity's name.
extension ManagedObjectContext {
  /// The objects of an entity that meet a format string's condition:
  /// `context.objects(forEntityNamed: "Book", format: "title BEGINSWITH %@", "W")`.
  ///
  /// - Throws: `FormatError` for a format that cannot be read; else as ``fetch(_:)``.
  public func objects(
    forEntityNamed name: String, format: String, _ arguments: (any FormatArgument)?...
  ) throws -> [ManagedObject] {
    try fetch(
      FetchRequest(entityName: name, where: try FetchPredicate(format: format, arguments: arguments)))
  }

  /// The object of an entity that meets a format string's condition; nil where there is none.
  ///
  /// - Throws: ``FetchError/tooManyObjects(entity:)`` where there are several; two rows are asked for, no more.
  public func object(
    forEntityNamed name: String, format: String, _ arguments: (any FormatArgument)?...
  ) throws -> ManagedObject? {
    try single(
      FetchRequest(entityName: name, where: try FetchPredicate(format: format, arguments: arguments)))
  }

  /// The request of a fetch template of the model, with the values of its variables. What of them is missing, a
  /// fetch says.
  ///
  /// - Throws: ``FetchError/unknownEntity(_:)`` and ``FetchError/unknownTemplate(entity:name:)``.
  public func fetchRequest(
    forEntityNamed name: String, template: String, variables: [String: any AttributeValueConvertible] = [:]
  ) throws -> FetchRequest<ManagedObject> {
    guard model.entity(name) != nil else { throw FetchError.unknownEntity(name) }
    guard let description = self.template(template, of: name) else {
      throw FetchError.unknownTemplate(entity: name, name: template)
    }
    var request = FetchRequest<ManagedObject>(entityName: name, where: description.predicate)
    request.variables = variables.mapValues { .value($0.attributeValue) }
    request.sortKeys = description.sort
    request.limit = description.limit
    return request
  }

  /// The objects of a fetch template of the model.
  ///
  /// - Throws: As ``fetchRequest(forEntityNamed:template:variables:)`` and ``fetch(_:)``.
  public func objects(
    forEntityNamed name: String, template: String, variables: [String: any AttributeValueConvertible] = [:]
  ) throws -> [ManagedObject] {
    try fetch(fetchRequest(forEntityNamed: name, template: template, variables: variables))
  }

  // MARK: Objects of other contexts

  /// This context's instance of an object of another context: the same row, with this context's changes.
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` for an object that has not been saved, that has been deleted, or
  ///   that is of another store. A child has its parent's unsaved objects too.
  public func localInstance<Object: ManagedObject>(of object: Object) throws -> Object {
    let found = try existingObject(with: object.objectID)
    guard let local = found as? Object else { throw FetchError.unknownObject(object.objectID) }
    return local
  }

  // MARK: New objects

  /// Makes a new object of an entity, with values of its attributes.
  ///
  /// - Throws: As ``insert(entityNamed:)``, and ``PropertyError`` for a key or a value that the entity has not;
  ///   there is no new object then.
  @discardableResult
  public func insert(
    entityNamed name: String, values: KeyValuePairs<String, (any AttributeValueConvertible)?>
  ) throws -> ManagedObject {
    let object = try insert(entityNamed: name)
    do {
      for (key, value) in values {
        try object.setValue(.attribute(value?.attributeValue ?? .null), forKey: key)
      }
    } catch {
      delete(object)
      throw error
    }
    return object
  }
}

extension EntityClass {
  /// The object of an identifier, with its values.
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` where there is none of this class, or none any more.
  public static func object(with id: ManagedObjectID, in context: ManagedObjectContext) throws -> Self {
    guard let object = try context.existingObject(with: id) as? Self else {
      throw FetchError.unknownObject(id)
    }
    return object
  }
}
