extension CheckerSession {
  /// The type that a key path has reached after some of its steps.
  private struct PathType {
    var type: ExpressionType
    var isOptional: Bool
  }

  @inline(never)
  mutating func checkPath(_ expression: ValueExpression) -> CheckedValue {
    guard case .path(let base, let steps) = expression.kind else { return unknown(expression) }
    let start = check(base)
    if case .variable = base.kind, start.type == .unknown { usedUntypedVariable = true }
    let indices = checkIndices(steps)
    return combinedPath(start, steps, indices, expression)
  }

  /// Checks the index expressions among the steps. The keys of the result are the positions of the steps.
  @inline(never)
  private mutating func checkIndices(_ steps: [PathStep]) -> [Int: CheckedValue] {
    var indices: [Int: CheckedValue] = [:]
    for (number, step) in steps.enumerated() {
      if case .index(let index) = step { indices[number] = check(index) }
    }
    return indices
  }

  private mutating func combinedPath(
    _ start: CheckedValue, _ steps: [PathStep], _ indices: [Int: CheckedValue], _ expression: ValueExpression
  ) -> CheckedValue {
    let span = expression.span
    var pathType = PathType(type: start.type, isOptional: start.isOptional)
    // Collection operators that apply to the values of the steps after them.
    var pending: [CollectionOperator] = []
    // `@sum.items.price`: the operator stands before the whole path of an object.
    var leading: CollectionOperator?
    // The steps with translated keys, by their positions.
    var translated: [Int: PathStep] = [:]
    for (number, step) in steps.enumerated() {
      if number == 0, case .object = pathType.type, case .collectionOperator(let name) = step,
        steps.count > 1,
        let wanted = CollectionOperator(rawValue: name), wanted != .count
      {
        leading = wanted
      } else if case .collectionOperator(let name) = step {
        let isLast = number == steps.count - 1
        if let wanted = apply(name, to: &pathType, isLast: isLast, span) { pending.append(wanted) }
      } else if case .key(let key) = step, let translation {
        var owner = pathType.type
        while let element = owner.element { owner = element }
        let (name, new) = translation(key, owner)
        if new != key { translated[number] = .key(new) }
        pathType = take(name, from: pathType, span)
      } else {
        pathType = take(step, from: pathType, indices[number], span)
      }
    }
    for collectionOperator in pending.reversed() {
      pathType = result(of: collectionOperator, over: pathType, span)
    }
    if let leading {
      if !pathType.type.isCollection, pathType.type != .unknown {
        error(
          span,
          "@\(leading.rawValue) needs a collection, but the path after it leads to a single \(pathType.type)")
      }
      pathType = result(of: leading, over: pathType, span)
    }
    var result = CheckedValue(expression, pathType.type, isOptional: pathType.isOptional)
    if start.isChanged || !translated.isEmpty || indices.values.contains(where: { $0.isChanged }) {
      let changed = steps.enumerated().map { number, step in
        translated[number] ?? indices[number].map { PathStep.index($0.expression) } ?? step
      }
      result.expression = ValueExpression.path(start.expression, changed, span: span)
      result.isChanged = true
    }
    return result
  }

  private mutating func take(
    _ step: PathStep, from pathType: PathType, _ index: CheckedValue?, _ span: SourceSpan?
  )
    -> PathType
  {
    switch step {
    case .key(let key): return take(key, from: pathType, span)
    case .itself, .collectionOperator: return pathType
    case .variable(let name):
      error(span, "the key $\(name) is known only when it is evaluated, and cannot be checked")
      return PathType(type: .unknown, isOptional: true)
    case .index, .first, .last:
      if let index { checkIndex(index, span) }
      return element(of: pathType, span)
    case .size:
      _ = element(of: pathType, span)
      return PathType(type: .int64, isOptional: false)
    }
  }

  @inline(never)
  private mutating func checkIndex(_ index: CheckedValue, _ span: SourceSpan?) {
    switch TypeRules.category(index.type, in: graph) {
    case .number, .string, .any: break
    default:
      error(
        index.expression.span ?? span,
        "an index must be a number or a key, but '\(index.expression)' is \(index.type)")
    }
  }

  private mutating func element(of pathType: PathType, _ span: SourceSpan?) -> PathType {
    switch pathType.type {
    case .collection(let element): return PathType(type: element, isOptional: true)
    case .unknown, .null, .dictionary: break
    default: error(span, "brackets need a collection, but this is a single \(pathType.type)")
    }
    return PathType(type: .unknown, isOptional: true)
  }

  // MARK: Keys

  private mutating func take(_ key: String, from pathType: PathType, _ span: SourceSpan?) -> PathType {
    switch pathType.type {
    case .object(let entity): return property(key, of: entity, pathType, span)
    case .collection(let element):
      // A key applied to a collection gives one flat collection of that key's values, even if each value is a
      // collection too.
      let value = take(key, from: PathType(type: element, isOptional: false), span)
      if value.type.isCollection || value.type == .unknown {
        return PathType(type: value.type, isOptional: false)
      }
      return PathType(type: .collection(of: value.type), isOptional: false)
    case .attribute(.composite(let name)):
      if let composite = graph.composite(name) { return field(key, of: composite, pathType, span) }
    case .attribute(let type) where TypeRules.rawType(type, in: graph) == .string && key == "length":
      return PathType(type: .int64, isOptional: pathType.isOptional)
    case .attribute(let type):
      if case .enumeration(let name) = type, graph.enumeration(name) == nil { break }
      error(span, "\(type.schemaName) has no key '\(key)'")
    case .unknown, .null, .dictionary: break
    }
    return PathType(type: .unknown, isOptional: true)
  }

  private mutating func property(_ key: String, of entity: String, _ pathType: PathType, _ span: SourceSpan?)
    -> PathType
  {
    switch graph.property(key, of: entity) {
    case .attribute(let attribute)?:
      if attribute.isTransient {
        isStorable = false
        warning(
          span, "'\(key)' of \(entity) is transient: it exists in memory only, so a store cannot search it")
      }
      return PathType(
        type: .attribute(attribute.type), isOptional: pathType.isOptional || attribute.isOptional)
    case .relationship(let relationship)?:
      let destination = ExpressionType.object(entity: relationship.destination)
      if relationship.isToMany { return PathType(type: .collection(of: destination), isOptional: false) }
      return PathType(type: destination, isOptional: pathType.isOptional || relationship.isOptional)
    case .fetched(let fetched)?:
      isStorable = false
      return PathType(type: .collection(of: .object(entity: fetched.entity)), isOptional: false)
    case nil:
      // The model check reports an unknown entity where the model names it.
      guard graph.entity(entity) != nil else { return PathType(type: .unknown, isOptional: true) }
      let graph = graph
      error(
        span, "\(entity) has no '\(key)'",
        suggestion: closestName(to: key, in: Self.propertyNames(of: entity, in: graph)))
      return PathType(type: .unknown, isOptional: true)
    }
  }

  private static func propertyNames(of entity: String, in graph: EntityGraph) -> [String] {
    graph.attributes(of: entity).map(\.name) + graph.relationships(of: entity).map(\.name)
      + graph.fetchedProperties(of: entity).map(\.name)
  }

  private mutating func field(
    _ key: String, of composite: CompositeDescription, _ pathType: PathType, _ span: SourceSpan?
  ) -> PathType {
    guard let field = composite.fields.first(where: { $0.name == key }) else {
      error(
        span, "\(composite.name) has no '\(key)'",
        suggestion: closestName(to: key, in: composite.fields.map(\.name)))
      return PathType(type: .unknown, isOptional: true)
    }
    return PathType(type: .attribute(field.type), isOptional: pathType.isOptional || field.isOptional)
  }

  // MARK: Collection operators

  /// Full words that people often write instead of the operators' short names.
  private static let longNames = ["average": "avg", "minimum": "min", "maximum": "max"]

  /// Checks a collection operator and moves the type on to the elements of the collection. `@count` is applied at once;
  /// any other operator is returned, to be applied to the values of the steps after it.
  private mutating func apply(_ name: String, to pathType: inout PathType, isLast: Bool, _ span: SourceSpan?)
    -> CollectionOperator?
  {
    let elements = pathType.type
    pathType = PathType(type: .unknown, isOptional: true)
    guard let collectionOperator = CollectionOperator(rawValue: name) else {
      let names = CollectionOperator.allCases.map(\.rawValue)
      error(
        span, "there is no collection operator '@\(name)'",
        suggestion: (Self.longNames[name] ?? closestName(to: name, in: names)).map { "@" + $0 })
      return nil
    }
    switch elements {
    case .collection(let element): pathType = PathType(type: element, isOptional: false)
    case .unknown, .null, .dictionary: break
    default:
      error(span, "@\(name) needs a collection, but this is a single \(elements)")
      return nil
    }
    if collectionOperator == .count {
      pathType = PathType(type: .int64, isOptional: false)
      return nil
    }
    if isLast, pathType.type != .unknown {
      error(span, "@\(name) needs a key after it: @\(name).SELF for the values themselves")
      pathType = PathType(type: .unknown, isOptional: true)
      return nil
    }
    return collectionOperator
  }

  private mutating func result(
    of collectionOperator: CollectionOperator, over value: PathType, _ span: SourceSpan?
  )
    -> PathType
  {
    var value = value
    if case .collection(let inner) = value.type { value.type = inner }
    let category = TypeRules.category(value.type, in: graph)
    switch collectionOperator {
    case .distinctUnionOfObjects, .unionOfObjects:
      return PathType(type: .collection(of: value.type), isOptional: false)
    case .min, .max:
      if !TypeRules.isOrdered(category) {
        error(span, "@\(collectionOperator.rawValue) has no order for \(value.type)")
      }
      return PathType(type: value.type, isOptional: true)
    case .count, .sum, .avg:
      guard category == .number || category == .any else {
        error(span, "@\(collectionOperator.rawValue) needs numbers, but the values are \(value.type)")
        return PathType(type: .unknown, isOptional: true)
      }
      let isSum = collectionOperator == .sum
      return PathType(type: ExpressionTypes.total(value.type, isSum: isSum, in: graph), isOptional: !isSum)
    }
  }
}

/// The result types that key paths and functions share.
enum ExpressionTypes {
  /// The type of a sum or an average of numbers.
  static func total(_ type: ExpressionType, isSum: Bool, in graph: EntityGraph) -> ExpressionType {
    guard case .attribute(let attribute) = type else { return isSum ? .unknown : .double }
    let raw = TypeRules.rawType(attribute, in: graph)
    if raw == .decimal { return type }
    return isSum && TypeRules.isInteger(raw) ? .int64 : .double
  }
}
