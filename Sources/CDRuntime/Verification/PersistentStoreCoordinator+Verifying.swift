#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A defect of a store, found by ``PersistentStoreCoordinator/verify()``.
///
/// ```swift
/// for finding in try container.persistentStoreCoordinator.verify() {
///   switch finding {
///   case .damaged(let text): print("restore the store from a backup: \(text)")
///   case .invalid(let error): print("\(error.entity) breaks a rule: \(error)")
///   default: print(finding)
///   }
/// }
/// ```
public enum StoreFinding: Error, Hashable, Sendable {
  /// The file is damaged. The text is SQLite's message.
  case damaged(String)
  /// A row refers to a row that does not exist.
  case danglingReference(entity: String, key: Int64, destination: String)
  /// A relationship that is its own inverse leads from one object to another, but not back. The two numbers are the
  /// keys of the objects. Each direction is stored in a row of its own.
  case oneDirection(entity: String, relationship: String, key: Int64, other: Int64)
  /// A value cannot be read as the type that the model declares.
  case unreadable(ObservedError)
  /// A value breaks a rule of the model.
  case invalid(ValidationError)
  /// A row names an entity that the model does not have. No fetch returns the row, but counts of its root entity
  /// include it.
  case unknownEntity(entity: String, key: Int64, name: String)
  /// A hash in the metadata is not the hash of the model that the store carries.
  case wrongHash(key: String)
  /// The history row with this number cannot be read. Contexts and listeners miss this save.
  case unreadableHistory(id: Int64)
  /// A save to several stores is in this store, under this number in the history, but not in the other stores named.
  /// Either a crash happened between writing the files, or one of the stores was restored from a backup.
  case incompleteSave(id: Int64, store: UUID, missing: [UUID])
  /// The next key in the store's counter is already used, or no keys follow it. A new object could not be inserted.
  case keyTaken(entity: String)
  /// A metadata entry, named by its key, cannot be read: see <doc:SQLiteLayout>.
  case unreadableMetadata(key: String)
  /// The file contains a table or an index that another program has created and that no store of cdgen has.
  case foreignObject(String)
}

extension StoreFinding: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .damaged(let text): "damaged: \(text)"
    case .danglingReference(let entity, let key, let destination):
      "'\(entity)' p\(key) refers to an object of '\(destination)' that does not exist"
    case .oneDirection(let entity, let relationship, let key, let other):
      "'\(entity)' p\(key) has p\(other) in '\(relationship)', but p\(other) does not have p\(key)"
    case .unreadable(let error):
      "\(error.objectID.map { "\($0): " } ?? "")\(error)"
    case .invalid(let error): "\(error)"
    case .unknownEntity(let entity, let key, let name):
      "'\(entity)' p\(key) has the entity '\(name)', which is unknown to the model or abstract"
    case .wrongHash(let key): "the metadata's \(key) does not match the model in the store"
    case .unreadableHistory(let id): "row \(id) of _cdgen_history cannot be read"
    case .incompleteSave(let id, let store, let missing):
      "save \(id) of the store \(store) has not reached the stores "
        + missing.map(\.uuidString).joined(separator: ", ")
    case .keyTaken(let entity):
      "the next key of '\(entity)' is in use, or is the last one; set it in _cdgen_keys above the largest _pk"
    case .unreadableMetadata(let key):
      "the metadata's \(key) cannot be read; restore the store from a backup"
    case .foreignObject(let object): "\(object) was created by another program; drop it if it is not needed"
    }
  }
}

extension PersistentStoreCoordinator {
  /// Checks the stores completely: the files, the references, whether the two sides of each relationship agree, whether
  /// every value can be read, the rules of the model, the hashes of the metadata, and the history. Changes nothing.
  ///
  /// All rows are read in batches, so the use of memory is bounded. For an engine other than SQLite, only the values
  /// and the rules of the model are checked.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read at all.
  @_optimize(none)
  public func verify() throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    if let database = engine as? SQLiteDatabase {
      let session = try database.session()
      defer { database.returnSession(session) }
      findings = try verifyTables(session.attached, session.connection)
    }
    for root in plan.entities where root.root == root.index && engine.stores.store(of: root) != nil {
      try verifyRows(of: root) { findings.append($0) }
    }
    return findings
  }

  /// Finds defects of the files, and defects that objects do not show.
  @_optimize(none)
  private func verifyTables(_ stores: SQLiteStoreSet, _ connection: SQLiteConnection) throws -> [StoreFinding]
  {
    var findings: [StoreFinding] = []
    for store in stores.all {
      let schema = stores.schema(of: store)
      for row in try connection.rows("PRAGMA \(schema).integrity_check") where row[0] != "ok" {
        findings.append(.damaged(row[0] ?? ""))
      }
      for row in try connection.rows("PRAGMA \(schema).foreign_key_check") {
        findings.append(
          .danglingReference(
            entity: row[0] ?? "", key: row[1].flatMap { Int64($0) } ?? 0, destination: row[2] ?? ""))
      }
      let stored = try StoredSchema(connection, schema: schema)
      findings += stored.harmlessObjects(SQLiteSchema(plan, store: store.index)).map { .foreignObject($0) }
      findings += try wrongHashes(of: store, schema, connection)
      findings += try unreadableHistory(of: schema, connection)
      findings += try unreadableOrigins(of: store, schema, connection)
      findings += try foreignEntries(of: schema, connection)
    }
    findings += try incompleteSaves(stores, connection)
    findings += try danglingReferences(stores, connection)
    findings += try danglingPairs(stores, connection)
    findings += try oneSidedRelationships(stores, connection)
    for root in plan.entities where root.root == root.index {
      guard let store = stores.store(of: root) else { continue }
      findings += try unknownEntityRows(of: root, connection)
      // If there is no counter, keys begin at 1.
      let isRight = try connection.scalar(
        "SELECT coalesce((SELECT next FROM \(stores.schema(of: store)).\"_cdgen_keys\" "
          + "WHERE entity = \(SQLText.literal(root.name))), 1) BETWEEN 1 + max(0, coalesce(max(_pk), 0)) "
          + "AND \(SQLiteDatabase.largestKey) FROM \(SQLText.quoted(root.table))")
      if isRight != "1" { findings.append(.keyTaken(entity: root.name)) }
    }
    return findings
  }

  /// Finds dangling references that no foreign key prevents: references to other stores, references with a delete rule
  /// of `noAction`, and references to a row of the destination's table that belongs to another entity.
  @_optimize(none)
  private func danglingReferences(_ stores: SQLiteStoreSet, _ connection: SQLiteConnection) throws
    -> [StoreFinding]
  {
    var findings: [StoreFinding] = []
    for entity in plan.entities where stores.store(of: entity) != nil {
      for case let relationship? in entity.relationships where relationship.owner == entity.name {
        let destination = plan.entities[relationship.destination]
        guard case .reference(let column) = relationship.storage, stores.store(of: destination) != nil,
          let condition = missingCondition(
            of: destination, "t0.\(SQLText.quoted(entity.columns[column].name))",
            isGuaranteed: relationship.isGuaranteed)
        else { continue }
        let rows = try connection.rows(
          "SELECT t0._pk FROM \(SQLText.quoted(entity.table)) AS t0 WHERE \(condition)")
        findings += rows.compactMap { $0[0].flatMap { Int64($0) } }.map {
          .danglingReference(entity: entity.name, key: $0, destination: destination.name)
        }
      }
    }
    return findings
  }

  /// Finds dangling references in join tables.
  @_optimize(none)
  private func danglingPairs(_ stores: SQLiteStoreSet, _ connection: SQLiteConnection) throws
    -> [StoreFinding]
  {
    var findings: [StoreFinding] = []
    for join in plan.joins {
      let (source, target) = (plan.entities[join.source], plan.entities[join.target])
      guard stores.store(of: source) != nil, stores.store(of: target) != nil else { continue }
      let sides = [
        (column: "_source", entity: source, other: "_target", otherEntity: target, isGuaranteed: true),
        (
          column: "_target", entity: target, other: "_source", otherEntity: source,
          isGuaranteed: source.storeIndex == target.storeIndex
        ),
      ]
      for side in sides {
        guard
          let condition = missingCondition(
            of: side.entity, "t0.\(side.column)", isGuaranteed: side.isGuaranteed)
        else {
          continue
        }
        let rows = try connection.rows(
          "SELECT t0.\(side.other) FROM \(SQLText.quoted(join.table)) AS t0 WHERE \(condition)")
        findings += rows.compactMap { $0[0].flatMap { Int64($0) } }.map {
          .danglingReference(entity: side.otherEntity.name, key: $0, destination: side.entity.name)
        }
      }
    }
    return findings
  }

  /// The condition that a key is set and leads to no object of an entity; nil if a foreign key already guarantees the
  /// object.
  ///
  /// - Parameter isGuaranteed: Whether a foreign key guarantees that the row exists.
  @_optimize(none)
  private func missingCondition(of entity: EntityPlan, _ key: String, isGuaranteed: Bool) -> String? {
    let rows = "SELECT 1 FROM \(SQLText.quoted(entity.table)) AS t1 WHERE t1._pk = \(key)"
    // A row of an entity that the model does not have is reported separately.
    let others = plan.entities[entity.root].subtree.filter { !entity.subtree.contains($0) }
    let names = others.map { SQLText.literal(plan.entities[$0].name) }.joined(separator: ", ")
    let isOther = others.isEmpty ? nil : "EXISTS (\(rows) AND t1._entity IN (\(names)))"
    if isGuaranteed { return isOther }
    let isMissing = "\(key) IS NOT NULL AND NOT EXISTS (\(rows))"
    return isOther.map { "(\(isMissing)) OR \($0)" } ?? isMissing
  }

  /// Finds symmetric relationships that lead in one direction only. All other relationships store both directions in
  /// one row.
  @_optimize(none)
  private func oneSidedRelationships(_ stores: SQLiteStoreSet, _ connection: SQLiteConnection) throws
    -> [StoreFinding]
  {
    var findings: [StoreFinding] = []
    for entity in plan.entities where stores.store(of: entity) != nil {
      for case let relationship? in entity.relationships
      where relationship.owner == entity.name && relationship.isSymmetric {
        let table = SQLText.quoted(entity.table)
        let sql: String
        switch relationship.storage {
        case .reference(let column):
          let name = SQLText.quoted(entity.columns[column].name)
          sql =
            "SELECT t0._pk, t0.\(name) FROM \(table) AS t0 JOIN \(table) AS t1 ON t1._pk = t0.\(name) "
            + "WHERE t1.\(name) IS NOT t0._pk ORDER BY 1"
        case .join(let index, _):
          let join = SQLText.quoted(plan.joins[index].table)
          sql =
            "SELECT t0._source, t0._target FROM \(join) AS t0 WHERE NOT EXISTS (SELECT 1 FROM \(join) AS t1 "
            + "WHERE t1._source = t0._target AND t1._target = t0._source) ORDER BY 1, 2"
        case .inverseReference, .referencesOfOthers: continue
        }
        for row in try connection.rows(sql) {
          guard let key = row[0].flatMap({ Int64($0) }), let other = row[1].flatMap({ Int64($0) }) else {
            continue
          }
          findings.append(
            .oneDirection(entity: entity.name, relationship: relationship.name, key: key, other: other))
        }
      }
    }
    return findings
  }

  /// Finds rows that cannot become objects. A fetch skips them.
  @_optimize(none)
  private func unknownEntityRows(of root: EntityPlan, _ connection: SQLiteConnection) throws -> [StoreFinding]
  {
    let table = SQLText.quoted(root.table)
    var findings = try connection.rows("SELECT _pk FROM \(table) WHERE _pk < 1").map { row in
      StoreFinding.damaged("'\(root.name)' has a row \(row[0] ?? ""), but keys begin at 1")
    }
    findings += try invalidBooleans(of: root, connection)
    guard root.hasEntityColumn else { return findings }
    let names = root.subtree.map { SQLText.literal(plan.entities[$0].name) }.joined(separator: ", ")
    let claimed = "_entity IN (\(names))"
    for row in try connection.rows("SELECT _pk, _entity FROM \(table) WHERE NOT \(claimed) ORDER BY _pk") {
      guard let key = row[0].flatMap({ Int64($0) }) else { continue }
      findings.append(.unknownEntity(entity: root.name, key: key, name: row[1] ?? ""))
    }
    return findings
  }

  /// Finds numbers other than 0 and 1 in columns of Booleans. A fetch reads them as true.
  @_optimize(none)
  private func invalidBooleans(of root: EntityPlan, _ connection: SQLiteConnection) throws -> [StoreFinding] {
    let columns = Set(
      root.subtree.flatMap { plan.entities[$0].columns }.filter { $0.storageType == .bool }.map(\.name))
    return try columns.sorted().flatMap { column in
      let name = SQLText.quoted(column)
      return try connection.rows(
        "SELECT _pk FROM \(SQLText.quoted(root.table)) WHERE \(name) NOT IN (0, 1) ORDER BY _pk LIMIT 100"
      ).map {
        StoreFinding.damaged(
          "'\(root.name)' p\($0[0] ?? "") has a value of '\(column)' that is not a Boolean")
      }
    }
  }

  /// Finds file names and counters in the system tables that no release of cdgen writes.
  @_optimize(none)
  private func foreignEntries(of schema: String, _ connection: SQLiteConnection) throws -> [StoreFinding] {
    let names = try connection.rows("SELECT name FROM \(schema).\"_cdgen_files\"").compactMap { $0[0] }
    let unknown = names.filter { UUID(uuidString: $0) == nil }.count
    var findings: [StoreFinding] = []
    if unknown > 0 {
      findings.append(.foreignObject("a list with \(unknown) names of files in _cdgen_files"))
    }
    let roots = Set(plan.entities.filter { $0.root == $0.index }.map(\.name))
    let keyed = try connection.rows("SELECT entity FROM \(schema).\"_cdgen_keys\"").map { $0[0] ?? "" }
    let unknownKeys = keyed.filter { !roots.contains($0) }.count
    if unknownKeys > 0 {
      findings.append(
        .foreignObject("a list with \(unknownKeys) counters of unknown entities in _cdgen_keys"))
    }
    let counters = try connection.rows(
      "SELECT 1 FROM \(schema).sqlite_sequence WHERE typeof(seq) <> 'integer' OR seq < 0 OR seq > "
        + "\(SQLiteDatabase.largestKey)")
    if !counters.isEmpty {
      findings.append(.damaged("the counter of _cdgen_history is not a valid number of saves"))
    }
    return findings
  }

  private static let batchSize = 1000

  /// Calls a function with each defect of each row of a table.
  func verifyRows(of root: EntityPlan, _ body: (StoreFinding) -> Void) throws {
    var last: ObjectKey = 0
    while true {
      // Each batch has its own context, so that objects of earlier batches are released.
      let context = ManagedObjectContext(self)
      context.keepAllErrors()
      guard
        let batch = try context.reader().rows(
          ofSubtree: root, isOwn: false, after: last, count: Self.batchSize)
      else {
        return
      }
      last = batch.last
      let objects = try context.objects(from: batch.rows, of: root)
      for object in objects {
        for error in context.ruleErrors(of: object) { body(.invalid(error)) }
      }
      for error in context.recentErrors { body(.unreadable(error)) }
    }
  }
}
