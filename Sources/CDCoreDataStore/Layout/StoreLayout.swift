import CDModel

/// Where a store of Core Data keeps what a version of a model declares.
struct StoreLayout {
  /// A property, or a field of one, by the entity that declares it.
  struct Property: Hashable {
    var entity: String
    var name: String
    var field: String?
  }

  /// Where the pairs of a relationship are.
  struct Pairs {
    var table: String
    /// The keys of the objects that have the relationship, and of those that it leads to.
    var source: String
    var target: String
    /// The places in the relationship's order, and in that of its inverse.
    var position: String?
    var inversePosition: String?
  }

  var version: ModelVersion
  var graph: EntityGraph
  /// The tables of the roots, by the roots' names in the model.
  var tables: [String: String] = [:]
  /// The numbers of the entities, by their names in the model.
  var numbers: [String: Int64] = [:]
  /// The entities that have a table of their own, all of whose rows are their objects.
  var alone: Set<String> = []
  /// The columns, as they are written in the file.
  var columns: [Property: String] = [:]
  /// The columns with the places in the orders of inverses, by the to-one relationship.
  var positions: [Property: String] = [:]
  /// By `Entity.relationship`, for either side.
  var pairs: [String: Pairs] = [:]
  /// The roots whose objects the store holds.
  var roots: Set<String> = []
  /// Columns that no property has and that hold nothing, with their tables.
  var emptyColumns: [String] = []

  init(_ graph: EntityGraph) {
    version = graph.version
    self.graph = graph
  }

  /// The names of the model's entities by their numbers.
  var names: [Int64: String] {
    Dictionary(numbers.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
  }

  /// What gives the number of the entity that a row is of, in SQL.
  ///
  /// - Parameters:
  ///   - row: What the row is called there.
  ///   - entity: One that has its objects in the row's table.
  func number(ofRow row: String, in entity: String) -> String {
    if alone.contains(entity), let number = numbers[entity] { return "\(number)" }
    return row + ".Z_ENT"
  }

  func table(of entity: String) -> String? { graph.root(of: entity).flatMap { tables[$0.name] } }
}

/// The names that a model of Xcode gave: an import that had to change one has kept it.
enum StoredName {
  static func of(_ entity: EntityDescription) -> String { name(entity.name, entity.info) }
  static func of(_ attribute: AttributeDescription) -> String { name(attribute.name, attribute.info) }
  static func of(_ relationship: RelationshipDescription) -> String {
    name(relationship.name, relationship.info)
  }

  private static func name(_ name: String, _ info: [String: String]) -> String {
    info["xcode.name"] ?? name
  }

  /// A relationship that Core Data does not store, and cdgen does.
  static func isTransient(_ relationship: RelationshipDescription) -> Bool {
    relationship.info["xcode.transient"] == "YES"
  }
}
