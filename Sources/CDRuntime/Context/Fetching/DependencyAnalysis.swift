/// Which objects besides the fetched one an expression reads.
///
/// The store's answer for an object without changes is right where none of the objects that decide it has
/// changes. What reads nothing but the object itself depends on no others: its attributes, the fields of its
/// composites, and which object a to-one relationship leads to.
struct DependencyAnalysis {
  let plan: EntityPlan
  let model: ModelPlan
  /// The names of variables that have values.
  let variables: Set<String>

  /// Whether the answer for an object without changes is the same whatever is unsaved in others.
  ///
  /// - Parameter pending: The roots of the entities of objects with changes.
  func isIndependent(_ predicate: FetchPredicate, of pending: Set<Int>) -> Bool {
    var roots = Roots(dependencies: self)
    roots.add(predicate)
    return roots.areIndependent(of: pending)
  }

  /// Whether a predicate or one of some key paths may read properties of these names, of whatever entity.
  func mayRead(_ names: Set<String>, _ predicate: FetchPredicate?, _ keyPaths: [String]) -> Bool {
    var roots = Roots(dependencies: self)
    if let predicate { roots.add(predicate) }
    for path in keyPaths { roots.add(ValueExpression.keyPath(path)) }
    return roots.mayRead(names)
  }

  func isIndependent(_ keys: [SortKey], of pending: Set<Int>) -> Bool {
    var roots = Roots(dependencies: self)
    for key in keys { roots.add(ValueExpression.keyPath(key.keyPath)) }
    return roots.areIndependent(of: pending)
  }
}

/// The roots of the entities whose objects are read on the way.
private struct Roots {
  private let dependencies: DependencyAnalysis
  private var places: Set<Int> = []
  /// All keys that stand in paths.
  private var keys: Set<String> = []
  /// Whether something is read of which it is not known what it reads in turn.
  private var isUnknown = false
  /// The entities of SUBQUERY's variables.
  private var scope: [String: EntityPlan] = [:]

  init(dependencies: DependencyAnalysis) { self.dependencies = dependencies }

  func mayRead(_ names: Set<String>) -> Bool { isUnknown || !keys.isDisjoint(with: names) }

  func areIndependent(of pending: Set<Int>) -> Bool { !isUnknown && places.isDisjoint(with: pending) }

  mutating func add(_ predicate: FetchPredicate) {
    switch predicate.kind {
    case .constant: break
    case .comparison(let comparison):
      add(comparison.left)
      add(comparison.right)
    case .and(let parts), .or(let parts): for part in parts { add(part) }
    case .not(let part): add(part)
    }
  }

  /// - Returns: The entity of the objects that the expression leads to, where it leads to objects.
  @discardableResult
  mutating func add(_ expression: ValueExpression) -> EntityPlan? {
    switch expression.kind {
    case .constant: break
    case .object: return dependencies.plan
    case .variable(let name):
      if let entity = scope[name] { return entity }
      if !dependencies.variables.contains(name) { isUnknown = true }
    case .path(let base, let steps): return add(base, steps)
    case .aggregate(let parts), .coalesced(let parts), .function(_, let parts):
      for part in parts { add(part) }
    case .negated(let operand), .bitwiseComplement(let operand): add(operand)
    case .operation(let first, let terms):
      add(first)
      for term in terms { add(term.operand) }
    case .cast(let value, _, let otherwise):
      add(value)
      if let otherwise { add(otherwise) }
    case .ternary(let condition, let yes, let no):
      add(condition)
      add(yes)
      add(no)
    case .subquery(let collection, let variable, let condition):
      guard let entity = add(collection) else {
        isUnknown = true
        return nil
      }
      let outer = scope[variable]
      scope[variable] = entity
      add(condition)
      scope[variable] = outer
      return entity
    case .anyKey, .unknownFunction, .invocation, .assignment: isUnknown = true
    }
    return nil
  }

  /// Whether the object itself changes where the answer of a reference does. One of another table is another
  /// object's. One to an object whose deletion leaves it as it is, being one-sided, denied or without action, is nil
  /// in memory before it is in the table.
  private static func isOwn(_ relationship: RelationshipPlan) -> Bool {
    guard case .reference = relationship.storage, relationship.isGuaranteed else { return false }
    switch relationship.inverse?.deleteRule {
    case .nullify, .cascade: return true
    case .deny, .noAction, nil: return false
    }
  }

  private mutating func add(_ base: ValueExpression, _ steps: [PathStep]) -> EntityPlan? {
    for case .key(let key) in steps { keys.insert(key) }
    // What a variable's value has on its way is read in memory, changes and all.
    if case .variable(let name) = base.kind, scope[name] == nil, dependencies.variables.contains(name) {
      return nil
    }
    guard var entity = add(base) else {
      isUnknown = true
      return nil
    }
    var isObject = true
    for (number, step) in steps.enumerated() {
      switch step {
      case .itself, .collectionOperator, .size, .first, .last: continue
      case .variable: isUnknown = true
      case .index(let index): add(index)
      case .key(let key):
        // Behind an attribute come fields of composites and the like.
        guard isObject else { continue }
        guard let slot = entity.slot(key) else {
          isUnknown = true
          return nil
        }
        guard let relationship = slot.relationship else {
          isObject = false
          continue
        }
        let isOwn = number == steps.count - 1 && Self.isOwn(relationship)
        entity = dependencies.model.entities[relationship.destination]
        if !isOwn { places.insert(entity.root) }
      }
    }
    return isObject ? entity : nil
  }
}
