// An object as what predicates and expressions are evaluated with: its values with all unsaved changes.
extension ManagedObject: EvaluationSubject {
  /// The value of a property as predicates see it, with all unsaved changes.
  ///
  /// - Throws: ``EvaluationError/unknownKey(_:entity:)``, and `unsupported` for a fetched property whose fetch fails.
  public final func evaluationValue(forKey key: String) throws(EvaluationError) -> EvaluationValue {
    if let slot = scope.plan.slot(key) { return evaluationValue(of: slot) }
    guard let context = scope.context, let property = context.fetchedProperty(key, of: scope.plan) else {
      throw .unknownKey(key, entity: scope.plan.name)
    }
    do {
      return .collection(try context.fetch(property, for: self).map { .subject($0) })
    } catch {
      throw .unsupported("fetched property '\(scope.plan.name).\(key)', whose fetch fails: \(error)")
    }
  }

  /// What makes the object equal to a constant that means it.
  public final var evaluationIdentity: ObjectReference? { reference }

  /// Whether the other is an object with the same row, of this context or of another one.
  public final func isSameObject(as other: any EvaluationSubject) -> Bool {
    guard let other = other as? ManagedObject else { return reference.isSame(as: other.evaluationIdentity) }
    return self === other
      || key == other.key && scope.plan.root == other.scope.plan.root && scope.storeID == other.scope.storeID
  }

  /// Whether a constant means the object: an identifier of its store and of its row. The entity that the identifier
  /// names may be any of the hierarchy, as the table is one for all of them.
  public final func isSameObject(as reference: ObjectReference) -> Bool {
    guard let id = ManagedObjectID(reference), id.key == key, id.storeID == scope.storeID else {
      return false
    }
    return id.entityName == scope.plan.name
      || scope.context?.model.entity(id.entityName)?.root == scope.plan.root
  }

  private final func evaluationValue(of slot: PropertyPlan) -> EvaluationValue {
    switch slot.kind {
    case .attribute(_, let cell):
      _willRead()
      let value = storedValue(slot.number)
      if case .float = cell, case .double(let number) = value { return .float(Float(number)) }
      return .value(value)
    case .composite(_, let fields):
      _willRead()
      guard case .composite(let values) = storedValue(slot.number) else { return .null }
      var result: [String: EvaluationValue] = [:]
      for field in fields {
        let value = values[field.description.name] ?? .null
        if case .float = field.cell, case .double(let number) = value {
          result[field.description.name] = .float(Float(number))
        } else {
          result[field.description.name] = .value(value)
        }
      }
      return .dictionary(result)
    case .relationship(let relationship):
      if relationship.isToMany {
        return .collection(relatedObjects(relationship).map { .subject($0) })
      }
      return relatedObject(relationship).map { .subject($0) } ?? .null
    }
  }
}

extension ManagedObject {
  /// The object as a constant of an expression.
  final var reference: ObjectReference { objectID.reference }
}
