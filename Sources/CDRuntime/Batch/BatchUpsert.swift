/// A batch insert that finds the rows that it replaces, some hundred at a time, before it replaces them. It needs
/// their former state while it still exists.
///
/// Rows are collected for that. Rows that do not name all properties use a statement for each set of names, which
/// leaves the other columns of an existing row unchanged.
final class BatchUpsert {
  private struct Row {
    let number: Int
    let values: [AttributeValue]
    /// The indices of the properties that the row does not name.
    let omitted: SlotSet
  }

  /// A search for the row that has the values of a `unique:` list.
  private struct Search {
    enum Source {
      /// A value of the row, by its index.
      case value(Int)
      case constant(AttributeValue)
    }

    let properties: [String]
    let sources: [Source]
    let rows: any RowSearch
  }

  private static let chunk = 500
  /// The most bytes of strings and data that are collected, not counting the last row.
  private static let maximumBytes = 1 << 20
  private static let maximumInsertions = 100

  private let run: BatchRun
  private let properties: [BatchProperty]
  private let columns: BatchColumns
  private let writer = RowWriter()
  private let row: BatchRowWriter
  private let searches: [Search]
  private var insertions: [SlotSet: any RowInsertion] = [:]
  private var written: WrittenRows
  /// The rows that were replaced, by the properties that the new rows do not name.
  private var replaced: [SlotSet: [ObjectKey]] = [:]
  /// The insertion that may have rows that have not been sent yet, and the number of its last row.
  private var current: (insertion: any RowInsertion, omitted: SlotSet, number: Int)?
  private var former = FormerRows()
  /// The indices of the properties that any row has named.
  private var named = SlotSet()

  @_optimize(none)
  init(_ run: BatchRun, _ properties: [BatchProperty]) throws {
    self.run = run
    self.properties = properties
    columns = BatchColumns(properties)
    row = run.rowWriter(properties, nil, writer)
    searches = try Self.searches(run, columns.names)
    written = WrittenRows(try run.rows.firstKey(of: run.entity), of: run.entity)
  }

  /// - Returns: The number of inserted and updated rows.
  @_optimize(none)
  func insert(_ rows: BatchRows) throws -> Int {
    let writeNext = run.start(rows)
    if run.model.hasDerivedSlots || run.dependsOnReplaced(properties) { try run.willRead(nil) }
    var isMore = true
    while isMore, row.mistakes.count < BatchRowWriter.maximumMistakes {
      var chunk: [Row] = []
      var size = 0
      while chunk.count < Self.chunk, size < Self.maximumBytes {
        isMore = try writeNext(row)
        guard isMore else { break }
        if writer.failure != nil { row.noteTooLarge() }
        let values = row.mistakes.isEmpty ? columns.values(writer.values) : []
        if columns.areRepeated, row.mistakes.isEmpty { row.checkComposites(columns, values) }
        guard row.mistakes.isEmpty else {
          if row.mistakes.count >= BatchRowWriter.maximumMistakes { break }
          continue
        }
        size += values.reduce(0) { $0 + $1.size }
        chunk.append(Row(number: row.number, values: values, omitted: row.omitted))
      }
      if row.mistakes.isEmpty { try write(chunk) }
    }
    try run.refuse(row.mistakes)
    let set = properties.enumerated().filter { named.contains($0.offset) }.map(\.element)
    let groups = replaced.map { omitted, keys in
      let given = properties.enumerated().filter { !omitted.contains($0.offset) }
      return (names: given.map(\.element.slot.name), keys: keys)
    }
    try run.finishInsert(written.new, written.replaced, set, former, groups)
    return written.count
  }

  // MARK: What is replaced

  /// - Parameter given: The columns for which rows have values.
  @_optimize(none)
  private static func searches(_ run: BatchRun, _ given: [String]) throws -> [Search] {
    let defaults = run.defaults(except: given)
    return try run.uniqueLists.compactMap { list in
      // A list with a column that is nil, or whose default differs for each row, cannot match another row.
      let sources = list.columns.compactMap { column -> Search.Source? in
        if let index = given.firstIndex(of: column) { return .value(index) }
        return defaults.first { $0.column == column }?.value.map { .constant($0) }
      }
      guard sources.count == list.columns.count else { return nil }
      return Search(
        properties: list.properties, sources: sources, rows: try run.rows.search(list, of: run.entity))
    }
  }

  /// Returns the rows of the store whose unique values new rows have.
  ///
  /// - Throws: ``BatchError/notUnique(entity:properties:row:)`` if such a row has neither the batch's entity nor a
  ///   subentity of it.
  private func find(_ rows: [Row]) throws -> [FetchedKey] {
    let model = run.model
    let found = try searches.map { try find(rows, $0) }
    var result: [FetchedKey] = []
    var seen: Set<ObjectKey> = []
    for (index, row) in rows.enumerated() {
      for (search, found) in zip(searches, found) {
        guard let found = found[index] else { continue }
        guard model.entities[found.entity].isKind(of: run.entity) else {
          throw BatchError.notUnique(
            entity: run.entity.name, properties: search.properties, row: row.number)
        }
        // Nothing depends on the former state of a row that this batch has inserted.
        if found.key < written.first, seen.insert(found.key).inserted { result.append(found) }
      }
    }
    return result
  }

  /// Finds the row that has the unique values of each row.
  private func find(_ rows: [Row], _ search: Search) throws -> [FetchedKey?] {
    var result = [FetchedKey?](repeating: nil, count: rows.count)
    var indices: [Int] = []
    var list: [[AttributeValue]] = []
    for (index, row) in rows.enumerated() {
      let values = search.sources.map { source in
        switch source {
        case .value(let index): row.values[index]
        case .constant(let value): value
        }
      }
      if values.contains(.null) { continue }
      indices.append(index)
      list.append(values)
    }
    for (index, found) in zip(indices, try search.rows.find(list)) { result[index] = found }
    return result
  }

  // MARK: Writing

  @_optimize(none)
  private func write(_ rows: [Row]) throws {
    let indices = properties.indices.filter { index in rows.contains { !$0.omitted.contains(index) } }
    for index in indices { named.insert(index) }
    try run.note(try find(rows), indices.map { properties[$0] }, in: &former)
    for row in rows {
      // A later row may have the same unique values as an earlier one, which must be there before it.
      if let current, current.omitted != row.omitted { try finish() }
      let insertion = try current?.insertion ?? insertion(row.omitted)
      current = (insertion, row.omitted, row.number)
      insertion.start(writer)
      for value in row.values { writer.value(value) }
      guard writer.failure == nil else { return self.row.noteTooLarge(row: row.number) }
      do { note(try insertion.write(written.next), row.omitted) } catch let violation as UniquenessViolation {
        throw run.notUnique(violation, row.number - violation.rowsSince)
      }
    }
    try finish()
  }

  /// Sends the rows that have not been sent yet.
  private func finish() throws {
    guard let (insertion, omitted, number) = current else { return }
    current = nil
    do { note(try insertion.finish(written.next), omitted) } catch let violation as UniquenessViolation {
      throw run.notUnique(violation, number - violation.rowsSince)
    }
  }

  /// Notes the outcome of one or several rows.
  ///
  /// - Parameter omitted: The properties that these rows do not name. They are the same for all of them.
  private func note(_ outcome: RowInsertionOutcome, _ omitted: SlotSet) {
    let count = written.replaced.count
    written.note(outcome)
    guard written.replaced.count > count else { return }
    replaced[omitted, default: []] += written.replaced[count...].map(\.key)
  }

  private func insertion(_ omitted: SlotSet) throws -> any RowInsertion {
    if let insertion = insertions[omitted] { return insertion }
    if insertions.count >= Self.maximumInsertions { insertions.removeAll() }
    let named = properties.enumerated().filter { !omitted.contains($0.offset) }
    let insertion = try run.insertion(properties, .update, updating: BatchColumns(named.map(\.element)).names)
    insertions[omitted] = insertion
    return insertion
  }
}

extension AttributeValue {
  /// The number of bytes of a string or data.
  fileprivate var size: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .data(let data): data.count
    default: 0
    }
  }
}
