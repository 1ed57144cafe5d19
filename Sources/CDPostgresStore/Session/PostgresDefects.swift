import CDModel
@_spi(Generated) import CDRuntime

// Checks of everything that objects do not show.
extension PostgresSession {
  func defects() throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    for entity in model.entities where hasTable(entity) { findings += try danglingReferences(of: entity) }
    findings += try danglingPairs()
    for entity in model.entities where hasTable(entity) { findings += try oneSidedRelationships(of: entity) }
    for root in model.entities where root.root == root.index {
      guard let store = stores.store(of: root) else { continue }
      findings += try unknownEntityRows(of: root)
      findings += try wrongCounter(of: root, store)
    }
    for store in stores.all {
      findings += try foreignCounters(of: store)
      findings += try schemaDefects(of: store)
    }
    return findings
  }

  private func keys(_ text: String) throws -> [ObjectKey] {
    let result = try run(text)
    return (0..<result.rowCount).map { result.int($0, 0) }
  }

  /// Finds references to missing rows, and to rows of other entities than the destination.
  private func danglingReferences(of entity: EntityPlan) throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    for case let relationship? in entity.relationships where relationship.owner == entity.name {
      let destination = model.entities[relationship.destination]
      guard case .reference(let column) = relationship.storage, hasTable(destination) else { continue }
      let key = "t0.\(SQLText.quoted(entity.columns[column].name))"
      let found = try keys(
        "SELECT t0._pk FROM \(dialect.table(entity.table)) AS t0 WHERE \(missingCondition(of: destination, key)) "
          + "ORDER BY 1")
      findings += found.map {
        .danglingReference(entity: entity.name, key: $0, destination: destination.name)
      }
    }
    return findings
  }

  private func danglingPairs() throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    for join in model.joins {
      let (source, target) = (model.entities[join.source], model.entities[join.target])
      guard hasTable(source), hasTable(target) else { continue }
      for (column, entity, other, otherEntity) in [
        ("_source", source, "_target", target), ("_target", target, "_source", source),
      ] {
        let found = try keys(
          "SELECT t0.\(other) FROM \(dialect.table(join.table)) AS t0 "
            + "WHERE \(missingCondition(of: entity, "t0.\(column)")) ORDER BY 1")
        findings += found.map {
          .danglingReference(entity: otherEntity.name, key: $0, destination: entity.name)
        }
      }
    }
    return findings
  }

  /// The condition that a key is set and leads to no object of an entity.
  private func missingCondition(of entity: EntityPlan, _ key: String) -> String {
    let rows = "SELECT 1 FROM \(dialect.table(entity.table)) AS t1 WHERE t1._pk = \(key)"
    // A row of an entity that the model does not have is reported separately.
    let others = model.entities[entity.root].subtree.filter { !entity.subtree.contains($0) }
    let names = others.map { SQLText.literal(model.entities[$0].name) }.joined(separator: ", ")
    let isMissing = "(\(key) IS NOT NULL AND NOT EXISTS (\(rows)))"
    return others.isEmpty ? isMissing : "(\(isMissing) OR EXISTS (\(rows) AND t1._entity IN (\(names))))"
  }

  /// Finds symmetric relationships that lead in one direction only. All other relationships store both directions in
  /// one row.
  private func oneSidedRelationships(of entity: EntityPlan) throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    for case let relationship? in entity.relationships
    where relationship.owner == entity.name && relationship.isSymmetric {
      let table = dialect.table(entity.table)
      let text: String
      switch relationship.storage {
      case .reference(let column):
        let name = SQLText.quoted(entity.columns[column].name)
        text =
          "SELECT t0._pk, t0.\(name) FROM \(table) AS t0 JOIN \(table) AS t1 ON t1._pk = t0.\(name) "
          + "WHERE t1.\(name) IS DISTINCT FROM t0._pk ORDER BY 1"
      case .join(let index, _):
        let join = dialect.table(model.joins[index].table)
        text =
          "SELECT t0._source, t0._target FROM \(join) AS t0 WHERE NOT EXISTS (SELECT 1 FROM \(join) AS t1 "
          + "WHERE t1._source = t0._target AND t1._target = t0._source) ORDER BY 1, 2"
      case .inverseReference, .referencesOfOthers: continue
      }
      let result = try run(text)
      for row in 0..<result.rowCount {
        findings.append(
          .oneDirection(
            entity: entity.name, relationship: relationship.name, key: result.int(row, 0),
            other: result.int(row, 1)))
      }
    }
    return findings
  }

  /// Finds rows that cannot become objects. A fetch skips them.
  private func unknownEntityRows(of root: EntityPlan) throws -> [StoreFinding] {
    let table = dialect.table(root.table)
    var findings = try keys("SELECT _pk FROM \(table) AS t0 WHERE _pk < 1 ORDER BY 1").map {
      StoreFinding.damaged("'\(root.name)' has a row \($0), but keys begin at 1")
    }
    findings += try keys(
      "SELECT _pk FROM \(table) AS t0 WHERE _version NOT BETWEEN 0 AND \(UInt32.max) ORDER BY 1"
    ).map { StoreFinding.damaged("'\(root.name)' p\($0) has a version that is not a number of 32 bits") }
    for (column, sql) in model.strangeReferences(of: root, table: table) {
      let result = try run(sql)
      for row in 0..<result.rowCount {
        let object = "'\(result.string(row, 1) ?? "")' p\(result.int(row, 0))"
        findings.append(
          .damaged("\(object) has a reference in '\(column)', which its entity does not have"))
      }
    }
    guard let strange = model.strangeRows(of: root, table: table) else { return findings }
    let result = try run(strange)
    for row in 0..<result.rowCount {
      findings.append(
        .unknownEntity(entity: root.name, key: result.int(row, 0), name: result.string(row, 1) ?? ""))
    }
    return findings
  }

  private func wrongCounter(of root: EntityPlan, _ store: any AttachedStore) throws -> [StoreFinding] {
    // If there is no counter, keys begin at 1.
    let result = try run(
      #"SELECT coalesce((SELECT "next" FROM \#(systemTable("_cdgen_keys", of: store)) WHERE "entity" = ?), 1) "#
        + "BETWEEN 1 + greatest(0, coalesce(max(_pk), 0)) AND \(KeyRanges.largestKey) "
        + "FROM \(dialect.table(root.table)) AS t0", [.value(.string(root.name))])
    return result.bool(0, 0) ? [] : [.keyTaken(entity: root.name)]
  }

  /// Finds counters in the system tables that no release of cdgen writes.
  private func foreignCounters(of store: any AttachedStore) throws -> [StoreFinding] {
    let roots = Set(model.entities.filter { $0.root == $0.index }.map(\.name) + [PostgresTables.historyKey])
    let result = try run(#"SELECT "entity" FROM \#(systemTable("_cdgen_keys", of: store))"#)
    let unknown = (0..<result.rowCount).count { !roots.contains(result.string($0, 0) ?? "") }
    return unknown == 0
      ? [] : [.foreignObject("a list with \(unknown) counters of unknown entities in _cdgen_keys")]
  }
}
