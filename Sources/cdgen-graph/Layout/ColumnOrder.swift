/// Orders the items of each column so that few lines cross. In each sweep, every item moves to the average position of
/// its neighbours in the column before, or in the column after. The best order found is used.
enum ColumnOrder {
  private static let sweeps = 16

  /// The columns of a graph. Each is a list of items from top to bottom.
  static func columns(of graph: ColumnGraph) -> [[Int]] {
    var columns = [[Int]](repeating: [], count: graph.columnCount)
    for (index, item) in graph.items.enumerated() { columns[item.column].append(index) }
    var best = columns
    var fewest = crossings(columns, graph)
    for sweep in 0..<sweeps where fewest > 0 {
      let isForward = sweep.isMultiple(of: 2)
      let order = isForward ? Array(columns.indices) : columns.indices.reversed()
      for column in order.dropFirst() {
        let neighbours = columns[isForward ? column - 1 : column + 1]
        columns[column] = sorted(columns[column], by: neighbours, isForward, graph)
      }
      let count = crossings(columns, graph)
      if count < fewest { (best, fewest) = (columns, count) }
    }
    return best
  }

  private static func sorted(
    _ column: [Int], by neighbours: [Int], _ isForward: Bool, _ graph: ColumnGraph
  ) -> [Int] {
    let places = heights(neighbours, graph)
    let keys = column.enumerated().map { place, item -> (item: Int, key: Double) in
      let segments = isForward ? graph.arriving[item] : graph.leaving[item]
      // An item without neighbours stays near its present position.
      guard !segments.isEmpty else {
        return (item, Double(place) / Double(max(column.count, 1)) * (places.total))
      }
      let ports = segments.map { segment -> Double in
        let line = graph.segments[segment]
        return isForward
          ? places.tops[line.from, default: 0] + line.fromOffset
          : places.tops[line.to, default: 0] + line.toOffset
      }
      return (item, ports.reduce(0, +) / Double(ports.count))
    }
    // The sort is stable: items with equal keys keep their order.
    return keys.enumerated()
      .sorted { ($0.element.key, $0.offset) < ($1.element.key, $1.offset) }
      .map(\.element.item)
  }

  /// The tops of a column's items if they are stacked without space.
  private static func heights(_ column: [Int], _ graph: ColumnGraph) -> (tops: [Int: Double], total: Double) {
    var tops: [Int: Double] = [:]
    var top = 0.0
    for item in column {
      tops[item] = top
      top += graph.items[item].height + 1
    }
    return (tops, top)
  }

  private static func crossings(_ columns: [[Int]], _ graph: ColumnGraph) -> Int {
    var count = 0
    for (left, right) in zip(columns, columns.dropFirst()) {
      let leftTops = heights(left, graph).tops
      let rightTops = heights(right, graph).tops
      let lines = left.flatMap { graph.leaving[$0] }.map { segment -> (from: Double, to: Double) in
        let line = graph.segments[segment]
        return (
          leftTops[line.from, default: 0] + line.fromOffset, rightTops[line.to, default: 0] + line.toOffset
        )
      }
      for (index, one) in lines.enumerated() {
        for other in lines[(index + 1)...] where (one.from - other.from) * (one.to - other.to) < 0 {
          count += 1
        }
      }
    }
    return count
  }
}
