import CDModel

/// Finds properties that need the same column of a table, although their names differ.
///
/// Names with a dot have three sources. A field of a composite is `attribute.field`. A property that several entities of the
/// table declare is `Entity.property`. The order of a to-many relationship is `reference.position`. A store would keep only one
/// column of a name. SQLite compares names without case.
struct ColumnConflicts {
  struct Conflict {
    /// The name of the column.
    let name: String
    let first: StoredColumn
    let second: StoredColumn
  }

  private let graph: EntityGraph
  private let root: String
  /// The entities of the table.
  private let entities: [EntityDescription]

  init(graph: EntityGraph, root: EntityDescription) {
    self.graph = graph
    self.root = root.name
    entities = [root] + graph.descendants(of: root.name)
  }

  func find() -> [Conflict] {
    guard mayConflict else { return [] }
    let names = ColumnNames(graph)
    var owners: [String: StoredColumn] = [:]
    var conflicts: [Conflict] = []
    for entity in entities {
      for column in graph.columns(of: entity.name) where column.entity == entity.name {
        var needed = [names.name(of: column, root: root)]
        if isOrdered(column) { needed.append(needed[0] + ".position") }
        for name in needed {
          guard let owner = owners[name.lowercased()] else {
            owners[name.lowercased()] = column
            continue
          }
          if !haveSameName(owner, column) {
            conflicts.append(Conflict(name: name, first: owner, second: column))
          }
        }
      }
    }
    return conflicts
  }

  /// A quick test, without which the columns of a large hierarchy would have to be listed.
  ///
  /// Only composites and references have columns with a dot behind their own name. Such a column can equal the column
  /// `Entity.property` only if the property has an entity's name. It can equal another such column only if two properties have
  /// the same name.
  private var mayConflict: Bool {
    let names = Set(entities.map { $0.name.lowercased() })
    var known: Set<String> = []
    for entity in entities {
      let composites = entity.attributes.filter { if case .composite = $0.type { true } else { false } }
      let references = entity.relationships.filter { !$0.isToMany }
      for name in composites.map(\.name) + references.map(\.name) {
        let folded = name.lowercased()
        if names.contains(folded) || !known.insert(folded).inserted { return true }
      }
    }
    return false
  }

  /// Whether the table also holds the order in which the destination has the objects of a reference.
  private func isOrdered(_ column: StoredColumn) -> Bool {
    guard case .relationship(let relationship) = column.property,
      let inverse = graph.inverse(of: relationship, in: column.entity)
    else { return false }
    return inverse.isToMany && inverse.isOrdered
  }

  /// Whether two properties have names that differ only in case, or one name in one entity. Other checks report this.
  private func haveSameName(_ first: StoredColumn, _ second: StoredColumn) -> Bool {
    let (one, other) = (first.property.name, second.property.name)
    return one.lowercased() == other.lowercased()
      && (one != other || graph.isKind(second.entity, of: first.entity))
  }
}
