import CDModel

/// The condition of ``AggregateRequest/having``, checked against the names of a group's values.
struct GroupCondition {
  /// The condition, in which the whole name of a value is one key. A group may have a relationship and an attribute of
  /// its object, whose names begin with the same key.
  private let predicate: FetchPredicate
  private let forms: GroupForms
  private let evaluator: PredicateEvaluator
  private let model: ModelPlan

  /// - Throws: ``FetchError``, for a key that is no name of a value, and the errors of ``FetchCheck``.
  @_optimize(none)
  init<Object: ManagedObject>(
    _ condition: FetchPredicate, of request: AggregateRequest<Object>, _ check: FetchCheck,
    _ model: ModelPlan
  ) throws {
    let variables = request.variables.mapValues { EvaluationValue($0.expressionConstant) }
    let names = try GroupNames(request.groupBy, request.aggregates, check)
    let checked = try names.checked(condition, variables.keys)
    let forms = try GroupForms(request.groupBy, request.aggregates, check)
    var unknown: String?
    predicate = checked.replacingSteps { steps in
      let keys = GroupNames.keys(of: steps)
      if keys.isEmpty { return steps }
      guard let count = names.length(in: keys),
        forms.hasField(keys.dropFirst(count).first, of: keys.prefix(count).joined(separator: "."))
      else {
        if unknown == nil { unknown = keys.joined(separator: ".") }
        return steps
      }
      return [PathStep.key(keys.prefix(count).joined(separator: "."))] + steps.dropFirst(count)
    }
    self.forms = forms
    self.model = model
    if let unknown {
      throw FetchError.unknownKey(
        entity: check.entity, key: unknown, suggestion: closestName(to: unknown, in: names.all))
    }
    evaluator = PredicateEvaluator(variables: variables, model: model)
  }

  /// Whether a group, given by the names of its values, meets the condition.
  func isMet(by group: [String: FetchedValue]) throws(EvaluationError) -> Bool {
    var values: [String: EvaluationValue] = [:]
    for (name, value) in group {
      values[name] = forms.evaluationValue(value, of: name).namingRoots(of: model)
    }
    return try evaluator.matches(predicate, EvaluationValue.dictionary(values))
  }
}

/// The forms that a group's values have in the evaluation of objects. A group has a Float as a double, but the double 0.1
/// is another number than the Float 0.1.
private struct GroupForms {
  private var floats: Set<String> = []
  private var composites: [String: [AttributeDescription]] = [:]

  @_optimize(none)
  init(_ groupBy: [String], _ aggregates: [Aggregate], _ check: FetchCheck) throws {
    // An aggregate hides a value of the same name.
    var keyPaths = Dictionary(groupBy.map { ($0, $0) }, uniquingKeysWith: { first, _ in first })
    for aggregate in aggregates {
      switch aggregate.function {
      case .min, .max: keyPaths[aggregate.name] = aggregate.keyPath
      // Sums and averages of Floats are doubles.
      case .count, .sum, .average: keyPaths[aggregate.name] = nil
      }
    }
    for (name, keyPath) in keyPaths {
      switch try check.value(of: keyPath) {
      case .attribute(.float): floats.insert(name)
      case .attribute(.composite(let type)): composites[name] = check.graph.composite(type)?.fields
      default: break
      }
    }
  }

  /// Whether a composite has a field. True for other values, whose keys the evaluator checks.
  func hasField(_ field: String?, of name: String) -> Bool {
    guard let field, let fields = composites[name] else { return true }
    return fields.contains { $0.name == field }
  }

  func evaluationValue(_ value: FetchedValue, of name: String) -> EvaluationValue {
    switch value {
    case .attribute(.double(let number)) where floats.contains(name): return .float(Float(number))
    case .attribute(.composite(let fields)):
      var values: [String: EvaluationValue] = [:]
      for field in composites[name] ?? [] where field.type == .float {
        if case .double(let number)? = fields[field.name] { values[field.name] = .float(Float(number)) }
      }
      if values.isEmpty { return FetchRun.evaluationValue(value) }
      return .dictionary(values.merging(fields.mapValues(EvaluationValue.value)) { first, _ in first })
    default: return FetchRun.evaluationValue(value)
    }
  }
}

/// The names of a group's values.
private struct GroupNames {
  let all: [String]
  /// The key paths of the values that are values of objects: those of the groups, and the least and greatest ones.
  private let keyPaths: [String: String]
  /// Those that lead to objects. A group has only the identifiers of the objects.
  private let objects: Set<String>
  private let check: FetchCheck

  @_optimize(none)
  init(_ groupBy: [String], _ aggregates: [Aggregate], _ check: FetchCheck) throws {
    all = groupBy + aggregates.map(\.name)
    // An aggregate hides a value of the same name.
    let own = Set(groupBy).subtracting(aggregates.map(\.name))
    objects = try own.filter { keyPath in
      if case .object = try check.value(of: keyPath) { return true }
      return false
    }
    var keyPaths = Dictionary(own.map { ($0, $0) }, uniquingKeysWith: { first, _ in first })
    for aggregate in aggregates where aggregate.function == .min || aggregate.function == .max {
      keyPaths[aggregate.name] = aggregate.keyPath
    }
    self.keyPaths = keyPaths
    self.check = check
  }

  /// The keys at the beginning of a path.
  static func keys(of steps: [PathStep]) -> [String] {
    var keys: [String] = []
    for step in steps {
      guard case .key(let key) = step else { break }
      keys.append(key)
    }
    return keys
  }

  /// The number of keys that are the name of a value, the longest possible one. The keys behind it belong to the value,
  /// such as the fields of a composite. Nil if the group has no such value.
  func length(in keys: [String]) -> Int? {
    var count = keys.count
    while count > 0 {
      let name = keys.prefix(count).joined(separator: ".")
      if all.contains(name) { return count < keys.count && objects.contains(name) ? nil : count }
      count -= 1
    }
    return nil
  }

  /// Returns the condition for evaluation. Comparisons that read only values of objects are checked like the conditions of
  /// fetches, which gives the names of enumeration cases their raw values.
  @_optimize(none)
  func checked(
    _ condition: FetchPredicate, _ variables: Dictionary<String, EvaluationValue>.Keys
  ) throws -> FetchPredicate {
    switch condition.kind {
    case .constant: return condition
    case .and(let parts): return try .and(parts.map { try checked($0, variables) })
    case .or(let parts): return try .or(parts.map { try checked($0, variables) })
    case .not(let part): return try .not(checked(part, variables))
    case .comparison(let comparison):
      var walk = KeyPathWalk()
      walk.visit(comparison.left)
      walk.visit(comparison.right)
      guard !walk.paths.isEmpty, walk.paths.allSatisfy({ keyPath($0) != nil }) else { return condition }
      // Only for the check, the key paths of the least and greatest values stand in the places of their names.
      var names: [[PathStep]] = []
      let ofObjects = condition.replacingSteps { steps in
        names.append(steps)
        return keyPath(steps) ?? steps
      }
      let checked = try check.checked(ofObjects, sortKeys: [], fetchSource: nil, boundNames: variables)
      var rest = names[...]
      return checked?.replacingSteps { rest.popFirst() ?? $0 } ?? condition
    }
  }

  /// The key path to the value, or to the part of a value, that a path of the condition leads to; nil if no object has it.
  private func keyPath(_ steps: [PathStep]) -> [PathStep]? {
    let keys = Self.keys(of: steps)
    guard let count = length(in: keys), let path = keyPaths[keys.prefix(count).joined(separator: ".")] else {
      return nil
    }
    return path.split(separator: ".").map { PathStep.key(String($0)) } + steps.dropFirst(count)
  }
}
