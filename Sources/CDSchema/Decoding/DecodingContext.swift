import CDModel

/// What the decoding of one file works with: its text, its version and where to report.
///
/// A class because one file's decoders fill the same tables; it never leaves the call that made it.
final class DecodingContext {
  let source: SourceText
  /// The number of the version that the file holds; 0 for `model.yaml`.
  let version: Int
  let diagnostics: DiagnosticCollector
  var positions: ElementPositions
  /// Elements whose declaration has a mistake that was reported. What follows from it is not reported again.
  var broken: Set<ModelElement> = []
  /// The enumerations and composites of the file, whose names are types.
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

  /// Reports an error at a node, unless the node was refused and thereby reported before.
  func error(_ node: MarkedNode, _ message: String, suggestion: String? = nil) {
    if node.isRefused { return }
    diagnostics.error(location(node), message, suggestion: suggestion)
  }

  func warning(_ node: MarkedNode, _ message: String) {
    if node.isRefused { return }
    diagnostics.warning(location(node), message)
  }

  /// Notes where an element is declared.
  func declare(_ element: ModelElement, at key: MarkedNode) {
    positions.record(element, nameOffset: key.range.lowerBound, in: source)
  }
}
