/// The boxes and lines as input of the layout: sizes without names.
///
/// The layout is layered from left to right. Every layer is a column, and a line leads from the right side of a box to
/// the left side of a box in a later column. In the columns in between, the line has bends, which occupy a position in
/// the column's order like boxes.
struct LayeredGraph {
  struct Node {
    var width: Double
    var height: Double
  }

  /// A line. Once the layers are known, it leads from the left node to the right one.
  struct Edge {
    var from: Int
    var to: Int
    /// The positions where the line meets the nodes, measured from their tops.
    var fromOffset: Double
    var toOffset: Double

    var reversed: Edge { Edge(from: to, to: from, fromOffset: toOffset, toOffset: fromOffset) }
  }

  var nodes: [Node]
  /// The edges. No edge leads from a node to itself.
  var edges: [Edge]
}

/// The positions of a layered graph's nodes and lines. The top left corner of the layout is at zero.
struct LayeredLayout {
  struct Point: Hashable {
    var x: Double
    var y: Double
  }

  /// The top left corners of the nodes.
  var origins: [Point]
  /// The points of each edge from its left node to its right one. A line is level, except where it crosses the space
  /// between columns to another height.
  var routes: [[Point]]
  /// Whether the ends of each edge were exchanged, because it leads from right to left.
  var isReversed: [Bool]
  var width: Double
  var height: Double
}
