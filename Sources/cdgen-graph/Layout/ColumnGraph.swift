/// A layered graph in which every segment leads from one column to the next. Lines over several columns have bends in
/// between.
struct ColumnGraph {
  /// A node of the graph, or a bend. Bends come after the nodes.
  struct Item {
    var column: Int
    var height: Double
    var isBend: Bool
  }

  /// A part of a line between two neighbouring columns.
  struct Segment {
    var from: Int
    var to: Int
    var fromOffset: Double
    var toOffset: Double
  }

  private(set) var items: [Item]
  private(set) var segments: [Segment] = []
  /// The items that each edge passes, from left to right.
  private(set) var chains: [[Int]] = []
  private(set) var columnCount: Int

  /// The segments that arrive at each item, and those that leave it.
  private(set) var arriving: [[Int]]
  private(set) var leaving: [[Int]]

  /// - Parameters:
  ///   - nodes: The nodes.
  ///   - edges: The edges, each from an earlier column to a later one.
  ///   - layers: The columns of the nodes.
  init(nodes: [LayeredGraph.Node], edges: [LayeredGraph.Edge], layers: [Int]) {
    items = zip(nodes, layers).map { Item(column: $1, height: $0.height, isBend: false) }
    columnCount = (layers.max() ?? -1) + 1
    arriving = [[Int]](repeating: [], count: nodes.count)
    leaving = arriving
    for edge in edges {
      var chain = [edge.from]
      for column in (layers[edge.from] + 1)..<max(layers[edge.from] + 1, layers[edge.to]) {
        chain.append(items.count)
        items.append(Item(column: column, height: 0, isBend: true))
        arriving.append([])
        leaving.append([])
      }
      chain.append(edge.to)
      for (left, right) in zip(chain, chain.dropFirst()) {
        let segment = Segment(
          from: left, to: right, fromOffset: left == edge.from ? edge.fromOffset : 0,
          toOffset: right == edge.to ? edge.toOffset : 0)
        leaving[left].append(segments.count)
        arriving[right].append(segments.count)
        segments.append(segment)
      }
      chains.append(chain)
    }
  }
}
