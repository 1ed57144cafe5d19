import CDModel

/// Computes the derived attributes of a step's result. It reads the result as objects.
struct StepDerivation {
  let plan: StepPlan

  private static let batchSize = 500

  /// Whether the step's result can contain derived values that are missing or wrong.
  var isNeeded: Bool {
    plan.destination.hasDerivedSlots && !plan.step.changesNoData
      && (!plan.sourceMappings.isEmpty || plan.hasCustom)
  }

  @_optimize(none)
  func run(_ session: MigrationSession, reading read: () throws -> PersistentStoreCoordinator) throws {
    let coordinator = try read()
    let evaluator = PredicateEvaluator(now: plan.now)
    // The reader uses the file while values are collected, so the values of each batch are written after the batch was
    // read.
    for entity in coordinator.plan.entities
    where entity.storeIndex == 0 && !entity.derivedSlots.isEmpty && !entity.description.isAbstract {
      session.entity = entity.name
      var last: ObjectKey = 0
      while let batch = try self.batch(entity, after: &last, coordinator, evaluator, session) {
        try session.execute("BEGIN")
        for (key, values) in batch {
          for (column, value) in values {
            try session.run(
              "UPDATE \(raw: SQLText.quoted(entity.table)) SET \(raw: SQLText.quoted(column)) = \(bind: value) WHERE _pk = \(bind: .int(key))"
            )
          }
        }
        try session.execute("COMMIT")
      }
    }
    session.entity = nil
  }

  private typealias Row = (key: ObjectKey, values: [(column: String, value: AttributeValue)])

  @_optimize(none)
  private func batch(
    _ entity: EntityPlan, after last: inout ObjectKey, _ coordinator: PersistentStoreCoordinator,
    _ evaluator: PredicateEvaluator, _ session: MigrationSession
  ) throws -> [Row]? {
    let context = ManagedObjectContext(coordinator)
    let reader = try context.reader()
    guard let batch = try reader.rows(ofSubtree: entity, isOwn: true, after: last, count: Self.batchSize)
    else {
      return nil
    }
    last = batch.last
    var result: [Row] = []
    for object in try context.objects(from: batch.rows, of: entity) {
      var values: [(String, AttributeValue)] = []
      for number in entity.derivedSlots {
        let slot = entity.slots[number]
        guard case .attribute(let attribute, let storageType) = slot.kind,
          let derivation = attribute.derivation,
          slot.isStored
        else { continue }
        do {
          guard
            let value = try evaluator.value(of: derivation, for: object).single.flatMap(storageType.fitted)
          else {
            throw FetchError.evaluation("the derivation has no value of the attribute's type")
          }
          values.append((entity.columns[slot.columns.lowerBound].name, value))
        } catch {
          throw plan.error(
            .invalidValue(property: slot.name, reason: "\(error)"), entity.name, object.objectID.key)
        }
      }
      result.append((object.objectID.key, values))
    }
    return result
  }
}
