import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension StepBuilder {
  /// Finds an expression for each stored value of a mapping's destination, from a rule or by inference.
  func mapAttributes(of mappingIndex: Int) {
    for stored in destination.storedValues(of: mappings[mappingIndex].destinationName) {
      let origin = originValue(of: stored, in: mappings[mappingIndex])
      if let origin {
        mappings[mappingIndex].keptValues.insert(origin.path)
        mappings[mappingIndex].origins[stored.path] = origin.path
      }
      if stored.isDerived {
        mapDerived(stored, origin, of: mappingIndex)
      } else if mappings[mappingIndex].attributeRules[stored.path] != nil {
        mapByRule(stored, origin, of: mappingIndex)
      } else if let origin {
        mapByOrigin(stored, origin, of: mappingIndex)
      } else {
        mapNew(stored, of: mappingIndex)
      }
    }
    for stored in mappings[mappingIndex].newValues where isPartOfNil(stored) {
      limitDefault(of: stored, of: mappingIndex)
    }
    for stored in destination.storedValues(of: mappings[mappingIndex].destinationName) {
      checkPresence(of: stored, in: mappings[mappingIndex])
    }
  }

  /// The stored value of the source that a stored value of the destination was before; nil if there is none.
  private func originValue(of stored: StoredValue, in builder: MappingBuilder) -> StoredValue? {
    guard let name = builder.properties[stored.attribute.name],
      case .attribute(let attribute)? = source.property(name, of: builder.sourceName), attribute.isStored,
      let owner = source.declaringEntity(of: name, in: builder.sourceName)?.name
    else { return nil }
    guard case .composite(let type) = attribute.type else {
      return stored.field == nil ? StoredValue(owner: owner, attribute: attribute, field: nil) : nil
    }
    guard let field = stored.field, case .composite(let newType) = stored.attribute.type,
      let oldName = match.fields(of: newType, from: type)[field.name],
      let old = source.composite(type)?.fields.first(where: { $0.name == oldName })
    else { return nil }
    return StoredValue(owner: owner, attribute: attribute, field: old)
  }

  // MARK: Resolutions

  /// How a change of a stored value is resolved.
  @inline(never)
  func resolution(
    _ verdict: ModelChange.Verdict, of mappingIndex: Int, hasRule: Bool, dropping path: String? = nil
  ) -> ModelChange.Resolution {
    if verdict == .automatic { return .automatic }
    if hasRule { return .mapped }
    if mappings[mappingIndex].isCustom { return .custom }
    if verdict == .losesData, let path, isDropped(path, of: mappingIndex) { return .confirmed }
    return .open
  }

  /// Whether a drop confirms the loss of a source property's values. The drop may name the property or the composite
  /// that contains it.
  func isDropped(_ path: String, of mappingIndex: Int) -> Bool {
    let whole = path.split(separator: ".").first.map(String.init)
    for rule in mappings[mappingIndex].ruleChain {
      for (number, drop) in rules.entities[rule].drops.enumerated() where drop == path || drop == whole {
        usedDrops.insert(.entityDrop(entity: rule, number))
        return true
      }
    }
    return false
  }

  @inline(never)
  private func note(
    _ kind: ModelChange.Kind, _ verdict: ModelChange.Verdict, of mappingIndex: Int, hasRule: Bool,
    dropping path: String? = nil, candidates: [String] = []
  ) {
    let resolution = resolution(verdict, of: mappingIndex, hasRule: hasRule, dropping: path)
    changes.add(kind, verdict, resolution, mappings[mappingIndex].mapping, candidates: candidates)
  }

  // MARK: Values

  private func mapByRule(_ stored: StoredValue, _ origin: StoredValue?, of mappingIndex: Int) {
    guard let rule = mappings[mappingIndex].attributeRules[stored.path] else { return }
    if let origin {
      compare(stored, origin, of: mappingIndex, hasRule: true)
    } else {
      note(addition(of: stored, mappingIndex), additionVerdict(of: stored), of: mappingIndex, hasRule: true)
    }
    guard let value = checkedValue(of: rule, for: stored, in: mappingIndex) else {
      // If the rule is wrong, the values that it reads are not also reported as lost.
      return keep(rule.value, of: mappingIndex)
    }
    // A rule for a whole composite reads only the fields that the new composite has too.
    if !rule.isWhole { keep(rule.value, of: mappingIndex) }
    if rule.isWhole, case .ternary(_, let present, _) = value.kind {
      // The condition only compares a field with nil. This does not keep the field's value, which may still be lost.
      keep(present, of: mappingIndex)
    } else {
      keep(value, of: mappingIndex)
    }
    let whole = ruledValue(value, by: rule, of: stored, in: mappings[mappingIndex])
    mappings[mappingIndex].mapping.attributes.append(PropertyMapping(name: stored.path, value: whole))
  }

  /// The value that a rule for one field gives an optional composite. A composite that would be nil stays nil, because the
  /// field alone is no composite. If all mandatory fields have rules of their own, these decide together.
  private func ruledValue(
    _ value: ValueExpression, by rule: RuleReference, of stored: StoredValue, in builder: MappingBuilder
  ) -> ValueExpression {
    // The JSON of a codable can only be copied.
    if case .codable = stored.type { return value }
    guard !rule.isWhole, value != .null, case .composite(let type) = stored.attribute.type,
      let fields = destination.composite(type)?.fields.filter(\.isStored)
    else { return value }
    func ruleReference(_ field: AttributeDescription) -> RuleReference? {
      builder.attributeRules["\(stored.attribute.name).\(field.name)"]
    }
    let composite: AttributeDescription?
    if let whole = fields.compactMap(ruleReference).first(where: \.isWhole) {
      composite = namedComposite(whole.value, in: builder)
    } else if fields.contains(where: { !$0.isOptional && ruleReference($0) == nil }) {
      composite = originComposite(of: stored, in: builder)
    } else {
      composite = nil
    }
    return valueIfPresent(value, of: stored, in: composite)
  }

  /// Returns the paths of the stored values in the source that an expression reads.
  func readPaths(_ value: ValueExpression, in entity: String) -> Set<String> {
    var walk = KeyPathWalk()
    walk.visit(value)
    return readPaths(walk, in: entity)
  }

  private func readPaths(_ walk: KeyPathWalk, in entity: String) -> Set<String> {
    var result: Set<String> = []
    for steps in walk.paths {
      let keys = steps.prefix(2).compactMap { step -> String? in
        if case .key(let key) = step { key } else { nil }
      }
      guard let first = keys.first else { continue }
      if keys.count > 1, case .attribute(let attribute)? = source.property(first, of: entity),
        case .composite = attribute.type
      {
        result.insert("\(first).\(keys[1])")
      } else {
        result.insert(first)
      }
    }
    return result
  }

  private func keep(_ value: ValueExpression, of mappingIndex: Int) {
    mappings[mappingIndex].keptValues.formUnion(readPaths(value, in: mappings[mappingIndex].sourceName))
  }

  private func mapByOrigin(_ stored: StoredValue, _ origin: StoredValue, of mappingIndex: Int) {
    compare(stored, origin, of: mappingIndex, hasRule: false)
    guard let value = inferredValue(of: stored, from: origin) else { return }
    mappings[mappingIndex].mapping.attributes.append(PropertyMapping(name: stored.path, value: value))
  }

  /// The source's value, converted if needed, and with the default in place of nil if nil is no longer allowed. Returns
  /// nil if some objects would have no value.
  private func inferredValue(of stored: StoredValue, from origin: StoredValue) -> ValueExpression? {
    var value = origin.expression
    switch TypeConversion(from: origin.type, in: source, to: stored.type, in: destination) {
    case .identical: break
    case .lossless, .inexact:
      value = .cast(value, .attribute(TypeRules.rawType(stored.type, in: destination)))
    case .partial, .impossible: return nil
    }
    if stored.becomesMandatory(after: origin) {
      guard let standIn = stored.defaultValue?.expression else { return nil }
      return valueIfPresent(.coalesced([value, standIn]), of: stored, in: origin.attribute)
    }
    // If a nil composite becomes mandatory, it gets the defaults of its optional fields too.
    guard origin.attribute.isOptional, !stored.attribute.isOptional,
      case .composite(let type) = origin.attribute.type, let fields = source.composite(type)?.fields,
      let standIn = stored.defaultValue?.expression, standIn != .null
    else { return value }
    return .ternary(isPresent(origin.attribute, fields), value, standIn)
  }

  private func mapDerived(_ stored: StoredValue, _ origin: StoredValue?, of mappingIndex: Int) {
    guard let origin else {
      return note(.attributeAdded(stored.name), .automatic, of: mappingIndex, hasRule: false)
    }
    compareNames(stored, origin, of: mappingIndex)
    if !origin.isDerived {
      note(
        .attributeBecameDerived(stored.name), .losesData, of: mappingIndex, hasRule: false,
        dropping: origin.path)
    } else if origin.attribute.derivation != stored.attribute.derivation {
      note(.derivationChanged(stored.name), .automatic, of: mappingIndex, hasRule: false)
    }
  }

  // MARK: New values

  /// The kind of change for a value that is not stored yet: the attribute is new, or is no longer transient.
  private func addition(of stored: StoredValue, _ mappingIndex: Int) -> ModelChange.Kind {
    if case .attribute(let old)? = source.property(
      stored.attribute.name, of: mappings[mappingIndex].sourceName),
      old.isTransient
    {
      return .attributeBecameStored(stored.name)
    }
    return .attributeAdded(stored.name)
  }

  private func additionVerdict(of stored: StoredValue) -> ModelChange.Verdict {
    stored.isOptional || stored.defaultValue != nil ? .automatic : .needsRule
  }

  private func mapNew(_ stored: StoredValue, of mappingIndex: Int) {
    mappings[mappingIndex].newValues.append(stored)
    let composite = originComposite(of: stored, in: mappings[mappingIndex])
    let value =
      composite == nil && isPartOfNil(stored)
      ? partOfNil(stored, in: mappings[mappingIndex]) : newValue(of: stored, in: composite)
    note(
      addition(of: stored, mappingIndex), value == nil ? .needsRule : .automatic, of: mappingIndex,
      hasRule: false)
    guard let value else { return }
    mappings[mappingIndex].mapping.attributes.append(PropertyMapping(name: stored.path, value: value))
  }

  /// Whether a value is a field of an attribute that is nil in a new object. The defaults of the fields are for the
  /// composites that the app creates.
  private func isPartOfNil(_ stored: StoredValue) -> Bool {
    stored.field != nil && stored.attribute.isOptional && stored.attribute.defaultValue == nil
  }

  /// The value of a field without a rule, in a new composite attribute that is nil in a new object; nil if only a rule can
  /// give it. If other fields have rules, the objects get a composite, which needs its mandatory fields.
  private func partOfNil(_ stored: StoredValue, in builder: MappingBuilder) -> ValueExpression? {
    let prefix = stored.attribute.name + "."
    guard builder.attributeRules.keys.contains(where: { $0.hasPrefix(prefix) }) else { return .null }
    if let value = stored.defaultValue?.expression { return value }
    return stored.field?.isOptional == true ? ValueExpression.null : nil
  }

  /// Gives the default of a field only to the objects for which the rules of other fields make a composite. An
  /// object has a composite if all mandatory fields of it have values. If no mandatory field has a rule, one field with a
  /// value is enough.
  private func limitDefault(of stored: StoredValue, of mappingIndex: Int) {
    let builder = mappings[mappingIndex]
    guard originComposite(of: stored, in: builder) == nil, case .composite(let type) = stored.attribute.type,
      let fields = destination.composite(type)?.fields,
      let place = builder.mapping.attributes.firstIndex(where: { $0.name == stored.path }),
      builder.mapping.attributes[place].value != .null
    else { return }
    func path(_ field: AttributeDescription) -> String { "\(stored.attribute.name).\(field.name)" }
    let ruled = fields.filter { builder.attributeRules[path($0)] != nil }
    let mandatory = ruled.filter { !$0.isOptional }
    let deciding = (mandatory.isEmpty ? ruled : mandatory).map(path)
    let values = builder.mapping.attributes.filter { deciding.contains($0.name) }.map(\.value)
    func isAlwaysSet(_ value: ValueExpression) -> Bool {
      if case .constant = value.kind { value != .null } else { false }
    }
    let isPresent =
      mandatory.isEmpty ? values.contains(where: isAlwaysSet) : values.allSatisfy(isAlwaysSet)
    if isPresent { return }
    let conditions = values.filter { !isAlwaysSet($0) }.map { FetchPredicate($0, .notEqualTo, .null) }
    builder.mapping.attributes[place].value = .ternary(
      mandatory.isEmpty ? .or(conditions) : .and(conditions), builder.mapping.attributes[place].value, .null)
  }

  /// The value of a new attribute, or of a field that is new in a composite; nil if only a rule can give it.
  ///
  /// - Parameter composite: The composite attribute of the source that the field was added to, if there is one.
  private func newValue(of stored: StoredValue, in composite: AttributeDescription?) -> ValueExpression? {
    if let value = stored.defaultValue?.expression {
      return valueIfPresent(value, of: stored, in: composite)
    }
    // Objects that have the composite need a value for the new field, even if the composite is optional.
    if composite != nil, stored.field?.isOptional == false { return nil }
    return stored.isOptional ? ValueExpression.null : nil
  }

  // MARK: Composites

  /// The composite attribute of the source that a field was added to; nil if the composite attribute is new too.
  private func originComposite(of stored: StoredValue, in builder: MappingBuilder) -> AttributeDescription? {
    guard stored.field != nil, let name = builder.properties[stored.attribute.name] else { return nil }
    return namedComposite(.keyPath([name]), in: builder)
  }

  /// The composite attribute of the source that an expression names; nil if the expression is anything else.
  private func namedComposite(_ value: ValueExpression, in builder: MappingBuilder) -> AttributeDescription? {
    guard let name = value.onlyKey,
      case .attribute(let attribute)? = source.property(name, of: builder.sourceName),
      case .composite = attribute.type
    else { return nil }
    return attribute
  }

  /// A field's value for the objects that have a composite in the source, and nil for the others, if the composite is
  /// optional in both versions. Otherwise a nil composite would become one that lacks its other fields.
  private func valueIfPresent(
    _ value: ValueExpression, of stored: StoredValue, in composite: AttributeDescription?
  ) -> ValueExpression {
    guard stored.attribute.isOptional, let composite, composite.isOptional,
      case .composite(let type) = composite.type, let fields = source.composite(type)?.fields
    else { return value }
    // A field of this composite is nil anyway if the composite is.
    if fields.contains(where: { value == .keyPath([composite.name, $0.name]) }) { return value }
    return .ternary(isPresent(composite, fields), value, .null)
  }

  /// The condition that a composite attribute of the source is not nil. It is present if one of its mandatory fields has a
  /// value. Without mandatory fields, any field with a value is enough.
  func isPresent(_ composite: AttributeDescription, _ fields: [AttributeDescription])
    -> FetchPredicate
  {
    func isSet(_ field: AttributeDescription) -> FetchPredicate {
      FetchPredicate(.keyPath([composite.name, field.name]), .notEqualTo, .null)
    }
    let mandatory = fields.first { $0.isStored && !$0.isOptional }
    return mandatory.map(isSet) ?? .or(fields.filter(\.isStored).map(isSet))
  }
}

// Compares a stored value with its origin in the source.
extension StepBuilder {
  private func compare(_ stored: StoredValue, _ origin: StoredValue, of mappingIndex: Int, hasRule: Bool) {
    let mapping = mappings[mappingIndex].mapping
    func note(_ kind: ModelChange.Kind, _ verdict: ModelChange.Verdict, _ path: String? = nil) {
      let resolution = resolution(verdict, of: mappingIndex, hasRule: hasRule, dropping: path)
      changes.add(kind, verdict, resolution, mapping)
    }
    compareNames(stored, origin, of: mappingIndex)
    compareTypes(stored, origin, note)
    if origin.isDerived { note(.attributeBecamePlain(stored.name), .automatic) }
    if !origin.isOptional, stored.isOptional { note(.attributeBecameOptional(stored.name), .automatic) }
    if stored.becomesMandatory(after: origin) {
      note(
        .attributeBecameMandatory(stored.name), stored.defaultValue == nil ? .needsRule : .automatic)
    }
    if origin.defaultValue != stored.defaultValue { note(.defaultChanged(stored.name), .automatic) }
    if origin.storesExternally != stored.storesExternally { note(.storageChanged(stored.name), .automatic) }
    if origin.hashModifier != stored.hashModifier {
      note(.modifierChanged(element(of: stored)), .automatic)
    }
    if Self.isTighter(stored.field ?? stored.attribute, origin.field ?? origin.attribute) {
      note(.rulesTightened(element(of: stored)), .automatic)
    }
  }

  private func element(of stored: StoredValue) -> ModelElement {
    if let field = stored.field, case .composite(let name) = stored.attribute.type {
      return .field(composite: name, name: field.name)
    }
    return .attribute(entity: stored.owner, name: stored.attribute.name)
  }

  /// - Parameter mappingIndex: If a rule maps from another entity, attributes are paired by name, and
  ///   nothing counts as renamed or moved.
  private func compareNames(_ stored: StoredValue, _ origin: StoredValue, of mappingIndex: Int) {
    guard isInferred(mappingIndex) else { return }
    if stored.attribute.name != origin.attribute.name {
      changes.add(
        .attributeRenamed(
          from: PropertyName(origin.owner, origin.attribute.name),
          to: PropertyName(stored.owner, stored.attribute.name)))
    } else if match.entities[stored.owner] != origin.owner {
      changes.add(
        .attributeMoved(
          from: PropertyName(origin.owner, origin.attribute.name),
          to: PropertyName(stored.owner, stored.attribute.name)))
    }
    if stored.field?.name != origin.field?.name {
      changes.add(.attributeRenamed(from: origin.name, to: stored.name))
    }
  }

  /// Whether the mapping's source entity is the one that inference would choose.
  func isInferred(_ mappingIndex: Int) -> Bool {
    match.entities[mappings[mappingIndex].destinationName] == mappings[mappingIndex].sourceName
  }

  // MARK: Types

  /// The type as a change names it. For two enumerations, it is the raw type, because the raw types differ.
  private func described(
    _ type: AttributeType, beside other: AttributeType, in graph: EntityGraph
  ) -> AttributeType {
    if case .enumeration = type, case .enumeration = other { return TypeRules.rawType(type, in: graph) }
    return type
  }

  private func compareTypes(
    _ stored: StoredValue, _ origin: StoredValue,
    _ note: (ModelChange.Kind, ModelChange.Verdict, String?) -> Void
  ) {
    if case .codable = stored.type, case .codable = origin.type {
      if stored.type != origin.type {
        note(.codableChanged(stored.name, from: origin.type, to: stored.type), .needsRule, nil)
      }
      return
    }
    let conversion = TypeConversion(from: origin.type, in: source, to: stored.type, in: destination)
    let changed = ModelChange.Kind.attributeTypeChanged(
      stored.name, from: described(origin.type, beside: stored.type, in: source),
      to: described(stored.type, beside: origin.type, in: destination), conversion: conversion)
    switch conversion {
    case .identical: break
    case .lossless: note(changed, .automatic, nil)
    case .inexact: note(changed, .losesData, origin.path)
    case .partial, .impossible: return note(changed, .needsRule, nil)
    }
    compareCases(stored, origin, note)
  }

  private func compareCases(
    _ stored: StoredValue, _ origin: StoredValue,
    _ note: (ModelChange.Kind, ModelChange.Verdict, String?) -> Void
  ) {
    guard case .enumeration(let name) = stored.type, let new = destination.enumeration(name) else { return }
    guard case .enumeration(let oldName) = origin.type, let old = source.enumeration(oldName) else {
      return note(.becameEnumeration(stored.name, enumeration: name), .needsRule, nil)
    }
    let difference = CaseDifference(from: old, to: new)
    if !difference.added.isEmpty { changes.add(.casesAdded(enumeration: name, difference.added)) }
    if !difference.renamed.isEmpty {
      changes.add(
        .casesRenamed(
          enumeration: name, from: difference.renamed.map(\.old), to: difference.renamed.map(\.new)))
    }
    if !difference.removed.isEmpty {
      note(.casesRemoved(stored.name, enumeration: name, difference.removed), .needsRule, nil)
    }
    if !difference.revalued.isEmpty {
      note(.caseValuesChanged(stored.name, enumeration: name, difference.revalued), .needsRule, nil)
    }
  }

  // MARK: Validation

  /// Whether the new rules may refuse values that the old ones allowed.
  private static func isTighter(_ new: AttributeDescription, _ old: AttributeDescription) -> Bool {
    func isHigher(_ new: Double?, _ old: Double?) -> Bool { new.map { $0 > old ?? -.infinity } ?? false }
    let isBounded =
      isHigher(number(new.minimum), number(old.minimum))
      || isHigher(number(new.maximum).map { -$0 }, number(old.maximum).map { -$0 })
    let isShorter =
      isHigher(new.minimumLength.map(Double.init), old.minimumLength.map(Double.init))
      || isHigher(new.maximumLength.map { -Double($0) }, old.maximumLength.map { -Double($0) })
    return isBounded || isShorter || new.pattern != nil && new.pattern != old.pattern
  }

  /// A bound as a number, so that bounds of different types can be compared.
  private static func number(_ value: AttributeValue?) -> Double? {
    switch value {
    case .int(let value)?: Double(value)
    case .double(let value)?: value
    case .decimal(let value)?: Double(value.canonicalText)
    case let value? where value.type?.isOrdered == true && value.stored != value: number(value.stored)
    default: nil
    }
  }
}

/// The differences between the cases of an enumeration in two versions.
private struct CaseDifference {
  var added: [String] = []
  var removed: [String] = []
  /// Cases whose raw value is the same, but whose name is new.
  var renamed: [(old: String, new: String)] = []
  /// Names of cases whose raw value has changed.
  var revalued: [String] = []

  init(from old: EnumDescription, to new: EnumDescription) {
    let oldByName = Dictionary(
      old.cases.map { ($0.name, $0.rawValue) }, uniquingKeysWith: { first, _ in first })
    let oldByValue = Dictionary(
      old.cases.map { ($0.rawValue, $0.name) }, uniquingKeysWith: { first, _ in first })
    let newByName = Dictionary(
      new.cases.map { ($0.name, $0.rawValue) }, uniquingKeysWith: { first, _ in first })
    let newByValue = Dictionary(
      new.cases.map { ($0.rawValue, $0.name) }, uniquingKeysWith: { first, _ in first })
    for each in old.cases {
      if let value = newByName[each.name] {
        if value != each.rawValue { revalued.append(each.name) }
      } else if let name = newByValue[each.rawValue] {
        // If the name existed before with another raw value, it is not a rename: the old case is removed.
        if oldByName[name] == nil { renamed.append((each.name, name)) } else { removed.append(each.name) }
      } else {
        removed.append(each.name)
      }
    }
    for each in new.cases where oldByName[each.name] == nil && oldByValue[each.rawValue] == nil {
      added.append(each.name)
    }
  }
}

// Resolves the rules of one mapping and checks their expressions.
extension StepBuilder {
  /// Determines the rule for each property of a mapping's destination: the rule for the entity itself, or else for its
  /// nearest ancestor.
  func resolveRules(of mappingIndex: Int) {
    var used: [String: InheritedRule] = [:]
    for rule in mappings[mappingIndex].ruleChain {
      for (number, each) in rules.entities[rule].attributes.enumerated() {
        let reference = RuleReference(location: .attribute(entity: rule, number), value: each.value)
        checkInherited(InheritedRule(rule: rule, reference: reference), each.name, &used, of: mappingIndex)
        addAttributeRule(reference, each.name, of: mappingIndex)
      }
      for (number, each) in rules.entities[rule].relationships.enumerated() {
        let reference = RuleReference(location: .relationship(entity: rule, number), value: each.value)
        checkInherited(InheritedRule(rule: rule, reference: reference), each.name, &used, of: mappingIndex)
        if mappings[mappingIndex].relationshipRules[each.name] == nil {
          mappings[mappingIndex].relationshipRules[each.name] = reference
        }
      }
    }
    checkFilter(of: mappingIndex)
  }

  /// A rule for a property, with the index of the entity's rule that contains it.
  private struct InheritedRule {
    let rule: Int
    let reference: RuleReference
  }

  /// Reports a rule if another rule for the same ancestor gives the property another value. The filters of these rules do not
  /// apply to the objects of a subentity, so the first rule would decide for all of them.
  private func checkInherited(
    _ inherited: InheritedRule, _ name: String, _ used: inout [String: InheritedRule], of mappingIndex: Int
  ) {
    guard let first = used[name] else {
      used[name] = inherited
      return
    }
    let (rule, other) = (rules.entities[inherited.rule], rules.entities[first.rule])
    let entity = mappings[mappingIndex].destinationName
    guard first.rule != inherited.rule, rule.destination != entity, rule.destination == other.destination,
      rule.source == other.source, inherited.reference.value != first.reference.value
    else { return }
    problem(
      at: inherited.reference.location,
      "the rules for '\(rule.destination)' give '\(name)' different values, and their filters do not apply "
        + "to '\(entity)': write a rule for '\(name)' of '\(entity)'")
  }

  private func addAttributeRule(_ reference: RuleReference, _ name: String, of mappingIndex: Int) {
    guard
      case .attribute(let attribute)? = destination.property(name, of: mappings[mappingIndex].destinationName),
      case .composite(let type) = attribute.type, let composite = destination.composite(type)
    else {
      if mappings[mappingIndex].attributeRules[name] == nil {
        mappings[mappingIndex].attributeRules[name] = reference
      }
      return
    }
    var whole = reference
    whole.isWhole = true
    for field in composite.fields where mappings[mappingIndex].attributeRules["\(name).\(field.name)"] == nil
    {
      mappings[mappingIndex].attributeRules["\(name).\(field.name)"] = whole
    }
  }

  private func checkFilter(of mappingIndex: Int) {
    guard let filter = mappings[mappingIndex].mapping.filter, let rule = mappings[mappingIndex].rule else {
      return
    }
    let checked = ExpressionChecker(graph: checking.graph).check(
      filter, on: mappings[mappingIndex].sourceName)
    let here = MappingProblem.Location.filter(entity: rule)
    report(checked.diagnostics, at: here)
    reportVariables(checked.variables, at: here)
    if !checked.hasErrors, !checked.isStorable {
      problem(at: here, "a store cannot evaluate this: it has a transient property or a FUNCTION")
    }
    mappings[mappingIndex].mapping.filter = checked.predicate
  }

  private func report(_ diagnostics: [ExpressionDiagnostic], at location: MappingProblem.Location) {
    for each in diagnostics where each.severity != .warning {
      problem(at: location, span: each.span, each.message, suggestion: each.suggestion)
    }
  }

  private func reportVariables(_ variables: [CheckedVariable], at location: MappingProblem.Location) {
    for each in variables {
      problem(at: location, "the variable '$\(each.name)' has no value: a mapping has no variables")
    }
  }

  // MARK: Attributes

  /// Checks a rule's expression for a stored value. Returns nil and reports the problem if it is wrong.
  private func checkedValue(of rule: RuleReference, for stored: StoredValue, in mappingIndex: Int)
    -> ValueExpression?
  {
    let here = rule.location
    if rule.isWhole { return checkedField(of: rule, for: stored, in: mappingIndex, at: here) }
    if case .codable = stored.type {
      return checkedCodable(of: rule, for: stored, in: mappingIndex, at: here)
    }
    let checked = ExpressionChecker(graph: checking.graph).check(
      rule.value, on: mappings[mappingIndex].sourceName, expecting: .attribute(checking.type(stored.type)),
      allowsNil: stored.isOptional, acceptsRawValues: true)
    report(checked.diagnostics, at: here)
    reportVariables(checked.variables, at: here)
    if checked.diagnostics.contains(where: { $0.severity != .warning }) || !checked.variables.isEmpty {
      return nil
    }
    if !checked.isStorable {
      problem(at: here, "a store cannot evaluate this: it has a transient property or a FUNCTION")
      return nil
    }
    if !checked.isTotal {
      problem(
        at: here, span: checked.partialConversions.first ?? nil,
        "the conversion may fail; write the value for that case as the third argument: CAST(…, "
          + "'\(stored.type.schemaName)', else)"
      )
      return nil
    }
    if !stored.isOptional, readsDeleted(checked.expression, in: mappings[mappingIndex]) {
      problem(
        at: here,
        "'\(rule.value)' may be nil, because it may read a deleted object, to which the delete rule 'noAction' leaves "
          + "references: write ?? and a value after it, or exclude such objects with 'where'")
      return nil
    }
    return checked.expression
  }

  /// Checks a rule for a codable attribute. Only the app understands its JSON, so a rule can only copy the value.
  private func checkedCodable(
    of rule: RuleReference, for stored: StoredValue, in mappingIndex: Int, at here: MappingProblem.Location
  ) -> ValueExpression? {
    if rule.value == .null, stored.isOptional { return rule.value }
    let paths = readPaths(rule.value, in: mappings[mappingIndex].sourceName)
    let olds = source.storedValues(of: mappings[mappingIndex].sourceName).filter {
      if case .codable = $0.type { paths == [$0.path] && $0.expression == rule.value } else { false }
    }
    guard let old = olds.first else {
      problem(
        at: here,
        "'\(stored.path)' is a codable: a rule can only keep the JSON of another one, by its name; "
          + "for any other value write 'policy: custom'")
      return nil
    }
    if stored.becomesMandatory(after: old) {
      problem(at: here, "'\(old.path)' may be nil, and '\(stored.path)' may not: write 'policy: custom'")
      return nil
    }
    return rule.value
  }

  /// Returns the expression for one field from a rule for the whole composite.
  private func checkedField(
    of rule: RuleReference, for stored: StoredValue, in mappingIndex: Int, at here: MappingProblem.Location
  ) -> ValueExpression? {
    if rule.value == .null {
      if stored.attribute.isOptional { return rule.value }
      problem(at: here, "'\(stored.attribute.name)' is mandatory, so its value cannot be nil")
      return nil
    }
    guard let old = namedComposite(rule.value, in: mappings[mappingIndex]),
      case .composite(let oldType) = old.type, case .composite(let newType) = stored.attribute.type,
      let owner = source.declaringEntity(of: old.name, in: mappings[mappingIndex].sourceName)?.name
    else {
      problem(
        at: here,
        "'\(stored.attribute.name)' is a composite: its rule is the name of another composite, or there is a rule "
          + "for each field, such as '\(stored.path)'")
      return nil
    }
    guard let field = stored.field,
      let oldField = match.fields(of: newType, from: oldType)[field.name]
        .flatMap({ name in source.composite(oldType)?.fields.first { $0.name == name } })
    else {
      if let value = newValue(of: stored, in: old) { return value }
      problem(
        at: here,
        "composite '\(oldType)' has no '\(stored.field?.name ?? "")': write a rule for '\(stored.path)'"
      )
      return nil
    }
    let origin = StoredValue(owner: owner, attribute: old, field: oldField)
    guard let value = inferredValue(of: stored, from: origin) else {
      problem(
        at: here,
        "'\(origin.path)' does not give '\(stored.path)' a value for every object: write a rule for '\(stored.path)'"
      )
      return nil
    }
    return value
  }

  // MARK: Relationships

  /// Checks a rule's expression for a relationship. Returns nil and reports the problem if it is wrong.
  func checkedObjects(
    of rule: RuleReference, for relationship: RelationshipDescription, in mappingIndex: Int
  ) -> ValueExpression? {
    let here = rule.location
    if rule.value == .null {
      if !relationship.isMandatoryToOne { return rule.value }
      problem(at: here, "'\(relationship.name)' is mandatory, so its value cannot be nil")
      return nil
    }
    let checked = ExpressionChecker(graph: checking.graph).check(
      rule.value, on: mappings[mappingIndex].sourceName)
    report(checked.diagnostics, at: here)
    reportVariables(checked.variables, at: here)
    guard !checked.diagnostics.contains(where: { $0.severity != .warning }), checked.variables.isEmpty else {
      return nil
    }
    guard let entity = checked.type.objects else {
      problem(
        at: here,
        "a relationship's rule leads to objects of \(sourceName), and '\(rule.value)' is \(checked.type)")
      return nil
    }
    if checked.type.isCollection, !relationship.isToMany {
      problem(
        at: here,
        "'\(rule.value)' leads to several objects, and '\(relationship.name)' to one: write "
          + "'\(rule.value)[FIRST]', or 'policy: custom'")
      return nil
    }
    if checked.isOptional, relationship.isMandatoryToOne {
      problem(
        at: here,
        "'\(rule.value)' may be nil, and '\(relationship.name)' is mandatory: write 'policy: custom'")
      return nil
    }
    if relationship.isMandatoryToOne, mayBeDeleted(checked.expression, as: relationship, mappingIndex) {
      problem(
        at: here,
        "'\(rule.value)' may refer to a deleted object, because the delete rule of its inverse is "
          + "'noAction', and '\(relationship.name)' is mandatory: write "
          + "'where: \(rule.value) != nil', or 'policy: custom'")
      return nil
    }
    if relationship.isMandatoryToOne, checked.expression.onlyKey == nil,
      readsDeleted(checked.expression, in: mappings[mappingIndex])
    {
      problem(
        at: here,
        "'\(rule.value)' may be nil, because it may read a deleted object, to which the delete rule 'noAction' leaves "
          + "references, and '\(relationship.name)' is mandatory: write 'policy: custom'")
      return nil
    }
    let mappingIndices = mappings(fromHierarchyOf: entity)
    // If the entity has no objects at all, no object can have a wrong type.
    guard
      concrete(entity).isEmpty
        || mappingIndices.contains(where: {
          destination.isKind(mappings[$0].destinationName, of: relationship.destination)
        })
    else {
      problem(
        at: here,
        "no object of '\(entity)' of \(sourceName) becomes a '\(relationship.destination)', "
          + "which '\(relationship.name)' leads to")
      return nil
    }
    if relationship.isMandatoryToOne, mayMiss(relationship, checked.expression, entity, mappingIndex) {
      problem(
        at: here,
        "not every object that '\(rule.value)' leads to becomes a '\(relationship.destination)', and "
          + "'\(relationship.name)' is mandatory: exclude objects with a 'where' that reads '\(rule.value)', or write "
          + "'policy: custom'")
      return nil
    }
    return checked.expression
  }

  /// Whether a rule may lead to objects that are not migrated as the relationship needs them. A filter that reads what the
  /// rule reads is meant to exclude the objects for which this is so.
  private func mayMiss(
    _ relationship: RelationshipDescription, _ value: ValueExpression, _ entity: String, _ mappingIndex: Int
  ) -> Bool {
    let builder = mappings[mappingIndex]
    if builder.isCustom { return false }
    if case .object = value.kind {
      let fitting = (mappingsBySource[entity] ?? []).filter {
        destination.isKind(mappings[$0].destinationName, of: relationship.destination)
      }
      return !cover(fitting, mappingIndex)
    }
    let paths = readPaths(value, in: builder.sourceName)
    if let filter = builder.mapping.filter, !readPaths(filter, in: builder.sourceName).isDisjoint(with: paths)
    {
      return false
    }
    let old = source.relationships(of: builder.sourceName).first { value == .keyPath([$0.name]) }
    return concrete(entity).contains { target in
      if !migratedObjects(of: target, become: relationship.destination) { return true }
      let isFollowed = old.map { follows($0, to: target, of: mappingIndex) } ?? false
      return ownership.mayExcludeObjects(target) && !isFollowed
    }
  }

  /// Whether an expression is a relationship of the source that may lead to a deleted object, but may not do so any more
  /// as the new relationship. A filter can exclude the objects that have such references.
  private func mayBeDeleted(
    _ value: ValueExpression, as new: RelationshipDescription, _ mappingIndex: Int
  ) -> Bool {
    guard let key = value.onlyKey,
      case .relationship(let old)? = source.property(key, of: mappings[mappingIndex].sourceName)
    else { return false }
    return unenforcedInverse(of: old, as: new, mappingIndex) != nil
      && !isFiltered(old, in: mappings[mappingIndex])
  }

  /// Whether a value that is otherwise never nil is nil for references to deleted objects.
  func readsDeleted(_ value: ValueExpression, in builder: MappingBuilder) -> Bool {
    !unenforced.isEmpty
      && ExpressionChecker(graph: unenforcedGraph(of: builder)).check(value, on: builder.sourceName)
        .isOptional
  }

  /// The source version in which relationships that may refer to deleted objects are optional. A filter can exclude the
  /// objects of a mapping that have such references.
  private func unenforcedGraph(of builder: MappingBuilder) -> EntityGraph {
    var version = checking.graph.version
    for (place, entity) in version.entities.enumerated() {
      for (number, relationship) in entity.relationships.enumerated()
      where unenforced.contains(PropertyName(entity.name, relationship.name)) {
        let isOwn = source.isKind(builder.sourceName, of: entity.name)
        version.entities[place].relationships[number].isOptional =
          !(isOwn && isFiltered(relationship, in: builder))
      }
    }
    return EntityGraph(version)
  }
}

extension ExpressionType {
  /// The entity of an object or a collection of objects; nil for other types.
  fileprivate var objects: String? {
    switch self {
    case .object(let entity): entity
    case .collection(.object(let entity)): entity
    default: nil
    }
  }
}
