#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Checks of the files, and of everything that objects do not show.
extension SQLiteSession {
  /// Finds defects of the files, and defects that objects do not show.
  @_optimize(none)
  func defects() throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    for store in attached.all {
      let schema = attached.schema(of: store)
      for row in try connection.rows("PRAGMA \(schema).integrity_check") where row[0] != "ok" {
        findings.append(.damaged(row[0] ?? ""))
      }
      for row in try connection.rows("PRAGMA \(schema).foreign_key_check") {
        findings.append(
          .danglingReference(
            entity: row[0] ?? "", key: row[1].flatMap { Int64($0) } ?? 0, destination: row[2] ?? ""))
      }
      let stored = try StoredSchema(connection, schema: schema)
      let expected = SQLSchema(model, store: store.index)
      findings += stored.harmlessObjects(expected).map { .foreignObject($0) }
      findings += try equalRows(expected, stored.indexes, in: schema)
      findings += try foreignEntries(of: schema)
    }
    findings += try danglingReferences()
    findings += try danglingPairs()
    findings += try oneSidedRelationships()
    for root in model.entities where root.root == root.index {
      guard let store = attached.store(of: root) else { continue }
      findings += try unknownEntityRows(of: root)
      // If there is no counter, keys begin at 1.
      let isRight = try connection.scalar(
        "SELECT coalesce((SELECT next FROM \(attached.schema(of: store)).\"_cdgen_keys\" "
          + "WHERE entity = \(SQLText.literal(root.name))), 1) BETWEEN 1 + max(0, coalesce(max(_pk), 0)) "
          + "AND \(KeyRanges.largestKey) FROM \(SQLText.quoted(root.table))")
      if isRight != "1" { findings.append(.keyTaken(entity: root.name)) }
    }
    return findings
  }

  /// Finds rows that a unique index would refuse, but that the store has because it lacks the index. An opening for writing
  /// creates a missing index, and fails because of such rows.
  ///
  /// - Parameter present: The SQL text of each index of the store by name.
  @_optimize(none)
  private func equalRows(
    _ expected: SQLSchema, _ present: [String: String], in schema: String
  ) throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    for index in expected.indexes where index.isUnique && present[index.name] != index.sql {
      let table = "\(schema).\(SQLText.quoted(index.table))"
      for row in try connection.rows(index.equalRows(table: table)) {
        findings.append(
          .damaged(
            "'\(index.table)' p\(row[0] ?? "") and p\(row[1] ?? "") have equal values for the unique index "
              + "'\(index.name)', which is missing"))
      }
    }
    return findings
  }

  /// Finds dangling references that no foreign key prevents: references to other stores, references with a delete rule
  /// of `noAction`, and references to a row of the destination's table that belongs to another entity.
  @_optimize(none)
  private func danglingReferences() throws
    -> [StoreFinding]
  {
    var findings: [StoreFinding] = []
    for entity in model.entities where stores.store(of: entity) != nil {
      for case let relationship? in entity.relationships where relationship.owner == entity.name {
        let destination = model.entities[relationship.destination]
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
  private func danglingPairs() throws
    -> [StoreFinding]
  {
    var findings: [StoreFinding] = []
    for join in model.joins {
      let (source, target) = (model.entities[join.source], model.entities[join.target])
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
    let others = model.entities[entity.root].subtree.filter { !entity.subtree.contains($0) }
    let names = others.map { SQLText.literal(model.entities[$0].name) }.joined(separator: ", ")
    let isOther = others.isEmpty ? nil : "EXISTS (\(rows) AND t1._entity IN (\(names)))"
    if isGuaranteed { return isOther }
    let isMissing = "\(key) IS NOT NULL AND NOT EXISTS (\(rows))"
    return isOther.map { "(\(isMissing)) OR \($0)" } ?? isMissing
  }

  /// Finds symmetric relationships that lead in one direction only. All other relationships store both directions in
  /// one row.
  @_optimize(none)
  private func oneSidedRelationships() throws
    -> [StoreFinding]
  {
    var findings: [StoreFinding] = []
    for entity in model.entities where stores.store(of: entity) != nil {
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
          let join = SQLText.quoted(model.joins[index].table)
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
  private func unknownEntityRows(of root: EntityPlan) throws -> [StoreFinding] {
    let table = SQLText.quoted(root.table)
    var findings = try connection.rows("SELECT _pk FROM \(table) WHERE _pk < 1").map { row in
      StoreFinding.damaged("'\(root.name)' has a row \(row[0] ?? ""), but keys begin at 1")
    }
    let versions = "0 AND \(UInt32.max)"
    findings += try connection.rows(
      "SELECT _pk FROM \(table) WHERE _version NOT BETWEEN \(versions) ORDER BY _pk"
    ).map { row in
      StoreFinding.damaged("'\(root.name)' p\(row[0] ?? "") has a version that is not a number of 32 bits")
    }
    findings += try invalidBooleans(of: root)
    for (column, sql) in model.strangeReferences(of: root, table: table) {
      findings += try connection.rows(sql).map { row in
        StoreFinding.damaged(
          "'\(row[1] ?? "")' p\(row[0] ?? "") has a reference in '\(column)', which its entity does not have")
      }
    }
    guard let strange = model.strangeRows(of: root, table: table) else { return findings }
    for row in try connection.rows(strange) {
      guard let key = row[0].flatMap({ Int64($0) }) else { continue }
      findings.append(.unknownEntity(entity: root.name, key: key, name: row[1] ?? ""))
    }
    return findings
  }

  /// Finds numbers other than 0 and 1 in columns of Booleans. A fetch reads them as true.
  @_optimize(none)
  private func invalidBooleans(of root: EntityPlan) throws -> [StoreFinding] {
    let columns = Set(
      root.subtree.flatMap { model.entities[$0].columns }.filter { $0.storageType == .bool }.map(\.name))
    return try columns.ordered().flatMap { column in
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
  private func foreignEntries(of schema: String) throws -> [StoreFinding] {
    let names = try connection.rows("SELECT name FROM \(schema).\"_cdgen_files\"").compactMap { $0[0] }
    let unknown = names.filter { UUID(uuidString: $0) == nil }.count
    var findings: [StoreFinding] = []
    if unknown > 0 {
      findings.append(.foreignObject("a list with \(unknown) names of files in _cdgen_files"))
    }
    let roots = Set(model.entities.filter { $0.root == $0.index }.map(\.name))
    let keyed = try connection.rows("SELECT entity FROM \(schema).\"_cdgen_keys\"").map { $0[0] ?? "" }
    let unknownKeys = keyed.filter { !roots.contains($0) }.count
    if unknownKeys > 0 {
      findings.append(
        .foreignObject("a list with \(unknownKeys) counters of unknown entities in _cdgen_keys"))
    }
    let counters = try connection.rows(
      "SELECT 1 FROM \(schema).sqlite_sequence WHERE typeof(seq) <> 'integer' OR seq < 0 OR seq > "
        + "\(KeyRanges.largestKey)")
    if !counters.isEmpty {
      findings.append(.damaged("the counter of _cdgen_history is not a valid number of saves"))
    }
    return findings
  }
}
