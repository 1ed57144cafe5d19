public import CDModel

/// A text form of an entity-relationship diagram.
public enum GraphFormat: String, CaseIterable, Sendable {
  /// A Mermaid `erDiagram`, which many code hosts draw inside Markdown.
  case mermaid
  /// A graph in Graphviz's language.
  case dot

  /// Draws a version of a model: a box for each entity, enumeration and composite, an arrow from an entity to its
  /// parent, and a line for each relationship and its inverse, with crow's feet.
  ///
  /// The same version gives the same text on every machine. A relationship whose destination is missing in the version
  /// has no line.
  ///
  /// - Parameters:
  ///   - version: The version. It may contain mistakes.
  ///   - name: The model's name, for the title.
  public func text(of version: ModelVersion, named name: String) -> String {
    let diagram = Diagram(version, named: name)
    return switch self {
    case .mermaid: MermaidWriter.text(of: diagram)
    case .dot: DOTWriter.text(of: diagram)
    }
  }
}
