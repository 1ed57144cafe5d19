/// Finds the objects that an expression reads besides the fetched object.
///
/// The store's answer for an object without changes is correct if no object on which the answer depends has changes.
/// An expression does not depend on other objects if it reads only the object's attributes, the fields of its
/// composites, and which object a to-one relationship leads to.
struct DependencyAnalysis {
  let plan: EntityPlan
  let model: ModelPlan
  /// The names of variables that have values.
  let variables: Set<String>

  /// Whether the answer for an object without changes is independent of the unsaved changes of other objects.
  ///
  /// - Parameter pending: The root entities of the objects with changes.
  func isIndependent(_ predicate: FetchPredicate, of pending: Set<Int>) -> Bool {
    var roots = Roots(dependencies: self)
    roots.add(predicate)
    return roots.areIndependent(of: pending)
  }

  /// Whether a predicate or a key path may read a property with one of these names, of any entity.
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

/// The root entities of the objects that an expression reads.
private struct Roots {
  private let dependencies: DependencyAnalysis
  private var readRoots: Set<Int> = []
  /// All keys that occur in paths.
  private var keys: Set<String> = []
  /// Whether the dependencies of a part of the expression are unknown.
  private var isUnknown = false
  /// The entities of SUBQUERY variables.
  private var scope: [String: EntityPlan] = [:]

  init(dependencies: DependencyAnalysis) { self.dependencies = dependencies }

  func mayRead(_ names: Set<String>) -> Bool { isUnknown || !keys.isDisjoint(with: names) }

  func areIndependent(of pending: Set<Int>) -> Bool { !isUnknown && readRoots.isDisjoint(with: pending) }

  mutating func add(_ predicate: FetchPredicate) {
    predicate.forEachPart { add($0) }
  }

  private mutating func add(_ part: ExpressionPart) {
    switch part {
    case .value(let value): add(value)
    case .predicate(let predicate): add(predicate)
    }
  }

  /// - Returns: The entity of the objects that the expression leads to; nil if it does not lead to objects.
  @discardableResult
  mutating func add(_ expression: ValueExpression) -> EntityPlan? {
    switch expression.kind {
    case .object: return dependencies.plan
    case .variable(let name):
      if let entity = scope[name] { return entity }
      if !dependencies.variables.contains(name) { isUnknown = true }
    case .path(let base, let steps): return add(base, steps)
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
    default: expression.forEachPart { add($0) }
    }
    return nil
  }

  /// Whether a reference depends only on the object itself. A reference that another table stores depends on the
  /// other object. A reference also depends on the other object if the deletion of that object leaves the reference
  /// unchanged, because it has no inverse or a `deny` or `noAction` rule: it is nil in memory before it is nil in the
  /// table.
  private static func isOwn(_ relationship: RelationshipPlan) -> Bool {
    guard case .reference = relationship.storage, relationship.isGuaranteed else { return false }
    return relationship.inverse?.deleteRule.separates ?? false
  }

  private mutating func add(_ base: ValueExpression, _ steps: [PathStep]) -> EntityPlan? {
    for case .key(let key) in steps { keys.insert(key) }
    // The path of a variable's value is read in memory, with unsaved changes.
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
        // The keys after an attribute are fields of a composite, for example.
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
        if !isOwn { readRoots.insert(entity.root) }
      }
    }
    return isObject ? entity : nil
  }
}
