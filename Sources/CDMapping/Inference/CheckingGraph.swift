import CDModel

/// The source version as the rules of a step see it: with the destination's enumerations beside its own, so
/// that a rule can name the cases that a value is to have.
struct CheckingGraph {
  let graph: EntityGraph
  private let source: EntityGraph
  private let destination: EntityGraph

  init(source: EntityGraph, destination: EntityGraph) {
    var version = source.version
    for each in destination.version.enums where !Self.isSame(each, source.enumeration(each.name)) {
      var copy = each
      copy.name = Self.alias(each.name, destination.version.number)
      version.enums.append(copy)
    }
    graph = EntityGraph(version)
    self.source = source
    self.destination = destination
  }

  /// A type of the destination as it is called in ``graph``.
  func type(_ type: AttributeType) -> AttributeType {
    guard case .enumeration(let name) = type, let each = destination.enumeration(name),
      !Self.isSame(each, source.enumeration(name))
    else { return type }
    return .enumeration(Self.alias(name, destination.version.number))
  }

  private static func isSame(_ left: EnumDescription, _ right: EnumDescription?) -> Bool {
    left.rawType == right?.rawType && left.cases == right?.cases
  }

  /// No name of a model has blanks.
  private static func alias(_ name: String, _ version: Int) -> String { "\(name) of version \(version)" }
}
