import CDGenerator

/// The dimensions of a drawn box, in pixels.
///
/// The text uses a monospaced font. The width of its letters is about 0.6 times their size, so widths can be computed
/// without the font.
struct BoxMetrics: Hashable, Sendable {
  private static let rowHeight = 19.0
  static let headerHeight = 27.0
  static let padding = 10.0
  private static let letterWidth = 7.3
  private static let columnGap = 14.0

  var width: Double
  var height: Double
  /// The positions of the columns for types and notes.
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
    // There is a small space below the last row, if there are rows.
    height = Self.headerHeight + Self.rowHeight * Double(box.rows.count) + (box.rows.isEmpty ? 0 : 5)
  }

  /// The vertical centre of a row, or of the header, measured from the top of the box.
  func offset(of row: Int?) -> Double {
    guard let row else { return Self.headerHeight / 2 }
    return Self.headerHeight + Self.rowHeight * (Double(row) + 0.5) + 2
  }

  /// The width of a text. East Asian characters and emoji count as two columns.
  static func textWidth(_ text: String) -> Double {
    let columns = text.reduce(0) { sum, character in
      guard let scalar = character.unicodeScalars.first else { return sum }
      return sum + (0x1100...0x115F ~= scalar.value || scalar.value >= 0x2E80 ? 2 : 1)
    }
    return Double(columns) * letterWidth
  }
}

extension Diagram.Row {
  /// The text in the column of notes.
  var noteText: String {
    ((isUnique ? ["unique"] : []) + notes).joined(separator: ", ")
  }
}
