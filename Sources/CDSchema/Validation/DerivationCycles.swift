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
    let possible = nodesOfCircles()
    for node in nodes where possible.contains(node) && !finished.contains(node) {
      guard let circle = path(from: node, backTo: node) else { continue }
      circles.append(circle)
      finished.formUnion(circle)
    }
    return circles
  }

  /// The nodes without those that use none, or that none uses, all others of that kind taken away: what is left is in a
  /// circle or between two.
  private func nodesOfCircles() -> Set<Node> {
    var users: [Node: [Node]] = [:]
    for (node, used) in uses { for each in used { users[each, default: []].append(node) } }
    return Self.without(ends: Self.without(ends: Set(nodes), uses, users), users, uses)
  }

  private static func without(
    ends nodes: Set<Node>, _ next: [Node: [Node]], _ before: [Node: [Node]]
  ) -> Set<Node> {
    var left = nodes
    var counts: [Node: Int] = [:]
    var ends: [Node] = []
    for node in nodes {
      let count = next[node]?.count(where: nodes.contains) ?? 0
      counts[node] = count
      if count == 0 { ends.append(node) }
    }
    while let end = ends.popLast() {
      left.remove(end)
      for node in before[end] ?? [] where left.contains(node) {
        counts[node, default: 0] -= 1
        if counts[node] == 0 { ends.append(node) }
      }
    }
    return left
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
