/// The measures of a drawn box, in pixels.
///
/// Text is set in a monospaced font, whose letters are all about 0.6 of its size wide: so a width can be known
/// without the font.
struct BoxMetrics: Hashable, Sendable {
  private static let rowHeight = 19.0
  static let headerHeight = 27.0
  static let padding = 10.0
  private static let letterWidth = 7.3
  private static let columnGap = 14.0

  var width: Double
  var height: Double
  /// Where the columns of types and of notes start.
  var typeColumn: Double
  var noteColumn: Double

  init(_ box: Diagram.Box) {
    func widest(_ texts: [String]) -> Double { texts.map(Self.textWidth).max() ?? 0 }
    let names = widest(box.rows.map(\.name))
    let types = widest(box.rows.map(\.type))
    let notes = widest(box.rows.map(\.noteText))
    typeColumn = Self.padding + names + Self.columnGap
    noteColumn = typeColumn + types + Self.columnGap
    let rows = notes > 0 ? noteColumn + notes : typeColumn + types
    let label = box.kind.label.map { Self.textWidth($0) + Self.columnGap } ?? 0
    let header = Self.padding + Self.textWidth(box.name) * 1.1 + label
    width = (max(rows, header) + Self.padding).rounded(.up)
    // Room below the last row, none where there is no row.
    height = Self.headerHeight + Self.rowHeight * Double(box.rows.count) + (box.rows.isEmpty ? 0 : 5)
  }

  /// The middle of a row, or of the header, measured from the box's top.
  func offset(of row: Int?) -> Double {
    guard let row else { return Self.headerHeight / 2 }
    return Self.headerHeight + Self.rowHeight * (Double(row) + 0.5) + 2
  }

  /// Letters of East Asia and emoji are two columns wide.
  static func textWidth(_ text: String) -> Double {
    let columns = text.reduce(0) { sum, character in
      guard let scalar = character.unicodeScalars.first else { return sum }
      return sum + (0x1100...0x115F ~= scalar.value || scalar.value >= 0x2E80 ? 2 : 1)
    }
    return Double(columns) * letterWidth
  }
}

extension Diagram.Row {
  /// What stands in the column of notes.
  var noteText: String {
    ((isUnique ? ["unique"] : []) + notes).joined(separator: ", ")
  }
}
