import CDModel

/// Finds derived attributes that depend on themselves, directly, through other attributes or through other objects. A
/// value computed at a save must only depend on values that are already known.
struct DerivationCycles {
  /// A derived attribute with the entity that declares it.
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

  /// Returns each cycle once, starting and ending at the attribute that is declared first.
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

  /// Nodes that may be part of a cycle. It repeatedly removes nodes that use no other node, and nodes that no other
  /// node uses. The remaining nodes are in a cycle or between two cycles.
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

  /// The shortest path from one node to another along their dependencies.
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

  /// The derived attribute at the end of a key path; nil if there is none.
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
