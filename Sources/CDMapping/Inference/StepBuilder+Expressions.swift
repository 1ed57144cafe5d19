import CDModel

// The rules of one mapping, and what their expressions are for it.
extension StepBuilder {
  /// Says which rule each property of a mapping's destination has: its own entity's, or else that of the
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

  /// A rule's expression, checked for a stored value; nil where it is wrong, which is then reported.
  func checkedValue(of rule: RuleReference, for leaf: StoredLeaf, in place: Int) -> ValueExpression? {
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

  /// A codable is JSON that only the app understands: it can be kept, and nothing else.
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

  /// The part that a rule for a composite as a whole has for one of its fields.
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

  /// A rule's expression, checked for a relationship; nil where it is wrong, which is then reported.
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
    // Where there are no objects at all, none goes the wrong way.
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
  /// The entity of the object or objects that a value is; nil for other values.
  fileprivate var objects: String? {
    switch self {
    case .object(let entity): entity
    case .collection(.object(let entity)): entity
    default: nil
    }
  }
}
