extension BatchRun {
  /// Inserts rows.
  ///
  /// - Returns: The number of inserted and updated rows.
  @_optimize(none)
  func insert(_ rows: BatchRows, _ uniqueness: BatchUniqueness) throws -> Int {
    let properties: [BatchProperty]
    if let keyPaths = rows.keyPaths {
      properties = try keyPaths.map { try BatchProperty($0, of: entity, in: model) }
    } else {
      // All properties that a row may name. A row that names another one makes the batch throw.
      properties = entity.slots.compactMap { slot in
        slot.isStored ? try? BatchProperty([slot.name], of: entity, in: model) : nil
      }
    }
    try checkMissing(properties)
    if uniqueness == .update, rows.keyPaths == nil || dependsOnReplaced(properties) {
      return try BatchUpsert(self, properties).insert(rows)
    }
    let insertion = try insertion(properties, uniqueness)
    let columns = BatchColumns(properties)
    let writer = RowWriter()
    let row = rowWriter(properties, columns.areRepeated ? nil : insertion, writer)
    let first = try self.rows.firstKey(of: entity)
    var written = WrittenRows(first, of: entity)
    let writeNext = start(rows)
    while try writeNext(row) {
      if columns.areRepeated, writer.failure == nil, row.mistakes.isEmpty {
        let values = columns.values(writer.values)
        row.checkComposites(columns, values)
        insertion.start(writer)
        for value in values { writer.value(value) }
      }
      if writer.failure != nil { row.noteTooLarge() }
      guard row.mistakes.isEmpty else {
        if row.mistakes.count >= BatchRowWriter.maximumMistakes { break }
        continue
      }
      do { written.note(try insertion.write(written.next)) } catch let violation as UniquenessViolation {
        throw notUnique(violation, row.number - violation.rowsSince)
      }
    }
    try refuse(row.mistakes)
    do { written.note(try insertion.finish(written.next)) } catch let violation as UniquenessViolation {
      throw notUnique(violation, row.number - violation.rowsSince)
    }
    try finishInsert(written.new, written.replaced, properties, FormerRows())
    return written.count
  }

  @_optimize(none)
  func rowWriter(
    _ properties: [BatchProperty], _ insertion: (any RowInsertion)?, _ writer: RowWriter
  ) -> BatchRowWriter {
    let stores = Dictionary(self.stores.all.map { ($0.index, $0.storeID) }) { first, _ in first }
    return BatchRowWriter(properties, of: entity, in: model, storeIDs: stores, insertion, writer)
  }

  func notUnique(_ violation: UniquenessViolation, _ row: Int) -> BatchError {
    .notUnique(entity: entity.name, properties: violation.properties, row: row)
  }

  /// Completes a batch insert after its rows have been written.
  ///
  /// - Parameters:
  ///   - keys: The keys of the new rows.
  ///   - replaced: The existing rows that were replaced.
  ///   - properties: The properties for which rows have values.
  ///   - former: The former state of the replaced rows.
  ///   - named: The properties of which replaced rows have got values; nil if each of the rows has got all of them.
  @_optimize(none)
  func finishInsert(
    _ keys: Range<ObjectKey>, _ replaced: [FetchedKey], _ properties: [BatchProperty], _ former: FormerRows,
    _ named: [(names: [String], keys: [ObjectKey])]? = nil
  ) throws {
    let references = properties.compactMap { property -> RelationshipPlan? in
      guard case .reference(let relationship) = property.kind, let inverse = inverse(of: relationship),
        Self.hasCountRule(inverse) || model.positionColumn(of: inverse) != nil
      else { return nil }
      return relationship
    }
    if model.hasDerivedSlots || !references.isEmpty {
      try willRead(
        model.hasDerivedSlots ? nil : references, excludesOthers: keys.count > Self.mostRepeatedRows)
    }
    if !keys.isEmpty {
      try rows.reserve(upTo: keys.upperBound, of: entity)
      noteInserted(keys.lowerBound...keys.upperBound - 1, of: entity)
    }
    var replaced = replaced
    if !replaced.isEmpty {
      // The row may have a subentity.
      replaced = try rows.keys(replaced.map(\.key), of: entity)
      if let named {
        // There may be a group for each combination of properties.
        let rows = Dictionary(replaced.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        for group in named {
          noteUpdated(Array(Set(group.keys)).sorted().compactMap { rows[$0] }, group.names)
        }
      } else {
        noteUpdated(replaced, properties.map(\.slot.name))
      }
    }
    for property in properties {
      guard case .reference(let relationship) = property.kind else { continue }
      let written = RowSelection.range(keys, and: replaced.map(\.key))
      try appendPositions(relationship, written, moved: moved(property, former))
      try checkCountsOfTargets(of: relationship, written)
    }
    try resolveFormerRows(former)
    try deriveAfterInsert(keys, replaced, changing: properties.map(\.slot.name), former.dependents)
  }

  // MARK: Before the first row

  /// Refuses rows without a value for a mandatory property that has no default.
  @_optimize(none)
  private func checkMissing(_ given: [BatchProperty]) throws {
    let slots = Set(given.map(\.slot.number))
    var mistakes: [BatchMistake] = []
    func note(_ name: String) {
      mistakes.append(BatchMistake(entity: entity.name, property: name, reason: .missingValue))
    }
    for slot in entity.slots where slot.isStored && !slots.contains(slot.number) {
      switch slot.kind {
      case .attribute(let attribute, _), .composite(let attribute, _):
        if !attribute.isOptional, attribute.defaultValue == nil, attribute.derivation == nil {
          note(slot.name)
        }
      case .relationship(let relationship):
        if !relationship.description.isOptional { note(slot.name) }
      }
    }
    for slot in entity.slots where !slot.isStored && slot.relationship != nil {
      guard let relationship = slot.relationship?.description else { continue }
      // A new row has no objects in it yet.
      if !relationship.isOptional || relationship.minimumCount ?? 0 > 0 { note(slot.name) }
    }
    let fields = Set(given.map(\.name))
    for slot in entity.slots where slots.contains(slot.number) {
      guard case .composite(_, let all) = slot.kind, !fields.contains(slot.name) else { continue }
      for field in all
      where !field.description.isOptional && !fields.contains("\(slot.name).\(field.description.name)") {
        note("\(slot.name).\(field.description.name)")
      }
    }
    if !mistakes.isEmpty { throw BatchError.invalid(mistakes) }
  }

  // MARK: Columns, defaults and unique lists

  /// - Parameter updated: The columns that an existing row takes from the new one; nil for all columns for which rows
  ///   have values.
  @_optimize(none)
  func insertion(
    _ properties: [BatchProperty], _ uniqueness: BatchUniqueness, updating updated: [String]? = nil
  ) throws -> any RowInsertion {
    let given = BatchColumns(properties).names
    let conflict: InsertionPlan.Conflict =
      switch uniqueness {
      case .refuse: .refuse
      case .keep: .keep
      case .update: .update(updated ?? given)
      }
    return try rows.insertion(
      InsertionPlan(
        entity: entity, columns: given, defaults: defaults(except: given), lists: uniqueLists,
        conflict: conflict))
  }

  /// The columns with a default for which rows have no value, and the default, which is the same for all rows; nil
  /// for a UUID, which differs for each row.
  @_optimize(none)
  func defaults(except given: [String]) -> [(column: String, value: AttributeValue?)] {
    entity.slots.filter { $0.isStored && $0.attribute?.defaultValue != nil }.flatMap(defaults)
      .filter { !given.contains($0.column) }
      .map { column, value in
        switch value {
        case .uuid: (column, nil)
        case .now: (column, AttributeValue.date(now))
        case .value(let value): (column, value)
        }
      }
  }

  /// The columns of a slot with their defaults.
  @_optimize(none)
  private func defaults(_ slot: PropertyPlan) -> [(column: String, value: DefaultValue)] {
    guard let value = slot.attribute?.defaultValue else { return [] }
    let names = slot.columns.map { entity.columns[$0].name }
    guard case .composite(_, let fields) = slot.kind else { return names.map { ($0, value) } }
    guard case .value(.composite(let values)) = value else { return [] }
    return zip(names, fields).map { ($0, .value(values[$1.description.name] ?? .null)) }
  }

  /// The `unique:` lists of the batch's entity and of its parent entities.
  @_optimize(none)
  var uniqueLists: [UniqueList] {
    entity.lineage.map { model.entities[$0] }.flatMap { owner in
      owner.description.uniquenessConstraints.compactMap { properties in
        let columns = entity.columnNames(ofUnique: properties)
        return columns.isEmpty ? nil : UniqueList(owner: owner, properties: properties, columns: columns)
      }
    }
  }
}

/// The rows that a batch insert has written.
struct WrittenRows {
  let first: ObjectKey
  /// The key of the next new row.
  private(set) var next: ObjectKey
  /// The existing rows that were replaced.
  private(set) var replaced: [FetchedKey] = []
  private let entity: Int

  init(_ first: ObjectKey, of entity: EntityPlan) {
    self.first = first
    next = first
    self.entity = entity.index
  }

  /// The keys of the new rows.
  var new: Range<ObjectKey> { first..<next }
  /// The number of inserted and updated rows.
  var count: Int { Int(next - first) + replaced.count }

  mutating func note(_ outcome: RowInsertionOutcome) {
    switch outcome {
    case .waiting, .skipped: break
    case .written(let key): note(key)
    case .sent(let keys): for case let key? in keys { note(key) }
    }
  }

  private mutating func note(_ key: ObjectKey) {
    if key == next { next += 1 } else { replaced.append(FetchedKey(key: key, entity: entity)) }
  }
}
