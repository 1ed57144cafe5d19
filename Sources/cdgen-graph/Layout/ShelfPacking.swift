/// Arranges rectangles in rows: from left to right while there is space, then in the next row below.
enum ShelfPacking {
  /// - Parameters:
  ///   - sizes: The sizes of the rectangles.
  ///   - width: The width of the rows. A wider rectangle has a row of its own.
  ///   - spacing: The distance between rectangles and between rows.
  /// - Returns: The top left corners, in the order of the sizes. Higher rectangles are placed first.
  static func origins(
    of sizes: [(width: Double, height: Double)], width: Double, spacing: Double
  ) -> [LayeredLayout.Point] {
    var origins = [LayeredLayout.Point](repeating: .init(x: 0, y: 0), count: sizes.count)
    let order = sizes.indices.sorted { (-sizes[$0].height, $0) < (-sizes[$1].height, $1) }
    var x = 0.0
    var y = 0.0
    var shelf = 0.0
    for index in order {
      let size = sizes[index]
      if x > 0, x + size.width > width {
        x = 0
        y += shelf + spacing
        shelf = 0
      }
      origins[index] = .init(x: x, y: y)
      x += size.width + spacing
      shelf = max(shelf, size.height)
    }
    return origins
  }
}
