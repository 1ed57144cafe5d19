import CDModel

/// Records which destination objects were created from which source objects, unless they have the source object's key.
/// The records are in temporary tables, so that memory does not grow with them.
struct Associations {
  private static let table = StepPlan.associations
  /// The objects whose to-many relationships a policy has replaced as a whole. Rules add nothing to those
  /// relationships.
  static let replaced = "temp._cdgen_replaced"

  private let session: MigrationSession

  init(_ session: MigrationSession) throws {
    self.session = session
    try session.execute(
      "CREATE TEMP TABLE _cdgen_associations (id INTEGER PRIMARY KEY, mapping INTEGER NOT NULL, "
        + "root INTEGER NOT NULL, source INTEGER NOT NULL, entity INTEGER NOT NULL, destination INTEGER NOT NULL)"
    )
    try session.execute(
      "CREATE INDEX temp._cdgen_associations_source ON _cdgen_associations (source, mapping)")
    try session.execute(
      "CREATE INDEX temp._cdgen_associations_destination ON _cdgen_associations (destination)")
    try session.execute(
      "CREATE TEMP TABLE _cdgen_replaced (name TEXT NOT NULL, pk INTEGER NOT NULL, PRIMARY KEY (name, pk)) "
        + "WITHOUT ROWID")
  }

  @inline(never)
  private func rows<R>(
    _ sql: String, _ values: [AttributeValue], _ read: (SQLiteStatement) -> R
  ) throws -> [R] {
    let statement = try session.connection.statement(sql)
    defer { statement.reset() }
    session.bind(values, to: statement)
    var result: [R] = []
    do { while try statement.step() { result.append(read(statement)) } } catch {
      throw session.wrapped(error)
    }
    return result
  }

  @_optimize(none)
  func add(_ mapping: Int, source: ManagedObject, destination: ManagedObject) throws {
    try session.runKept(
      "INSERT INTO \(Self.table) (mapping, root, source, entity, destination) VALUES (?, ?, ?, ?, ?)",
      [
        .int(Int64(mapping)), .int(Int64(source.scope.plan.root)), .int(source.key),
        .int(Int64(destination.scope.plan.index)), .int(destination.key),
      ])
  }

  func replace(_ name: String, of object: ManagedObject) throws {
    try session.runKept(
      "INSERT OR IGNORE INTO \(Self.replaced) (name, pk) VALUES (?, ?)", [.string(name), .int(object.key)])
  }

  /// Removes the records of objects that were deleted after they had been associated.
  ///
  /// - Parameter model: The model of the new store. All created objects must be saved.
  @_optimize(none)
  func removeDeleted(from model: ModelPlan) throws {
    guard try !mappings().isEmpty else { return }
    for root in model.entities where root.root == root.index && root.storeIndex == 0 {
      let subtree = root.subtree.map(String.init).joined(separator: ", ")
      try session.execute(
        "DELETE FROM \(Self.table) AS a WHERE a.entity IN (\(subtree)) AND NOT EXISTS (SELECT 1 FROM "
          + "\(StepPlan.schema).\(SQLText.quoted(root.table)) AS d WHERE d._pk = a.destination)")
    }
  }

  /// The destination objects of a source object in a mapping, as entity and key.
  func destinations(
    of source: ManagedObject, in mapping: Int
  ) throws -> [(entity: Int, key: ObjectKey)] {
    try rows(
      "SELECT entity, destination FROM \(Self.table) WHERE source = ? AND mapping = ? AND root = ? ORDER BY id",
      [.int(source.key), .int(Int64(mapping)), .int(Int64(source.scope.plan.root))]
    ) { (Int($0.int64(0)), $0.int64(1)) }
  }

  /// The source objects of a destination object, as mapping, root and key.
  func sources(of destination: ManagedObject) throws -> [(mapping: Int, root: Int, key: ObjectKey)] {
    try rows(
      "SELECT mapping, root, source FROM \(Self.table) WHERE destination = ? AND entity = ? ORDER BY id",
      [.int(destination.key), .int(Int64(destination.scope.plan.index))]
    ) { (Int($0.int64(0)), Int($0.int64(1)), $0.int64(2)) }
  }

  /// A batch of a mapping's destination objects, after the last identifier of the batch before.
  func batch(
    of mapping: Int, after last: Int64, limit: Int
  ) throws -> [(id: Int64, entity: Int, key: ObjectKey)] {
    try rows(
      "SELECT id, entity, destination FROM \(Self.table) WHERE id > ? AND mapping = ? ORDER BY id LIMIT \(limit)",
      [.int(last), .int(Int64(mapping))]
    ) { ($0.int64(0), Int($0.int64(1)), $0.int64(2)) }
  }

  /// The indexes of the mappings that have associations.
  func mappings() throws -> Set<Int> {
    Set(try rows("SELECT DISTINCT mapping FROM \(Self.table)", []) { Int($0.int64(0)) })
  }

  func hasReplacedRelationships() throws -> Bool {
    try !rows("SELECT 1 FROM \(Self.replaced) LIMIT 1", []) { _ in true }.isEmpty
  }
}
