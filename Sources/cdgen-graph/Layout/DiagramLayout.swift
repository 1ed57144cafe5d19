import CDGenerator

/// The positions of the boxes and lines of a diagram.
///
/// Connected boxes are laid out together in columns. Parts that are not connected with each other are then arranged in
/// rows.
struct DiagramLayout {
  typealias Point = LayeredLayout.Point

  /// The top left corners and the sizes of the boxes.
  var origins: [Point]
  var boxes: [BoxMetrics]
  /// The points of each connection from its `from` end to its `to` end. A line from a box to itself starts and ends at
  /// the right side.
  var routes: [[Point]]
  var width: Double
  var height: Double

  init(_ diagram: Diagram) {
    let metrics = diagram.boxes.map(BoxMetrics.init)
    boxes = metrics
    origins = [Point](repeating: Point(x: 0, y: 0), count: boxes.count)
    routes = [[Point]](repeating: [], count: diagram.connections.count)
    let spacing = LayeredLayout.Spacing()
    let parts = Self.parts(of: diagram).map { Part($0, diagram, metrics, spacing) }
    // A line from a box to itself needs space on the right.
    let sizes = parts.map { (width: $0.layout.width + $0.margin, height: $0.layout.height) }
    let area = sizes.reduce(0) { $0 + ($1.width + 40) * ($1.height + 40) }
    let shelfWidth = max(sizes.map(\.width).max() ?? 0, (area * spacing.aspect).squareRoot())
    let places = ShelfPacking.origins(of: sizes, width: shelfWidth, spacing: 40)
    for (part, place) in zip(parts, places) {
      for (box, origin) in zip(part.boxes, part.layout.origins) {
        origins[box] = Point(x: origin.x + place.x, y: origin.y + place.y)
      }
      for (index, connection) in part.connections.enumerated() {
        let route = part.layout.routes[index].map { Point(x: $0.x + place.x, y: $0.y + place.y) }
        routes[connection] =
          part.layout.isReversed[index] != part.isReversed[index] ? route.reversed() : route
      }
    }
    for (index, connection) in diagram.connections.enumerated() where connection.from.box == connection.to.box
    {
      let box = connection.from.box
      let x = origins[box].x + boxes[box].width
      let from = boxes[box].offset(of: connection.from.row)
      // A relationship that is its own inverse ends close to its start.
      let isOneRow = connection.from.row == connection.to.row
      let to = boxes[box].offset(of: connection.to.row)
      routes[index] = [
        Point(x: x, y: origins[box].y + from - (isOneRow ? 5 : 0)),
        Point(x: x, y: origins[box].y + to + (isOneRow ? 5 : 0)),
      ]
    }
    width = zip(places, sizes).map { $0.x + $1.width }.max() ?? 0
    height = zip(places, sizes).map { $0.y + $1.height }.max() ?? 0
  }

  /// Boxes that are connected by lines, and these lines.
  private struct Part {
    var boxes: [Int]
    var connections: [Int]
    /// Whether the edge of each connection leads from its `to` end to its `from` end. Edges lead from one to many, so
    /// that entities on which many others depend are on the left.
    var isReversed: [Bool]
    var layout: LayeredLayout
    var margin: Double

    init(_ boxes: [Int], _ diagram: Diagram, _ metrics: [BoxMetrics], _ spacing: LayeredLayout.Spacing) {
      let places = Dictionary(uniqueKeysWithValues: zip(boxes, 0...))
      connections = []
      isReversed = []
      var edges: [LayeredGraph.Edge] = []
      margin = 0
      for (index, connection) in diagram.connections.enumerated() {
        guard let from = places[connection.from.box], let to = places[connection.to.box] else { continue }
        if from == to {
          margin = DiagramLayout.loopWidth + 8
          continue
        }
        let edge = LayeredGraph.Edge(
          from: from, to: to,
          fromOffset: metrics[connection.from.box].offset(of: connection.from.row),
          toOffset: metrics[connection.to.box].offset(of: connection.to.row))
        let turns = connection.from.multiplicity.isMany && !connection.to.multiplicity.isMany
        connections.append(index)
        isReversed.append(turns)
        edges.append(turns ? edge.reversed : edge)
      }
      self.boxes = boxes
      let nodes = boxes.map { LayeredGraph.Node(width: metrics[$0].width, height: metrics[$0].height) }
      layout = LayeredLayout(LayeredGraph(nodes: nodes, edges: edges), spacing: spacing)
    }
  }

  /// How far a line from a box to itself extends from it.
  static let loopWidth = 44.0

  private static func parts(of diagram: Diagram) -> [[Int]] {
    var neighbours = [[Int]](repeating: [], count: diagram.boxes.count)
    for connection in diagram.connections {
      neighbours[connection.from.box].append(connection.to.box)
      neighbours[connection.to.box].append(connection.from.box)
    }
    var isSeen = [Bool](repeating: false, count: diagram.boxes.count)
    var parts: [[Int]] = []
    for start in diagram.boxes.indices where !isSeen[start] {
      isSeen[start] = true
      var part = [start]
      var next = 0
      while next < part.count {
        for neighbour in neighbours[part[next]] where !isSeen[neighbour] {
          isSeen[neighbour] = true
          part.append(neighbour)
        }
        next += 1
      }
      parts.append(part.sorted())
    }
    return parts
  }
}
