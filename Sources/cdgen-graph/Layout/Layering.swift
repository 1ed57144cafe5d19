/// Assigns a column to every node.
enum Layering {
  /// - Parameters:
  ///   - graph: The graph; its edges may form cycles.
  ///   - heightLimit: The height above which a column accepts no further node.
  /// - Returns: The column of each node, counted from 0, and whether each edge leads to an earlier column. No edge has
  ///   both ends in one column.
  static func layers(of graph: LayeredGraph, heightLimit: Double) -> (layers: [Int], isReversed: [Bool]) {
    let isReversed = backEdges(of: graph)
    var successors = [[Int]](repeating: [], count: graph.nodes.count)
    var predecessors = successors
    for (edge, back) in zip(graph.edges, isReversed) {
      let forward = back ? edge.reversed : edge
      successors[forward.from].append(forward.to)
      predecessors[forward.to].append(forward.from)
    }
    let order = topologicalOrder(successors, predecessors)
    var layers = [Int](repeating: 0, count: graph.nodes.count)
    var heights: [Double] = []
    for node in order {
      var layer = predecessors[node].map { layers[$0] + 1 }.max() ?? 0
      let height = graph.nodes[node].height
      while layer < heights.count, heights[layer] > 0, heights[layer] + height > heightLimit { layer += 1 }
      while layer >= heights.count { heights.append(0) }
      heights[layer] += height
      layers[node] = layer
    }
    // A node without incoming lines moves right, next to its nearest successor.
    for node in order.reversed() where predecessors[node].isEmpty {
      if let next = successors[node].map({ layers[$0] }).min() { layers[node] = max(layers[node], next - 1) }
    }
    return (withoutGaps(layers), isReversed)
  }

  /// The edges that close a cycle, found by a walk over the nodes in their order.
  private static func backEdges(of graph: LayeredGraph) -> [Bool] {
    enum State { case new, open, done }
    var outgoing = [[Int]](repeating: [], count: graph.nodes.count)
    for (index, edge) in graph.edges.enumerated() { outgoing[edge.from].append(index) }
    var states = [State](repeating: .new, count: graph.nodes.count)
    var result = [Bool](repeating: false, count: graph.edges.count)
    for start in graph.nodes.indices where states[start] == .new {
      // An explicit stack replaces recursion, because a schema can contain paths of any length.
      var stack = [(node: start, next: 0)]
      states[start] = .open
      while let (node, next) = stack.last {
        guard next < outgoing[node].count else {
          states[node] = .done
          stack.removeLast()
          continue
        }
        stack[stack.count - 1].next += 1
        let edge = outgoing[node][next]
        let target = graph.edges[edge].to
        switch states[target] {
        case .open: result[edge] = true
        case .new:
          states[target] = .open
          stack.append((target, 0))
        case .done: break
        }
      }
    }
    return result
  }

  private static func topologicalOrder(_ successors: [[Int]], _ predecessors: [[Int]]) -> [Int] {
    var waiting = predecessors.map(\.count)
    var order = waiting.indices.filter { waiting[$0] == 0 }
    var next = 0
    while next < order.count {
      for successor in successors[order[next]] {
        waiting[successor] -= 1
        if waiting[successor] == 0 { order.append(successor) }
      }
      next += 1
    }
    return order
  }

  private static func withoutGaps(_ layers: [Int]) -> [Int] {
    let ranks = Dictionary(uniqueKeysWithValues: zip(Set(layers).sorted(), 0...))
    return layers.map { ranks[$0] ?? 0 }
  }
}
