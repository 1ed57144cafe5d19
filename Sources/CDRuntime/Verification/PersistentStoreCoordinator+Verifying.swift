#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension PersistentStoreCoordinator {
  /// Checks the stores completely: the files, the references, whether the two sides of each relationship agree, whether
  /// every value can be read, the rules of the model, the derived values, the hashes of the metadata, and the history.
  /// Changes nothing.
  ///
  /// Derivations that call a function such as `now()` or `random()` are not repeated, because they have another value each
  /// time. If the coordinator does not have the store of an entity, relationships to the entity's objects are not checked, and
  /// neither are derivations that read these objects.
  ///
  /// All rows are read in batches, so the use of memory is bounded. Each engine checks its own files.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read at all.
  @_optimize(none)
  public func verify() throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    let session = try engine.takeSession()
    do {
      defer { engine.returnSession(session) }
      findings = try session.defects()
      for store in session.stores.all { findings += try verifySystem(of: store, session) }
      findings += try incompleteSaves(session)
    }
    for root in plan.entities where root.root == root.index && engine.stores.store(of: root) != nil {
      try verifyRows(
        of: root, isReadable: { engine.stores.store(of: $0) != nil }, { findings.append($0) })
    }
    return findings
  }

  private static let batchSize = 1000

  /// Calls a function with each defect of each row of a table.
  ///
  /// - Parameter isReadable: Returns whether the objects of an entity can be read. Without them, related objects seem to be
  ///   missing, and derived values seem to be outdated.
  @_optimize(none)
  func verifyRows(
    of root: EntityPlan, isReadable: (EntityPlan) -> Bool, _ body: (StoreFinding) -> Void
  ) throws {
    let derivations = RepeatedDerivations(of: root, plan.entities, isReadable: isReadable)
    var last: ObjectKey? = 0
    while let start = last {
      // Each batch has its own context, so that objects of earlier batches are released.
      let context = ManagedObjectContext(self)
      context.keepAllErrors()
      // A derived value and what it is computed from are read from the same state.
      last = try context.perform {
        guard
          let batch = try context.reader().rows(
            ofSubtree: root, isOwn: false, after: start, count: Self.batchSize)
        else { return nil }
        let objects = try context.objects(from: batch.rows, of: root)
        for object in objects {
          for error in context.ruleErrors(of: object) {
            let slot = error.property.flatMap { object.scope.plan.slot($0) }
            if let relationship = slot?.relationship, !isReadable(plan.entities[relationship.destination]) {
              continue
            }
            body(.invalid(error))
          }
        }
        let unreadable = context.recentErrors
        for error in unreadable { body(.unreadable(error)) }
        // This reads other objects, whose defects are reported with their own rows.
        let reported = Set(unreadable.map(\.objectID))
        for object in objects where !reported.contains(object.objectID) {
          derivations.forEachDefect(of: object, context, body)
        }
        return batch.last
      }
    }
  }
}

/// The derivations that have the same value each time that they are repeated, unless an object changes.
private struct RepeatedDerivations {
  /// The derived attributes of each entity that has any, by the entity's index.
  private let attributes: [Int: [PropertyPlan]]
  private let evaluator = PredicateEvaluator()

  /// - Parameter isReadable: Returns whether the objects of an entity can be read.
  @_optimize(none)
  init(of root: EntityPlan, _ entities: [EntityPlan], isReadable: (EntityPlan) -> Bool) {
    var attributes: [Int: [PropertyPlan]] = [:]
    for index in root.subtree {
      let entity = entities[index]
      for number in entity.derivedSlots {
        let slot = entity.slots[number]
        guard slot.isStored, let derivation = slot.attribute?.derivation, derivation.isRepeatable,
          entity.entities(readBy: derivation, among: entities).allSatisfy(isReadable)
        else { continue }
        attributes[index, default: []].append(slot)
      }
    }
    self.attributes = attributes
  }

  /// Calls a function with each derived value of an object that differs from what its derivation gives.
  @_optimize(none)
  func forEachDefect(
    of object: ManagedObject, _ context: ManagedObjectContext, _ body: (StoreFinding) -> Void
  ) {
    let entity = object.scope.plan
    for slot in attributes[entity.index] ?? [] {
      do {
        guard let value = try context.derivedValue(of: object, slot, evaluator),
          !Self.differOnlyByRounding(
            value, object.storedValue(slot.number), isFloat: slot.storageType == .float)
        else { continue }
        body(.outdatedValue(entity: entity.name, attribute: slot.name, key: object.key))
      } catch {
        body(.invalid(ValidationError(.notDerivable("\(error)"), of: object, slot.name)))
      }
    }
  }

  /// Whether two values are numbers that differ only because a sum was computed in another order.
  private static func differOnlyByRounding(_ first: AttributeValue, _ second: AttributeValue, isFloat: Bool)
    -> Bool
  {
    switch (first, second) {
    case (.double(let first), .double(let second)):
      // A Float has 24 binary digits, and a Double 53.
      return abs(first - second) <= max(abs(first), abs(second)) * (isFloat ? 0x1p-20 : 0x1p-40)
    case (.date(let first), .date(let second)):
      return abs(first.timeIntervalSince(second)) < 1e-3
    default: return false
    }
  }
}
