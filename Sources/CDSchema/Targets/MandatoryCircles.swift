import CDModel

/// The mandatory to-one relationships that lead to each other.
///
/// A row of an entity can only be inserted before the row that it refers to if the server checks foreign keys at the end of
/// the transaction. Without such checks, rows are inserted in the order of their references, and the rows of a circle have
/// no such order. Rows of one entity are inserted by one statement, so that they may refer to each other.
struct MandatoryCircles {
  /// A mandatory to-one relationship whose references are in the table of its entity.
  struct Edge {
    let owner: String
    let relationship: RelationshipDescription
    fileprivate let source: Int
    fileprivate let target: Int

    var name: String { "\(owner).\(relationship.name)" }
  }

  private let graph: EntityGraph
  /// The entities that have objects of their own.
  private let entities: [String]
  private var edges: [[Edge]]

  init(_ graph: EntityGraph) {
    self.graph = graph
    entities = graph.entitiesParentsFirst.filter { !$0.isAbstract }.map(\.name)
    let indices = Dictionary(zip(entities, 0...), uniquingKeysWith: { first, _ in first })
    edges = entities.enumerated().map { source, name in
      graph.lineage(of: name).flatMap { owner in
        owner.relationships.filter { Self.isForeignKey($0, of: owner.name, graph) }.flatMap { relationship in
          let kinds = [relationship.destination] + graph.descendants(of: relationship.destination).map(\.name)
          return kinds.compactMap { indices[$0] }.filter { $0 != source }.map {
            Edge(owner: owner.name, relationship: relationship, source: source, target: $0)
          }
        }
      }
    }
  }

  /// Whether the relationship is mandatory, and the table of its entity has a foreign key for it.
  private static func isForeignKey(
    _ relationship: RelationshipDescription, of owner: String, _ graph: EntityGraph
  ) -> Bool {
    !relationship.isToMany && !relationship.isOptional && graph.holdsReference(relationship, owner)
      && graph.inverse(of: relationship, in: owner)?.deleteRule.leavesReferences != true
  }

  /// Each relationship that is part of a circle, with the shortest circle that it is part of and begins.
  func relationships() -> [(edge: Edge, circle: [Edge])] {
    let components = components()
    var seen: Set<String> = []
    var result: [(edge: Edge, circle: [Edge])] = []
    for edge in edges.joined() where components[edge.source] == components[edge.target] {
      guard !seen.contains(edge.name), let rest = path(from: edge.target, to: edge.source, components) else {
        continue
      }
      seen.insert(edge.name)
      result.append((edge, [edge] + rest))
    }
    return result
  }

  /// The shortest path within a component.
  private func path(from start: Int, to end: Int, _ components: [Int]) -> [Edge]? {
    var arrivals: [Int: Edge] = [:]
    var pending = [start]
    var next = 0
    while next < pending.count {
      let node = pending[next]
      next += 1
      if node == end { break }
      for edge in edges[node] where components[edge.target] == components[start] {
        guard edge.target != start, arrivals[edge.target] == nil else { continue }
        arrivals[edge.target] = edge
        pending.append(edge.target)
      }
    }
    var path: [Edge] = []
    var node = end
    while node != start {
      guard let edge = arrivals[node] else { return nil }
      path.append(edge)
      node = edge.source
    }
    return path.reversed()
  }

  /// The number of the component of each entity. Two entities have the same number if each can be reached from the other.
  private func components() -> [Int] {
    var reversed = [[Int]](repeating: [], count: entities.count)
    for edge in edges.joined() { reversed[edge.target].append(edge.source) }
    var order: [Int] = []
    var isVisited = [Bool](repeating: false, count: entities.count)
    for root in entities.indices where !isVisited[root] {
      // An explicit list replaces recursion, because a model can have any number of entities.
      var pending = [(node: root, next: 0)]
      isVisited[root] = true
      while let (node, next) = pending.last {
        guard next < edges[node].count else {
          order.append(node)
          pending.removeLast()
          continue
        }
        pending[pending.count - 1].next += 1
        let target = edges[node][next].target
        if !isVisited[target] {
          isVisited[target] = true
          pending.append((target, 0))
        }
      }
    }
    var components = [Int](repeating: -1, count: entities.count)
    for root in order.reversed() where components[root] < 0 {
      var pending = [root]
      components[root] = root
      while let node = pending.popLast() {
        for source in reversed[node] where components[source] < 0 {
          components[source] = root
          pending.append(source)
        }
      }
    }
    return components
  }
}
