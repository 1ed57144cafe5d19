import CDModel
@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The session in which a save writes to a server: a transaction, and the rows that have not been sent yet.
///
/// A save's rows are sent many at a time. If one of them is not in the expected state, the save begins again, row by
/// row, and finds all that are not.
final class PostgresWriteSession: StoreWriteSession {
  let session: PostgresSession
  let transaction: WriteTransaction
  /// Finds whether a save was committed, although the server did not confirm it; nil if the server cannot say.
  private let wasCommitted: (_ save: Save) -> Bool?
  private let statements: RowStatements
  private let writer = RowWriter()
  private var buffer = RowBuffer()
  private var isRowByRow = false
  /// Whether rows were written whose references have not been checked yet.
  private var hasUncheckedRows = false
  private var hasDanglingRows = false
  /// Checks references in place of foreign keys; nil if all stores have these.
  private var references: ReferenceChecks?
  private var saves: [Save] = []
  /// Whether the transaction is known to be committed.
  private var isCommitted = false
  /// Whether nobody knows whether the transaction was committed.
  private(set) var isUnresolved = false

  /// The transaction's entry in the history of a store.
  struct Save {
    let id: UUID
    let number: Int64
    let store: any AttachedStore
  }

  var reader: any StoreSession { session }
  var batch: any StoreBatchSession { PostgresBatchSession(self) }
  private var model: ModelPlan { session.model }
  private var dialect: any SQLDialect { session.dialect }
  var urls: [URL] { session.link.urls }

  init(
    _ session: PostgresSession, _ transaction: WriteTransaction, _ references: ReferenceChecks?,
    wasCommitted: @escaping (_ save: Save) -> Bool?
  ) {
    self.session = session
    self.transaction = transaction
    self.references = references
    self.wasCommitted = wasCommitted
    statements = RowStatements(model: session.model, sql: session.sql)
    session.link.beginWrite(transaction)
    session.link.willReadInWrite = { [unowned self] in try flush() }
  }

  /// Ends the session.
  func end() {
    rollback()
    session.link.endWrite()
  }

  /// Whether the transaction was ended by something outside of it, so that the same save can be tried again.
  var canReplay: Bool { !isUnresolved && transaction.failure?.isTransient == true }

  // MARK: Transactions

  func begin() throws { begin(rowByRow: false) }

  func beginRowByRow() throws { begin(rowByRow: true) }

  private func begin(rowByRow: Bool) {
    transaction.begin()
    buffer = RowBuffer()
    isRowByRow = rowByRow
    hasUncheckedRows = false
    hasDanglingRows = false
    references?.removeAll()
    saves = []
    isCommitted = false
  }

  func writePart(_ body: () throws -> Void) throws {
    if isRowByRow { return try body() }
    try flush()
    try converting { _ = try transaction.beginPart() }
    do {
      try body()
      try flush()
    } catch is UnexpectedRows {
      buffer = RowBuffer()
      try converting { try transaction.takeBackPart() }
      isRowByRow = true
      defer { isRowByRow = false }
      try body()
      return try flush()
    }
    try converting { _ = try transaction.endPart() }
  }

  func commit(changed: [any AttachedStore], check: () throws -> Void) throws {
    try flush(checkingReferences: true)
    if hasDanglingRows { throw ReferenceViolation() }
    try check()
    do {
      try transaction.commit()
      isCommitted = true
    } catch let failure as PostgresFailure {
      guard transaction.isResultUnknown else { throw failure.error(of: urls, during: "committing") }
      let found = saves.first.flatMap(wasCommitted)
      isCommitted = found == true
      if isCommitted { return }
      guard found == nil else { throw failure.error(of: urls, during: "committing") }
      isUnresolved = true
      throw PostgresFailure(
        code: PostgresFailure.unknownResult,
        message:
          "the server did not confirm the commit, and cannot say whether the save was written "
          + "(\(failure.message))"
      ).error(of: urls, during: "committing")
    }
  }

  // Transactions see each other's rows as soon as they are committed.
  func excludesOthers(from store: any AttachedStore) -> Bool { false }

  func excludeOthers(from store: any AttachedStore) throws {
    // Whoever saves increases the counter, and a migration locks it until it ends.
    let lock = PostgresStatement(PostgresTables.counterLock(session.link.tables.schemas(of: store)))
    if let counter = try run([lock]).last { try checkCounter(counter, of: store) }
  }

  func keepAlive() throws { try converting { try transaction.keepAlive() } }

  func rollback() {
    buffer = RowBuffer()
    transaction.rollback()
  }

  // MARK: Statements

  /// Runs statements after all rows that were given before.
  func run(_ list: [PostgresStatement], during operation: String = "writing") throws -> [PostgresResult] {
    try flush()
    return try converting(operation) { try transaction.run(list) }
  }

  @discardableResult
  func run(_ text: String, _ parameters: [PostgresParameter] = []) throws -> PostgresResult {
    guard let result = try run([PostgresStatement(text, parameters)]).last else {
      throw PostgresFailure.lost("the server did not answer").error(of: urls, during: "writing")
    }
    return result
  }

  func converting<R>(_ operation: String = "writing", _ body: () throws -> R) throws -> R {
    do { return try body() } catch let failure as PostgresFailure {
      throw failure.error(of: urls, during: operation)
    }
  }

  // MARK: Sending rows

  /// The number of new rows of an entity above which they are copied.
  private static let leastCopied = 500

  /// Sends the rows that wait.
  ///
  /// - Parameter checksReferences: Whether to check the references of all rows that were written, too.
  /// - Throws: ``UnexpectedRows`` or ``StoreError``.
  func flush(checkingReferences checksReferences: Bool = false) throws {
    let rows = buffer
    buffer = RowBuffer()
    if !rows.isEmpty { hasUncheckedRows = true }
    var list = rows.deletes.map(statements.delete)
    for group in rows.deletes { list += cleared(group.keys, of: group.entity).map { ($0, nil) } }
    list += rows.updates.map(statements.update)
    for group in rows.inserts where group.keys.count > Self.leastCopied {
      try send(list, checkingReferences: false)
      list = []
      try copy(group)
    }
    list += rows.inserts.filter { $0.keys.count <= Self.leastCopied }.map(statements.insert)
    list += rows.versions.map(statements.setVersions)
    list += rows.removedPairs.map { statements.remove($0.pairs, ofJoin: $0.join) }
    list += rows.addedPairs.map { statements.add($0.pairs, ofJoin: $0.join) }
    list += rows.positions.compactMap(statements.setPositions)
    try send(list, checkingReferences: checksReferences && hasUncheckedRows)
  }

  /// - Parameter checksReferences: Whether to check the references of all rows. The transaction goes on if some lead to
  ///   missing rows, so that these can be found.
  private func send(_ list: [RowStatements.Sent], checkingReferences checksReferences: Bool) throws {
    if list.isEmpty, !checksReferences { return }
    if checksReferences, let references { return try send(list, references) }
    let checks = checksReferences ? WriteTransaction.referenceCheck : []
    let results: [PostgresResult]
    do {
      results = try transaction.run(list.map(\.statement) + checks)
      if checksReferences { hasUncheckedRows = false }
    } catch let failure as PostgresFailure {
      if failure.isUniquenessViolation { throw UnexpectedRows() }
      guard failure.isReferenceViolation, failure.statement > list.count else {
        throw failure.error(of: urls, during: "writing")
      }
      // Whether all rows were in the expected state is not known. If some were not, these are the conflicts.
      if !isRowByRow, list.contains(where: { $0.expected != nil }) { throw UnexpectedRows() }
      try converting { try transaction.endReferenceCheck() }
      hasUncheckedRows = false
      hasDanglingRows = true
      return
    }
    for (sent, result) in zip(list, results) {
      if let expected = sent.expected, result.affectedCount != expected { throw UnexpectedRows() }
    }
  }

  /// Sends statements and checks the references of all rows, which no foreign keys check.
  private func send(_ list: [RowStatements.Sent], _ references: ReferenceChecks) throws {
    let check = references.check
    let results = try unexpectedRows { try transaction.run(list.map(\.statement) + check.statements) }
    for (sent, result) in zip(list, results) {
      if let expected = sent.expected, result.affectedCount != expected { throw UnexpectedRows() }
    }
    hasUncheckedRows = false
    let found = Array(results.dropFirst(list.count))
    hasDanglingRows = references.findsDanglingReferences(check, found)
    let missing = references.missingReferences(check, found)
    if hasDanglingRows || missing.isEmpty { return }
    hasDanglingRows = try converting { try transaction.run(missing).contains { $0.rowCount > 0 } }
  }

  /// The statements that clear the references and remove the pairs that lead to deleted rows, unless foreign keys do so.
  func cleared(_ keys: [ObjectKey], of entity: EntityPlan) -> [PostgresStatement] {
    references?.noteDeleted(keys, of: entity.root) ?? []
  }

  /// Notes the references in values of columns that a batch writes.
  func noteReferences(_ values: [AttributeValue], in names: [String], of entity: EntityPlan) {
    guard references != nil else { return }
    for (name, value) in zip(names, values) {
      for kind in model.entities[entity.root].subtree.map({ model.entities[$0] }) {
        guard let column = kind.columns.firstIndex(where: { $0.name == name }) else { continue }
        references?.note([value], in: [column], of: kind, model)
        break
      }
    }
  }

  private func copy(_ group: RowBuffer.Group) throws {
    let (entity, width) = (group.entity, group.columns.count)
    let name = entity.hasEntityColumn ? AttributeValue.string(entity.name) : nil
    let count = Int16(clamping: 2 + (name == nil ? 0 : 1) + width)
    var row = 0
    try unexpectedRows {
      try transaction.copy(statements.copy(entity)) { bytes in
        while row < group.keys.count, bytes.count < 1 << 18 {
          bytes.append(count)
          bytes.appendField(.int(group.keys[row]))
          bytes.appendField(.int(1))
          if let name { bytes.appendField(name) }
          for value in group.values[row * width..<(row + 1) * width] { bytes.appendField(value) }
          row += 1
        }
        return row < group.keys.count
      }
    }
  }

  private func unexpectedRows<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let failure as PostgresFailure {
      if failure.isUniquenessViolation { throw UnexpectedRows() }
      throw failure.error(of: urls, during: "writing")
    }
  }

  func noteRowsWritten() { hasUncheckedRows = true }

  // MARK: Rows

  /// The values that a closure writes; nil if one of them cannot be stored.
  private func captured(_ encode: (RowWriter) throws -> Void) rethrows -> [AttributeValue]? {
    writer.startCapture()
    try encode(writer)
    let values = writer.values
    return writer.failure == nil && values.allSatisfy(Self.isStorable) ? values : nil
  }

  /// No text of PostgreSQL contains U+0000, and no value has more than a gigabyte.
  static func isStorable(_ value: AttributeValue) -> Bool { unstorable(value) == nil }

  private static func unstorable(_ value: AttributeValue) -> (any Error)? {
    switch value {
    case .string(let text):
      if text.utf8.contains(0) {
        return UnstorableValue(reason: "contains the character U+0000, which PostgreSQL cannot store")
      }
      return text.utf8.count > mostBytes ? RowWriter.TooLarge() : nil
    case .data(let data): return data.count > mostBytes ? RowWriter.TooLarge() : nil
    default: return nil
    }
  }

  private static let mostBytes = 1_000_000_000

  /// Returns a value of a batch.
  ///
  /// - Throws: ``StoreError/engine(_:_:)`` for a value that the server cannot store.
  func storable(_ value: AttributeValue) throws -> AttributeValue {
    guard let error = Self.unstorable(value) else { return value }
    let reason = (error as? UnstorableValue)?.reason ?? "has more than \(Self.mostBytes) bytes"
    // The codes of the SQL standard for a text that cannot be represented, and for a value beyond a limit.
    let code = error is UnstorableValue ? "22021" : "54000"
    throw PostgresFailure(code: code, message: "a value \(reason)").error(of: urls, during: "writing")
  }

  func failure(of encode: (RowWriter) -> Void) -> (any Error)? {
    writer.startCapture()
    encode(writer)
    return writer.failure ?? writer.values.lazy.compactMap(Self.unstorable).first
  }

  func insert(_ entity: EntityPlan, _ key: ObjectKey, _ encode: (RowWriter) -> Void) throws -> RowOutcome {
    guard let values = captured(encode) else { return .unwritable }
    references?.note(values[...], in: Array(entity.columns.indices), of: entity, model)
    var rows = RowBuffer()
    guard isRowByRow else {
      buffer.insert(entity, key, values)
      if buffer.isFull { try flush() }
      return .done
    }
    rows.insert(entity, key, values)
    return try runRow(rows.inserts.map(statements.insert))
  }

  func setVersion(_ version: Int64, of entity: EntityPlan, _ key: ObjectKey) throws {
    buffer.setVersion(version, of: entity, key)
    if isRowByRow { try flush() }
  }

  func update(
    _ entity: EntityPlan, _ changed: SlotSet, _ key: ObjectKey, version: Int64,
    _ encode: (_ slots: [Int], RowWriter) throws -> Void
  ) throws -> RowOutcome {
    let slots = entity.storedSlots.filter(changed.contains)
    guard let values = try captured({ try encode(slots, $0) }) else { return .unwritable }
    let columns = slots.flatMap { entity.slots[$0].columns }
    references?.note(values[...], in: columns, of: entity, model)
    guard isRowByRow else {
      buffer.update(entity, changed, columns, key, version: version, values)
      if buffer.isFull { try flush() }
      return .done
    }
    var rows = RowBuffer()
    rows.update(entity, changed, columns, key, version: version, values)
    return try runRow(rows.updates.map(statements.update))
  }

  func delete(_ entity: EntityPlan, _ key: ObjectKey, version: Int64) throws -> RowOutcome {
    guard isRowByRow else {
      buffer.delete(entity, key, version: version)
      if buffer.isFull { try flush() }
      return .done
    }
    var rows = RowBuffer()
    rows.delete(entity, key, version: version)
    let outcome = try runRow(rows.deletes.map(statements.delete))
    if case .done = outcome {
      let list = cleared([key], of: entity)
      if !list.isEmpty { _ = try converting { try transaction.run(list) } }
    }
    return outcome
  }

  /// Writes one row at once.
  private func runRow(_ list: [RowStatements.Sent]) throws -> RowOutcome {
    try flush()
    hasUncheckedRows = true
    do {
      let results = try transaction.runInSavepoint(list.map(\.statement))
      return results.contains { $0.affectedCount == 0 } ? .missing : .done
    } catch let failure as PostgresFailure {
      guard failure.isUniquenessViolation else { throw failure.error(of: urls, during: "writing") }
      return .notUnique(refusedProperties(failure))
    }
  }

  /// The properties of the unique index that refused a row.
  func refusedProperties(_ failure: PostgresFailure) -> [String] {
    let found = session.link.tables.properties(ofIndex: failure.constraint)
    return found.isEmpty && failure.constraint?.hasSuffix("_pkey") == true ? ["_pk"] : found
  }

  // MARK: Unique values

  func conflictingRow(
    of columns: [Int], _ entity: EntityPlan, _ owner: EntityPlan, excluding key: ObjectKey,
    _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> (key: ObjectKey, entity: String)? {
    guard let values = captured(of: columns, entity, encode), !values.contains(.null) else { return nil }
    let conditions = columns.map { "t.\(SQLText.quoted(entity.columns[$0].name)) = ?" }
    let names = owner.subtree.map { SQLText.literal(model.entities[$0].name) }.joined(separator: ", ")
    let result = try session.run(
      "SELECT t._pk" + (entity.hasEntityColumn ? ", t._entity" : "")
        + " FROM \(dialect.table(entity.table)) AS t WHERE "
        + (conditions + ["t._pk <> ?"]).joined(separator: " AND ")
        + (entity.hasEntityColumn ? " AND t._entity IN (\(names))" : "") + " ORDER BY t._pk LIMIT 1",
      zip(columns, values).map { .typed($1, PostgresType(entity.columns[$0].storageType)) }
        + [.value(.int(key))])
    guard result.rowCount > 0 else { return nil }
    return (result.int(0, 0), entity.hasEntityColumn ? result.string(0, 1) ?? entity.name : entity.name)
  }

  func comparedValues(
    of columns: [Int], _ entity: EntityPlan, _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> [String]? {
    guard let values = captured(of: columns, entity, encode) else { return nil }
    var texts: [String] = []
    for value in values {
      if value == .null { return nil }
      // The bytes that the server gets. A zero may have a sign, which makes no difference.
      var bytes = PostgresBytes()
      bytes.appendField(value.withPlainZero)
      texts.append(bytes.bytes.map { String($0, radix: 16) }.joined(separator: " "))
    }
    return texts
  }

  /// The values of some columns, in their order; nil if one of them cannot be stored.
  private func captured(
    of columns: [Int], _ entity: EntityPlan, _ encode: (_ slots: [Int], RowWriter) -> Void
  ) -> [AttributeValue]? {
    var slots: [Int] = []
    for column in columns where !slots.contains(entity.columns[column].slot) {
      slots.append(entity.columns[column].slot)
    }
    // A slot writes all its columns together.
    let written = slots.flatMap { entity.slots[$0].columns }
    guard let values = captured({ encode(slots, $0) }) else { return nil }
    return columns.map { column in written.firstIndex(of: column).map { values[$0] } ?? .null }
  }

  func writePlaceholder(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws {
    let type = PostgresType(column.storageType)
    let text =
      "UPDATE \(dialect.table(entity.table)) AS t0 SET \(SQLText.quoted(column.name)) = ? WHERE _pk = ?"
    try flush()
    hasUncheckedRows = true
    // A collision of random values is extremely unlikely, and twelve collisions in a row are practically impossible.
    for attempt in 1... {
      do {
        let parameters = [PostgresParameter.typed(Self.placeholder(type), type), .value(.int(key))]
        _ = try transaction.runInSavepoint([PostgresStatement(text, parameters)])
        return
      } catch let failure as PostgresFailure where failure.isUniquenessViolation && attempt < 12 {
        continue
      } catch let failure as PostgresFailure {
        throw failure.error(of: urls, during: "writing")
      }
    }
  }

  private static func placeholder(_ type: PostgresType) -> AttributeValue {
    let number = Int64.random(in: .min ... .max)
    switch type {
    case .text: return .string("_cdgen " + UUID.random().uuidString)
    case .bytes: return .data(withUnsafeBytes(of: UUID.random().uuid) { Data($0) })
    case .uuid: return .uuid(.random())
    case .double, .float: return .double(Double(number))
    case .numeric: return .decimal(Decimal(number))
    case .bool: return .bool(number & 1 == 0)
    case .int16, .int32, .int64: return .int(number)
    }
  }
}

// Relationships.
extension PostgresWriteSession {
  func deletePairs(ofJoin index: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws {
    buffer.removePairs(ofJoin: index, source, targets)
    if isRowByRow { try flush() }
  }

  func insertPairs(ofJoin index: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws {
    buffer.addPairs(ofJoin: index, source, targets)
    if references != nil, !targets.isEmpty {
      let join = model.joins[index]
      let (own, other) = (model.entities[join.source], model.entities[join.target])
      references?.note(source, to: own.root)
      if own.storeIndex == other.storeIndex { for key in targets { references?.note(key, to: other.root) } }
    }
    if isRowByRow || buffer.isFull { try flush() }
  }

  private func positionSQL(_ relationship: RelationshipPlan) -> PositionSQL? {
    PositionSQL(relationship, in: model, dialect)
  }

  func hasPositions(_ relationship: RelationshipPlan) -> Bool { positionSQL(relationship) != nil }

  func lastPosition(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> Int64 {
    guard let sql = positionSQL(relationship) else { return 0 }
    return try session.keys(sql.maximum, key).first ?? 0
  }

  func positionedKeys(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey] {
    guard let sql = positionSQL(relationship) else { return [] }
    return try session.keys(sql.others, key)
  }

  func setPosition(
    _ position: Int64, of member: ObjectKey, _ relationship: RelationshipPlan, of key: ObjectKey, isNew: Bool
  ) throws {
    buffer.setPosition(position, of: member, relationship, of: key, isNew: isNew)
    if buffer.isFull { try flush() }
  }

  func danglingRows(in store: any AttachedStore) throws -> [(root: EntityPlan, key: ObjectKey)] {
    var result: [(root: EntityPlan, key: ObjectKey)] = []
    for entity in model.entities where entity.storeIndex == store.index {
      for case let relationship? in entity.relationships where relationship.isGuaranteed {
        guard case .reference(let column) = relationship.storage, result.count < 100 else { continue }
        let name = SQLText.quoted(entity.columns[column].name)
        let destination = dialect.table(model.entities[relationship.destination].table)
        let rows = try session.run(
          "SELECT t0._pk FROM \(dialect.table(entity.table)) AS t0 WHERE t0.\(name) IS NOT NULL "
            + (entity.hasEntityColumn ? "AND t0._entity = \(SQLText.literal(entity.name)) " : "")
            + "AND NOT EXISTS (SELECT 1 FROM \(destination) AS t1 WHERE t1._pk = t0.\(name)) "
            + "ORDER BY t0._pk LIMIT 100")
        let root = model.entities[entity.root]
        for row in 0..<rows.rowCount {
          let key = rows.int(row, 0)
          if !result.contains(where: { $0.root === root && $0.key == key }) { result.append((root, key)) }
        }
      }
    }
    return Array(result.prefix(100))
  }
}

// The history, the metadata, and files of large values, which a server does not have.
extension PostgresWriteSession {
  func addSave(
    _ id: UUID, to store: any AttachedStore, at date: Date, origin: String, author: String?,
    _ changes: String
  ) throws -> Int64? {
    // Before the history's counter, which no other save can use in the meantime.
    try flush(checkingReferences: true)
    if hasDanglingRows { return nil }
    let counter = session.systemTable("_cdgen_keys", of: store)
    let history = session.systemTable("_cdgen_history", of: store)
    let result = try run(
      #"WITH n AS (UPDATE \#(counter) SET "next" = "next" + 1 WHERE "entity" = '\#(PostgresTables.historyKey)' "#
        + #"RETURNING "next" - 1 AS id) INSERT INTO \#(history) "#
        + #"("id", "save", "time", "origin", "author", "changes") SELECT n.id, ?, ?, ?, ?, ? FROM n "#
        + #"RETURNING "id""#,
      [
        .value(.uuid(id)), .value(.date(date)), .value(.string(origin)),
        .typed(author.map { .string($0) } ?? .null, .text), .value(.string(changes)),
      ])
    try checkCounter(result, of: store)
    let number = result.int(0, 0)
    saves.append(Save(id: id, number: number, store: store))
    return number
  }

  /// Checks that a statement has found the counter of saves. A migration to a schema beside removes it, which keeps
  /// transactions of the old version from being committed.
  private func checkCounter(_ result: PostgresResult, of store: any AttachedStore) throws {
    if result.rowCount == 1 { return }
    try converting { try transaction.checkVersion() }
    throw StoreError.damagedKeys(store.url, entity: PostgresTables.historyKey)
  }

  func deleteEntries(_ range: HistoryRange, of store: any AttachedStore) throws {
    let table = session.systemTable("_cdgen_history", of: store)
    let (condition, limit): (String, PostgresParameter) =
      switch range {
      case .before(let date): (#""time" < ?"#, .value(.date(date)))
      case .upTo(let number): (#""id" <= ?"#, .value(.int(number)))
      }
    try run(
      #"DELETE FROM \#(table) WHERE \#(condition) AND "id" < (SELECT max("id") FROM \#(table))"#, [limit])
  }

  // The connection may have been lost at or after the commit. So this does not ask the server.
  func hasEntry(
    _ number: Int64, ofSave id: UUID, from origin: String, in store: any AttachedStore
  ) -> Bool {
    isCommitted && saves.contains { $0.number == number && $0.store.index == store.index }
  }

  func setMetadata(_ values: [String: String], of store: any AttachedStore) throws {
    let table = session.systemTable("_cdgen_metadata", of: store)
    let prefix = StoreMetadata.valuePrefix
    // A migration copies the metadata.
    try excludeOthers(from: store)
    try run(
      #"DELETE FROM \#(table) WHERE left("key", \#(prefix.utf8.count)) = \#(SQLText.literal(prefix))"#)
    if values.isEmpty { return }
    let sorted = values.sorted { $0.key < $1.key }
    try run(
      #"INSERT INTO \#(table) ("key", "value") SELECT k, v FROM unnest(CAST(? AS text[]), CAST(? AS text[])) AS u(k, v)"#,
      [
        .array(sorted.map { .string(prefix + $0.key) }, .text),
        .array(sorted.map { .string($0.value) }, .text),
      ])
  }

  func fileName(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> String? { nil }

  func listFile(_ name: String, in store: any AttachedStore) throws {}

  @discardableResult func unlistFile(_ name: String, in store: any AttachedStore) throws -> Bool { false }
}
