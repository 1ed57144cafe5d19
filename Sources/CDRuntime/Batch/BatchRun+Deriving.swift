// Derived attributes of the rows of a batch, and of those that read them.
extension BatchRun {
  private static let chunk = 500

  /// - Parameter former: The objects that read what replaced rows had before.
  func deriveAfterInsert(
    _ keys: Range<ObjectKey>, _ replaced: [FetchedKey], changing names: [String], _ former: [FetchedKey]
  ) throws {
    guard model.hasDerivedSlots else { return }
    let new = keys.map { FetchedKey(key: $0, entity: entity.index) }
    let names = Set(names)
    let references = entity.relationships.compactMap(\.self).filter { names.contains($0.name) }
    let related = try self.touched(by: references, of: new + replaced)
    try derive(
      own: new + replaced, others: try former + readers(of: new, nil) + readers(of: replaced, names) + related
    )
  }

  /// The objects at the other side of references that change, whose relationships change with them, and those that read
  /// these.
  func touched(by references: [RelationshipPlan], of keys: [FetchedKey]) throws -> [FetchedKey] {
    guard model.hasDerivedSlots, !keys.isEmpty else { return [] }
    var result: [FetchedKey] = []
    for relationship in references {
      guard let inverse = inverse(of: relationship) else { continue }
      let others = try rows.related(relationship, of: keys.map(\.key))
      result += try others + readers(of: others, [inverse.name])
    }
    return result
  }

  /// The objects with derived attributes that read what has changed of some objects.
  ///
  /// - Parameter names: The properties that have changed; nil for objects that are new or that go.
  func readers(of keys: [FetchedKey], _ names: Set<String>?) throws -> [FetchedKey] {
    guard model.hasDerivedSlots, !keys.isEmpty else { return [] }
    var result: [FetchedKey] = []
    for (place, keys) in Self.byEntity(keys) {
      for trigger in model.triggers where model.entities[place].lineage.contains(trigger.entity) {
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

  /// Computes derived attributes anew.
  ///
  /// - Parameters:
  ///   - own: Rows of the batch, whose versions have been raised already.
  ///   - others: Other rows.
  func derive(own: [FetchedKey], others: [FetchedKey]) throws {
    guard model.hasDerivedSlots else { return }
    struct Place: Hashable {
      let root: Int
      let key: ObjectKey
    }
    func place(_ key: FetchedKey) -> Place { Place(root: model.entities[key.entity].root, key: key.key) }
    let evaluator = PredicateEvaluator(now: now)
    let known = Set(own.map(place))
    var waiting = own + others
    // An attribute may be derived from another object's derived one; a circle of them is no valid schema.
    for _ in 0...model.triggers.count where !waiting.isEmpty {
      var changed: [FetchedKey] = []
      var seen: Set<Place> = []
      let targets = waiting.filter {
        !model.entities[$0.entity].derivedSlots.isEmpty && seen.insert(place($0)).inserted
      }
      for start in stride(from: 0, to: targets.count, by: Self.chunk) {
        for key in targets[start..<min(start + Self.chunk, targets.count)] {
          let isOwn = known.contains(place(key))
          if try derive(key, evaluator, raisingVersion: !isOwn) {
            changed.append(key)
            let plan = model.entities[key.entity]
            noteUpdated([key], plan.derivedSlots.map { plan.slots[$0].name })
          }
        }
        // What was read is not to be kept: the next round changes it.
        reading.reset()
      }
      waiting = try readers(of: changed, model.derivedNames)
    }
  }

  /// - Returns: Whether a value is another one now.
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
