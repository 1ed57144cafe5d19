import CDModel
import CDRuntime
import CDXcodeNames

/// Reads a whole store into a builder, table by table and row by row.
struct StoreReading {
  private let source: CoreDataSource
  let layout: StoreLayout
  private let acceptsLosses: Bool
  let records: ExternalRecords
  var report = ReadingReport()
  /// The objects that one-to-one relationships get because only the other side refers to the row, by relationship and by
  /// the row's key.
  private(set) var otherSides: [StoreLayout.Property: [Int64: Int64]] = [:]

  var database: SourceDatabase { source.database }

  init(_ source: CoreDataSource, _ layout: StoreLayout, acceptsLosses: Bool) {
    self.source = source
    self.layout = layout
    self.acceptsLosses = acceptsLosses
    records = ExternalRecords(store: source.database.files.path)
  }

  mutating func run(_ model: ManagedObjectModel, into builder: StoreBuilder) throws {
    var model = model
    model.currentVersionNumber = layout.version.number
    let tables = try builder.begin(
      model: model, storeID: source.metadata.storeID, entities: layout.roots, values: source.metadata.values)
    try check()
    for table in tables {
      switch table.kind {
      case .keys: try addKeys(to: table, builder)
      case .objects: try addObjects(to: table, builder)
      case .pairs: try addPairs(to: table, builder)
      case .history: break
      }
    }
    try database.files.checkUnchanged()
    if acceptsLosses ? report.losses.unacceptableCount > 0 : report.losses.count > 0 {
      throw CoreDataStoreError.losses(source.url, report.losses)
    }
  }

  // MARK: Checks

  private mutating func check() throws(CoreDataStoreError) {
    let findings = try database.rows("PRAGMA quick_check(1)") { $0.text(0) ?? "" }
    if let finding = findings.first, finding != "ok" { throw .damaged(source.url, reason: finding) }
    for root in layout.roots.sorted() { try checkTable(of: root) }
    for entity in layout.graph.version.entities where layout.numbers[entity.name] != nil {
      for relationship in entity.relationships { try checkBack(relationship, of: entity.name) }
    }
    remark()
  }

  /// Checks one side of a one-to-one relationship. Both sides have a column in Core Data, and only one of them is
  /// copied. If only the other side has a value, the copied one gets it. Values of the other side that do not agree with
  /// the copied one are losses.
  private mutating func checkBack(
    _ relationship: RelationshipDescription, of entity: String
  ) throws(CoreDataStoreError) {
    let graph = layout.graph
    guard !relationship.isToMany, !graph.holdsReference(relationship, entity),
      let inverse = graph.inverse(of: relationship, in: entity),
      let owner = graph.declaringEntity(of: inverse.name, in: relationship.destination)?.name,
      let own = layout.columns[.init(entity: entity, name: relationship.name)],
      let back = layout.columns[.init(entity: owner, name: inverse.name)],
      let table = layout.table(of: entity), let target = layout.table(of: relationship.destination)
    else { return }
    let column = "t." + SQLText.quoted(own)
    func ofTarget(_ value: String) -> String {
      "(SELECT \(value) FROM \(SQLText.quoted(target)) d WHERE d.Z_PK = \(column))"
    }
    let reference = "d." + SQLText.quoted(back)
    let referenceOrZero = ofTarget("coalesce(\(reference), 0)")
    let targetNumber = ofTarget(layout.number(ofRow: "d", in: relationship.destination))
    let statement = try database.statement(
      "SELECT t.Z_PK, \(layout.number(ofRow: "t", in: entity)), \(column), \(referenceOrZero), \(targetNumber) "
        + "FROM \(SQLText.quoted(table)) t NOT INDEXED "
        + "WHERE \(column) <> 0 AND \(ofTarget(reference)) IS NOT t.Z_PK ORDER BY t.Z_PK")
    let names = layout.names
    var otherSide: [Int64: Int64] = [:]
    while try statement.step() {
      let name = statement.integer(1).flatMap { names[$0] } ?? entity
      // Rows of other entities of the same table are skipped.
      guard graph.isKind(name, of: entity) else { continue }
      // The first of several objects that refer to a row gets it, as on the side that is copied.
      if statement.integer(3) == 0, graph.isKind(name, of: inverse.destination),
        let holder = statement.integer(2), otherSide[holder] == nil,
        let kind = statement.integer(4).flatMap({ names[$0] }),
        graph.isKind(kind, of: relationship.destination)
      {
        otherSide[holder] = statement.integer(0)
        continue
      }
      report.lose(
        name, statement.integer(0), relationship.name,
        "its object does not exist, or does not refer back to it")
    }
    otherSides[.init(entity: owner, name: inverse.name)] = otherSide
  }

  /// Refuses rows of unknown or abstract entities, and remarks on values in columns of other entities.
  private mutating func checkTable(of root: String) throws(CoreDataStoreError) {
    guard let table = layout.tables[root] else { return }
    let names = layout.names
    var counts = try source.counts(in: table)
    if layout.alone.contains(root), let own = layout.numbers[root] {
      let count = counts.values.reduce(0, +)
      let others = count - counts[own, default: 0]
      if others > 0 {
        report.remarks.append(
          "\(table) has \(ReadingReport.objects(others)) marked as another entity's than '\(root)', which alone has "
            + "its objects there; taken for its own, as in Core Data"
        )
      }
      counts = count > 0 ? [own: count] : [:]
    }
    for (number, count) in counts.sorted(by: { $0.key ?? 0 < $1.key ?? 0 }) {
      guard let name = number.flatMap({ names[$0] }), layout.graph.root(of: name)?.name == root else {
        throw .damaged(
          source.url,
          reason:
            "\(count) rows of \(table) are of entity \(number.map(String.init) ?? "NULL"), which it does not have"
        )
      }
      if layout.graph.entity(name)?.isAbstract == true {
        throw .damaged(source.url, reason: "\(count) rows of \(table) are of '\(name)', which is abstract")
      }
      report.counts[name] = Int(clamping: count)
    }
    guard layout.graph.subentities(of: root).count > 0 else { return }
    let columns = try source.columns(of: table)
    for (number, _) in counts {
      guard let number, let name = names[number] else { continue }
      let lineage = Set(layout.graph.lineage(of: name).map(\.name))
      let foreign = Set(
        layout.columns.filter {
          layout.table(of: $0.key.entity) == table && !lineage.contains($0.key.entity)
        }.map { $0.value.uppercased() })
      let used = try source.usage.counts(table, columns: columns, entity: number)
      for (column, count) in used.sorted(by: { $0.key < $1.key }) where foreign.contains(column) {
        // A migration in place gives a new column's default to all rows. Core Data never shows such a value.
        report.remarks.append(
          "\(count) objects of '\(name)' have a value in \(table).\(column), the column of another entity, which is not "
            + "taken over")
      }
    }
  }

  private mutating func remark() {
    for key in source.metadata.otherKeys {
      report.remarks.append("the store's metadata entry '\(key)' is not a text and was not copied")
    }
    let (hashed, held) = (source.metadata.hashedEntities, Set(source.entities.ofModel.map(\.name)))
    for name in hashed.isEmpty ? [] : hashed.symmetricDifference(held).sorted() {
      report.remarks.append(
        "'\(name)' is \(held.contains(name) ? "not " : "")among the hashes of the store's metadata, and "
          + "\(held.contains(name) ? "" : "not ")in Z_PRIMARYKEY")
    }
    for column in layout.emptyColumns {
      report.remarks.append("\(column) is empty, and belongs to nothing in the version")
    }
    for entity in layout.graph.version.entities where layout.numbers[entity.name] != nil {
      for relationship in entity.relationships where XcodeName.isTransient(relationship) {
        report.remarks.append(
          "'\(relationship.name)' of '\(entity.name)' is transient in Core Data, so there is nothing to copy"
        )
      }
    }
    if source.entities.all.count > source.entities.ofModel.count {
      report.remarks.append("Core Data's history of changes and the data of CloudKit were not copied")
    }
  }

  // MARK: Rows

  /// Copies the counters of keys, so that no key is given twice, as in Core Data. After a counter that leaves no key for new
  /// objects, keys continue after the highest one that is in use.
  private func addKeys(to table: StoreTable, _ builder: StoreBuilder) throws {
    for root in layout.roots.sorted() {
      guard let stored = layout.graph.entity(root).flatMap({ source.entities[XcodeName.of($0)] }),
        (1..<KeyRanges.largestKey).contains(stored.lastKey)
      else { continue }
      try builder.add([.text(root), .integer(stored.lastKey + 1)], to: table)
    }
  }

  private mutating func addObjects(to table: StoreTable, _ builder: StoreBuilder) throws {
    guard var rows = try ObjectRows(table, self) else { return }
    while try rows.next(&report) {
      if let row = rows.row { try builder.add(row, to: table) }
    }
  }

  private mutating func addPairs(to table: StoreTable, _ builder: StoreBuilder) throws {
    guard var rows = try PairRows(table, self) else { return }
    while try rows.next(&report) {
      if let row = rows.row { try builder.add(row, to: table) }
    }
  }
}
