/// A property that a batch writes: an attribute, a field of a composite, or a to-one relationship whose reference the
/// entity's table stores.
///
/// A class, because it is used for millions of rows, and a struct of its size would be copied each time.
final class BatchProperty {
  enum Kind {
    case attribute(AttributeDescription, StorageType)
    case composite(AttributeDescription, [FieldPlan])
    case reference(RelationshipPlan)
  }

  /// The name; `composite.field` for a field.
  let name: String
  let slot: PropertyPlan
  let kind: Kind
  /// The names of the columns.
  let columns: [String]
  /// Whether a value may break a rule.
  let isRuled: Bool
  let isMandatory: Bool
  /// The type of values that can be written without conversion; nil if a value must meet more rules than being a
  /// number.
  let plainType: StorageType?

  /// - Throws: ``PropertyError`` or ``BatchError/notWritable(entity:key:)`` for a property that a batch cannot write.
  @_optimize(none)
  init(_ keys: [String], of entity: EntityPlan, in model: ModelPlan) throws {
    name = keys.joined(separator: ".")
    guard let first = keys.first, let slot = entity.slot(first) else {
      if let first = keys.first, model.graph.property(first, of: entity.name) != nil {
        throw PropertyError.readOnly(entity: entity.name, key: name)
      }
      throw PropertyError.unknownKey(
        entity: entity.name, key: name, suggestion: entity.closestKey(to: name))
    }
    self.slot = slot
    let names = slot.columns.map { entity.columns[$0].name }
    guard slot.isStored, !slot.isDerived else {
      throw BatchError.notWritable(entity: entity.name, key: name)
    }
    switch (slot.kind, keys.count) {
    case (.attribute(let attribute, let storageType), 1):
      kind = .attribute(attribute, storageType)
      columns = names
      isMandatory = !attribute.isOptional
      isRuled = slot.hasRules(isTyped: true)
      plainType = attribute.restrictsValues ? nil : storageType
    case (.composite(let attribute, let fields), 1):
      kind = .composite(attribute, fields)
      columns = names
      isMandatory = !attribute.isOptional
      isRuled = true
      plainType = nil
    case (.composite(_, let fields), 2):
      guard let index = fields.firstIndex(where: { $0.description.name == keys[1] }) else {
        throw PropertyError.unknownKey(
          entity: entity.name, key: name, suggestion: entity.closestKey(to: name))
      }
      kind = .attribute(fields[index].description, fields[index].storageType)
      columns = [names[index]]
      isMandatory = !fields[index].description.isOptional
      isRuled = true
      plainType = nil
    case (.relationship(let relationship), 1):
      // Both rows of a pair of partners refer to each other, so setting one row is not enough.
      guard case .reference = relationship.storage, !relationship.isSymmetric else {
        throw BatchError.notWritable(entity: entity.name, key: name)
      }
      kind = .reference(relationship)
      columns = names
      isMandatory = !relationship.description.isOptional
      isRuled = false
      plainType = nil
    default:
      throw PropertyError.unknownKey(
        entity: entity.name, key: name, suggestion: entity.closestKey(to: name))
    }
  }

  /// The value of a row that does not name the property: the schema's default, or nil.
  var defaultValue: FetchedValue {
    if case .reference = kind { return .object(nil) }
    return .attribute(
      slot.columns.count > columns.count
        ? .null : slot.attribute?.defaultValue.map(DefaultValues.value) ?? .null)
  }

  /// Converts a value to the stored values of its columns.
  ///
  /// - Parameters:
  ///   - write: Called with the stored value of each column.
  ///   - mistake: Called with a rule that the value breaks, and with the name of the field in a composite.
  /// - Throws: ``PropertyError/wrongType(entity:key:expected:given:)``, and ``PropertyError/unknownKey(entity:key:suggestion:)``
  ///   for a field that a composite does not have.
  @inline(__always)
  func store(
    _ value: FetchedValue, of entity: EntityPlan, in model: ModelPlan, _ write: (AttributeValue) -> Void,
    _ mistake: (ValidationError.Reason, String?) -> Void
  ) throws {
    switch (kind, value) {
    case (.attribute(let attribute, let storageType), .attribute(let value)):
      guard let fitted = storageType.fitted(value) else { throw wrongType(value.typeName, entity, attribute) }
      if case .null = fitted {
        if isMandatory { mistake(.missingValue, nil) }
      } else if isRuled, let reason = AttributeRules.mistake(fitted, attribute, storageType, model.graph) {
        mistake(reason, nil)
      }
      write(fitted)
    case (.composite(let attribute, let fields), .attribute(let value)):
      try store(value, attribute, fields, of: entity, in: model, write, mistake)
    case (.reference(let relationship), .object(let id)):
      guard let id else {
        if isMandatory { mistake(.missingValue, nil) }
        return write(.null)
      }
      let destination = model.entities[relationship.destination]
      guard let plan = model.entity(id.entityName), plan.isKind(of: destination) else {
        throw PropertyError.wrongType(
          entity: entity.name, key: name, expected: "an object of '\(destination.name)'",
          given: "an object of '\(id.entityName)'")
      }
      write(.int(id.key))
    case (.reference(let relationship), .attribute(.null)):
      if !relationship.description.isOptional { mistake(.missingValue, nil) }
      write(.null)
    case (.reference(let relationship), .attribute(let value)):
      throw PropertyError.wrongType(
        entity: entity.name, key: name, expected: "an object of '\(relationship.description.destination)'",
        given: value.typeName)
    case (.attribute(let attribute, _), .object), (.composite(let attribute, _), .object):
      throw wrongType("an object", entity, attribute)
    }
  }

  private func store(
    _ value: AttributeValue, _ attribute: AttributeDescription, _ fields: [FieldPlan], of entity: EntityPlan,
    in model: ModelPlan, _ write: (AttributeValue) -> Void,
    _ mistake: (ValidationError.Reason, String?) -> Void
  ) throws {
    guard case .composite(let values) = value else {
      guard value == .null else { throw wrongType(value.typeName, entity, attribute) }
      if isMandatory, fields.contains(where: { !$0.description.isOptional }) { mistake(.missingValue, nil) }
      for _ in fields { write(.null) }
      return
    }
    let names = Set(fields.map(\.description.name))
    if let unknown = values.keys.filter({ !names.contains($0) }).min() {
      throw PropertyError.unknownKey(entity: entity.name, key: "\(name).\(unknown)")
    }
    for field in fields {
      let given = values[field.description.name] ?? .null
      guard let fitted = field.storageType.fitted(given) else {
        throw PropertyError.wrongType(
          entity: entity.name, key: "\(name).\(field.description.name)",
          expected: field.description.type.schemaName, given: given.typeName)
      }
      if let reason = AttributeRules.mistake(fitted, field.description, field.storageType, model.graph) {
        mistake(reason, field.description.name)
      }
      write(fitted)
    }
  }

  private func wrongType(
    _ given: String, _ entity: EntityPlan, _ attribute: AttributeDescription
  ) -> PropertyError {
    .wrongType(entity: entity.name, key: name, expected: attribute.type.schemaName, given: given)
  }
}

/// The columns of the properties that an insertion sets. If two properties have a column in common, the value of the later
/// one applies.
struct BatchColumns {
  /// The names, each once.
  let names: [String]
  /// The indices of the values that apply; nil if all of them do.
  private let kept: [Int]?

  init(_ properties: [BatchProperty]) {
    let all = properties.flatMap(\.columns)
    let kept = all.indices.filter { !all[($0 + 1)...].contains(all[$0]) }
    names = kept.map { all[$0] }
    self.kept = kept.count == all.count ? nil : kept
  }

  /// Whether some columns have several values in each row.
  var areRepeated: Bool { kept != nil }

  /// The values of the columns, from the values of all properties.
  func values(_ all: [AttributeValue]) -> [AttributeValue] {
    guard let kept else { return all }
    return kept.map { all[$0] }
  }
}

extension AttributeDescription {
  /// Whether values must meet rules in addition to their type.
  fileprivate var restrictsValues: Bool {
    if case .enumeration = type { return true }
    return minimum != nil || maximum != nil || pattern != nil || minimumLength != nil || maximumLength != nil
  }
}
