import CDModel
@_spi(Generated) import CDRuntime

/// Rows that a snapshot has read before an object needs them.
///
/// If one object of a fetch needs a related object, the other objects of the fetch probably need theirs too. So one
/// statement reads the related rows of many of them. All statements of a snapshot see the same state, so that the rows
/// are valid until the snapshot ends.
final class SiblingRows {
  /// Rows of one result that follow each other.
  struct Rows {
    /// Nil if there are no rows.
    let result: PostgresResult?
    let range: Range<Int>

    /// No rows.
    static var none: Rows { Rows(result: nil, range: 0..<0) }
  }

  /// The rows of one earlier query.
  private struct Cohort {
    let entity: EntityPlan
    let result: PostgresResult
    /// The row at which the last search ended. Objects are mostly used in the order of their fetch.
    var last = 0
    /// How often rows were read for the objects that these rows refer to.
    var reads = 0

    /// The next row with a key in a column.
    func row(with key: ObjectKey, in column: Int) -> Int? {
      (last..<result.rowCount).first { result.int($0, column) == key }
        ?? (0..<last).first { result.int($0, column) == key }
    }
  }

  private struct ListKey: Hashable {
    let relationship: ObjectIdentifier
    let owner: ObjectKey
  }

  /// The most recently used one last. Reading the related rows of a cohort adds a cohort each time, which must not drive
  /// out the one that they are related to.
  private var cohorts: [Cohort] = []
  /// The known rows of each entity, by the entity's index. The array may be shorter than the list of entities.
  private var rows: [RowsByKey?] = []
  private var lists: [ListKey: Rows] = [:]
  /// The number of objects whose list of a relationship is read next.
  private var counts: [ObjectIdentifier: Int] = [:]

  /// The most objects whose related rows are read together.
  private static let largest = 256
  private static let mostCohorts = 6
  /// The most rows of a query whose objects count as siblings. The rows stay in memory until the snapshot ends.
  private static let mostRows = 20_000
  private static let mostKept = 50_000

  func removeAll() {
    if cohorts.isEmpty, rows.isEmpty, lists.isEmpty { return }
    cohorts = []
    rows = []
    lists = [:]
    counts = [:]
  }

  /// Notes the result of a query for an entity's rows. Forgets rows that were kept before if there are too many of them.
  func note(_ result: PostgresResult, of entity: EntityPlan) {
    guard result.rowCount > 1, result.rowCount <= Self.mostRows else { return }
    if cohorts.count >= Self.mostCohorts { cohorts.removeFirst() }
    cohorts.append(Cohort(entity: entity, result: result))
    if let known = known(of: entity), known.count > Self.mostKept { rows[entity.index] = nil }
    if lists.count > Self.mostKept { lists = [:] }
  }

  /// - Returns: How often the cohort was used, this time included.
  @discardableResult
  private func use(_ place: Int, at row: Int) -> Int {
    var cohort = cohorts.remove(at: place)
    cohort.last = row
    cohort.reads += 1
    cohorts.append(cohort)
    return cohort.reads
  }

  // MARK: Single rows

  /// The row with a key among those that were asked for before: none if there is no such row, and nil if it was not asked
  /// for.
  func row(_ key: ObjectKey, of entity: EntityPlan) -> KnownRow? { known(of: entity)?[key] }

  @inline(__always) private func known(of entity: EntityPlan) -> RowsByKey? {
    rows.indices.contains(entity.index) ? rows[entity.index] : nil
  }

  /// Keys of rows to read together, from a column of a result.
  struct References {
    var keys: [ObjectKey]
    fileprivate var result: PostgresResult?
    fileprivate var column = 0
    /// The row behind the last one whose key was taken.
    fileprivate var end = 0
    /// Whether rows were read for objects of the same result before, so that those of its other objects are probably
    /// needed next.
    var isRepeated = false
  }

  /// Returns the keys of rows to read together with one: those to which the siblings of the object refer that refers to
  /// the row.
  ///
  /// - Parameter sql: The columns of each entity's query.
  func keys(with key: ObjectKey, of entity: EntityPlan, _ model: ModelPlan, _ sql: ModelSQL) -> References {
    for (place, cohort) in cohorts.enumerated().reversed() {
      for column in Self.references(to: entity, in: cohort.entity, model, sql) {
        guard let start = cohort.row(with: key, in: column) else { continue }
        let reads = use(place, at: start)
        var found = References(keys: [], result: cohort.result, column: column, isRepeated: reads > 1)
        collect(&found, from: start, isCircular: true, of: entity)
        return found
      }
    }
    return References(keys: [key])
  }

  /// Returns the keys that follow others in the same result, and whose rows are not known yet; nil if there are none.
  func keys(after last: References, of entity: EntityPlan) -> References? {
    guard let result = last.result, last.end < result.rowCount else { return nil }
    var found = last
    found.keys = []
    collect(&found, from: last.end, isCircular: false, of: entity)
    guard !found.keys.isEmpty else { return nil }
    // The rows that are read do not drive out those that refer to them.
    if let place = cohorts.lastIndex(where: { $0.result === result }) { use(place, at: cohorts[place].last) }
    return found
  }

  private func collect(
    _ found: inout References, from start: Int, isCircular: Bool, of entity: EntityPlan
  ) {
    guard let result = found.result else { return }
    let known = known(of: entity)
    found.keys.reserveCapacity(Self.largest)
    var seen = KeyTable()
    let count = isCircular ? result.rowCount : result.rowCount - start
    found.end = start + count
    for offset in 0..<count {
      let row = start + offset
      let key = result.int(row < result.rowCount ? row : row - result.rowCount, found.column)
      guard key > 0, known?.contains(key) != true, seen.insert(key, 0) else { continue }
      found.keys.append(key)
      if found.keys.count == Self.largest {
        found.end = row + 1
        break
      }
    }
  }

  /// The columns of an entity's query that refer to objects of another entity.
  private static func references(
    to destination: EntityPlan, in entity: EntityPlan, _ model: ModelPlan, _ sql: ModelSQL
  ) -> [Int] {
    var columns: [Int] = []
    for kind in entity.subtree.map({ model.entities[$0] }) {
      for case let relationship? in kind.relationships
      where model.entities[relationship.destination].root == destination.root {
        guard case .reference(let column) = relationship.storage else { continue }
        let select = sql.selects[entity.index]
        let found = select.entityColumn == nil ? column + 2 : select.maps[kind.index].map { Int($0[column]) }
        if let found, !columns.contains(found) { columns.append(found) }
      }
    }
    return columns
  }

  /// Keeps the rows that were read by their keys, and that other keys have no row.
  func keep(_ result: PostgresResult, _ select: EntitySelect, of entity: EntityPlan, _ keys: [ObjectKey]) {
    if rows.count <= entity.index {
      rows += [RowsByKey?](repeating: nil, count: entity.index + 1 - rows.count)
    }
    let known = rows[entity.index] ?? RowsByKey()
    rows[entity.index] = known
    known.add(result, select, of: entity, keys)
  }

  // MARK: Lists

  /// The rows of an object's to-many relationship, if they were read before.
  func list(_ relationship: RelationshipPlan, of key: ObjectKey) -> Rows? {
    lists[ListKey(relationship: ObjectIdentifier(relationship), owner: key)]
  }

  /// Returns the keys of objects whose relationship is read together with that of one. At first this is only the one,
  /// because a relationship may have any number of objects. With each further call there are more.
  func owners(with key: ObjectKey, of entity: EntityPlan, _ relationship: RelationshipPlan) -> [ObjectKey] {
    let id = ObjectIdentifier(relationship)
    let count = counts[id] ?? 1
    counts[id] = min(Self.largest, count * 16)
    guard count > 1 else { return [key] }
    for (place, cohort) in cohorts.enumerated().reversed() where entity.root == cohort.entity.root {
      let result = cohort.result
      guard let start = cohort.row(with: key, in: 0) else { continue }
      use(place, at: start)
      var keys: [ObjectKey] = []
      for offset in 0..<result.rowCount where keys.count < count {
        let found = result.int((start + offset) % result.rowCount, 0)
        if found > 0, list(relationship, of: found) == nil { keys.append(found) }
      }
      return keys
    }
    return [key]
  }

  /// Keeps the lists of a relationship, whose rows are sorted by their owners.
  func keep(_ result: PostgresResult, of relationship: RelationshipPlan, _ owners: [ObjectKey]) {
    let id = ObjectIdentifier(relationship)
    for owner in owners { lists[ListKey(relationship: id, owner: owner)] = Rows.none }
    let column = result.columnCount - 2
    var start = 0
    while start < result.rowCount {
      let owner = result.int(start, column)
      let end = (start..<result.rowCount).first { result.int($0, column) != owner } ?? result.rowCount
      lists[ListKey(relationship: id, owner: owner)] = Rows(result: result, range: start..<end)
      start = end
    }
  }
}
