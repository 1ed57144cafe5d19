/// Boxes and lines as the layout sees them: sizes and heights, no names.
///
/// The layout is layered, from left to right: every layer is a column, a line leads from the right side of a
/// box to the left side of one in a later column. Through the columns between, it is led by way of bends,
/// which take a place in the order of a column as boxes do.
struct LayeredGraph {
  struct Node {
    var width: Double
    var height: Double
  }

  /// A line, from the left one of its nodes to the right one once the layers are known.
  struct Edge {
    var from: Int
    var to: Int
    /// Where the line meets the nodes, measured from their tops.
    var fromOffset: Double
    var toOffset: Double

    var reversed: Edge { Edge(from: to, to: from, fromOffset: toOffset, toOffset: fromOffset) }
  }

  var nodes: [Node]
  /// No edge leads from a node to itself.
  var edges: [Edge]
}

/// Where a layered graph's nodes and lines go, with the top left corner of everything at zero.
struct LayeredLayout {
  struct Point: Hashable {
    var x: Double
    var y: Double
  }

  /// The nodes' top left corners.
  var origins: [Point]
  /// For each edge the points from its left node to its right one. Between two points with different heights
  /// a line crosses a gutter; others lie level.
  var routes: [[Point]]
  /// The edges whose ends changed places, because they lead from right to left.
  var isReversed: [Bool]
  var width: Double
  var height: Double
}
