import CDModel

/// The positions of all elements of a loaded model and of their values.
///
/// A key identifies a value of an element by its name in the schema language: `type`, `inverse`, `where`. An element of
/// a list also has its index, counted from 0: `sort[1]`, `basedOn[0]`.
package struct ElementPositions: Sendable {
  struct Entry: Sendable {
    var source: SourceText
    /// The offset of the element's name.
    var nameOffset: Int
    var values: [String: MarkedNode] = [:]
  }

  private var entries: [SchemaElement: Entry] = [:]

  init() {}

  // MARK: Lookup

  /// The position of an element's name; nil for an element that is not in the files.
  package subscript(_ element: SchemaElement) -> SourceLocation? {
    entries[element].map { $0.source.location(at: $0.nameOffset) }
  }

  /// The position of an element's value; nil if the element has no such value.
  package subscript(_ element: SchemaElement, key: String) -> SourceLocation? {
    guard let entry = entries[element], let node = entry.values[key] else { return nil }
    return entry.source.location(at: node.range.lowerBound)
  }

  /// The nearest known position of a value: its own, or else that of its element, or else that of the enclosing
  /// element. Nil only if not even `model.yaml` was read.
  package func nearest(to element: SchemaElement, key: String? = nil) -> SourceLocation? {
    if let key, let location = self[element, key] { return location }
    var next: SchemaElement? = element
    while let current = next {
      if let location = self[current] { return location }
      next = current.container
    }
    return nil
  }

  /// The position of a character within a text value, such as an expression. Quotes and folded lines are taken into
  /// account.
  ///
  /// - Parameters:
  ///   - element: The element with the value.
  ///   - key: The key of the value.
  ///   - utf8Offset: An offset in the UTF-8 of the value.
  package func location(
    of element: SchemaElement, key: String, utf8Offset: Int
  ) -> SourceLocation? {
    guard let entry = entries[element], let node = entry.values[key] else { return nil }
    return entry.source.location(in: node, utf8Offset: utf8Offset)
  }

  // MARK: Recording

  mutating func record(_ element: SchemaElement, nameOffset: Int, in source: SourceText) {
    // If two declarations have the same name, the first counts, as in the model.
    if entries[element] == nil { entries[element] = Entry(source: source, nameOffset: nameOffset) }
  }

  mutating func record(_ node: MarkedNode, as key: String, of element: SchemaElement) {
    if entries[element]?.values[key] == nil { entries[element]?.values[key] = node }
  }

  func node(of element: SchemaElement, key: String) -> MarkedNode? { entries[element]?.values[key] }
}

extension SourceText {
  /// The position of a character within a scalar's value. If it is unknown, the scalar's own position.
  func location(in node: MarkedNode, utf8Offset: Int) -> SourceLocation {
    guard let positions = ScalarPositions(node, in: self) else {
      return location(at: node.range.lowerBound)
    }
    return location(at: positions.sourceOffset(utf8Offset: utf8Offset))
  }
}

extension ElementPositions {
  /// The position of an element of a version, or else of the nearest enclosing element. Indexes and unique constraints
  /// as a whole have the position of their key.
  func location(of element: ModelElement, version: Int) -> SourceLocation? {
    switch element {
    case .bases: nearest(to: .version(version), key: "key:basedOn")
    case .indexes(let entity): nearest(to: .part(.entity(entity), version: version), key: "key:indexes")
    case .uniquenessConstraints(let entity):
      nearest(to: .part(.entity(entity), version: version), key: "key:unique")
    default: nearest(to: .part(element, version: version))
    }
  }
}
