import CDModel

/// Checks the inheritance of entities: parents, circles, depth, abstract entities without concrete ones, and the columns of
/// the tables that entities share.
struct InheritanceValidator {
  private let report: VersionReport
  private let version: ModelVersion
  private let graph: EntityGraph
  private let circles: InheritanceCircles
  /// The number of ancestors of each entity, by the entity's index.
  private let depths: [Int]

  init(_ report: VersionReport, circles: InheritanceCircles) {
    self.report = report
    version = report.version
    graph = report.graph
    self.circles = circles
    depths = report.graph.depths
  }

  func validate() {
    for entity in version.entities {
      guard let parent = entity.parent else { continue }
      if parent == entity.name {
        report.error(report.entityElement(entity), "parent", "'\(parent)' cannot be its own parent")
      } else if graph.entity(parent) == nil {
        report.unknownEntity(parent, report.entityElement(entity), "parent")
      }
    }
    for circle in circles.all {
      guard let first = circle.first, circle.count > 1 else { continue }
      report.error(
        report.entityElement(first), "parent",
        "entities cannot inherit in a circle: \(VersionReport.path(circle.map(\.name) + [first.name]))")
    }
    validateDepths()
    if isTooDeep { return }
    for entity in version.entities where entity.isAbstract && !circles.contains(entity) {
      if graph.descendants(of: entity.name).allSatisfy(\.isAbstract) {
        report.warning(
          report.entityElement(entity), "abstract",
          "'\(entity.name)' is abstract and no entity below it is concrete, so there can be no objects of it")
      }
    }
  }

  /// Whether an entity has more ancestors than allowed. Checks of inherited properties would then take too long.
  var isTooDeep: Bool { depths.contains { $0 > EntityGraph.mostAncestors } }

  /// The most columns of a table in SQLite, unless it is built otherwise.
  private static let mostColumns = 2_000

  /// Reports the hierarchies whose table needs more columns than SQLite allows. A file of another format has the same tables
  /// while it is open.
  func validateColumnCounts() {
    guard circles.all.isEmpty else { return }
    let fields = version.composites.map(\.fields.count).max() ?? 0
    // The columns are listed only if there may be too many, because a long list takes long.
    let roots = version.entities.filter { root in
      guard root.parent == nil else { return false }
      let entities = [root] + graph.descendants(of: root.name)
      // Each reference may need a second column for the position.
      let most = entities.reduce(3) { count, entity in
        count + entity.relationships.count * 2
          + entity.attributes.reduce(0) { count, attribute in
            if case .composite = attribute.type { count + fields } else { count + 1 }
          }
      }
      return most > Self.mostColumns
    }
    if roots.isEmpty { return }
    let tables = ServerTable.all(of: graph)
    for root in roots {
      guard let count = tables.first(where: { $0.element == .entity(root.name) })?.columns.count,
        count > Self.mostColumns
      else { continue }
      report.mistake(
        report.entityElement(root), nil,
        "'\(root.name)' and its subentities need a table of \(count) columns, but SQLite allows "
          + "\(Self.mostColumns); move properties to other entities")
    }
  }

  /// Reports the first entity that is too deep, but not its subentities.
  private func validateDepths() {
    for (entity, depth) in zip(version.entities, depths)
    where depth == EntityGraph.mostAncestors + 1 && !circles.contains(entity) {
      report.error(
        report.entityElement(entity), "parent",
        "'\(entity.name)' has more than \(EntityGraph.mostAncestors) ancestors, which is the maximum; "
          + "let the entity inherit from an entity higher up")
    }
  }
}

/// The cycles of entities that inherit from each other.
struct InheritanceCircles {
  /// Each cycle along the parents, starting at the entity that is declared first.
  private(set) var all: [[EntityDescription]] = []
  private var names: Set<String> = []

  init(_ graph: EntityGraph) {
    // The walk that first visited each entity. A walk that reaches its own entity again has found a cycle.
    var walks: [String: Int] = [:]
    for (number, start) in graph.version.entities.enumerated() {
      var path: [EntityDescription] = []
      var next = graph.entity(start.name)
      while let entity = next, walks[entity.name] == nil {
        walks[entity.name] = number
        path.append(entity)
        next = entity.parent.flatMap { graph.entity($0) }
      }
      guard let end = next, walks[end.name] == number,
        let place = path.firstIndex(where: { $0.name == end.name })
      else { continue }
      all.append(Array(path[place...]))
      names.formUnion(path[place...].map(\.name))
    }
    // A walk may enter a cycle at any of its entities, so each cycle is rotated to start at the one that is declared
    // first.
    guard !all.isEmpty else { return }
    let order = Dictionary(
      zip(graph.version.entities.map(\.name), 0...), uniquingKeysWith: { first, _ in first })
    func place(_ entity: EntityDescription) -> Int { order[entity.name] ?? 0 }
    all = all.map { circle in
      let first = circle.indices.min { place(circle[$0]) < place(circle[$1]) } ?? 0
      return Array(circle[first...] + circle[..<first])
    }
    .sorted { left, right in place(left[0]) < place(right[0]) }
  }

  func contains(_ entity: EntityDescription) -> Bool { names.contains(entity.name) }
}
