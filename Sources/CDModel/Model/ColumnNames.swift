/// The names of columns in the tables of inheritance roots.
///
/// A column has the name of its property, or `property.field`. If several entities of one table, none of them an
/// ancestor of another, declare the same name (compared without case, as SQLite does), each of their columns is named
/// `Entity.name`.
package struct ColumnNames {
  private var shared: Set<String> = []

  package init(_ graph: EntityGraph) {
    var owners: [String: Set<String>] = [:]
    for entity in graph.version.entities {
      guard let root = graph.root(of: entity.name) else { continue }
      for column in graph.columns(of: entity.name) {
        owners[Self.key(root.name, column.name), default: []].insert(column.entity)
      }
    }
    shared = Set(owners.filter { $0.value.count > 1 }.keys)
  }

  package func name(of column: StoredColumn, root: String) -> String {
    shared.contains(Self.key(root, column.name)) ? "\(column.entity).\(column.name)" : column.name
  }

  private static func key(_ root: String, _ column: String) -> String {
    "\(root)\u{0}\(column.lowercased())"
  }
}
