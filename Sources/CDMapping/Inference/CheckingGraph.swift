import CDModel

/// The source version for checking the rules of a step. It also contains the destination's enumerations, so that a rule
/// can name the cases of a new value.
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

  /// Returns a type of the destination with its name in ``graph``.
  func type(_ type: AttributeType) -> AttributeType {
    guard case .enumeration(let name) = type, let each = destination.enumeration(name),
      !Self.isSame(each, source.enumeration(name))
    else { return type }
    return .enumeration(Self.alias(name, destination.version.number))
  }

  private static func isSame(_ left: EnumDescription, _ right: EnumDescription?) -> Bool {
    left.rawType == right?.rawType && left.cases == right?.cases
  }

  /// The name contains spaces, so it cannot be the name of another enumeration.
  private static func alias(_ name: String, _ version: Int) -> String { "\(name) of version \(version)" }
}
