import CDGenerator

/// Draws a diagram as SVG.
///
/// Coordinates are written as whole numbers, so that the text is the same on every machine.
enum SVGWriter {
  private typealias Point = LayeredLayout.Point

  private static let margin = 24.0
  private static let titleHeight = 34.0
  private static let lineColour = "#57606a"

  static func text(of diagram: Diagram) -> String {
    let layout = DiagramLayout(diagram)
    let titleWidth = BoxMetrics.textWidth(diagram.title) * 1.25
    let width = number(max(layout.width, titleWidth) + 2 * margin)
    let height = number(layout.height + 2 * margin + titleHeight)
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" "
        + "viewBox=\"0 0 \(width) \(height)\" font-size=\"12\" "
        + "font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\">",
      "<title>\(escaped(diagram.title))</title>",
      "<rect width=\"\(width)\" height=\"\(height)\" fill=\"#ffffff\"/>",
      "<text x=\"\(number(margin))\" y=\"\(number(margin + 8))\" font-size=\"15\" font-weight=\"bold\" "
        + "fill=\"#1f2328\">\(escaped(diagram.title))</text>",
      "<g transform=\"translate(\(number(margin)) \(number(margin + titleHeight)))\">",
    ]
    for (connection, route) in zip(diagram.connections, layout.routes) {
      lines += draw(connection, along: route)
    }
    for (index, box) in diagram.boxes.enumerated() {
      lines += draw(box, layout.boxes[index], at: layout.origins[index])
    }
    lines += ["</g>", "</svg>"]
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: Boxes

  private static func draw(_ box: Diagram.Box, _ metrics: BoxMetrics, at origin: Point) -> [String] {
    let width = number(metrics.width)
    let header = number(BoxMetrics.headerHeight)
    let x = number(BoxMetrics.padding)
    var lines = [
      "<g transform=\"translate(\(number(origin.x)) \(number(origin.y)))\">",
      "<rect width=\"\(width)\" height=\"\(number(metrics.height))\" rx=\"4\" fill=\"#ffffff\"/>",
      // The upper corners are round, the lower ones are square.
      "<path d=\"M0 \(header)V4a4 4 0 0 1 4 -4H\(number(metrics.width - 4))a4 4 0 0 1 4 4V\(header)z\" "
        + "fill=\"\(fill(box.kind))\"/>",
      "<rect width=\"\(width)\" height=\"\(number(metrics.height))\" rx=\"4\" fill=\"none\" "
        + "stroke=\"\(lineColour)\"/>",
      "<text x=\"\(x)\" y=\"18\" font-size=\"13\" font-weight=\"bold\" fill=\"#1f2328\">"
        + "\(escaped(box.name))</text>",
    ]
    if let label = box.kind.label {
      lines.append(
        "<text x=\"\(number(metrics.width - BoxMetrics.padding))\" y=\"18\" text-anchor=\"end\" "
          + "font-style=\"italic\" fill=\"\(lineColour)\">\(label)</text>")
    }
    if !box.rows.isEmpty { lines.append("<path d=\"M0 \(header)H\(width)\" stroke=\"\(lineColour)\"/>") }
    for (index, row) in box.rows.enumerated() {
      lines.append(draw(row, metrics, baseline: metrics.offset(of: index) + 4))
    }
    lines.append("</g>")
    return lines
  }

  private static func draw(_ row: Diagram.Row, _ metrics: BoxMetrics, baseline: Double) -> String {
    func span(_ x: Double, _ style: String, _ text: String) -> String {
      text.isEmpty ? "" : "<tspan x=\"\(number(x))\" \(style)>\(escaped(text))</tspan>"
    }
    return "<text y=\"\(number(baseline))\">"
      + span(BoxMetrics.padding, "fill=\"#1f2328\"", row.name)
      + span(metrics.typeColumn, "fill=\"\(row.isRelationship ? "#0550ae" : "#116329")\"", row.type)
      + span(metrics.noteColumn, "fill=\"#6e7781\" font-style=\"italic\"", row.noteText)
      + "</text>"
  }

  private static func fill(_ kind: Diagram.Box.Kind) -> String {
    switch kind {
    case .entity: "#ddf4ff"
    case .abstractEntity: "#eaeef2"
    case .enumeration: "#fff8c5"
    case .composite: "#dafbe1"
    }
  }

  // MARK: Lines

  private static func draw(_ connection: Diagram.Connection, along route: [Point]) -> [String] {
    guard let first = route.first, let last = route.last else { return [] }
    let isLoop = connection.from.box == connection.to.box
    let leadsRight = isLoop || first.x < last.x
    let path = isLoop ? loop(first, last) : curve(route)
    let dashes = connection.kind == .oneSided ? " stroke-dasharray=\"5 4\"" : ""
    let line = "<path d=\"\(path)\" fill=\"none\" stroke=\"\(lineColour)\"\(dashes)/>"
    // The directions in which the line leaves the two boxes.
    let fromSide = leadsRight ? 1.0 : -1.0
    let toSide = isLoop ? 1.0 : -fromSide
    if connection.kind == .inheritance { return [line, triangle(at: first, side: fromSide)] }
    return [
      line, foot(connection.from.multiplicity, at: first, side: fromSide),
      foot(connection.to.multiplicity, at: last, side: toSide),
    ]
  }

  /// The path of a line: level in the columns of boxes, and curved between the columns.
  private static func curve(_ route: [Point]) -> String {
    guard let first = route.first else { return "" }
    var path = "M\(number(first.x)) \(number(first.y))"
    for (start, end) in zip(route, route.dropFirst()) {
      if number(start.y) == number(end.y) {
        path += "H\(number(end.x))"
      } else {
        // The crow's feet need a level part of the line.
        let lead = start.x < end.x ? 18.0 : -18
        let middle = (start.x + end.x) / 2
        path += "H\(number(start.x + lead))C\(number(middle)) \(number(start.y)) "
        path += "\(number(middle)) \(number(end.y)) \(number(end.x - lead)) \(number(end.y))H\(number(end.x))"
      }
    }
    return path
  }

  private static func loop(_ start: Point, _ end: Point) -> String {
    let x = start.x + DiagramLayout.loopWidth
    return "M\(number(start.x)) \(number(start.y))H\(number(start.x + 18))"
      + "C\(number(x)) \(number(start.y)) \(number(x)) \(number(end.y)) "
      + "\(number(end.x + 18)) \(number(end.y))H\(number(end.x))"
  }

  /// A hollow arrowhead that points at the parent.
  private static func triangle(at point: Point, side: Double) -> String {
    let x = number(point.x + side * 12)
    return
      "<path d=\"M\(number(point.x)) \(number(point.y))L\(x) \(number(point.y - 6))V\(number(point.y + 6))z\" "
      + "fill=\"#ffffff\" stroke=\"\(lineColour)\"/>"
  }

  /// Crow's feet: three toes for many, a bar for one, a ring for zero.
  private static func foot(_ multiplicity: Diagram.Multiplicity, at point: Point, side: Double) -> String {
    func x(_ distance: Double) -> String { number(point.x + side * distance) }
    func bar(_ distance: Double) -> String {
      "M\(x(distance)) \(number(point.y - 5))V\(number(point.y + 5))"
    }
    let crow =
      "M\(x(0)) \(number(point.y - 5))L\(x(10)) \(number(point.y))L\(x(0)) \(number(point.y + 5))"
    let path =
      switch multiplicity {
      case .exactlyOne: bar(6) + bar(10)
      case .zeroOrOne: bar(6)
      case .zeroOrMore: crow
      case .oneOrMore: crow + bar(13)
      }
    let stroke = "<path d=\"\(path)\" fill=\"none\" stroke=\"\(lineColour)\"/>"
    guard multiplicity == .zeroOrOne || multiplicity == .zeroOrMore else { return stroke }
    let ring = x(multiplicity == .zeroOrOne ? 11 : 14)
    return stroke
      + "<circle cx=\"\(ring)\" cy=\"\(number(point.y))\" r=\"3.5\" fill=\"#ffffff\" stroke=\"\(lineColour)\"/>"
  }

  private static func number(_ value: Double) -> String { String(Int(value.rounded())) }

  private static func escaped(_ text: String) -> String { MarkupText.escaped(text) }
}
