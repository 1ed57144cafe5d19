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
      own: new + replaced,
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
  ///   - own: Rows of the batch, whose versions have been increased already.
  ///   - others: Other rows.
  @_optimize(none)
  func derive(own: [FetchedKey], others: [FetchedKey]) throws {
    guard model.hasDerivedSlots else { return }
    struct Place: Hashable {
      let root: Int
      let key: ObjectKey
    }
    func rowID(_ key: FetchedKey) -> Place { Place(root: model.entities[key.entity].root, key: key.key) }
    let evaluator = PredicateEvaluator(now: now)
    let known = Set(own.map(rowID))
    var waiting = own + others
    // An attribute may be derived from another object's derived attribute. The schema allows no circles.
    for _ in 0...model.triggers.count where !waiting.isEmpty {
      var changed: [FetchedKey] = []
      var seen: Set<Place> = []
      let targets = waiting.filter {
        !model.entities[$0.entity].derivedSlots.isEmpty && seen.insert(rowID($0)).inserted
      }
      for start in stride(from: 0, to: targets.count, by: Self.chunk) {
        for key in targets[start..<min(start + Self.chunk, targets.count)] {
          let isOwn = known.contains(rowID(key))
          if try derive(key, evaluator, raisingVersion: !isOwn) {
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

  /// - Returns: Whether a value has changed.
  @_optimize(none)
  private func derive(
    _ key: FetchedKey, _ evaluator: PredicateEvaluator, raisingVersion: Bool
  ) throws -> Bool {
    let plan = model.entities[key.entity]
    guard let object = try reading.fetchObject(key.key, plan) else { return false }
    var values: [(column: String, value: AttributeValue)] = []
    for slot in object.scope.plan.derivedSlots {
      guard let value = try reading.derivedValue(of: object, object.scope.plan.slots[slot], evaluator) else {
        continue
      }
      let column = object.scope.plan.columns[object.scope.plan.slots[slot].columns.lowerBound]
      values.append((column.name, value))
    }
    guard !values.isEmpty else { return false }
    try rows.setValues(values, of: plan, key.key, raisingVersion: raisingVersion)
    return true
  }
}
