import CDModel

/// Finds derived attributes that depend on themselves, be it through others or through other objects: what is
/// computed at a save must be computed from what is known by then.
struct DerivationCycles {
  /// A derived attribute and the entity that declares it.
  struct Node: Hashable {
    var entity: String
    var attribute: String
  }

  private let graph: EntityGraph
  private var uses: [Node: [Node]] = [:]
  private var nodes: [Node] = []

  init(graph: EntityGraph) {
    self.graph = graph
    for entity in graph.version.entities {
      for attribute in entity.attributes {
        guard let derivation = attribute.derivation else { continue }
        let node = Node(entity: entity.name, attribute: attribute.name)
        nodes.append(node)
        var walk = KeyPathWalk()
        walk.visit(derivation)
        uses[node] = walk.paths.compactMap { target(of: $0, from: entity.name) }
      }
    }
  }

  /// Each circle once, from its first declared attribute back to it.
  func find() -> [[Node]] {
    var finished: Set<Node> = []
    var circles: [[Node]] = []
    for node in nodes where !finished.contains(node) {
      guard let circle = path(from: node, backTo: node) else { continue }
      circles.append(circle)
      finished.formUnion(circle)
    }
    return circles
  }

  /// The shortest way from a node to another along what they use.
  private func path(from start: Node, backTo goal: Node) -> [Node]? {
    var previous: [Node: Node] = [:]
    var pending = [start]
    var next = 0
    while next < pending.count {
      let node = pending[next]
      next += 1
      for used in uses[node] ?? [] {
        if used == goal {
          var path = [node]
          while let first = path.first, first != start, let before = previous[first] {
            path.insert(before, at: 0)
          }
          return path
        }
        if used != start, previous[used] == nil {
          previous[used] = node
          pending.append(used)
        }
      }
    }
    return nil
  }

  /// The derived attribute at the end of a key path.
  private func target(of steps: [PathStep], from start: String) -> Node? {
    var entity = start
    for step in steps {
      guard case .key(let key) = step else { continue }
      switch graph.property(key, of: entity) {
      case .relationship(let relationship): entity = relationship.destination
      case .attribute(let attribute):
        guard attribute.derivation != nil, let owner = graph.declaringEntity(of: key, in: entity) else {
          return nil
        }
        return Node(entity: owner.name, attribute: key)
      default: return nil
      }
    }
    return nil
  }
}

/// The key paths of an expression that start at its object.
private struct KeyPathWalk {
  var paths: [[PathStep]] = []

  mutating func visit(_ value: ValueExpression) {
    switch value.kind {
    case .constant, .object, .anyKey, .variable: break
    case .path(let base, let steps):
      if case .object = base.kind { paths.append(steps) } else { visit(base) }
      for step in steps { if case .index(let index) = step { visit(index) } }
    case .aggregate(let values), .coalesced(let values), .function(_, let values),
      .unknownFunction(_, let values):
      for value in values { visit(value) }
    case .negated(let operand), .bitwiseComplement(let operand): visit(operand)
    case .operation(let first, let terms):
      visit(first)
      for term in terms { visit(term.operand) }
    case .invocation(let target, _, let arguments):
      visit(target)
      for argument in arguments { visit(argument) }
    case .cast(let operand, _, let otherwise):
      visit(operand)
      if let otherwise { visit(otherwise) }
    case .ternary(let condition, let yes, let no):
      visit(condition)
      visit(yes)
      visit(no)
    case .subquery(let collection, _, _):
      // The condition speaks of the collection's elements.
      visit(collection)
    case .assignment(_, let assigned): visit(assigned)
    }
  }

  private mutating func visit(_ predicate: FetchPredicate) {
    switch predicate.kind {
    case .constant: break
    case .comparison(let comparison):
      visit(comparison.left)
      visit(comparison.right)
    case .and(let parts), .or(let parts): for part in parts { visit(part) }
    case .not(let part): visit(part)
    }
  }
}
