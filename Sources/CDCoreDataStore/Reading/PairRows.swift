import CDModel
import CDRuntime

/// The pairs of a relationship that the new store keeps in a join table.
struct PairRows {
  private let name: String
  private let entity: String
  private let relationship: String
  private let statement: SourceStatement
  private let sourceKinds: Set<Int64>
  private let targetKinds: Set<Int64>
  /// The statement's columns with the positions that the new store needs.
  private let positions: [Int]
  /// Whether the source is a join table, whose rows have both keys.
  private let isJoin: Bool
  private(set) var row: [StoreValue]?

  /// Prepares the statement. Nil if the source does not store the relationship.
  init?(_ table: StoreTable, _ reading: StoreReading) throws(CoreDataStoreError) {
    let layout = reading.layout
    name = table.name
    guard let pairs = layout.pairs[name], let dot = name.lastIndex(of: ".") else { return nil }
    entity = String(name[..<dot])
    relationship = String(name[name.index(after: dot)...])
    guard case .relationship(let description)? = layout.graph.property(relationship, of: entity),
      let sourceTable = layout.table(of: entity), let targetTable = layout.table(of: description.destination)
    else { return nil }
    func kinds(_ entity: String) -> Set<Int64> {
      Set(([entity] + layout.graph.descendants(of: entity).map(\.name)).compactMap { layout.numbers[$0] })
    }
    sourceKinds = kinds(entity)
    targetKinds = kinds(description.destination)
    let inverse = layout.graph.inverse(of: description, in: entity)
    isJoin = pairs.target != "Z_PK"
    let isReflexive = inverse == description && description.destination == entity
    let (source, target) = (SQLText.quoted(pairs.source), SQLText.quoted(pairs.target))
    let from = SQLText.quoted(pairs.table)
    let position = pairs.position.map(SQLText.quoted) ?? "NULL"
    let inversePosition = pairs.inversePosition.map(SQLText.quoted) ?? "NULL"
    var rows = "SELECT \(source) s, \(target) t, \(position) p, \(inversePosition) i FROM \(from) NOT INDEXED"
    // The new store keeps both directions of a relationship that is its own inverse. The source has one or both, and
    // each direction has its own position. A join is quick without an index too, unlike a condition on a subquery.
    if isReflexive {
      let place = pairs.position == nil ? "NULL" : "a.\(position)"
      rows +=
        " UNION ALL SELECT a.\(target), a.\(source), \(place), NULL FROM \(from) a NOT INDEXED LEFT JOIN \(from) b "
        + "ON b.\(source) = a.\(target) AND b.\(target) = a.\(source) WHERE b.\(source) IS NULL"
    }
    func kind(_ entity: String, _ table: String, _ key: String) -> String {
      "(SELECT \(layout.number(ofRow: "d", in: entity)) FROM \(SQLText.quoted(table)) d WHERE d.Z_PK = r.\(key))"
    }
    statement = try reading.database.statement(
      "SELECT r.s, r.t, r.p, r.i, \(kind(entity, sourceTable, "s")), \(kind(description.destination, targetTable, "t")) FROM (\(rows)) r"
    )
    positions = table.columns.dropFirst(2).map { $0.name == "_position" ? 2 : 3 }
  }

  /// Moves to the next pair. Returns false if there is none.
  mutating func next(_ report: inout ReadingReport) throws(CoreDataStoreError) -> Bool {
    row = nil
    guard try statement.step() else { return false }
    let (source, target) = (statement.value(0), statement.value(1))
    // As in a reference, 0 means no object.
    if !isJoin, source == .null || source == .integer(0) { return true }
    guard case .integer(let sourceKey) = source, case .integer(let targetKey) = target else {
      report.lose(entity, nil, relationship, "a pair has no number of an object")
      return true
    }
    guard let sourceKind = statement.integer(4), sourceKinds.contains(sourceKind) else {
      report.lose(
        entity, sourceKey, relationship, "the object of a pair does not exist, or has another entity")
      return true
    }
    guard let targetKind = statement.integer(5), targetKinds.contains(targetKind) else {
      report.lose(
        entity, sourceKey, relationship,
        "its object p\(targetKey) does not exist, or has an entity that the relationship does not allow")
      return true
    }
    var values: [StoreValue] = [.integer(sourceKey), .integer(targetKey)]
    for column in positions {
      switch statement.value(column) {
      case .integer(let place): values.append(.integer(place))
      case .null: values.append(.null)
      case let other:
        report.lose(entity, sourceKey, relationship, "\(other.kind), which is not a position in an order")
        values.append(.null)
      }
    }
    row = values
    return true
  }
}
