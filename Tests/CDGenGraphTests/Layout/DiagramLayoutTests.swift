import CDGenerator
import CDModel
import Testing

@testable import cdgen_graph

@Suite struct DiagramLayoutTests {
  /// A version with cycles, hubs, inheritance, loops and lonely entities, the same in every run.
  static func version(entities count: Int, relationships: Int) -> ModelVersion {
    var state: UInt64 = 42
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
    var entities = (0..<count).map { index in
      EntityDescription(
        name: "Entity\(index)", parent: index > 5 && random(4) == 0 ? "Entity\(random(index))" : nil,
        attributes: (0..<random(9)).map { AttributeDescription(name: "attribute\($0)", type: .string) })
    }
    for index in 0..<relationships {
      let (from, to) = (random(count), random(count))
      entities[from].relationships.append(
        RelationshipDescription(
          name: "to\(index)", destination: "Entity\(to)", isToMany: random(4) == 0, inverse: "back\(index)"))
      entities[to].relationships.append(
        RelationshipDescription(
          name: "back\(index)", destination: "Entity\(from)", isToMany: random(3) > 0, inverse: "to\(index)"))
    }
    return ModelVersion(number: 1, entities: entities)
  }

  @Test(arguments: [(1, 0), (2, 1), (12, 20), (40, 45), (120, 200)])
  func boxesKeepApartAndLinesEndAtTheirRows(count: Int, relationships: Int) {
    let diagram = Diagram(Self.version(entities: count, relationships: relationships), named: "Test")
    let layout = DiagramLayout(diagram)
    for (index, (origin, box)) in zip(layout.origins, layout.boxes).enumerated() {
      #expect(origin.x >= 0 && origin.y >= 0)
      #expect(origin.x + box.width <= layout.width && origin.y + box.height <= layout.height)
      for other in layout.origins.indices where other > index {
        let (there, size) = (layout.origins[other], layout.boxes[other])
        let isApart =
          origin.x + box.width <= there.x || there.x + size.width <= origin.x
          || origin.y + box.height <= there.y || there.y + size.height <= origin.y
        #expect(isApart, "\(diagram.boxes[index].name) lies over \(diagram.boxes[other].name)")
      }
    }
    for (connection, route) in zip(diagram.connections, layout.routes) {
      #expect(isAtBorder(route.first, connection.from, layout, slack: loopSlack(connection)))
      #expect(isAtBorder(route.last, connection.to, layout, slack: loopSlack(connection)))
    }
  }

  private func loopSlack(_ connection: Diagram.Connection) -> Double {
    connection.from.box == connection.to.box && connection.from.row == connection.to.row ? 5 : 0
  }

  private func isAtBorder(
    _ point: LayeredLayout.Point?, _ end: Diagram.End, _ layout: DiagramLayout, slack: Double
  ) -> Bool {
    guard let point else { return false }
    let (origin, box) = (layout.origins[end.box], layout.boxes[end.box])
    let isAtSide = abs(point.x - origin.x) < 0.01 || abs(point.x - origin.x - box.width) < 0.01
    return isAtSide && abs(point.y - origin.y - box.offset(of: end.row)) < slack + 0.01
  }

  @Test func linesNeverCrossABox() {
    let diagram = Diagram(Self.version(entities: 40, relationships: 45), named: "Test")
    let layout = DiagramLayout(diagram)
    // Only level pieces lie in a column; what crosses a gutter is between columns.
    for route in layout.routes {
      for (start, end) in zip(route, route.dropFirst()) where start.y == end.y {
        let (left, right) = (min(start.x, end.x), max(start.x, end.x))
        for (origin, box) in zip(layout.origins, layout.boxes) {
          let isInside =
            origin.y < start.y && start.y < origin.y + box.height
            && left + 0.01 < origin.x + box.width && origin.x + 0.01 < right
          #expect(!isInside)
        }
      }
    }
  }

  @Test func idealPositionsAreKeptWhereThereIsRoom() {
    let idealPositions = [(top: 0.0, weight: 1.0), (top: 50, weight: 1), (top: 200, weight: 1)]
    #expect(ColumnHeights.separated(idealPositions, gaps: [40, 40]) == [0, 50, 200])
  }

  @Test func itemsThatWouldMeetShareTheDistance() {
    let idealPositions = [(top: 100.0, weight: 1.0), (top: 100, weight: 1), (top: 100, weight: 2)]
    #expect(ColumnHeights.separated(idealPositions, gaps: [40, 40]) == [50, 90, 130])
  }

  @Test func cyclesGetColumnsOfTheirOwn() {
    let node = LayeredGraph.Node(width: 10, height: 10)
    func edge(_ from: Int, _ to: Int) -> LayeredGraph.Edge {
      LayeredGraph.Edge(from: from, to: to, fromOffset: 5, toOffset: 5)
    }
    let graph = LayeredGraph(nodes: [node, node, node], edges: [edge(0, 1), edge(1, 2), edge(2, 0)])
    let (layers, isReversed) = Layering.layers(of: graph, heightLimit: 1000)
    #expect(layers == [0, 1, 2])
    #expect(isReversed == [false, false, true])
  }

  @Test func markupIsEscaped() {
    #expect(MarkupText.escaped("<a href=\"x\">&\u{1}é</a>") == "&lt;a href=&quot;x&quot;&gt;&amp;é&lt;/a&gt;")
  }
}
