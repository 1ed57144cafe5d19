// Derived attributes: computed from the object, with all its changes, whenever it is saved.
extension ManagedObjectContext {
  /// Computes the derived attributes of all changed objects.
  ///
  /// - Throws: ``SaveError/validation(_:)`` with every derivation that has no value.
  func deriveAttributes() throws {
    // One time for the whole save.
    let evaluator = PredicateEvaluator()
    var errors: [ValidationError] = []
    // Deriving changes objects that are listed already, and lists no others.
    for object in pending where object.isPending && !object.flags.contains(.deleted) {
      for slot in object.scope.plan.derivedSlots {
        do {
          try derive(object, object.scope.plan.slots[slot], evaluator)
        } catch {
          errors.append(
            ValidationError(
              reason: .notDerivable("\(error)"), entity: object.scope.plan.name,
              property: object.scope.plan.slots[slot].name, objectID: object.objectID))
        }
      }
    }
    if !errors.isEmpty { throw SaveError.validation(errors) }
  }

  private func derive(_ object: ManagedObject, _ slot: SlotPlan, _ evaluator: PredicateEvaluator) throws {
    guard case .attribute(let attribute, let cell) = slot.kind, let derivation = attribute.derivation
    else { return }
    object._willRead()
    guard !object.isInaccessible else { return }
    let result: AttributeValue
    switch try evaluator.value(of: derivation, for: object) {
    case .value(let value): result = value
    case .float(let number): result = .double(Double(number))
    case .collection, .dictionary, .reference, .subject:
      throw FetchError.evaluation("the derivation gives no single value")
    }
    guard let fitted = cell.fitted(result) else {
      throw FetchError.evaluation(
        "the derivation gives \(result.typeName), and the attribute is \(attribute.type.schemaName)")
    }
    guard fitted != object.storedValue(slot.number) else { return }
    object._willWrite(slot.number)
    object.setStoredValues([slot.number: fitted])
  }
}
