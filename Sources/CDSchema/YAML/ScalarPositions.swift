/// Maps positions in a scalar's value to positions in the file.
///
/// The value of a folded, quoted or multi-line scalar differs from its text in the file: line breaks become spaces,
/// escapes become characters, and indentation is removed. This type reads the scalar's source again, as libyaml does,
/// and records the origin of each Unicode scalar of the value.
struct ScalarPositions: Sendable {
  /// The offset in the file of each Unicode scalar of the value, followed by the offset of the value's end.
  let offsets: [Int]
  /// The offset in the value's UTF-8 of each Unicode scalar of the value, followed by the total length.
  private let utf8Offsets: [Int]

  /// - Returns: Nil if reading the source again does not give the value. That would be a bug; callers then use the
  ///   scalar's own position.
  init?(_ node: MarkedNode, in source: SourceText) {
    guard case .scalar(let value, let style) = node.content else { return nil }
    guard let offsets = ScalarScanner.offsets(of: value, style: style, range: node.range, in: source)
    else { return nil }
    self.offsets = offsets
    var lengths = [0]
    var length = 0
    for scalar in value.unicodeScalars {
      length += UTF8.width(scalar)
      lengths.append(length)
    }
    utf8Offsets = lengths
  }

  /// The offset in the file for an offset in the value's UTF-8. An offset after the value's end gives the end.
  func sourceOffset(utf8Offset: Int) -> Int {
    var low = 0
    var high = utf8Offsets.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if utf8Offsets[middle] <= utf8Offset { low = middle } else { high = middle }
    }
    return offsets[low]
  }
}
