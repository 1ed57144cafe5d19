#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The error of a batch when others have saved while it read rows that decide about its changes. Nothing is written.
struct OutdatedBatch: Error {}

/// One batch's transaction, and its changes.
final class BatchRun {
  private let context: ManagedObjectContext
  let entity: EntityPlan
  /// The open stores.
  let stores: StoreSet
  /// Operations on many rows at a time.
  let rows: any StoreBatchSession
  private let session: any StoreWriteSession
  /// The changed objects, by entity index.
  private var inserted: [Int: KeyRanges] = [:]
  private var updated: [Int: KeyRanges] = [:]
  /// The updated objects, by the name of the changed property.
  private var changedProperties: [String: [Int: KeyRanges]] = [:]
  private var deleted: [Int: KeyRanges] = [:]
  /// Whether the batch can run again. The rows of some sequences can be read only once.
  private(set) var isRepeatable = true
  /// Whether to keep others from saving before the batch reads rows that decide about its changes.
  private let excludesOthers: Bool
  /// The indexes of the stores of which the batch has read rows that decide about its changes, without those that exclude
  /// others by themselves.
  private var readStores: Set<Int> = []
  /// The newest saves of these stores before the batch read the rows, unless it excludes others.
  private var newestSaves: [(store: any AttachedStore, number: Int64)] = []
  /// The identifier that the batch has in the histories of its stores.
  private let saveID = UUID.random()
  /// The current time, the same for the whole batch.
  let now = Date()
  var model: ModelPlan { context.model }

  /// A context that reads the transaction's writes so far, for queries that the store cannot answer. It has no
  /// unsaved changes.
  private(set) lazy var reading = ManagedObjectContext(
    context.persistentStoreCoordinator, readingBy: session.reader)

  init(
    _ context: ManagedObjectContext, _ session: any StoreWriteSession, _ entity: EntityPlan,
    excludesOthers: Bool
  ) {
    self.context = context
    self.session = session
    self.entity = entity
    self.excludesOthers = excludesOthers
    stores = session.reader.stores
    rows = session.batch
  }

  /// Runs a batch completely.
  ///
  /// - Parameter body: Returns the number of objects that the request concerns.
  /// - Throws: An error. Nothing is written then, except with ``BatchError/partlyWritten(written:missing:reason:)``.
  func run(_ body: () throws -> Int) throws -> BatchResult {
    guard let store = stores.store(of: entity) else { throw StoreError.noStore(entity: entity.name) }
    try check(store)
    do {
      try session.begin()
      do {
        let count = try body()
        let changes = allChanges()
        try commit(changes)
        return BatchResult(count: count, changes: changes)
      } catch {
        session.rollback()
        throw error
      }
    } catch is ReferenceViolation {
      throw BatchError.danglingReferences(entity: entity.name)
    } catch EvaluationError.cancelled {
      throw CancellationError()
    } catch let error as EvaluationError {
      throw FetchError(error)
    }
  }

  private func check(_ store: any AttachedStore) throws {
    try store.checkIdentity()
    if store.isReadOnly { throw StoreError.readOnly(store.url) }
  }

  // MARK: Others who save meanwhile

  /// A batch that has inserted more rows excludes others, rather than to insert the rows again if one of them saves.
  private static let mostRepeatedRows = 1000

  /// Must be called before the batch reads rows that decide about its changes: rows of its entity, and of the objects that
  /// relationships lead to, or rows of any entity. Derived attributes and delete rules lead from one object to the next.
  ///
  /// If the store does not exclude others, the batch begins again should one of them save before it ends. It then excludes
  /// them. It does so at once if it cannot run again.
  ///
  /// - Parameters:
  ///   - relationships: Those that lead to the only other objects that the batch reads; nil if it reads any others.
  ///   - excludesOthers: Whether to exclude others at once, because the batch has written many rows already.
  func willRead(_ relationships: [RelationshipPlan]?, excludesOthers: Bool = false) throws {
    let read = relationships.map { [entity] + $0.map { model.entities[$0.destination] } }
    for store in read?.compactMap(stores.store) ?? stores.all
    where !session.excludesOthers(from: store) && readStores.insert(store.index).inserted {
      // Nobody can lock a store that is open for reading only.
      if !store.isReadOnly, excludesOthers || self.excludesOthers || !isRepeatable {
        try session.excludeOthers(from: store)
      } else {
        newestSaves.append((store, try session.reader.newestSave(of: store)))
      }
    }
  }

  /// Throws ``OutdatedBatch`` if others have saved since the batch first read rows that decide about its changes.
  ///
  /// - Parameter saves: The numbers of the batch in the histories of the stores that it has changed. From the moment in which
  ///   it gets a number, nobody else can save to the store.
  private func checkNobodyHasSaved(_ saves: [Int: Int64]) throws {
    for (store, seen) in newestSaves {
      let newest = try saves[store.index].map { $0 - 1 } ?? session.reader.newestSave(of: store)
      if newest != seen { throw OutdatedBatch() }
    }
  }

  // MARK: What was changed

  func noteInserted(_ keys: ClosedRange<ObjectKey>, of entity: EntityPlan) {
    inserted[entity.index, default: KeyRanges()].append(keys)
  }

  /// - Parameter properties: The names of the changed properties.
  private func noteUpdated(_ keys: [FetchedKey], _ properties: some Sequence<String>) {
    noteUpdated(KeyRanges.byEntity(keys), properties)
  }

  private func noteUpdated(_ keys: [Int: KeyRanges], _ properties: some Sequence<String>) {
    Self.note(keys, in: &updated)
    for property in properties { Self.note(keys, in: &changedProperties[property, default: [:]]) }
  }

  private func noteDeleted(_ keys: [Int: KeyRanges]) { Self.note(keys, in: &deleted) }

  private static func note(_ keys: [Int: KeyRanges], in changes: inout [Int: KeyRanges]) {
    for (entity, keys) in keys {
      for range in keys.ranges { changes[entity, default: KeyRanges()].append(range) }
    }
  }

  private static func byEntity(_ keys: [FetchedKey]) -> [(entity: Int, keys: [ObjectKey])] {
    guard let first = keys.first else { return [] }
    if keys.allSatisfy({ $0.entity == first.entity }) { return [(first.entity, keys.map(\.key))] }
    return Dictionary(grouping: keys, by: \.entity).sorted { $0.key < $1.key }
      .map { ($0.key, $0.value.map(\.key)) }
  }

  private func allChanges() -> ObjectChanges {
    func ids(_ keys: [Int: KeyRanges]) -> ManagedObjectIDs {
      ManagedObjectIDs(
        groups: keys.map { entity, keys in context.registry.objectIDs(keys, ofEntity: entity) })
    }
    let deleted = ids(self.deleted)
    let inserted = ids(self.inserted)
    return ObjectChanges(
      inserted: inserted, updated: ids(updated).subtracting(deleted).subtracting(inserted), deleted: deleted)
  }

  /// Adds the batch to the histories of the stores, and ends the transaction.
  @_optimize(none)
  private func commit(_ changes: ObjectChanges) throws {
    let saves = try writeHistory(of: changes)
    let changed = stores.all.filter { saves[$0.index] != nil }
    do {
      try session.commit(changed: changed) {}
    } catch let error as StoreError where changed.count > 1 {
      // The stores are committed one after another. If a later one fails, the earlier ones cannot be taken back.
      session.rollback()
      let origin = context.engine.origin
      let written = changed.filter { store in
        saves[store.index].map { session.hasEntry($0, ofSave: saveID, from: origin, in: store) } ?? false
      }
      if written.isEmpty { throw error }
      let storeIDs = Set(written.map(\.storeID))
      func missing(_ ids: ManagedObjectIDs) -> ManagedObjectIDs {
        ManagedObjectIDs(groups: ids.groups.filter { !storeIDs.contains($0.storeID) })
      }
      throw BatchError.partlyWritten(
        written: written.map(\.url),
        missing: ObjectChanges(
          inserted: missing(changes.inserted), updated: missing(changes.updated),
          deleted: missing(changes.deleted)), reason: error)
    }
  }

  /// - Returns: The numbers of the batch in the histories of the stores that it has changed, by the index of the store.
  @_optimize(none)
  private func writeHistory(of changes: ObjectChanges) throws -> [Int: Int64] {
    let groups = changes.inserted.groups + changes.updated.groups + changes.deleted.groups
    let changed = Set(groups.map(\.storeID))
    let touched = stores.all.filter { changed.contains($0.storeID) }
    let mark = HistoryText.Mark(save: saveID, stores: touched.count > 1 ? touched.map(\.storeID) : [])
    let properties = namedProperties(changes.updated)
    var saves: [Int: Int64] = [:]
    for store in touched {
      guard let text = HistoryText.text(changes, of: store.storeID, mark, properties: properties) else {
        continue
      }
      // A delete rule may have reached another store.
      try check(store)
      saves[store.index] = try session.addSave(
        mark.save, to: store, at: now, origin: context.engine.origin, author: context.transactionAuthor, text)
    }
    if !touched.isEmpty { try checkNobodyHasSaved(saves) }
    return saves
  }

  /// The updated objects by entity and changed property, without those that are inserted or deleted as well.
  @_optimize(none)
  private func namedProperties(
    _ updated: ManagedObjectIDs
  ) -> [String: [(name: String, keys: [ClosedRange<ObjectKey>])]] {
    var result: [String: [(name: String, keys: [ClosedRange<ObjectKey>])]] = [:]
    for (property, entities) in changedProperties {
      let changed = ManagedObjectIDs(
        groups: entities.map { entity, keys in context.registry.objectIDs(keys, ofEntity: entity) })
      for group in changed.subtracting(changed.subtracting(updated)).groups {
        result[group.entityName, default: []].append((property, group.keys))
      }
    }
    return result
  }

  // MARK: Which rows a request is for

  /// The rows of a request without limit and offset, if the store can select them while it changes them; nil
  /// otherwise.
  private func selection(_ run: FetchRun) throws -> (rows: RowSelection, readRoots: Set<Int>)? {
    guard run.limit == nil, run.offset == 0 else { return nil }
    return try rows.selection(of: run.query)
  }

  private func fetchRun<Object>(_ request: FetchRequest<Object>) throws -> FetchRun {
    try FetchRun(request, of: entity, in: reading)
  }

  private func id(_ key: ObjectKey, _ entity: EntityPlan) -> ManagedObjectID {
    context.registry.objectID(key, ofEntity: entity.index)
  }
}

// Rules across rows: orders, counts, files.
extension BatchRun {
  /// The relationship on the other side.
  func inverse(of relationship: RelationshipPlan) -> RelationshipPlan? {
    relationship.inverseSlot.flatMap { model.entities[relationship.destination].relationship($0) }
  }

  /// Moves rows whose reference was set to the end of the other side's ordered relationship.
  ///
  /// - Parameter moved: Rows that may have a former position.
  private func appendPositions(
    _ relationship: RelationshipPlan, _ selected: RowSelection, moved: [ObjectKey] = []
  )
    throws
  {
    guard let inverse = inverse(of: relationship) else { return }
    try rows.appendPositions(inverse, entity, selected, moved: moved, gap: Positions.gap)
  }

  /// The objects that the references of rows lead to, if their side has a rule on the number of objects.
  func countedTargets(of relationship: RelationshipPlan, _ selected: RowSelection) throws -> [ObjectKey] {
    guard let inverse = inverse(of: relationship), Self.hasCountRule(inverse),
      case .reference(let column) = relationship.storage,
      let owner = model.entity(relationship.owner)
    else { return [] }
    return try rows.targets(of: owner.columns[column], of: owner, selected)
  }

  private func checkCountsOfTargets(of relationship: RelationshipPlan, _ selected: RowSelection) throws {
    guard let inverse = inverse(of: relationship) else { return }
    try checkCounts(of: inverse, of: try countedTargets(of: relationship, selected))
  }

  static func hasCountRule(_ relationship: RelationshipPlan) -> Bool {
    let description = relationship.description
    return !description.isOptional || description.minimumCount != nil || description.maximumCount != nil
  }

  /// Throws if objects have too few or too many related objects.
  func checkCounts(of relationship: RelationshipPlan, of keys: [ObjectKey]) throws {
    guard !keys.isEmpty, let owner = model.entity(relationship.owner) else { return }
    let description = relationship.description
    let least = max(description.minimumCount ?? 0, description.isOptional ? 0 : 1)
    let most = description.isToMany ? description.maximumCount ?? Int.max : 1
    let found = try rows.ownersWithWrongCount(
      relationship, of: keys, least...most, most: BatchRowWriter.maximumMistakes)
    let mistakes = found.map { key, count in
      BatchMistake(
        entity: owner.name, property: relationship.name,
        reason: relationship.isToMany ? .wrongCount(count) : .missingValue, objectID: id(key, owner))
    }
    if !mistakes.isEmpty { throw BatchError.invalid(mistakes) }
  }

  /// Lists the files that rows refer to, for a later collection.
  private func listFiles(_ slots: [PropertyPlan], of entity: EntityPlan, _ selected: RowSelection) throws {
    let columns = slots.filter { $0.storesExternally }
      .flatMap { $0.columns.map { entity.columns[$0].name } }
    try rows.listFiles(columns, of: entity, selected, at: now)
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
    let writer = RowWriter()
    let row = rowWriter(properties, insertion, writer)
    let first = try self.rows.firstKey(of: entity)
    var written = WrittenRows(first, of: entity)
    let writeNext = start(rows)
    while try writeNext(row) {
      if writer.failure != nil { row.noteTooLarge() }
      guard row.mistakes.isEmpty else {
        if row.mistakes.count >= BatchRowWriter.maximumMistakes { break }
        continue
      }
      do { written.note(try insertion.write(written.next)) } catch let violation as UniquenessViolation {
        throw notUnique(violation, row.number - violation.rowsSince)
      }
    }
    guard row.mistakes.isEmpty else {
      throw BatchError.invalid(Array(row.mistakes.prefix(BatchRowWriter.maximumMistakes)))
    }
    do { written.note(try insertion.finish(written.next)) } catch let violation as UniquenessViolation {
      throw notUnique(violation, row.number - violation.rowsSince)
    }
    try finishInsert(written.new, written.replaced, properties, FormerRows())
    return written.count
  }

  /// Starts with the first of a batch's rows.
  func start(_ rows: BatchRows) -> (BatchRowWriter) throws -> Bool {
    isRepeatable = rows.isRepeatable
    return rows.start()
  }

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
  @_optimize(none)
  func finishInsert(
    _ keys: Range<ObjectKey>, _ replaced: [FetchedKey], _ properties: [BatchProperty], _ former: FormerRows
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
      noteUpdated(replaced, properties.map(\.slot.name))
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

  // MARK: What is inserted

  /// - Parameter updated: The columns that an existing row takes from the new one; nil for all columns for which rows
  ///   have values.
  func insertion(
    _ properties: [BatchProperty], _ uniqueness: BatchUniqueness, updating updated: [String]? = nil
  ) throws -> any RowInsertion {
    let given = properties.flatMap(\.columns)
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
  private func defaults(_ slot: PropertyPlan) -> [(column: String, value: DefaultValue)] {
    guard let value = slot.attribute?.defaultValue else { return [] }
    let names = slot.columns.map { entity.columns[$0].name }
    guard case .composite(_, let fields) = slot.kind else { return names.map { ($0, value) } }
    guard case .value(.composite(let values)) = value else { return [] }
    return zip(names, fields).map { ($0, .value(values[$1.description.name] ?? .null)) }
  }

  /// The `unique:` lists of the batch's entity and of its parent entities.
  var uniqueLists: [UniqueList] {
    entity.lineage.map { model.entities[$0] }.flatMap { owner in
      owner.description.uniquenessConstraints.compactMap { properties in
        let columns = properties.flatMap(entity.columnNumbers).map { entity.columns[$0].name }
        return columns.isEmpty ? nil : UniqueList(owner: owner, properties: properties, columns: columns)
      }
    }
  }
}

extension BatchRun {
  /// The new value of a property: values for its columns, a calculation by the store, or an expression to evaluate.
  private enum Given {
    case values([AttributeValue])
    case store(any StoreCalculation)
    case expression(ValueExpression)
  }

  /// Sets values.
  ///
  /// - Returns: The number of updated objects.
  @_optimize(none)
  func update<Object>(_ request: BatchUpdateRequest<Object>) throws -> Int {
    var properties: [BatchProperty] = []
    var given: [Given] = []
    var mistakes: [BatchMistake] = []
    for assignment in request.assignments {
      let property = try BatchProperty(assignment.keys, of: entity, in: model)
      if let index = properties.firstIndex(where: { $0.name == property.name }) {
        properties.remove(at: index)
        given.remove(at: index)
      }
      properties.append(property)
      switch assignment.source {
      case .value(let value): given.append(.values(try stored(value, property, &mistakes)))
      case .expression(let expression): given.append(try compiled(expression, property, &mistakes))
      }
    }
    guard mistakes.isEmpty else { throw BatchError.invalid(mistakes) }
    let run = try fetchRun(request.fetchRequest)
    guard !properties.isEmpty else { return try run.count() }
    let references = properties.compactMap { property -> RelationshipPlan? in
      if case .reference(let relationship) = property.kind { return relationship }
      return nil
    }
    let names = Set(properties.map(\.slot.name))
    let isCalculated = given.contains { if case .expression = $0 { true } else { false } }
    // Everything that depends on former values needs the keys of the rows first.
    let needsKeys =
      isCalculated || model.hasDerivedSlots || !references.isEmpty
      || properties.contains { $0.slot.storesExternally }
    if !needsKeys, let found = try selection(run), !found.readRoots.contains(entity.root) {
      return try writing { try write(properties, given, found.rows) }
    }
    try willRead(nil)
    let keys = try run.keys()
    let rows = RowSelection.keys(keys.map(\.key))
    let dependents = try self.dependents(of: keys, names) + affected(by: references, of: keys)
    var counted: [(RelationshipPlan, [ObjectKey])] = []
    for relationship in references {
      if let inverse = inverse(of: relationship) {
        counted.append((inverse, try self.countedTargets(of: relationship, rows)))
      }
    }
    try listFiles(properties.map(\.slot), of: entity, rows)
    if isCalculated {
      try writing { try write(properties, given, keys) }
      noteUpdated(keys, properties.map(\.slot.name))
    } else {
      _ = try writing { try write(properties, given, rows) }
    }
    if !references.isEmpty {
      for relationship in references {
        try appendPositions(relationship, rows, moved: keys.map(\.key))
        try checkCountsOfTargets(of: relationship, rows)
      }
    }
    for (relationship, owners) in counted { try checkCounts(of: relationship, of: owners) }
    try derive(
      own: keys, others: dependents + self.dependents(of: keys, names) + affected(by: references, of: keys))
    return keys.count
  }

  // MARK: What is given

  @_optimize(none)
  private func stored(
    _ value: FetchedValue, _ property: BatchProperty, _ mistakes: inout [BatchMistake]
  ) throws -> [AttributeValue] {
    var result: [AttributeValue] = []
    var found: [BatchMistake] = []
    let name = entity.name
    if case .object(let id?) = value, case .reference(let relationship) = property.kind {
      let store = stores.store(of: model.entities[relationship.destination])
      if store?.storeID != id.storeID {
        found.append(BatchMistake(entity: name, property: property.name, reason: .foreignObject))
      }
    }
    try property.store(
      value, of: entity, in: model, { result.append($0) },
      { reason, field in
        found.append(
          BatchMistake(
            entity: name, property: field.map { "\(property.name).\($0)" } ?? property.name, reason: reason))
      })
    mistakes += found
    return result
  }

  private func compiled(
    _ expression: ValueExpression, _ property: BatchProperty, _ mistakes: inout [BatchMistake]
  ) throws -> Given {
    let checked = ExpressionChecker(graph: model.graph).check(expression, on: entity.name)
    let errors = checked.diagnostics.filter { $0.severity == .error }
    guard errors.isEmpty else { throw FetchError.invalid(entity: entity.name, errors) }
    if let variable = checked.variables.first { throw FetchError.missingVariable(variable.name) }
    guard case .attribute(let attribute, let storageType) = property.kind else {
      throw BatchError.wrongExpression(
        entity: entity.name, key: property.name, reason: "only single attributes can be calculated")
    }
    switch try rows.calculation(
      checked.expression, on: entity, as: storageType, isMandatory: property.isMandatory, now: now)
    {
    case .constant(let value):
      guard let value = Self.attributeValue(value) else {
        throw wrongValue(of: property, attribute)
      }
      return .values(try stored(.attribute(value), property, &mistakes))
    case .store(let calculation) where !property.isRuled: return .store(calculation)
    case .store, .evaluator: return .expression(checked.expression)
    }
  }

  private static func attributeValue(_ value: EvaluationValue) -> AttributeValue? {
    switch value {
    case .value(let value): value
    case .float(let number): .double(Double(number))
    case .collection, .dictionary, .reference, .subject: nil
    }
  }

  private func wrongValue(of property: BatchProperty, _ attribute: AttributeDescription) -> BatchError {
    .wrongExpression(
      entity: entity.name, key: property.name, reason: "it takes \(attribute.type.schemaName), one value")
  }

  // MARK: Writing

  private func writing<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let violation as UniquenessViolation {
      throw BatchError.notUnique(entity: entity.name, properties: violation.properties, row: nil)
    }
  }

  /// Sets values that are equal for all rows, or that the store calculates.
  ///
  /// - Returns: The number of rows.
  private func write(
    _ properties: [BatchProperty], _ given: [Given], _ selected: RowSelection
  ) throws -> Int {
    var assignments: [(column: String, source: ColumnSource)] = []
    for (property, given) in zip(properties, given) {
      switch given {
      case .values(let values):
        for (column, value) in zip(property.columns, values) { assignments.append((column, .value(value))) }
      case .store(let calculation): assignments.append((property.columns[0], .calculation(calculation)))
      case .expression: break
      }
    }
    let keys = try rows.update(entity, assignments, selected)
    noteUpdated(keys, properties.map(\.slot.name))
    return keys.values.reduce(0) { $0 + $1.count }
  }

  /// Sets values that are calculated in memory. All of them are calculated before the first row is written.
  @_optimize(none)
  private func write(_ properties: [BatchProperty], _ given: [Given], _ keys: [FetchedKey]) throws {
    let evaluator = PredicateEvaluator(now: now)
    var rows: [(key: ObjectKey, values: [AttributeValue])] = []
    var mistakes: [BatchMistake] = []
    for (number, key) in keys.enumerated() {
      if number % 500 == 499 { reading.reset() }
      guard let object = try reading.fetchObject(key.key, model.entities[key.entity]) else { continue }
      var values: [AttributeValue] = []
      for (property, given) in zip(properties, given) {
        switch given {
        case .values(let constants): values += constants
        case .store: break
        case .expression(let expression):
          guard let value = Self.attributeValue(try evaluator.value(of: expression, for: object)) else {
            throw BatchError.wrongExpression(
              entity: entity.name, key: property.name, reason: "the expression has no single value")
          }
          let id = object.objectID
          let name = entity.name
          try property.store(
            .attribute(value), of: entity, in: model, { values.append($0) },
            { reason, _ in
              mistakes.append(
                BatchMistake(entity: name, property: property.name, reason: reason, objectID: id))
            })
        }
      }
      if mistakes.count >= BatchRowWriter.maximumMistakes { break }
      rows.append((key.key, values))
    }
    reading.reset()
    guard mistakes.isEmpty else { throw BatchError.invalid(mistakes) }
    var calculated: [(column: String, source: ColumnSource)] = []
    var columns: [String] = []
    for (property, given) in zip(properties, given) {
      if case .store(let calculation) = given {
        calculated.append((property.columns[0], .calculation(calculation)))
      } else {
        columns += property.columns
      }
    }
    try self.rows.update(entity, calculated: calculated, columns, rows)
  }
}

extension BatchRun {
  /// Deletes objects, and the objects that their delete rules reach.
  ///
  /// - Returns: The number of objects that the request concerns.
  @_optimize(none)
  func delete<Object>(_ request: FetchRequest<Object>) throws -> Int {
    let run = try fetchRun(request)
    let subentities = entity.subtree.map { model.entities[$0] }
    if !model.hasDerivedSlots, subentities.allSatisfy(canDeleteIndependently), let found = try selection(run)
    {
      if !found.readRoots.isEmpty { try willRead(nil) }
      // While it deletes, the store clears references in rows of any table.
      let keys = try rows.delete(
        entity, found.readRoots.isEmpty ? found.rows : .keys(try run.keys().map(\.key)))
      noteDeleted(keys)
      return keys.values.reduce(0) { $0 + $1.count }
    }
    try willRead(nil)
    let keys = try run.keys()
    try delete(keys)
    return keys.count
  }

  /// Whether rows of the entity can be deleted without looking at other rows.
  private func canDeleteIndependently(_ entity: EntityPlan) -> Bool {
    guard entity.externalSlots.isEmpty, oneSidedMinimums(of: entity).isEmpty else { return false }
    return entity.relationships.allSatisfy { relationship in
      guard let relationship else { return true }
      if relationship.description.deleteRule.needsRelatedObjects { return false }
      switch relationship.storage {
      case .reference:
        let isCounted = inverse(of: relationship).map(Self.hasCountRule) ?? false
        return !relationship.isSymmetric && !isCounted
      case .inverseReference, .referencesOfOthers: return relationship.description.deleteRule.leavesReferences
      case .join: return false
      }
    }
  }

  /// The relationships that lead to the entity, have a minimum, and have no inverse.
  private func oneSidedMinimums(of entity: EntityPlan) -> [RelationshipPlan] {
    model.oneSidedMinimums.filter { entity.lineage.contains($0.destination) }
  }

  @_optimize(none)
  private func delete(_ keys: [FetchedKey]) throws {
    // Keys by root entity: entities of one table share their keys.
    var deletedKeys: [Int: Set<ObjectKey>] = [:]
    var all: [(entity: Int, keys: [ObjectKey])] = []
    var waiting = keys
    while !waiting.isEmpty {
      let new = waiting.filter {
        deletedKeys[model.entities[$0.entity].root, default: []].insert($0.key).inserted
      }
      waiting = []
      for (entityIndex, keys) in Self.byEntity(new) {
        all.append((entityIndex, keys))
        for case let relationship? in model.entities[entityIndex].relationships
        where relationship.description.deleteRule.owns {
          waiting += try rows.related(relationship, of: keys)
        }
      }
    }
    func remains(_ key: FetchedKey) -> Bool {
      deletedKeys[model.entities[key.entity].root]?.contains(key.key) != true
    }
    var dependents: [FetchedKey] = []
    var counted: [(relationship: RelationshipPlan, owners: [ObjectKey])] = []
    var cleared: [(relationship: RelationshipPlan, keys: [ObjectKey])] = []
    for (entityIndex, keys) in all {
      let entity = model.entities[entityIndex]
      dependents += try self.dependents(of: keys.map { FetchedKey(key: $0, entity: entityIndex) }, nil)
      for relationship in oneSidedMinimums(of: entity) {
        counted.append((relationship, try rows.owners(of: relationship, to: keys).filter(remains).map(\.key)))
      }
      for case let relationship? in entity.relationships {
        let rule = relationship.description.deleteRule
        if rule.leavesReferences { continue }
        if case .reference = relationship.storage, !rule.refusesDeletion, inverse(of: relationship) == nil {
          continue
        }
        let others = try rows.related(relationship, of: keys).filter(remains)
        guard !others.isEmpty else { continue }
        if rule.refusesDeletion { throw try denial(relationship, keys, remains) }
        guard let inverse = inverse(of: relationship) else { continue }
        dependents += try others + self.dependents(of: others, [inverse.name])
        if Self.hasCountRule(inverse) { counted.append((inverse, others.map(\.key))) }
        switch relationship.storage {
        case .reference:
          if relationship.isSymmetric { cleared.append((inverse, others.map(\.key))) }
        case .inverseReference, .referencesOfOthers: cleared.append((inverse, others.map(\.key)))
        // The pairs are deleted with the rows. The objects on the other side read the relationship again.
        case .join: noteUpdated(others, [inverse.name])
        }
      }
    }
    try clear(cleared)
    for (entityIndex, keys) in all { try remove(keys, of: model.entities[entityIndex]) }
    for (relationship, owners) in counted { try checkCounts(of: relationship, of: owners) }
    try derive(own: [], others: dependents.filter(remains))
  }

  private func denial(
    _ relationship: RelationshipPlan, _ keys: [ObjectKey], _ remains: (FetchedKey) -> Bool
  ) throws -> BatchError {
    var ids: [ManagedObjectID] = []
    let owner = model.entity(relationship.owner) ?? entity
    for key in keys where ids.count < 100 {
      if try rows.related(relationship, of: [key]).contains(where: remains) { ids.append(id(key, owner)) }
    }
    return .deleteDenied(entity: owner.name, relationship: relationship.name, ids)
  }

  /// Sets references to deleted objects to nil.
  @_optimize(none)
  private func clear(_ references: [(relationship: RelationshipPlan, keys: [ObjectKey])]) throws {
    var mistakes: [BatchMistake] = []
    for (relationship, keys) in references where !relationship.description.isOptional {
      guard let owner = model.entity(relationship.owner) else { continue }
      for key in keys.prefix(BatchRowWriter.maximumMistakes) {
        mistakes.append(
          BatchMistake(
            entity: owner.name, property: relationship.name, reason: .missingValue, objectID: id(key, owner)))
      }
    }
    if !mistakes.isEmpty { throw BatchError.invalid(Array(mistakes.prefix(BatchRowWriter.maximumMistakes))) }
    for (relationship, keys) in references {
      guard let owner = model.entity(relationship.owner), case .reference(let column) = relationship.storage
      else { continue }
      let position = inverse(of: relationship).flatMap(model.positionColumn)
      let columns = [owner.columns[column].name] + [position].compactMap(\.self)
      noteUpdated(
        try rows.update(owner, columns.map { ($0, .value(.null)) }, .keys(keys)), [relationship.name])
    }
  }

  private func remove(_ keys: [ObjectKey], of entity: EntityPlan) throws {
    try listFiles(entity.externalSlots.map { entity.slots[$0] }, of: entity, .keys(keys))
    for case let relationship? in entity.relationships where !relationship.isWithinStore {
      // The store does not delete pairs with rows of another store by itself.
      guard case .join(let index, let isSource) = relationship.storage else { continue }
      try rows.deletePairs(ofJoin: index, isSource: isSource, keys)
    }
    noteDeleted(try rows.delete(entity, .keys(keys)))
  }
}

// Derived attributes of a batch's rows, and of the rows that read them.
extension BatchRun {
  private static let chunk = 500

  /// - Parameter former: The objects that read the former state of replaced rows.
  private func deriveAfterInsert(
    _ keys: Range<ObjectKey>, _ replaced: [FetchedKey], changing names: [String], _ former: [FetchedKey]
  ) throws {
    guard model.hasDerivedSlots else { return }
    let new = keys.map { FetchedKey(key: $0, entity: entity.index) }
    let names = Set(names)
    let references = entity.relationships.compactMap(\.self).filter { names.contains($0.name) }
    let related = try self.affected(by: references, of: new + replaced)
    try derive(
      own: new + replaced,
      others: try former + dependents(of: new, nil) + dependents(of: replaced, names) + related
    )
  }

  /// The objects on the other side of references that change, because their relationships change too, and the objects
  /// that read these.
  func affected(by references: [RelationshipPlan], of keys: [FetchedKey]) throws -> [FetchedKey] {
    guard model.hasDerivedSlots, !keys.isEmpty else { return [] }
    var result: [FetchedKey] = []
    for relationship in references {
      guard let inverse = inverse(of: relationship) else { continue }
      let others = try rows.related(relationship, of: keys.map(\.key))
      result += try others + dependents(of: others, [inverse.name])
    }
    return result
  }

  /// The objects with derived attributes that read something that has changed in the given objects.
  ///
  /// - Parameter names: The changed properties; nil for objects that are inserted or deleted.
  func dependents(of keys: [FetchedKey], _ names: Set<String>?) throws -> [FetchedKey] {
    guard model.hasDerivedSlots, !keys.isEmpty else { return [] }
    var result: [FetchedKey] = []
    for (entityIndex, keys) in Self.byEntity(keys) {
      for trigger in model.triggers where model.entities[entityIndex].lineage.contains(trigger.entity) {
        guard trigger.isMet(names.map { names in { names.contains($0) } }) else { continue }
        var found = keys
        var owners: [FetchedKey] = []
        for relationship in trigger.path.reversed() {
          owners = found.isEmpty ? [] : try rows.owners(of: relationship, to: found)
          found = owners.map(\.key)
        }
        result += owners
      }
    }
    return result
  }

  /// Computes derived attributes again.
  ///
  /// - Parameters:
  ///   - own: Rows of the batch, whose versions have been increased already.
  ///   - others: Other rows.
  @_optimize(none)
  func derive(own: [FetchedKey], others: [FetchedKey]) throws {
    guard model.hasDerivedSlots else { return }
    struct Place: Hashable {
      let root: Int
      let key: ObjectKey
    }
    func rowID(_ key: FetchedKey) -> Place { Place(root: model.entities[key.entity].root, key: key.key) }
    let evaluator = PredicateEvaluator(now: now)
    let known = Set(own.map(rowID))
    var waiting = own + others
    // An attribute may be derived from another object's derived attribute. The schema allows no circles.
    for _ in 0...model.triggers.count where !waiting.isEmpty {
      var changed: [FetchedKey] = []
      var seen: Set<Place> = []
      let targets = waiting.filter {
        !model.entities[$0.entity].derivedSlots.isEmpty && seen.insert(rowID($0)).inserted
      }
      for start in stride(from: 0, to: targets.count, by: Self.chunk) {
        for key in targets[start..<min(start + Self.chunk, targets.count)] {
          let isOwn = known.contains(rowID(key))
          if try derive(key, evaluator, raisingVersion: !isOwn) {
            changed.append(key)
            let plan = model.entities[key.entity]
            noteUpdated([key], plan.derivedSlots.map { plan.slots[$0].name })
          }
        }
        // The next round changes the values that were read.
        reading.reset()
      }
      waiting = try dependents(of: changed, model.derivedNames)
    }
  }

  /// - Returns: Whether a value has changed.
  private func derive(
    _ key: FetchedKey, _ evaluator: PredicateEvaluator, raisingVersion: Bool
  ) throws -> Bool {
    let plan = model.entities[key.entity]
    guard let object = try reading.fetchObject(key.key, plan) else { return false }
    var values: [(column: String, value: AttributeValue)] = []
    for slot in object.scope.plan.derivedSlots {
      guard let value = try reading.derivedValue(of: object, object.scope.plan.slots[slot], evaluator) else {
        continue
      }
      let column = object.scope.plan.columns[object.scope.plan.slots[slot].columns.lowerBound]
      values.append((column.name, value))
    }
    guard !values.isEmpty else { return false }
    try rows.setValues(values, of: plan, key.key, raisingVersion: raisingVersion)
    return true
  }
}
