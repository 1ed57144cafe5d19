import CDMapping
import CDModel

/// Creates the destination object of a source object by the rules of a mapping. Everything that does not depend on the
/// object is looked up once, in advance.
///
/// It is a class so that it is not copied for each object. Its properties do not change.
final class MappedObjectFactory {
  /// How a reference in the object's own table gets its value, if rules define the relationship.
  enum Reference {
    /// From the key of a reference in the source, plus an offset. The destination object exists.
    case key(from: Int, offset: Int64)
    /// After all objects have been created.
    case deferredSlots
  }

  let mapping: EntityMapping
  /// Nil for a mapping without a source.
  let sourceMapping: StepPlan.SourceMapping?
  /// The index of the mapping, by which associations name it.
  let number: Int
  let destination: EntityPlan
  /// The source of the source mapping, read for each object.
  let source: EntityPlan?
  /// The number that is added to a source object's key.
  let offset: ObjectKey
  private(set) var references: [(slot: Int, reference: Reference)] = []
  /// For each slot, the source slot whose value is copied; negative if the value is not a copy.
  private var copied: [Int]
  /// For each copied slot, the value that replaces nil.
  private var nilReplacements: [AttributeValue]
  /// The slots that have the same value in all objects.
  private var constants: [(slot: Int, value: AttributeValue)] = []
  private var computed: [Computed] = []
  private let evaluator: PredicateEvaluator
  private let plan: StepPlan

  /// The expression of a slot, or of a field of a composite, that the evaluator computes for each object.
  private struct Computed {
    let slot: Int
    let field: String?
    let name: String
    let storageType: StorageType
    let value: ValueExpression
  }

  @_optimize(none)
  init(_ mapping: EntityMapping, number: Int, _ destination: EntityPlan, of plan: StepPlan) {
    self.mapping = mapping
    self.number = number
    self.destination = destination
    self.plan = plan
    sourceMapping = plan.sourceMappings.first { $0.mapping.name == mapping.name }
    copied = Array(repeating: -1, count: destination.slots.count)
    nilReplacements = Array(repeating: .null, count: destination.slots.count)
    source = sourceMapping?.source
    offset = sourceMapping?.offset ?? 0
    evaluator = PredicateEvaluator(now: plan.now)
    guard let sourceMapping else { return }
    for each in mapping.attributes { add(each, sourceMapping) }
    for slot in destination.slots {
      guard let relationship = slot.relationship, case .reference = relationship.storage,
        let reference = reference(relationship, sourceMapping)
      else { continue }
      references.append((slot.number, reference))
    }
  }

  @_optimize(none)
  private func add(_ each: PropertyMapping, _ sourceMapping: StepPlan.SourceMapping) {
    let parts = each.name.split(separator: ".", maxSplits: 1).map(String.init)
    guard let slot = destination.slot(parts[0]) else { return }
    switch slot.kind {
    case .attribute(let attribute, let storageType):
      guard attribute.derivation == nil else { return }
      if let copy = copiedSlot(each.value, storageType, of: sourceMapping.source) {
        copied[slot.number] = copy.slot
        nilReplacements[slot.number] = copy.nilReplacement
      } else if case .constant(.value(let constant)) = each.value.kind,
        let value = storageType.fitted(constant)
      {
        constants.append((slot.number, value))
      } else {
        computed.append(
          Computed(
            slot: slot.number, field: nil, name: each.name, storageType: storageType, value: each.value))
      }
    case .composite(_, let fields):
      guard parts.count == 2, let field = fields.first(where: { $0.description.name == parts[1] }) else {
        return
      }
      computed.append(
        Computed(
          slot: slot.number, field: parts[1], name: each.name, storageType: field.storageType,
          value: each.value))
    case .relationship: return
    }
  }

  /// The source attribute whose value an expression copies, with the constant that replaces nil if the expression has
  /// one.
  @_optimize(none)
  private func copiedSlot(
    _ value: ValueExpression, _ storageType: StorageType, of entity: EntityPlan
  ) -> (slot: Int, nilReplacement: AttributeValue)? {
    var value = value
    var nilReplacement = AttributeValue.null
    if case .coalesced(let choices) = value.kind {
      guard choices.count == 2, case .constant(.value(let constant)) = choices[1].kind,
        let fitted = storageType.fitted(constant)
      else { return nil }
      (value, nilReplacement) = (choices[0], fitted)
    }
    guard let old = value.onlyKey.flatMap(entity.slot), case .attribute(_, let found) = old.kind,
      found == storageType
    else { return nil }
    return (old.number, nilReplacement)
  }

  private func reference(_ relationship: RelationshipPlan, _ sourceMapping: StepPlan.SourceMapping)
    -> Reference?
  {
    switch plan.objects(of: sourceMapping, relationship.name) {
    case .none?: return nil
    // No rule for this side. A rule for the inverse may set it.
    case .inverse?, nil: return plan.hasInversePairs(relationship) ? .deferredSlots : nil
    case .objects(let value)?:
      guard let old = plan.plainRelationship(value, of: sourceMapping.source), case .reference = old.storage,
        !relationship.isGuaranteed || old.isGuaranteed || !old.isWithinStore,
        let offset = plan.commonOffset(
          of: plan.source.entities[old.destination], as: plan.destination.entities[relationship.destination])
      else { return .deferredSlots }
      return .key(from: old.slot, offset: offset)
    }
  }

  /// Sets the values of an object that rules define.
  @_optimize(speed)
  func fill(_ object: ManagedObject, from source: ManagedObject) throws {
    source._willRead()
    guard let old = source.extras?.values, let extras = object.extras,
      old.count == source.scope.plan.slots.count
    else { return }
    extras.values = try values(old, source, over: extras.values)
  }

  /// The values of an object by slot, created in one pass.
  ///
  /// - Parameter initial: The values that the object has unless a rule sets them.
  @_optimize(speed)
  private func values(
    _ old: [AttributeValue], _ source: ManagedObject, over initial: [AttributeValue]
  ) throws -> [AttributeValue] {
    guard initial.count == copied.count else { return initial }
    var values: [AttributeValue] = []
    values.reserveCapacity(copied.count)
    for (slot, from) in copied.enumerated() {
      if from < 0 {
        values.append(initial[slot])
      } else if case .null = old[from] {
        values.append(nilReplacements[slot])
      } else {
        values.append(old[from])
      }
    }
    for constant in constants { values[constant.slot] = constant.value }
    relate(&values, old, isNew: true)
    guard !computed.isEmpty else { return values }
    var composites: [Int: [String: AttributeValue]] = [:]
    for each in computed {
      let value = try plan.value(
        of: each.value, for: source, as: each.storageType, each.name, destination, evaluator)
      if let field = each.field {
        composites[each.slot, default: [:]][field] = value
      } else {
        values[each.slot] = value
      }
    }
    for (slot, fields) in composites {
      values[slot] = fields.values.allSatisfy { $0 == .null } ? .null : .composite(fields)
    }
    return values
  }

  /// Sets the references of an object that rules define, unless the object already has them.
  func relate(_ object: ManagedObject, to source: ManagedObject) {
    guard !references.isEmpty, object.scope.plan === destination else { return }
    object._willRead()
    source._willRead()
    guard let extras = object.extras, let old = source.extras?.values else { return }
    for (slot, _) in references where object.referenceKey(slot) <= 0 { object._willWrite(slot) }
    relate(&extras.values, old, isNew: false)
  }

  @inline(__always)
  private func relate(_ values: inout [AttributeValue], _ old: [AttributeValue], isNew: Bool) {
    for (slot, reference) in references {
      if !isNew, case .int(let key) = values[slot], key > 0 { continue }
      switch reference {
      case .deferredSlots: values[slot] = .int(DestinationStore.placeholder)
      case .key(let from, let offset):
        if case .int(let key) = old[from] {
          values[slot] = .int(key + offset)
        } else if isNew, destination.slots[slot].relationship?.description.isOptional == true {
          values[slot] = .null
        }
      }
    }
  }

  /// Whether the mapping's filter accepts an object.
  func accepts(_ source: ManagedObject) throws -> Bool {
    guard let filter = mapping.filter else { return true }
    do {
      return try evaluator.matches(filter, source)
    } catch {
      throw plan.error(
        .invalidValue(property: "the filter", reason: "\(error)"), destination.name, source.key)
    }
  }
}
