/// Where each element of a loaded model was written, and each value that belongs to it.
///
/// A key names a value of the element as the schema language does: `type`, `inverse`, `where`. An element of
/// a list has its place behind it, the first being 0: `sort[1]`, `basedOn[0]`.
public struct ElementPositions: Sendable {
  struct Place: Sendable {
    var source: SourceText
    /// The offset of the element's name.
    var nameOffset: Int
    var values: [String: MarkedNode] = [:]
  }

  private var places: [ModelElement: Place] = [:]

  init() {}

  // MARK: Asking

  /// The place of an element's name; nil for an element that the files do not have.
  public subscript(_ element: ModelElement) -> SourceLocation? {
    places[element].map { $0.source.location(at: $0.nameOffset) }
  }

  /// The place of a value of an element; nil where the element has no such value.
  public subscript(_ element: ModelElement, key: String) -> SourceLocation? {
    guard let place = places[element], let node = place.values[key] else { return nil }
    return place.source.location(at: node.range.lowerBound)
  }

  /// The place nearest to a value that there is: the value's, else its element's, else that of the element
  /// around it. Nil only where not even `model.yaml` was read.
  public func nearest(to element: ModelElement, key: String? = nil) -> SourceLocation? {
    if let key, let location = self[element, key] { return location }
    var next: ModelElement? = element
    while let current = next {
      if let location = self[current] { return location }
      next = current.container
    }
    return nil
  }

  /// The place of a character within a value that is a text, such as an expression, however it was quoted
  /// or folded.
  ///
  /// - Parameter utf8Offset: An offset in the UTF-8 of the text's value.
  public func location(
    of element: ModelElement, key: String, utf8Offset: Int
  ) -> SourceLocation? {
    guard let place = places[element], let node = place.values[key] else { return nil }
    return place.source.location(in: node, utf8Offset: utf8Offset)
  }

  // MARK: Recording

  mutating func record(_ element: ModelElement, nameOffset: Int, in source: SourceText) {
    // Of two declarations with one name the first counts, here as in the model.
    if places[element] == nil { places[element] = Place(source: source, nameOffset: nameOffset) }
  }

  mutating func record(_ node: MarkedNode, as key: String, of element: ModelElement) {
    if places[element]?.values[key] == nil { places[element]?.values[key] = node }
  }

  func node(of element: ModelElement, key: String) -> MarkedNode? { places[element]?.values[key] }
}

extension SourceText {
  /// The place of a character within a scalar's value; the scalar's own place where that is not known.
  func location(in node: MarkedNode, utf8Offset: Int) -> SourceLocation {
    guard let positions = ScalarPositions(node, in: self) else {
      return location(at: node.range.lowerBound)
    }
    return location(at: positions.sourceOffset(utf8Offset: utf8Offset))
  }
}
