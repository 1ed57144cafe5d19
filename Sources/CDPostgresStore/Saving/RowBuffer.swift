import CDModel
@_spi(Generated) import CDRuntime

/// The rows that a save has given to its session and that have not been sent yet.
///
/// Rows of the same kind go to the server together, as arrays of one statement.
struct RowBuffer {
  /// Rows of one entity that get values in the same columns.
  struct Group {
    let entity: EntityPlan
    /// The columns, by their numbers in the entity.
    let columns: [Int]
    fileprivate(set) var keys: [ObjectKey] = []
    /// The versions that the rows must have; none for new rows.
    fileprivate(set) var versions: [Int64] = []
    /// The values of each row, one row after another.
    fileprivate(set) var values: [AttributeValue] = []

    /// The values of a column, in the order of the rows.
    func values(ofColumn index: Int) -> [AttributeValue] {
      stride(from: index, to: values.count, by: columns.count).map { values[$0] }
    }
  }

  /// Pairs of a join table.
  struct Pairs {
    fileprivate(set) var sources: [ObjectKey] = []
    fileprivate(set) var targets: [ObjectKey] = []

    fileprivate mutating func add(_ source: ObjectKey, _ target: ObjectKey) {
      sources.append(source)
      targets.append(target)
    }
  }

  /// Positions of a relationship's objects.
  struct Positions {
    let relationship: RelationshipPlan
    let isNew: Bool
    fileprivate(set) var positions: [Int64] = []
    fileprivate(set) var owners: [ObjectKey] = []
    fileprivate(set) var members: [ObjectKey] = []
  }

  private struct UpdateKind: Hashable {
    let entity: Int
    let changed: SlotSet
  }

  private(set) var deletes: [Group] = []
  private(set) var updates: [Group] = []
  private(set) var inserts: [Group] = []
  /// The versions of new rows that continue those of former rows.
  private(set) var versions: [Group] = []
  private(set) var removedPairs: [(join: Int, pairs: Pairs)] = []
  private(set) var addedPairs: [(join: Int, pairs: Pairs)] = []
  private(set) var positions: [Positions] = []
  private var updateIndices: [UpdateKind: Int] = [:]
  /// The number of rows, pairs and positions.
  private(set) var count = 0
  /// The number of bytes of the texts and data.
  private var size = 0

  var isEmpty: Bool { count == 0 }

  /// Whether the rows should be sent before there are more. The values of a column are one parameter of a statement, and
  /// the server accepts no message above a gigabyte.
  var isFull: Bool { count >= InsertedColumns.mostRows || size >= InsertedColumns.mostBytes }

  private static func index(of entity: EntityPlan, _ columns: [Int], in groups: inout [Group]) -> Int {
    if let index = groups.lastIndex(where: { $0.entity === entity }) { return index }
    groups.append(Group(entity: entity, columns: columns))
    return groups.count - 1
  }

  mutating func delete(_ entity: EntityPlan, _ key: ObjectKey, version: Int64) {
    let index = Self.index(of: entity, [], in: &deletes)
    deletes[index].keys.append(key)
    deletes[index].versions.append(version)
    count += 1
  }

  mutating func insert(_ entity: EntityPlan, _ key: ObjectKey, _ values: [AttributeValue]) {
    let index = Self.index(of: entity, Array(entity.columns.indices), in: &inserts)
    inserts[index].keys.append(key)
    inserts[index].values += values
    count += 1
    size += values.reduce(0) { $0 + $1.size }
  }

  mutating func setVersion(_ version: Int64, of entity: EntityPlan, _ key: ObjectKey) {
    let index = Self.index(of: entity, [], in: &versions)
    versions[index].keys.append(key)
    versions[index].versions.append(version)
    count += 1
  }

  mutating func update(
    _ entity: EntityPlan, _ changed: SlotSet, _ columns: [Int], _ key: ObjectKey, version: Int64,
    _ values: [AttributeValue]
  ) {
    let kind = UpdateKind(entity: entity.index, changed: changed)
    let index = updateIndices[kind] ?? updates.count
    if index == updates.count {
      updateIndices[kind] = index
      updates.append(Group(entity: entity, columns: columns))
    }
    updates[index].keys.append(key)
    updates[index].versions.append(version)
    updates[index].values += values
    count += 1
    size += values.reduce(0) { $0 + $1.size }
  }

  mutating func removePairs(ofJoin join: Int, _ source: ObjectKey, _ targets: [ObjectKey]) {
    Self.add(join, source, targets, to: &removedPairs)
    count += targets.count
  }

  mutating func addPairs(ofJoin join: Int, _ source: ObjectKey, _ targets: [ObjectKey]) {
    Self.add(join, source, targets, to: &addedPairs)
    count += targets.count
  }

  private static func add(
    _ join: Int, _ source: ObjectKey, _ targets: [ObjectKey], to list: inout [(join: Int, pairs: Pairs)]
  ) {
    if targets.isEmpty { return }
    let index = list.firstIndex { $0.join == join } ?? list.count
    if index == list.count { list.append((join, Pairs())) }
    for target in targets { list[index].pairs.add(source, target) }
  }

  mutating func setPosition(
    _ position: Int64, of member: ObjectKey, _ relationship: RelationshipPlan, of owner: ObjectKey,
    isNew: Bool
  ) {
    let index =
      positions.firstIndex { $0.relationship === relationship && $0.isNew == isNew } ?? positions.count
    if index == positions.count { positions.append(Positions(relationship: relationship, isNew: isNew)) }
    positions[index].positions.append(position)
    positions[index].owners.append(owner)
    positions[index].members.append(member)
    count += 1
  }
}

/// The statements that send the rows of a buffer.
struct RowStatements {
  let model: ModelPlan
  let sql: ModelSQL

  static let nextVersion = "_version = (t0._version + 1) & 4294967295"

  /// A statement, with the number of rows that it must change; nil for any number.
  typealias Sent = (statement: PostgresStatement, expected: Int?)

  private func table(_ entity: EntityPlan) -> String { sql.dialect.table(entity.table) }

  func delete(_ group: RowBuffer.Group) -> Sent {
    (
      PostgresStatement(
        "DELETE FROM \(table(group.entity)) AS t0 USING unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) "
          + "AS v(k, n) WHERE t0._pk = v.k AND t0._version = v.n",
        [.keys(group.keys), .keys(group.versions)]), group.keys.count
    )
  }

  func update(_ group: RowBuffer.Group) -> Sent {
    let columns = group.columns.map { group.entity.columns[$0] }
    let types = columns.map { PostgresType($0.storageType) }
    let arrays = ["CAST(? AS bigint[])", "CAST(? AS bigint[])"] + types.map { "CAST(? AS \($0.name)[])" }
    let names = ["k", "n"] + columns.indices.map { "c\($0)" }
    let assignments = columns.enumerated().map { "\(SQLText.quoted($0.element.name)) = v.c\($0.offset)" }
    return (
      PostgresStatement(
        "UPDATE \(table(group.entity)) AS t0 SET "
          + (assignments + [Self.nextVersion]).joined(separator: ", ")
          + " FROM unnest(\(arrays.joined(separator: ", "))) AS v(\(names.joined(separator: ", "))) "
          + "WHERE t0._pk = v.k AND t0._version = v.n",
        [.keys(group.keys), .keys(group.versions)]
          + types.enumerated().map { .array(group.values(ofColumn: $0.offset), $0.element) }),
      group.keys.count
    )
  }

  func insert(_ group: RowBuffer.Group) -> Sent {
    let entity = group.entity
    let types = group.columns.map { PostgresType(entity.columns[$0].storageType) }
    let arrays = ["CAST(? AS bigint[])"] + types.map { "CAST(? AS \($0.name)[])" }
    let names = ["k"] + types.indices.map { "c\($0)" }
    let selected =
      ["v.k", "1"] + (entity.hasEntityColumn ? [SQLText.literal(entity.name)] : [])
      + types.indices.map { "v.c\($0)" }
    return (
      PostgresStatement(
        "INSERT INTO \(table(entity)) (\(insertedColumns(entity).joined(separator: ", "))) "
          + "SELECT \(selected.joined(separator: ", ")) FROM unnest(\(arrays.joined(separator: ", "))) "
          + "AS v(\(names.joined(separator: ", ")))",
        [.keys(group.keys)]
          + types.enumerated().map { .array(group.values(ofColumn: $0.offset), $0.element) }), nil
    )
  }

  private func insertedColumns(_ entity: EntityPlan) -> [String] {
    ["_pk", "_version"] + (entity.hasEntityColumn ? ["_entity"] : [])
      + entity.columns.map { SQLText.quoted($0.name) }
  }

  /// The COPY statement for new rows of an entity.
  func copy(_ entity: EntityPlan) -> String {
    "COPY \(table(entity)) (\(insertedColumns(entity).joined(separator: ", "))) FROM STDIN (FORMAT binary)"
  }

  func setVersions(_ group: RowBuffer.Group) -> Sent {
    (
      PostgresStatement(
        "UPDATE \(table(group.entity)) AS t0 SET _version = v.n "
          + "FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) AS v(k, n) WHERE t0._pk = v.k",
        [.keys(group.keys), .keys(group.versions)]), nil
    )
  }

  func remove(_ pairs: RowBuffer.Pairs, ofJoin join: Int) -> Sent {
    (
      PostgresStatement(
        "DELETE FROM \(sql.dialect.table(model.joins[join].table)) AS t0 "
          + "USING unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) AS v(s, t) "
          + "WHERE t0._source = v.s AND t0._target = v.t", [.keys(pairs.sources), .keys(pairs.targets)]), nil
    )
  }

  func add(_ pairs: RowBuffer.Pairs, ofJoin join: Int) -> Sent {
    (
      PostgresStatement(
        "INSERT INTO \(sql.dialect.table(model.joins[join].table)) (_source, _target) "
          + "SELECT v.s, v.t FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) AS v(s, t) "
          + "ON CONFLICT DO NOTHING", [.keys(pairs.sources), .keys(pairs.targets)]), nil
    )
  }

  /// Sets positions; nil for a relationship without positions.
  func setPositions(_ list: RowBuffer.Positions) -> Sent? {
    let table: String
    let position: String
    let condition: String
    switch list.relationship.storage {
    case .join(let index, let isSource):
      table = sql.dialect.table(model.joins[index].table)
      position = isSource ? "_position" : "_inverse_position"
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      condition =
        "t0.\(own) = v.o AND t0.\(other) = v.m" + (list.isNew ? " AND t0.\(position) IS NULL" : "")
    case .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: list.relationship),
        let name = model.positionColumn(of: list.relationship)
      else { return nil }
      table = sql.dialect.table(model.entities[list.relationship.destination].table)
      position = SQLText.quoted(name)
      condition = "t0.\(SQLText.quoted(column.name)) = v.o AND t0._pk = v.m"
    case .reference, .inverseReference: return nil
    }
    return (
      PostgresStatement(
        "UPDATE \(table) AS t0 SET \(position) = v.p "
          + "FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[]), CAST(? AS bigint[])) AS v(p, o, m) "
          + "WHERE \(condition)",
        [.keys(list.positions), .keys(list.owners), .keys(list.members)]), nil
    )
  }
}
