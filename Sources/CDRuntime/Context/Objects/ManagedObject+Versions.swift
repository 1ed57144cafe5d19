// An object's values beside those of its snapshot and of the store.
extension ManagedObject {
  /// The stored values that the object had when it was read or last saved, by slot.
  final func snapshotValues() -> [Int: AttributeValue] {
    var values = currentValues()
    for old in extras?.old ?? [] where values[old.slot] != nil { values[old.slot] = old.value }
    return values
  }

  /// What a slot had before it was first changed since the object was read or last saved; nil for a new object.
  final func formerValue(_ slot: Int) -> AttributeValue? {
    if flags.contains(.inserted) { return nil }
    return extras?.old.first { $0.slot == slot }?.value ?? storedValue(slot)
  }

  /// The stored values, by slot.
  final func currentValues() -> [Int: AttributeValue] {
    var values: [Int: AttributeValue] = [:]
    for slot in scope.plan.storedSlots { values[slot] = settledValue(slot) }
    return values
  }

  /// A stored value as comparisons with former ones take it: a reference to an object that was deleted before it was ever
  /// saved is nil.
  final func settledValue(_ slot: Int) -> AttributeValue {
    let value = storedValue(slot)
    guard case .int(let key) = value, let relationship = scope.plan.relationships[slot],
      scope.context?.isVoid(key, relationship) == true
    else { return value }
    return .null
  }

  /// A conflict with what differs in three versions.
  ///
  /// - Parameters:
  ///   - object: The object's values; nil where they are those that it has now.
  ///   - store: The row's values; nil where it is gone.
  final func conflict(
    _ reason: SaveConflict.Reason, object: [Int: AttributeValue]? = nil, snapshot: [Int: AttributeValue],
    store: [Int: AttributeValue]?
  ) -> SaveConflict {
    let plan = scope.plan
    let object = object ?? currentValues()
    var keys: [String] = []
    var values: [SaveConflict.Value] = []
    for number in plan.storedSlots {
      let slot = plan.slots[number]
      let (mine, old) = (object[number] ?? .null, snapshot[number] ?? .null)
      let theirs = store.map { $0[number] ?? .null }
      if let theirs, theirs != old { keys.append(slot.name) }
      guard mine != old || theirs.map({ $0 != old }) ?? false, slot.attribute?.derivation == nil else {
        continue
      }
      values.append(
        SaveConflict.Value(
          key: slot.name, object: fetchedValue(mine, slot), snapshot: fetchedValue(old, slot),
          store: theirs.map { fetchedValue($0, slot) }))
    }
    return SaveConflict(reason: reason, objectID: objectID, keys: keys, values: values)
  }

  /// A value as it is kept, as others see it: a reference as an identifier.
  final func fetchedValue(_ value: AttributeValue, _ slot: PropertyPlan) -> FetchedValue {
    guard let relationship = slot.relationship else { return .attribute(value) }
    guard case .int(let key) = value, key != 0, let context = scope.context else { return .object(nil) }
    let destination = context.scopes[relationship.destination]
    // The row alone knows of which subentity it is; an identifier of the relationship's finds it too.
    let known = context.registered(key, root: destination.plan.root)?.objectID
    return .object(
      known ?? ManagedObjectID(storeID: destination.storeID, entityName: destination.plan.name, key: key))
  }
}
