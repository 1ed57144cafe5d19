extension CheckerSession {
  /// Where a key path has come to.
  private struct Place {
    var type: ExpressionType
    var isOptional: Bool
  }

  mutating func checkPath(_ base: ValueExpression, _ steps: [PathStep], _ expression: ValueExpression)
    -> CheckedValue
  {
    let start = check(base)
    var place = Place(type: start.type, isOptional: start.isOptional)
    if case .variable = base.kind, start.type == .unknown { hasOpenUse = true }
    var rest = steps[...]
    // The last step is checked too where an earlier one was wrong: its index may hold mistakes of its own.
    while let step = rest.popFirst() {
      place = take(step, from: place, &rest, expression.span)
    }
    return CheckedValue(expression, place.type, isOptional: place.isOptional)
  }

  /// One step, and for a collection operator those behind it too.
  private mutating func take(
    _ step: PathStep, from place: Place, _ rest: inout ArraySlice<PathStep>, _ span: SourceSpan?
  ) -> Place {
    switch step {
    case .key(let key): return take(key, from: place, span)
    case .itself: return place
    case .variable(let name):
      error(span, "the key $\(name) is known only when it is evaluated, and cannot be checked")
      return Place(type: .unknown, isOptional: true)
    case .collectionOperator(let name): return apply(name, to: place, &rest, span)
    case .index(let index):
      let value = check(index)
      let category = TypeRules.category(value.type, in: graph)
      if category != .number, category != .string, category != .any {
        error(index.span ?? span, "an index is a number or a key, and '\(index)' is \(value.type)")
      }
      return element(of: place, span)
    case .first, .last: return element(of: place, span)
    case .size:
      _ = element(of: place, span)
      return Place(type: .int64, isOptional: false)
    }
  }

  private mutating func element(of place: Place, _ span: SourceSpan?) -> Place {
    switch place.type {
    case .collection(let element): return Place(type: element, isOptional: true)
    case .unknown, .null, .dictionary: break
    default: error(span, "brackets are for many values, and this is one \(place.type)")
    }
    return Place(type: .unknown, isOptional: true)
  }

  // MARK: Keys

  private mutating func take(_ key: String, from place: Place, _ span: SourceSpan?) -> Place {
    switch place.type {
    case .object(let entity): return property(key, of: entity, place, span)
    case .collection(let element):
      // A key of many values is the values of that key, in one collection however many there are in turn.
      let value = take(key, from: Place(type: element, isOptional: false), span)
      if value.type.isCollection || value.type == .unknown {
        return Place(type: value.type, isOptional: false)
      }
      return Place(type: .collection(of: value.type), isOptional: false)
    case .attribute(.composite(let name)):
      if let composite = graph.composite(name) { return field(key, of: composite, place, span) }
    case .attribute(let type) where TypeRules.rawType(type, in: graph) == .string && key == "length":
      return Place(type: .int64, isOptional: place.isOptional)
    case .attribute(let type):
      if case .enumeration(let name) = type, graph.enumeration(name) == nil { break }
      error(span, "\(type.schemaName) has no key '\(key)'")
    case .unknown, .null, .dictionary: break
    }
    return Place(type: .unknown, isOptional: true)
  }

  private mutating func property(_ key: String, of entity: String, _ place: Place, _ span: SourceSpan?)
    -> Place
  {
    switch graph.property(key, of: entity) {
    case .attribute(let attribute)?:
      if attribute.isTransient {
        isStorable = false
        warning(
          span, "'\(key)' of \(entity) is transient: it is evaluated in memory, and no store can search it")
      }
      return Place(
        type: .attribute(attribute.type), isOptional: place.isOptional || attribute.isOptional)
    case .relationship(let relationship)?:
      let destination = ExpressionType.object(entity: relationship.destination)
      if relationship.isToMany { return Place(type: .collection(of: destination), isOptional: false) }
      return Place(type: destination, isOptional: place.isOptional || relationship.isOptional)
    case .fetched(let fetched)?:
      isStorable = false
      return Place(type: .collection(of: .object(entity: fetched.entity)), isOptional: false)
    case nil:
      // An unknown entity is reported where the model names it.
      guard graph.entity(entity) != nil else { return Place(type: .unknown, isOptional: true) }
      let names =
        graph.attributes(of: entity).map(\.name) + graph.relationships(of: entity).map(\.name)
        + graph.fetchedProperties(of: entity).map(\.name)
      error(span, "\(entity) has no '\(key)'", suggestion: closestName(to: key, in: names))
      return Place(type: .unknown, isOptional: true)
    }
  }

  private mutating func field(
    _ key: String, of composite: CompositeDescription, _ place: Place, _ span: SourceSpan?
  ) -> Place {
    guard let field = composite.fields.first(where: { $0.name == key }) else {
      error(
        span, "\(composite.name) has no '\(key)'",
        suggestion: closestName(to: key, in: composite.fields.map(\.name)))
      return Place(type: .unknown, isOptional: true)
    }
    return Place(type: .attribute(field.type), isOptional: place.isOptional || field.isOptional)
  }

  // MARK: Collection operators

  private mutating func apply(
    _ name: String, to place: Place, _ rest: inout ArraySlice<PathStep>, _ span: SourceSpan?
  ) -> Place {
    let nothing = Place(type: .unknown, isOptional: true)
    guard let collectionOperator = CollectionOperator(rawValue: name) else {
      let names = CollectionOperator.allCases.map(\.rawValue)
      error(
        span, "there is no collection operator '@\(name)'",
        suggestion: closestName(to: name, in: names).map { "@" + $0 })
      rest = []
      return nothing
    }
    var element = ExpressionType.unknown
    switch place.type {
    case .collection(let type): element = type
    case .unknown, .null, .dictionary: break
    default:
      error(span, "@\(name) is for many values, and this is one \(place.type)")
      rest = []
      return nothing
    }
    if collectionOperator == .count { return Place(type: .int64, isOptional: false) }
    if rest.isEmpty, element != .unknown {
      error(span, "@\(name) needs a key behind it: @\(name).SELF for the values themselves")
      return nothing
    }
    var value = Place(type: element, isOptional: false)
    while let step = rest.popFirst() { value = take(step, from: value, &rest, span) }
    if case .collection(let inner) = value.type { value.type = inner }
    return result(of: collectionOperator, over: value, span)
  }

  private mutating func result(
    of collectionOperator: CollectionOperator, over value: Place, _ span: SourceSpan?
  )
    -> Place
  {
    let category = TypeRules.category(value.type, in: graph)
    switch collectionOperator {
    case .distinctUnionOfObjects, .unionOfObjects:
      return Place(type: .collection(of: value.type), isOptional: false)
    case .min, .max:
      if !TypeRules.isOrdered(category) {
        error(span, "@\(collectionOperator.rawValue) has no order for \(value.type)")
      }
      return Place(type: value.type, isOptional: true)
    case .count, .sum, .avg:
      guard category == .number || category == .any else {
        error(span, "@\(collectionOperator.rawValue) is for numbers, and these are \(value.type)")
        return Place(type: .unknown, isOptional: true)
      }
      let isSum = collectionOperator == .sum
      return Place(type: ExpressionTypes.total(value.type, isSum: isSum, in: graph), isOptional: !isSum)
    }
  }
}

/// Result types that key paths and functions share.
enum ExpressionTypes {
  /// The type of a sum or an average of numbers.
  static func total(_ type: ExpressionType, isSum: Bool, in graph: EntityGraph) -> ExpressionType {
    guard case .attribute(let attribute) = type else { return isSum ? .unknown : .double }
    let raw = TypeRules.rawType(attribute, in: graph)
    if raw == .decimal { return type }
    return isSum && TypeRules.isInteger(raw) ? .int64 : .double
  }
}
