extension LayeredLayout {
  /// The distances in a layout.
  struct Spacing {
    var betweenNodes = 28.0
    var betweenBends = 14.0
    /// The minimum space between two columns. Each line between them adds a little.
    var gutter = 84.0
    var gutterPerLine = 3.0
    /// The wanted ratio of width to height.
    var aspect = 1.5
  }

  init(_ graph: LayeredGraph, spacing: Spacing) {
    let (layers, isReversed) = Layering.layers(of: graph, heightLimit: Self.heightLimit(graph, spacing))
    let edges = zip(graph.edges, isReversed).map { edge, back in back ? edge.reversed : edge }
    let columnGraph = ColumnGraph(nodes: graph.nodes, edges: edges, layers: layers)
    let columns = ColumnOrder.columns(of: columnGraph)
    let tops = ColumnHeights.tops(
      of: columnGraph, columns: columns, spacing: spacing.betweenNodes, bendSpacing: spacing.betweenBends)

    let widths = columns.map { column in
      column.map { $0 < graph.nodes.count ? graph.nodes[$0].width : 0 }.max() ?? 0
    }
    var lefts: [Double] = []
    var left = 0.0
    for (column, width) in zip(columns, widths) {
      lefts.append(left)
      let lines = column.reduce(0) { $0 + columnGraph.leaving[$1].count }
      left += width + spacing.gutter + spacing.gutterPerLine * Double(lines)
    }
    let origins = graph.nodes.indices.map { node in
      let column = layers[node]
      return Point(x: lefts[column] + (widths[column] - graph.nodes[node].width) / 2, y: tops[node])
    }

    routes = zip(edges, columnGraph.chains).map { edge, chain in
      var route: [Point] = []
      for item in chain {
        let column = columnGraph.items[item].column
        let right = lefts[column] + widths[column]
        if item == edge.from {
          let y = tops[item] + edge.fromOffset
          route.append(Point(x: origins[item].x + graph.nodes[item].width, y: y))
          route.append(Point(x: right, y: y))
        } else if item == edge.to {
          let y = tops[item] + edge.toOffset
          route.append(Point(x: lefts[column], y: y))
          route.append(Point(x: origins[item].x, y: y))
        } else {
          route.append(Point(x: lefts[column], y: tops[item]))
          route.append(Point(x: right, y: tops[item]))
        }
      }
      return route
    }
    self.origins = origins
    self.isReversed = isReversed
    width = zip(lefts, widths).map { $0 + $1 }.max() ?? 0
    height = columnGraph.items.indices.map { tops[$0] + columnGraph.items[$0].height }.max() ?? 0
  }

  /// The height of a page of the wanted shape that holds all nodes with enough space around them.
  private static func heightLimit(_ graph: LayeredGraph, _ spacing: Spacing) -> Double {
    let area = graph.nodes.reduce(0) {
      $0 + ($1.width + spacing.gutter) * ($1.height + spacing.betweenNodes)
    }
    return max(graph.nodes.map(\.height).max() ?? 0, (area * 1.4 / spacing.aspect).squareRoot())
  }
}
