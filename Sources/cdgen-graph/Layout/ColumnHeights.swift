/// Computes the vertical position of every item in ordered columns. Lines become as level as the order and the
/// distances between items allow.
enum ColumnHeights {
  private static let sweeps = 24

  /// - Returns: The tops of all items. The smallest is 0.
  static func tops(of graph: ColumnGraph, columns: [[Int]], spacing: Double, bendSpacing: Double) -> [Double]
  {
    var tops = [Double](repeating: 0, count: graph.items.count)
    let gaps = columns.map { column in
      zip(column, column.dropFirst()).map { upper, lower in
        let isTight = graph.items[upper].isBend && graph.items[lower].isBend
        return graph.items[upper].height + (isTight ? bendSpacing : spacing)
      }
    }
    for (column, gaps) in zip(columns, gaps) {
      var top = 0.0
      for (place, item) in column.enumerated() {
        tops[item] = top
        if place < gaps.count { top += gaps[place] }
      }
    }
    for sweep in 0..<sweeps {
      let order = sweep.isMultiple(of: 2) ? Array(columns.indices) : columns.indices.reversed()
      for column in order {
        let items = columns[column]
        let idealPositions = items.map { idealPosition(of: $0, tops, graph) }
        for (item, top) in zip(items, separated(idealPositions, gaps: gaps[column])) { tops[item] = top }
      }
    }
    let highest = tops.min() ?? 0
    return tops.map { $0 - highest }
  }

  /// The position at which an item's lines would be level on average, with a weight. The lines of bends have the
  /// highest weight, so that long lines are straight.
  private static func idealPosition(
    of item: Int, _ tops: [Double], _ graph: ColumnGraph
  ) -> (top: Double, weight: Double) {
    var total = 0.0
    var weight = 0.0
    for index in graph.arriving[item] {
      let line = graph.segments[index]
      let share = graph.items[line.from].isBend && graph.items[item].isBend ? 4.0 : 1
      total += share * (tops[line.from] + line.fromOffset - line.toOffset)
      weight += share
    }
    for index in graph.leaving[item] {
      let line = graph.segments[index]
      let share = graph.items[line.to].isBend && graph.items[item].isBend ? 4.0 : 1
      total += share * (tops[line.to] + line.toOffset - line.fromOffset)
      weight += share
    }
    return weight > 0 ? (total / weight, weight) : (tops[item], 0.1)
  }

  /// Computes the positions nearest to the ideal ones, by weighted squares, that keep the order and the distances.
  /// Items that would be too close are merged into blocks, which are placed at the weighted mean of their members.
  static func separated(_ idealPositions: [(top: Double, weight: Double)], gaps: [Double]) -> [Double] {
    struct Block {
      var total: Double
      var weight: Double
      var count: Int
      var position: Double { total / weight }
    }
    // After subtracting the distances, only the order must be kept.
    var offsets = [0.0]
    for gap in gaps { offsets.append((offsets.last ?? 0) + gap) }
    var blocks: [Block] = []
    for (ideal, offset) in zip(idealPositions, offsets) {
      var block = Block(total: (ideal.top - offset) * ideal.weight, weight: ideal.weight, count: 1)
      while let last = blocks.last, last.position > block.position {
        block = Block(
          total: last.total + block.total, weight: last.weight + block.weight, count: last.count + block.count
        )
        blocks.removeLast()
      }
      blocks.append(block)
    }
    let positions = blocks.flatMap { [Double](repeating: $0.position, count: $0.count) }
    return zip(positions, offsets).map { $0 + $1 }
  }
}
