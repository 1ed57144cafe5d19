import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension StepBuilder {
  /// Finds an expression for each stored value of a mapping's destination, from a rule or by inference.
  func mapAttributes(of place: Int) {
    for leaf in destination.leaves(of: mappings[place].destinationName) {
      let origin = originLeaf(of: leaf, in: mappings[place])
      if let origin { mappings[place].keptLeaves.insert(origin.path) }
      if leaf.isDerived {
        mapDerived(leaf, origin, of: place)
      } else if mappings[place].attributeRules[leaf.path] != nil {
        mapByRule(leaf, origin, of: place)
      } else if let origin {
        mapByOrigin(leaf, origin, of: place)
      } else {
        mapNew(leaf, of: place)
      }
    }
  }

  /// The stored value of the source that a stored value of the destination was before; nil if there is none.
  private func originLeaf(of leaf: StoredLeaf, in work: WorkMapping) -> StoredLeaf? {
    guard let name = work.properties[leaf.attribute.name],
      case .attribute(let attribute)? = source.property(name, of: work.sourceName), attribute.isStored,
      let owner = source.declaringEntity(of: name, in: work.sourceName)?.name
    else { return nil }
    guard case .composite(let type) = attribute.type else {
      return leaf.field == nil ? StoredLeaf(owner: owner, attribute: attribute, field: nil) : nil
    }
    guard let field = leaf.field, case .composite(let newType) = leaf.attribute.type,
      let oldName = match.fields(of: newType, from: type)[field.name],
      let old = source.composite(type)?.fields.first(where: { $0.name == oldName })
    else { return nil }
    return StoredLeaf(owner: owner, attribute: attribute, field: old)
  }

  // MARK: Resolutions

  /// How a change of a stored value is resolved.
  @inline(never)
  func resolution(
    _ verdict: ModelChange.Verdict, of place: Int, hasRule: Bool, dropping path: String? = nil
  ) -> ModelChange.Resolution {
    if verdict == .automatic { return .automatic }
    if hasRule { return .mapped }
    if mappings[place].isCustom { return .custom }
    if verdict == .losesData, let path, isDropped(path, of: place) { return .confirmed }
    return .open
  }

  /// Whether a drop confirms the loss of a source property's values. The drop may name the property or the composite
  /// that contains it.
  func isDropped(_ path: String, of place: Int) -> Bool {
    let whole = path.split(separator: ".").first.map(String.init)
    for rule in mappings[place].ruleChain {
      for (number, drop) in rules.entities[rule].drops.enumerated() where drop == path || drop == whole {
        usedDrops.insert(.entityDrop(entity: rule, number))
        return true
      }
    }
    return false
  }

  @inline(never)
  private func note(
    _ kind: ModelChange.Kind, _ verdict: ModelChange.Verdict, of place: Int, hasRule: Bool,
    dropping path: String? = nil, candidates: [String] = []
  ) {
    let resolution = resolution(verdict, of: place, hasRule: hasRule, dropping: path)
    changes.add(kind, verdict, resolution, mappings[place].mapping, candidates: candidates)
  }

  // MARK: Values

  private func mapByRule(_ leaf: StoredLeaf, _ origin: StoredLeaf?, of place: Int) {
    guard let rule = mappings[place].attributeRules[leaf.path] else { return }
    if let origin {
      compare(leaf, origin, of: place, hasRule: true)
    } else {
      note(addition(of: leaf, place), additionVerdict(of: leaf), of: place, hasRule: true)
    }
    // If the rule is wrong, the values that it reads are not also reported as lost.
    keep(rule.value, of: place)
    guard let value = checkedValue(of: rule, for: leaf, in: place) else { return }
    keep(value, of: place)
    mappings[place].mapping.attributes.append(PropertyMapping(name: leaf.path, value: value))
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

  private func keep(_ value: ValueExpression, of place: Int) {
    mappings[place].keptLeaves.formUnion(readPaths(value, in: mappings[place].sourceName))
  }

  private func mapByOrigin(_ leaf: StoredLeaf, _ origin: StoredLeaf, of place: Int) {
    compare(leaf, origin, of: place, hasRule: false)
    guard let value = inferredValue(of: leaf, from: origin) else { return }
    mappings[place].mapping.attributes.append(PropertyMapping(name: leaf.path, value: value))
  }

  /// The source's value, converted if needed, and with the default in place of nil if nil is no longer allowed. Returns
  /// nil if some objects would have no value.
  private func inferredValue(of leaf: StoredLeaf, from origin: StoredLeaf) -> ValueExpression? {
    var value = origin.expression
    switch TypeConversion(from: origin.type, in: source, to: leaf.type, in: destination) {
    case .identical: break
    case .lossless, .inexact:
      value = .cast(value, .attribute(TypeRules.rawType(leaf.type, in: destination)))
    case .partial, .impossible: return nil
    }
    guard origin.isOptional, !leaf.isOptional else { return value }
    guard let standIn = leaf.defaultValue?.expression else { return nil }
    return .coalesced([value, standIn])
  }

  private func mapDerived(_ leaf: StoredLeaf, _ origin: StoredLeaf?, of place: Int) {
    guard let origin else { return note(.attributeAdded(leaf.name), .automatic, of: place, hasRule: false) }
    compareNames(leaf, origin, of: place)
    if !origin.isDerived {
      note(
        .attributeBecameDerived(leaf.name), .losesData, of: place, hasRule: false, dropping: origin.path)
    } else if origin.attribute.derivation != leaf.attribute.derivation {
      note(.derivationChanged(leaf.name), .automatic, of: place, hasRule: false)
    }
  }

  // MARK: New values

  /// The kind of change for a value that is not stored yet: the attribute is new, or is no longer transient.
  private func addition(of leaf: StoredLeaf, _ place: Int) -> ModelChange.Kind {
    if case .attribute(let old)? = source.property(leaf.attribute.name, of: mappings[place].sourceName),
      old.isTransient
    {
      return .attributeBecameStored(leaf.name)
    }
    return .attributeAdded(leaf.name)
  }

  private func additionVerdict(of leaf: StoredLeaf) -> ModelChange.Verdict {
    leaf.isOptional || leaf.defaultValue != nil ? .automatic : .needsRule
  }

  private func mapNew(_ leaf: StoredLeaf, of place: Int) {
    mappings[place].newLeaves.append(leaf)
    var verdict = additionVerdict(of: leaf)
    let composite = originComposite(of: leaf, in: mappings[place])
    // Objects that have the composite need a value for the new field, even if the composite is optional.
    if composite != nil, let field = leaf.field, !field.isOptional, leaf.defaultValue == nil {
      verdict = .needsRule
    }
    note(addition(of: leaf, place), verdict, of: place, hasRule: false)
    guard verdict == .automatic else { return }
    var value = leaf.defaultValue?.expression ?? .null
    if leaf.defaultValue != nil, let composite, composite.attribute.isOptional {
      value = .ternary(composite.isPresent, value, .null)
    }
    mappings[place].mapping.attributes.append(PropertyMapping(name: leaf.path, value: value))
  }

  /// The composite attribute of the source that a field was added to; nil if the composite attribute is new too.
  private func originComposite(of leaf: StoredLeaf, in work: WorkMapping) -> (
    attribute: AttributeDescription, isPresent: FetchPredicate
  )? {
    guard leaf.field != nil, let name = work.properties[leaf.attribute.name],
      case .attribute(let attribute)? = source.property(name, of: work.sourceName),
      case .composite(let type) = attribute.type, let fields = source.composite(type)?.fields
    else { return nil }
    func isSet(_ field: AttributeDescription) -> FetchPredicate {
      FetchPredicate(.keyPath([attribute.name, field.name]), .notEqualTo, .null)
    }
    // A composite is present if one of its mandatory fields has a value. Without mandatory fields, any field with a
    // value is enough.
    let mandatory = fields.first { $0.isStored && !$0.isOptional }
    let test = mandatory.map(isSet) ?? .or(fields.filter(\.isStored).map(isSet))
    return (attribute, test)
  }
}

// Compares a stored value with its origin in the source.
extension StepBuilder {
  private func compare(_ leaf: StoredLeaf, _ origin: StoredLeaf, of place: Int, hasRule: Bool) {
    let mapping = mappings[place].mapping
    func note(_ kind: ModelChange.Kind, _ verdict: ModelChange.Verdict, _ path: String? = nil) {
      let resolution = resolution(verdict, of: place, hasRule: hasRule, dropping: path)
      changes.add(kind, verdict, resolution, mapping)
    }
    compareNames(leaf, origin, of: place)
    compareTypes(leaf, origin, note)
    if origin.isDerived { note(.attributeBecamePlain(leaf.name), .automatic) }
    if !origin.isOptional, leaf.isOptional { note(.attributeBecameOptional(leaf.name), .automatic) }
    if origin.isOptional, !leaf.isOptional {
      note(
        .attributeBecameMandatory(leaf.name), leaf.defaultValue == nil ? .needsRule : .automatic)
    }
    if origin.defaultValue != leaf.defaultValue { note(.defaultChanged(leaf.name), .automatic) }
    if origin.storesExternally != leaf.storesExternally { note(.storageChanged(leaf.name), .automatic) }
    if origin.hashModifier != leaf.hashModifier {
      note(.modifierChanged(element(of: leaf)), .automatic)
    }
    if Self.isTighter(leaf.field ?? leaf.attribute, origin.field ?? origin.attribute) {
      note(.rulesTightened(element(of: leaf)), .automatic)
    }
  }

  private func element(of leaf: StoredLeaf) -> ModelElement {
    if let field = leaf.field, case .composite(let name) = leaf.attribute.type {
      return .field(composite: name, name: field.name)
    }
    return .attribute(entity: leaf.owner, name: leaf.attribute.name)
  }

  /// - Parameter place: The index of a mapping. If a rule maps from another entity, attributes are paired by name, and
  ///   nothing counts as renamed or moved.
  private func compareNames(_ leaf: StoredLeaf, _ origin: StoredLeaf, of place: Int) {
    guard isInferred(place) else { return }
    if leaf.attribute.name != origin.attribute.name {
      changes.add(
        .attributeRenamed(
          from: PropertyName(origin.owner, origin.attribute.name),
          to: PropertyName(leaf.owner, leaf.attribute.name)))
    } else if match.entities[leaf.owner] != origin.owner {
      changes.add(
        .attributeMoved(
          from: PropertyName(origin.owner, origin.attribute.name),
          to: PropertyName(leaf.owner, leaf.attribute.name)))
    }
    if leaf.field?.name != origin.field?.name {
      changes.add(.attributeRenamed(from: origin.name, to: leaf.name))
    }
  }

  /// Whether the mapping's source entity is the one that inference would choose.
  func isInferred(_ place: Int) -> Bool {
    match.entities[mappings[place].destinationName] == mappings[place].sourceName
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
    _ leaf: StoredLeaf, _ origin: StoredLeaf,
    _ note: (ModelChange.Kind, ModelChange.Verdict, String?) -> Void
  ) {
    if case .codable = leaf.type, case .codable = origin.type {
      if leaf.type != origin.type {
        note(.codableChanged(leaf.name, from: origin.type, to: leaf.type), .needsRule, nil)
      }
      return
    }
    let conversion = TypeConversion(from: origin.type, in: source, to: leaf.type, in: destination)
    let changed = ModelChange.Kind.attributeTypeChanged(
      leaf.name, from: described(origin.type, beside: leaf.type, in: source),
      to: described(leaf.type, beside: origin.type, in: destination), conversion: conversion)
    switch conversion {
    case .identical: break
    case .lossless: note(changed, .automatic, nil)
    case .inexact: note(changed, .losesData, origin.path)
    case .partial, .impossible: return note(changed, .needsRule, nil)
    }
    compareCases(leaf, origin, note)
  }

  private func compareCases(
    _ leaf: StoredLeaf, _ origin: StoredLeaf,
    _ note: (ModelChange.Kind, ModelChange.Verdict, String?) -> Void
  ) {
    guard case .enumeration(let name) = leaf.type, let new = destination.enumeration(name) else { return }
    guard case .enumeration(let oldName) = origin.type, let old = source.enumeration(oldName) else {
      return note(.becameEnumeration(leaf.name, enumeration: name), .needsRule, nil)
    }
    let difference = CaseDifference(from: old, to: new)
    if !difference.added.isEmpty { changes.add(.casesAdded(enumeration: name, difference.added)) }
    if !difference.renamed.isEmpty {
      changes.add(
        .casesRenamed(
          enumeration: name, from: difference.renamed.map(\.old), to: difference.renamed.map(\.new)))
    }
    if !difference.removed.isEmpty {
      note(.casesRemoved(leaf.name, enumeration: name, difference.removed), .needsRule, nil)
    }
    if !difference.revalued.isEmpty {
      note(.caseValuesChanged(leaf.name, enumeration: name, difference.revalued), .needsRule, nil)
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
    case .date(let value)?: value.timeIntervalSinceReferenceDate
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
  func resolveRules(of place: Int) {
    for rule in mappings[place].ruleChain {
      for (number, each) in rules.entities[rule].attributes.enumerated() {
        let reference = RuleReference(entity: rule, property: number, value: each.value)
        addAttributeRule(reference, each.name, of: place)
      }
      for (number, each) in rules.entities[rule].relationships.enumerated()
      where mappings[place].relationshipRules[each.name] == nil {
        mappings[place].relationshipRules[each.name] = RuleReference(
          entity: rule, property: number, value: each.value)
      }
    }
    checkFilter(of: place)
  }

  private func addAttributeRule(_ reference: RuleReference, _ name: String, of place: Int) {
    guard case .attribute(let attribute)? = destination.property(name, of: mappings[place].destinationName),
      case .composite(let type) = attribute.type, let composite = destination.composite(type)
    else {
      if mappings[place].attributeRules[name] == nil { mappings[place].attributeRules[name] = reference }
      return
    }
    var whole = reference
    whole.isWhole = true
    for field in composite.fields where mappings[place].attributeRules["\(name).\(field.name)"] == nil {
      mappings[place].attributeRules["\(name).\(field.name)"] = whole
    }
  }

  private func checkFilter(of place: Int) {
    guard let filter = mappings[place].mapping.filter, let rule = mappings[place].rule else { return }
    let checked = ExpressionChecker(graph: checking.graph).check(filter, on: mappings[place].sourceName)
    let here = MappingProblem.Place.filter(entity: rule)
    report(checked.diagnostics, at: here)
    reportVariables(checked.variables, at: here)
    if !checked.hasErrors, !checked.isStorable {
      problem(at: here, "a store cannot evaluate this: it has a transient property or a FUNCTION")
    }
    mappings[place].mapping.filter = checked.predicate
  }

  private func report(_ diagnostics: [ExpressionDiagnostic], at place: MappingProblem.Place) {
    for each in diagnostics where each.severity != .warning {
      problem(at: place, span: each.span, each.message, suggestion: each.suggestion)
    }
  }

  private func reportVariables(_ variables: [CheckedVariable], at place: MappingProblem.Place) {
    for each in variables {
      problem(at: place, "nothing gives the variable '$\(each.name)' a value in a mapping")
    }
  }

  // MARK: Attributes

  /// Checks a rule's expression for a stored value. Returns nil and reports the problem if it is wrong.
  private func checkedValue(of rule: RuleReference, for leaf: StoredLeaf, in place: Int) -> ValueExpression? {
    let here = MappingProblem.Place.attribute(entity: rule.entity, rule.property)
    if rule.isWhole { return checkedField(of: rule, for: leaf, in: place, at: here) }
    if case .codable = leaf.type { return checkedCodable(of: rule, for: leaf, in: place, at: here) }
    let checked = ExpressionChecker(graph: checking.graph).check(
      rule.value, on: mappings[place].sourceName, expecting: .attribute(checking.type(leaf.type)),
      allowsNil: leaf.isOptional, acceptsRawValues: true)
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
        "the conversion may fail; say what the value then is: CAST(…, '\(leaf.type.schemaName)', else)")
      return nil
    }
    return checked.expression
  }

  /// Checks a rule for a codable attribute. Only the app understands its JSON, so a rule can only copy the value.
  private func checkedCodable(
    of rule: RuleReference, for leaf: StoredLeaf, in place: Int, at here: MappingProblem.Place
  ) -> ValueExpression? {
    if rule.value == .null, leaf.isOptional { return rule.value }
    let paths = readPaths(rule.value, in: mappings[place].sourceName)
    let olds = source.leaves(of: mappings[place].sourceName).filter {
      if case .codable = $0.type { paths == [$0.path] && $0.expression == rule.value } else { false }
    }
    guard let old = olds.first else {
      problem(
        at: here,
        "'\(leaf.path)' is a codable: a rule can only keep the JSON of another one, by its name; "
          + "for all else write 'policy: custom'")
      return nil
    }
    if old.isOptional, !leaf.isOptional {
      problem(at: here, "'\(old.path)' may be nil, and '\(leaf.path)' may not: write 'policy: custom'")
      return nil
    }
    return rule.value
  }

  /// Returns the expression for one field from a rule for the whole composite.
  private func checkedField(
    of rule: RuleReference, for leaf: StoredLeaf, in place: Int, at here: MappingProblem.Place
  ) -> ValueExpression? {
    if rule.value == .null {
      if leaf.attribute.isOptional { return rule.value }
      problem(at: here, "'\(leaf.attribute.name)' is mandatory, and nil is no value for it")
      return nil
    }
    guard case .path(let base, let steps) = rule.value.kind, case .object = base.kind, steps.count == 1,
      case .key(let name) = steps[0],
      case .attribute(let old)? = source.property(name, of: mappings[place].sourceName),
      case .composite(let oldType) = old.type, case .composite(let newType) = leaf.attribute.type,
      let owner = source.declaringEntity(of: name, in: mappings[place].sourceName)?.name
    else {
      problem(
        at: here,
        "'\(leaf.attribute.name)' is a composite: its rule is the name of another composite, or there is a rule "
          + "for each field, such as '\(leaf.path)'")
      return nil
    }
    guard let field = leaf.field,
      let oldField = match.fields(of: newType, from: oldType)[field.name]
        .flatMap({ name in source.composite(oldType)?.fields.first { $0.name == name } })
    else {
      if leaf.isOptional || leaf.defaultValue != nil { return leaf.defaultValue?.expression ?? .null }
      problem(
        at: here, "composite '\(oldType)' has no '\(leaf.field?.name ?? "")': write a rule for '\(leaf.path)'"
      )
      return nil
    }
    let origin = StoredLeaf(owner: owner, attribute: old, field: oldField)
    guard let value = inferredValue(of: leaf, from: origin) else {
      problem(
        at: here,
        "'\(origin.path)' does not give '\(leaf.path)' a value for every object: write a rule for '\(leaf.path)'"
      )
      return nil
    }
    return value
  }

  // MARK: Relationships

  /// Checks a rule's expression for a relationship. Returns nil and reports the problem if it is wrong.
  func checkedObjects(
    of rule: RuleReference, for relationship: RelationshipDescription, in place: Int
  ) -> ValueExpression? {
    let here = MappingProblem.Place.relationship(entity: rule.entity, rule.property)
    if rule.value == .null {
      if !relationship.isMandatoryToOne { return rule.value }
      problem(at: here, "'\(relationship.name)' is mandatory, and nil is no value for it")
      return nil
    }
    let checked = ExpressionChecker(graph: checking.graph).check(
      rule.value, on: mappings[place].sourceName)
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
    let places = takers(ofKind: entity)
    // If the entity has no objects at all, no object can have a wrong type.
    guard
      concrete(entity).isEmpty
        || places.contains(where: {
          destination.isKind(mappings[$0].destinationName, of: relationship.destination)
        })
    else {
      problem(
        at: here,
        "no object of '\(entity)' of \(sourceName) becomes a '\(relationship.destination)', "
          + "which '\(relationship.name)' leads to")
      return nil
    }
    return checked.expression
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
