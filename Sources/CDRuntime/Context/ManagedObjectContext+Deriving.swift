// Derived attributes: computed from the object, with all its changes, whenever it is saved, and before a fetch that
// reads them.
extension ManagedObjectContext {
  /// Computes the derived attributes of all changed objects, and of those whose attributes read them: by
  /// relationships that have an inverse, which is the way back.
  ///
  /// - Throws: ``SaveError/validation(_:)`` with every derivation that has no value.
  func deriveAttributes() throws {
    guard model.hasDerivedSlots else { return }
    var errors: [ValidationError] = []
    derive(&errors)
    if !errors.isEmpty { throw SaveError.validation(errors) }
  }

  /// Computes them for a fetch, which counts unsaved changes. One that has no value is left as it is: the save says
  /// why.
  func deriveForFetch() {
    // A derivation may fetch: it reads what there is.
    guard !isDeriving else { return }
    var errors: [ValidationError] = []
    derive(&errors)
  }

  private func derive(_ errors: inout [ValidationError]) {
    isDeriving = true
    defer { isDeriving = false }
    // One time for all.
    let evaluator = PredicateEvaluator()
    var objects = pending.filter(\.isPending)
    // An attribute may be derived from another object's derived one; a circle of them is no valid schema.
    for _ in 0...model.triggers.count where !objects.isEmpty {
      for object in objects where !object.flags.contains(.deleted) { derive(object, evaluator, &errors) }
      var next = Set<ManagedObject>()
      for object in objects { next.formUnion(readers(of: object)) }
      objects = next.filter { !$0.flags.contains(.deleted) }.sorted { $0.key < $1.key }
    }
  }

  private func derive(
    _ object: ManagedObject, _ evaluator: PredicateEvaluator, _ errors: inout [ValidationError]
  ) {
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

  /// The objects with derived attributes that read what has changed of an object.
  private func readers(of object: ManagedObject) -> Set<ManagedObject> {
    var result: Set<ManagedObject> = []
    let plan = object.scope.plan
    let isWhole = !object.flags.isDisjoint(with: [.inserted, .deleted])
    for trigger in model.triggers where plan.lineage.contains(trigger.entity) {
      if !isWhole, let property = trigger.property {
        guard let slot = plan.slot(property)?.number, object.extras?.changed.contains(slot) == true else {
          continue
        }
      }
      var objects: Set<ManagedObject> = [object]
      for relationship in trigger.path.reversed() {
        guard let slot = relationship.inverseSlot,
          let inverse = model.entities[relationship.destination].relationships[slot]
        else {
          objects = []
          break
        }
        objects = objects.reduce(into: []) { found, object in
          if inverse.isToMany {
            found.formUnion(object.relatedObjects(inverse))
          } else if let related = object.relatedObject(inverse) {
            found.insert(related)
          }
        }
      }
      result.formUnion(objects)
    }
    return result
  }

  private func derive(_ object: ManagedObject, _ slot: SlotPlan, _ evaluator: PredicateEvaluator) throws {
    guard let value = try derivedValue(of: object, slot, evaluator) else { return }
    object._willWrite(slot.number)
    object.setStoredValues([slot.number: value])
    object.didChange(slot.number)
  }

  /// What a derived attribute is to have; nil where it has it already.
  func derivedValue(
    of object: ManagedObject, _ slot: SlotPlan, _ evaluator: PredicateEvaluator
  ) throws -> AttributeValue? {
    guard case .attribute(let attribute, let cell) = slot.kind, let derivation = attribute.derivation
    else { return nil }
    object._willRead()
    guard !object.isInaccessible else { return nil }
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
    return fitted == object.storedValue(slot.number) ? nil : fitted
  }
}
