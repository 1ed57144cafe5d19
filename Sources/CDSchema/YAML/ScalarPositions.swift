/// Maps places in a scalar's value back to the file.
///
/// The value of a folded, quoted or multi-line scalar is not a piece of the file: breaks became blanks,
/// escapes became characters, indentation went. This reads the scalar's source again in the way that libyaml
/// does and remembers where each scalar of the value came from.
struct ScalarPositions: Sendable {
  /// For each Unicode scalar of the value its offset in the file, and at the end that of the value's end.
  let offsets: [Int]
  /// For each Unicode scalar of the value its offset in the value's UTF-8, and at the end the length of it.
  private let utf8Offsets: [Int]

  /// - Returns: Nil if the source cannot be read to give the value, which would be a defect here; callers
  ///   then use the scalar's own place.
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

  /// The file's offset for an offset in the value's UTF-8. Past the value's end it is that end's.
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
