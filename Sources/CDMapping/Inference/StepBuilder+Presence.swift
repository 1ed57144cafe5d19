import CDModel

// Finds composites of which rules may leave out a mandatory field.
extension StepBuilder {
  /// Reports a rule for a mandatory field of an optional composite if it may give nil to an object that has the other
  /// fields. Nil for all fields is valid: then the object has no composite.
  func checkPresence(of stored: StoredValue, in builder: MappingBuilder) {
    guard stored.attribute.isOptional, stored.field?.isOptional == false, !builder.isCustom,
      let rule = builder.attributeRules[stored.path], !rule.isWhole,
      let value = builder.mapping.attributes.first(where: { $0.name == stored.path })?.value,
      mayBeNil(value, in: builder)
    else { return }
    let given = builder.mapping.filter.map { conditions(of: $0, in: builder) } ?? []
    let needed = conditions(of: value, in: builder).filter { !given.contains($0) }
    let others = builder.mapping.attributes.filter { $0.name.hasPrefix(stored.attribute.name + ".") }
    let isPartial = others.contains { other in
      if other.value == value || other.value == .null { return false }
      return !needed.allSatisfy(conditions(of: other.value, in: builder).contains)
    }
    guard isPartial else { return }
    problem(
      at: rule.location,
      "'\(stored.path)' is a mandatory field, and its value may be nil for objects that have other fields of "
        + "'\(stored.attribute.name)': write ?? and a value after it, or give each field a value such as "
        + "TERNARY(…, …, nil) with the same condition")
  }

  private func mayBeNil(_ value: ValueExpression, in builder: MappingBuilder) -> Bool {
    value == .null
      || ExpressionChecker(graph: checking.graph).check(value, on: builder.sourceName).isOptional
      || readsDeleted(value, in: builder)
  }

  /// Conditions that are all true exactly for the objects for which a value is not nil.
  private func conditions(of value: ValueExpression, in builder: MappingBuilder) -> [FetchPredicate] {
    let isSet = [FetchPredicate(value, .notEqualTo, .null)]
    switch value.kind {
    case .path(let base, let steps):
      guard case .object = base.kind else { return isSet }
      return conditions(ofPath: steps, in: builder) ?? isSet
    case .negated, .bitwiseComplement, .operation:
      // A calculation is nil if an operand is.
      var result: [FetchPredicate] = []
      value.forEachPart { part in
        if case .value(let operand) = part { result += conditions(of: operand, in: builder) }
      }
      return result
    case .cast(let inner, _, let otherwise):
      if let otherwise, mayBeNil(otherwise, in: builder) { return isSet }
      return conditions(of: inner, in: builder)
    case .ternary(let condition, let inner, .null):
      return conditions(of: condition, in: builder) + conditions(of: inner, in: builder)
    default: return mayBeNil(value, in: builder) ? isSet : []
    }
  }

  /// The conditions of which a predicate consists. For `value != nil`, they are those of the value.
  private func conditions(of predicate: FetchPredicate, in builder: MappingBuilder) -> [FetchPredicate] {
    switch predicate.kind {
    case .and(let parts): return parts.flatMap { conditions(of: $0, in: builder) }
    case .comparison(let comparison)
    where comparison.operator == .notEqualTo && comparison.right == .null && comparison.modifier == .direct:
      return conditions(of: comparison.left, in: builder)
    default: return [predicate]
    }
  }

  /// The conditions for the value of a path: each step that may be nil has a value. Nil for a path that does not consist of
  /// the keys of single values.
  private func conditions(ofPath steps: [PathStep], in builder: MappingBuilder) -> [FetchPredicate]? {
    var result: [FetchPredicate] = []
    var keys: [String] = []
    var entity = builder.sourceName
    var rest = steps[...]
    while let step = rest.popFirst() {
      guard case .key(let key) = step, let property = source.property(key, of: entity) else { return nil }
      keys.append(key)
      let isSet = FetchPredicate(.keyPath(keys), .notEqualTo, .null)
      switch property {
      case .fetched: return nil
      case .relationship(let relationship):
        if relationship.isToMany { return nil }
        let mayDangle = unenforced.contains { $0.name == key && source.isKind(entity, of: $0.entity) }
        if relationship.isOptional || mayDangle { result.append(isSet) }
        entity = relationship.destination
      case .attribute(let attribute):
        guard case .composite(let type) = attribute.type, let fields = source.composite(type)?.fields else {
          if attribute.isOptional { result.append(isSet) }
          return rest.isEmpty ? result : nil
        }
        if attribute.isOptional {
          result.append(keys.count == 1 ? isPresent(attribute, fields) : isSet)
        }
        guard let last = rest.popFirst() else { return result }
        guard case .key(let name) = last, rest.isEmpty, let field = fields.first(where: { $0.name == name })
        else { return nil }
        if field.isOptional { result.append(FetchPredicate(.keyPath(keys + [name]), .notEqualTo, .null)) }
        return result
      }
    }
    return result
  }
}
