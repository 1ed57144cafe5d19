import CDModel

/// The shared state of decoding one file: its text, its version and the collector for diagnostics.
///
/// It is a class because the decoders of one file fill the same tables. It never leaves the call that created it.
final class DecodingContext {
  let source: SourceText
  /// The number of the file's version; 0 for `model.yaml`.
  let version: Int
  let diagnostics: DiagnosticCollector
  var positions: ElementPositions
  /// Elements whose declaration has a reported mistake. Mistakes that only follow from it are not reported.
  var broken: Set<SchemaElement> = []
  /// The file's enumerations and composites. Their names are types.
  var enums: [String: EnumDescription] = [:]
  var compositeNames: Set<String> = []
  var composites: [String: CompositeDescription] = [:]
  var entityNames: Set<String> = []

  init(source: SourceText, version: Int, diagnostics: DiagnosticCollector, positions: ElementPositions) {
    self.source = source
    self.version = version
    self.diagnostics = diagnostics
    self.positions = positions
  }

  func location(_ node: MarkedNode) -> SourceLocation { source.location(at: node.range.lowerBound) }

  /// Reports an error at a node, unless the parser has already refused and reported the node.
  func error(_ node: MarkedNode, _ message: String, suggestion: String? = nil) {
    if node.isRefused { return }
    diagnostics.error(location(node), message, suggestion: suggestion)
  }

  func warning(_ node: MarkedNode, _ message: String) {
    if node.isRefused { return }
    diagnostics.warning(location(node), message)
  }

  /// Records the position of an element's declaration.
  func declare(_ element: SchemaElement, at key: MarkedNode) {
    positions.record(element, nameOffset: key.range.lowerBound, in: source)
  }
}

extension [String] {
  /// Returns the texts as a list for people: "a, b or c".
  func list(lastAfter word: String) -> String {
    guard let last, count > 1 else { return first ?? "" }
    return dropLast().joined(separator: ", ") + " \(word) \(last)"
  }
}
