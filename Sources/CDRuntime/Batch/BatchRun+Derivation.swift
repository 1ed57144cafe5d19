// Derived attributes of a batch's rows, and of the rows that read them.
extension BatchRun {
  private static let chunk = 500

  /// - Parameter former: The objects that read the former state of replaced rows.
  @_optimize(none)
  func deriveAfterInsert(
    _ keys: Range<ObjectKey>, _ replaced: [FetchedKey], changing names: [String], _ former: [FetchedKey]
  ) throws {
    guard model.hasDerivedSlots else { return }
    let new = keys.map { FetchedKey(key: $0, entity: entity.index) }
    let names = Set(names)
    let references = entity.relationships.compactMap(\.self).filter { names.contains($0.name) }
    let related = try self.affected(by: references, of: new + replaced)
    try derive(
      new: new, own: replaced,
      others: try former + dependents(of: new, nil) + dependents(of: replaced, names) + related
    )
  }

  /// The objects on the other side of references that change, because their relationships change too, and the objects
  /// that read these.
  @_optimize(none)
  func affected(by references: [RelationshipPlan], of keys: [FetchedKey]) throws -> [FetchedKey] {
    guard model.hasDerivedSlots, !keys.isEmpty else { return [] }
    var result: [FetchedKey] = []
    for relationship in references {
      guard let inverse = inverse(of: relationship) else { continue }
      let others = try rows.related(relationship, of: keys.map(\.key))
      result += try others + dependents(of: others, [inverse.name])
    }
    return result
  }

  /// The objects with derived attributes that read something that has changed in the given objects.
  ///
  /// - Parameter names: The changed properties; nil for objects that are inserted or deleted.
  @_optimize(none)
  func dependents(of keys: [FetchedKey], _ names: Set<String>?) throws -> [FetchedKey] {
    guard model.hasDerivedSlots, !keys.isEmpty else { return [] }
    var result: [FetchedKey] = []
    for (entityIndex, keys) in Self.byEntity(keys) {
      for trigger in model.triggers where model.entities[entityIndex].lineage.contains(trigger.entity) {
        guard trigger.isMet(names.map { names in { names.contains($0) } }) else { continue }
        var found = keys
        var owners: [FetchedKey] = []
        for relationship in trigger.path.reversed() {
          owners = found.isEmpty ? [] : try rows.owners(of: relationship, to: found)
          found = owners.map(\.key)
        }
        result += owners
      }
    }
    return result
  }

  /// Computes derived attributes again.
  ///
  /// - Parameters:
  ///   - new: Rows that the batch has inserted.
  ///   - own: Other rows of the batch, whose versions have been increased already.
  ///   - others: Other rows.
  @_optimize(none)
  func derive(new: [FetchedKey] = [], own: [FetchedKey], others: [FetchedKey]) throws {
    guard model.hasDerivedSlots else { return }
    struct Place: Hashable {
      let root: Int
      let key: ObjectKey
    }
    func rowID(_ key: FetchedKey) -> Place { Place(root: model.entities[key.entity].root, key: key.key) }
    let evaluator = PredicateEvaluator(now: now)
    let unwritten = Set(new.map(rowID))
    let known = unwritten.union(own.map(rowID))
    var waiting = new + own + others
    if waiting.isEmpty { return }
    let kept = reading.slotsDerivedFromMissingStores()
    // The batch's condition has read values that have been changed since.
    reading.reset()
    // An attribute may be derived from another object's derived attribute. The schema allows no circles.
    for round in 0...model.derivedCount where !waiting.isEmpty {
      var changed: [FetchedKey] = []
      var seen: Set<Place> = []
      let targets = waiting.filter {
        !model.entities[$0.entity].derivedSlots.isEmpty && seen.insert(rowID($0)).inserted
      }
      for start in stride(from: 0, to: targets.count, by: Self.chunk) {
        for key in targets[start..<min(start + Self.chunk, targets.count)] {
          let place = rowID(key)
          let isNew = unwritten.contains(place)
          if try derive(
            key, except: isNew ? [:] : kept, evaluator, isNew && round == 0,
            raisingVersion: !known.contains(place))
          {
            changed.append(key)
            let plan = model.entities[key.entity]
            noteUpdated([key], plan.derivedSlots.map { plan.slots[$0].name })
          }
        }
        // The next round changes the values that were read.
        reading.reset()
      }
      waiting = try dependents(of: changed, model.derivedNames)
    }
  }

  /// - Parameters:
  ///   - kept: The attributes that keep their values, by the index of the entity.
  ///   - isUnwritten: Whether the row has no derived values yet.
  /// - Returns: Whether a value has changed.
  @_optimize(none)
  private func derive(
    _ key: FetchedKey, except kept: [Int: Set<Int>], _ evaluator: PredicateEvaluator, _ isUnwritten: Bool,
    raisingVersion: Bool
  ) throws -> Bool {
    let plan = model.entities[key.entity]
    guard let object = try reading.fetchObject(key.key, plan) else { return false }
    let own = object.scope.plan
    let failures = reading.readFailures.count
    var values: [(column: String, value: AttributeValue)] = []
    var unchanged: [(column: String, value: AttributeValue)] = []
    let given = givenValues[own.index] ?? [:]
    let kept = kept[own.index] ?? []
    for slot in own.derivedSlots.map({ own.slots[$0] }) where !kept.contains(slot.number) {
      if let keys = given[slot.number], KeyRanges.contains(key.key, in: keys) { continue }
      let column = own.columns[slot.columns.lowerBound].name
      if let value = try reading.derivedValue(of: object, slot, evaluator) {
        values.append((column, value))
        // Attributes that follow may be derived from this one.
        object.setStoredValues([slot.number: value])
      } else if own.isTyped, slot.attribute?.isOptional == false {
        // The row may have no value. A property that cannot be nil has the empty value then, such as 0, and this may be the
        // derived one.
        unchanged.append((column, object.storedValue(slot.number)))
      }
    }
    // A relationship that could not be read seems to be empty.
    try reading.checkReadsOfSave(since: failures)
    guard !values.isEmpty || isUnwritten && !unchanged.isEmpty else { return false }
    do {
      try rows.setValues(values + unchanged, of: plan, key.key, raisingVersion: raisingVersion)
    } catch let violation as UniquenessViolation {
      throw BatchError.notUnique(entity: plan.name, properties: violation.properties, row: nil)
    }
    return true
  }

  // MARK: Rules

  /// Throws if a derived attribute of a new object breaks a rule of the schema, or one whose value has changed.
  ///
  /// This is checked at the end of the batch. Before, an attribute may have values that are computed from outdated ones.
  ///
  /// - Parameter namesNew: Whether the mistakes name new objects.
  @_optimize(none)
  func checkDerivedValues(namesNew: Bool) throws {
    guard model.hasDerivedSlots else { return }
    var mistakes: [BatchMistake] = []
    for plan in model.entities {
      let slots = plan.derivedSlots.filter { plan.ruledSlots.contains($0) }.map { plan.slots[$0] }
      guard !slots.isEmpty else { continue }
      let keys = changedKeys(of: plan, slots.map(\.name))
      try check(slots, of: plan, keys.new, isNamed: namesNew, &mistakes)
      try check(slots, of: plan, keys.others, isNamed: true, &mistakes)
    }
    try refuse(mistakes)
  }

  @_optimize(none)
  private func check(
    _ slots: [PropertyPlan], of entity: EntityPlan, _ ranges: [ClosedRange<ObjectKey>], isNamed: Bool,
    _ mistakes: inout [BatchMistake]
  ) throws {
    var waiting: [ObjectKey] = []
    for range in ranges {
      for key in range where mistakes.count < BatchRowWriter.maximumMistakes {
        waiting.append(key)
        guard waiting.count == Self.chunk else { continue }
        try checkRows(slots, of: entity, waiting, isNamed: isNamed, &mistakes)
        waiting.removeAll(keepingCapacity: true)
      }
    }
    try checkRows(slots, of: entity, waiting, isNamed: isNamed, &mistakes)
  }

  @_optimize(none)
  private func checkRows(
    _ slots: [PropertyPlan], of entity: EntityPlan, _ keys: [ObjectKey], isNamed: Bool,
    _ mistakes: inout [BatchMistake]
  ) throws {
    try forEachRow(keys, of: entity) { key, plan, row in
      for slot in slots {
        guard case .attribute(let attribute, let storageType) = slot.kind else { continue }
        let value = ManagedObject.storedValue(of: row, slot)
        if let reason = AttributeRules.mistake(value, attribute, storageType, model.graph) {
          let objectID = isNamed ? id(key, plan) : nil
          mistakes.append(
            BatchMistake(entity: plan.name, property: slot.name, reason: reason, objectID: objectID))
        }
      }
    }
  }
}
