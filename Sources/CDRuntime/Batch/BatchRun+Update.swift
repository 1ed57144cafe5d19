extension BatchRun {
  /// The new value of a property: values for its columns, a calculation by the store, or an expression to evaluate.
  private enum Given {
    case values([AttributeValue])
    case store(any StoreCalculation)
    case expression(ValueExpression)
  }

  /// Sets values.
  ///
  /// - Returns: The number of updated objects.
  @_optimize(none)
  func update<Object>(_ request: BatchUpdateRequest<Object>) throws -> Int {
    var properties: [BatchProperty] = []
    var given: [Given] = []
    var mistakes: [BatchMistake] = []
    for assignment in request.assignments {
      let property = try BatchProperty(assignment.keys, of: entity, in: model)
      try removeOverwritten(by: property, from: &properties, &given)
      properties.append(property)
      switch assignment.source {
      case .value(let value): given.append(.values(try stored(value, property, &mistakes)))
      case .expression(let expression): given.append(try compiled(expression, property, &mistakes))
      }
    }
    guard mistakes.isEmpty else { throw BatchError.invalid(mistakes) }
    let run = try fetchRun(request.fetchRequest)
    guard !properties.isEmpty else { return try run.count() }
    let references = properties.compactMap { property -> RelationshipPlan? in
      if case .reference(let relationship) = property.kind { return relationship }
      return nil
    }
    let names = Set(properties.map(\.slot.name))
    let isCalculated = given.contains { if case .expression = $0 { true } else { false } }
    let composites = incompleteComposites(properties, given)
    // Everything that depends on former values needs the keys of the rows first.
    let needsKeys =
      isCalculated || model.hasDerivedSlots || !references.isEmpty || !composites.isEmpty
      || properties.contains { $0.slot.mayNameFile }
    if !needsKeys, let found = try selection(run), !found.readRoots.contains(entity.root) {
      return try writing { try write(properties, given, found.rows) }
    }
    try willRead(nil)
    let keys = try run.keys()
    let rows = RowSelection.keys(keys.map(\.key))
    let dependents = try self.dependents(of: keys, names) + affected(by: references, of: keys)
    var counted: [(RelationshipPlan, [ObjectKey])] = []
    for relationship in references {
      if let inverse = inverse(of: relationship) {
        counted.append((inverse, try self.countedTargets(of: relationship, rows)))
      }
    }
    var former = FormerRows()
    for property in properties { try noteOrder(of: keys.map(\.key), property, in: &former) }
    try listFiles(properties.map(\.slot), of: entity, rows)
    if isCalculated {
      try writing { try write(properties, given, keys) }
      noteUpdated(keys, properties.map(\.slot.name))
    } else {
      _ = try writing { try write(properties, given, rows) }
    }
    try checkComposites(composites, of: keys)
    for property in properties {
      guard case .reference(let relationship) = property.kind else { continue }
      try appendPositions(relationship, rows, moved: moved(property, former))
      try checkCountsOfTargets(of: relationship, rows)
    }
    for (relationship, owners) in counted { try checkCounts(of: relationship, of: owners) }
    try derive(
      own: keys, others: dependents + self.dependents(of: keys, names) + affected(by: references, of: keys))
    return keys.count
  }

  /// Removes the columns of a later property from earlier ones. Of a composite, the other fields remain.
  @_optimize(none)
  private func removeOverwritten(
    by property: BatchProperty, from properties: inout [BatchProperty], _ given: inout [Given]
  ) throws {
    for index in properties.indices.reversed() {
      let earlier = properties[index]
      guard earlier.columns.contains(where: { property.columns.contains($0) }) else { continue }
      var fields: [BatchProperty] = []
      var values: [Given] = []
      if case .composite(_, let plans) = earlier.kind, case .values(let former) = given[index] {
        for (number, plan) in plans.enumerated() where !property.columns.contains(earlier.columns[number]) {
          fields.append(try BatchProperty([earlier.name, plan.description.name], of: entity, in: model))
          values.append(.values([former[number]]))
        }
      }
      properties.replaceSubrange(index...index, with: fields)
      given.replaceSubrange(index...index, with: values)
    }
  }

  // MARK: Composites

  /// The optional composites that may lack a mandatory field after the batch. The batch sets another field of them, and
  /// the composite may have been nil.
  @_optimize(none)
  private func incompleteComposites(_ properties: [BatchProperty], _ given: [Given]) -> [PropertyPlan] {
    // A calculated field has a value: if a calculation gives nil for a mandatory field, the batch throws.
    var filled: Set<String> = []
    for (property, given) in zip(properties, given) {
      switch given {
      case .values(let values):
        for (column, value) in zip(property.columns, values) where value != .null { filled.insert(column) }
      case .store, .expression: filled.formUnion(property.columns)
      }
    }
    return entity.slots.filter { slot in
      guard case .composite(let attribute, let fields) = slot.kind, attribute.isOptional else { return false }
      let isFilled = slot.columns.map { filled.contains(entity.columns[$0].name) }
      guard isFilled.contains(true) else { return false }
      return zip(fields, isFilled).contains { field, isFilled in
        !isFilled && !field.description.isOptional
      }
    }
  }

  /// Throws if an object has a part of a composite without its mandatory fields.
  @_optimize(none)
  private func checkComposites(_ composites: [PropertyPlan], of keys: [FetchedKey]) throws {
    guard !composites.isEmpty else { return }
    var mistakes: [BatchMistake] = []
    try forEachRow(keys.map(\.key), of: entity) { key, plan, row in
      guard mistakes.count < BatchRowWriter.maximumMistakes else { return }
      for slot in composites.compactMap({ plan.slot($0.name) }) {
        guard case .composite(_, let fields) = slot.kind else { continue }
        let isNil = slot.columns.map { row.isNull($0) }
        guard isNil.contains(false) else { continue }
        for (field, isNil) in zip(fields, isNil) where isNil && !field.description.isOptional {
          mistakes.append(
            BatchMistake(
              entity: entity.name, property: "\(slot.name).\(field.description.name)",
              reason: .missingValue, objectID: id(key, plan)))
        }
      }
    }
    try refuse(mistakes)
  }

  // MARK: The new values

  @_optimize(none)
  private func stored(
    _ value: FetchedValue, _ property: BatchProperty, _ mistakes: inout [BatchMistake]
  ) throws -> [AttributeValue] {
    var result: [AttributeValue] = []
    var found: [BatchMistake] = []
    let name = entity.name
    if case .object(let id?) = value, case .reference(let relationship) = property.kind {
      let store = stores.store(of: model.entities[relationship.destination])
      if store?.storeID != id.storeID {
        found.append(BatchMistake(entity: name, property: property.name, reason: .foreignObject))
      }
    }
    try property.store(
      value, of: entity, in: model, { result.append($0) },
      { reason, field in
        found.append(
          BatchMistake(
            entity: name, property: field.map { "\(property.name).\($0)" } ?? property.name, reason: reason))
      })
    mistakes += found
    return result
  }

  @_optimize(none)
  private func compiled(
    _ expression: ValueExpression, _ property: BatchProperty, _ mistakes: inout [BatchMistake]
  ) throws -> Given {
    let checked = ExpressionChecker(graph: model.graph).check(expression, on: entity.name)
    let errors = checked.diagnostics.filter { $0.severity == .error }
    guard errors.isEmpty else { throw FetchError.invalid(entity: entity.name, errors) }
    if let variable = checked.variables.first { throw FetchError.missingVariable(variable.name) }
    guard case .attribute(let attribute, let storageType) = property.kind else {
      throw BatchError.wrongExpression(
        entity: entity.name, key: property.name, reason: "only single attributes can be calculated")
    }
    // For SQL, a Boolean is an integer. For the evaluator it is none, and it may have to calculate the value.
    let type = TypeRules.rawType(attribute.type, in: model.graph)
    if case .attribute(let found) = checked.type,
      (TypeRules.rawType(found, in: model.graph) == .bool) != (type == .bool)
    {
      throw BatchError.wrongExpression(
        entity: entity.name, key: property.name,
        reason: "it takes \(attribute.type.schemaName), but the expression is \(found.schemaName)")
    }
    switch try rows.calculation(
      checked.expression, on: entity, as: storageType, isMandatory: property.isMandatory, now: now)
    {
    case .constant(let value):
      guard let value = value.single else { throw wrongValue(of: property, attribute) }
      return .values(try stored(.attribute(value), property, &mistakes))
    case .store(let calculation) where !property.isRuled: return .store(calculation)
    case .store, .evaluator: return .expression(checked.expression)
    }
  }

  @_optimize(none)
  private func wrongValue(of property: BatchProperty, _ attribute: AttributeDescription) -> BatchError {
    .wrongExpression(
      entity: entity.name, key: property.name, reason: "it takes \(attribute.type.schemaName), one value")
  }

  // MARK: Writing

  private func writing<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let violation as UniquenessViolation {
      throw BatchError.notUnique(entity: entity.name, properties: violation.properties, row: nil)
    }
  }

  /// Sets values that are equal for all rows, or that the store calculates.
  ///
  /// - Returns: The number of rows.
  @_optimize(none)
  private func write(
    _ properties: [BatchProperty], _ given: [Given], _ selected: RowSelection
  ) throws -> Int {
    var assignments: [(column: String, source: ColumnSource)] = []
    for (property, given) in zip(properties, given) {
      switch given {
      case .values(let values):
        for (column, value) in zip(property.columns, values) { assignments.append((column, .value(value))) }
      case .store(let calculation): assignments.append((property.columns[0], .calculation(calculation)))
      case .expression: break
      }
    }
    let keys = try rows.update(entity, assignments, selected)
    noteUpdated(keys, properties.map(\.slot.name))
    return keys.values.reduce(0) { $0 + $1.count }
  }

  /// Sets values that are calculated in memory. All of them are calculated before the first row is written.
  @_optimize(none)
  private func write(_ properties: [BatchProperty], _ given: [Given], _ keys: [FetchedKey]) throws {
    let evaluator = PredicateEvaluator(now: now, model: model)
    let failures = reading.readFailures.count
    var rows: [(key: ObjectKey, values: [AttributeValue])] = []
    var mistakes: [BatchMistake] = []
    for (number, key) in keys.enumerated() {
      if number % 500 == 499 { reading.reset() }
      guard let object = try reading.fetchObject(key.key, model.entities[key.entity]) else { continue }
      var values: [AttributeValue] = []
      for (property, given) in zip(properties, given) {
        switch given {
        case .values(let constants): values += constants
        case .store: break
        case .expression(let expression):
          guard let value = try evaluator.value(of: expression, for: object).single else {
            throw BatchError.wrongExpression(
              entity: entity.name, key: property.name, reason: "the expression has no single value")
          }
          let id = object.objectID
          let name = entity.name
          try property.store(
            .attribute(value), of: entity, in: model, { values.append($0) },
            { reason, _ in
              mistakes.append(
                BatchMistake(entity: name, property: property.name, reason: reason, objectID: id))
            })
        }
      }
      if mistakes.count >= BatchRowWriter.maximumMistakes { break }
      rows.append((key.key, values))
    }
    reading.reset()
    // An expression takes a value that could not be read for an empty one.
    try reading.checkReadsOfSave(since: failures)
    guard mistakes.isEmpty else { throw BatchError.invalid(mistakes) }
    var calculated: [(column: String, source: ColumnSource)] = []
    var columns: [String] = []
    for (property, given) in zip(properties, given) {
      if case .store(let calculation) = given {
        calculated.append((property.columns[0], .calculation(calculation)))
      } else {
        columns += property.columns
      }
    }
    try self.rows.update(entity, calculated: calculated, columns, rows)
  }
}
