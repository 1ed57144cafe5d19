import CDModel

extension StepBuilder {
  /// Gives each stored value of a mapping's destination an expression, by its rule or by inference.
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

  /// The stored value of the source that one of the destination was.
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

  /// What there is for a change of a stored value.
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

  /// Whether the loss of a source property's values is meant: a drop names it, or the composite it is a field
  /// of.
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
    // What a wrong rule reads is not reported as lost beside it.
    keep(rule.value, of: place)
    guard let value = checkedValue(of: rule, for: leaf, in: place) else { return }
    keep(value, of: place)
    mappings[place].mapping.attributes.append(PropertyMapping(name: leaf.path, value: value))
  }

  /// Notes what of the source an expression makes something of.
  func readPaths(_ value: ValueExpression, in entity: String) -> Set<String> {
    var walk = KeyPathWalk()
    walk.visit(value)
    return readPaths(walk, in: entity)
  }

  func readPaths(_ walk: KeyPathWalk, in entity: String) -> Set<String> {
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

  /// The value of before, converted and with the default in place of nil where that is needed; nil where
  /// there is none for every object.
  func inferredValue(of leaf: StoredLeaf, from origin: StoredLeaf) -> ValueExpression? {
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

  /// What a value that objects do not have yet is: new altogether, or no longer transient.
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
    // An object that has the composite needs the new field, even where others have no composite at all.
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

  /// The composite attribute of the source to which a field was added; nil where the composite is new as well.
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
    // A composite is there where a field that it cannot be without is, or else any field.
    let mandatory = fields.first { $0.isStored && !$0.isOptional }
    let test = mandatory.map(isSet) ?? .or(fields.filter(\.isStored).map(isSet))
    return (attribute, test)
  }
}
