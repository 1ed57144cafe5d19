import CDModel

/// The tables and columns in which a Core Data store keeps the entities and properties of a model's version.
struct StoreLayout {
  /// A property, or a field of a composite, with the entity that declares it.
  struct Property: Hashable {
    var entity: String
    var name: String
    var field: String?
  }

  /// The table and columns that hold the pairs of a relationship.
  struct Pairs {
    var table: String
    /// The columns with the keys of the relationship's owners and of its destination objects.
    var source: String
    var target: String
    /// The columns with the positions in the relationship's order and in its inverse's order.
    var position: String?
    var inversePosition: String?
  }

  var version: ModelVersion
  var graph: EntityGraph
  /// The tables of the root entities, by the roots' names in the model.
  var tables: [String: String] = [:]
  /// The numbers of the entities, by their names in the model.
  var numbers: [String: Int64] = [:]
  /// The entities that have a table of their own. All rows of the table are their objects.
  var alone: Set<String> = []
  /// The columns, with the names as they are written in the file.
  var columns: [Property: String] = [:]
  /// The columns with the positions in the orders of inverses, by the to-one relationship.
  var positions: [Property: String] = [:]
  /// The tables of pairs by `Entity.relationship`, for both sides.
  var pairs: [String: Pairs] = [:]
  /// The root entities whose objects the store holds.
  var roots: Set<String> = []
  /// The empty tables and columns that no property uses.
  var emptyColumns: [String] = []

  init(_ graph: EntityGraph) {
    version = graph.version
    self.graph = graph
  }

  /// The names of the model's entities, by their numbers.
  var names: [Int64: String] {
    Dictionary(numbers.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
  }

  /// SQL for the number of a row's entity.
  ///
  /// - Parameters:
  ///   - row: The row's alias in SQL.
  ///   - entity: An entity whose objects are in the row's table.
  func number(ofRow row: String, in entity: String) -> String {
    if alone.contains(entity), let number = numbers[entity] { return "\(number)" }
    return row + ".Z_ENT"
  }

  func table(of entity: String) -> String? { graph.root(of: entity).flatMap { tables[$0.name] } }
}
