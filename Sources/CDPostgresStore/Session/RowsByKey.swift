import CDModel
@_spi(Generated) import CDRuntime

/// What a snapshot knows of the row with a key.
enum KnownRow {
  /// The store has no such row.
  case none
  /// The row is in a result.
  case row(RowsByKey.Result, Int)
}

/// The rows of an entity that a snapshot has read by their keys.
final class RowsByKey {
  /// A result with some of the rows. Each row is read on its own, mostly one after the other, by the same object.
  final class Result {
    let result: PostgresResult
    private let select: EntitySelect
    private let entity: EntityPlan
    private var rows: ResultRows

    fileprivate init(_ result: PostgresResult, _ select: EntitySelect, of entity: EntityPlan) {
      self.result = result
      self.select = select
      self.entity = entity
      rows = ResultRows(result, select: select, of: entity)
    }

    /// A cursor over one row.
    func cursor(_ row: Int) -> RowCursor {
      // Another cursor may not be closed yet.
      if isKnownUniquelyReferenced(&rows) {
        rows.restart(at: row)
      } else {
        rows = ResultRows(result, select: select, of: entity, rows: row..<row + 1)
      }
      return RowCursor(rows)
    }

    /// The name of a row's entity; nil if all rows are of one entity.
    func entityName(_ row: Int) -> String? { select.entityColumn.flatMap { result.string(row, Int($0)) } }
  }

  private var results: [Result] = []
  /// The number of each key's result in the upper half, and its row in the lower one; -1 if there is no row.
  private var places = KeyTable()

  var count: Int { places.count }

  /// Whether the row of a key is known, or it is known that there is none.
  func contains(_ key: ObjectKey) -> Bool { places[key] != nil }

  subscript(key: ObjectKey) -> KnownRow? {
    guard let place = places[key] else { return nil }
    if place < 0 { return KnownRow.none }
    return .row(results[place >> 32], place & 0xFFFF_FFFF)
  }

  /// Adds rows, and that the other ones of the keys have no row.
  func add(_ result: PostgresResult, _ select: EntitySelect, of entity: EntityPlan, _ keys: [ObjectKey]) {
    for row in 0..<result.rowCount { places.insert(result.int(row, 0), results.count << 32 | row) }
    if result.rowCount > 0 { results.append(Result(result, select, of: entity)) }
    if result.rowCount < keys.count { for key in keys { places.insert(key, -1) } }
  }
}

/// Numbers by key. A snapshot looks up the key of each object that it relates to another one, for which the hashes of the
/// standard library's dictionary take too long.
///
/// The table has open addresses. The place of a key is the upper part of its product with a random odd number, so that
/// nobody can choose keys that share a place.
struct KeyTable {
  /// The keys and their numbers. A key is not 0, which marks a free entry.
  private var entries: [(key: ObjectKey, number: Int)] = []
  private(set) var count = 0
  private var shift: UInt64 = 64
  private static let factor = UInt64.random(in: 0...(.max)) | 1

  subscript(key: ObjectKey) -> Int? {
    guard count > 0 else { return nil }
    let entry = entries[place(of: key)]
    return entry.key == key ? entry.number : nil
  }

  /// The place of a key, or the free one where it would be.
  @inline(__always) private func place(of key: ObjectKey) -> Int {
    var place = Int(truncatingIfNeeded: (UInt64(bitPattern: key) &* Self.factor) >> shift)
    while entries[place].key != key, entries[place].key != 0 { place = (place + 1) & (entries.count - 1) }
    return place
  }

  /// Adds a number for a key, which must not be 0.
  ///
  /// - Returns: False if the key has a number already, which it keeps.
  @discardableResult
  mutating func insert(_ key: ObjectKey, _ number: Int) -> Bool {
    // At most half of the entries are used.
    if count * 2 >= entries.count { grow() }
    let place = place(of: key)
    guard entries[place].key == 0 else { return false }
    entries[place] = (key, number)
    count += 1
    return true
  }

  private mutating func grow() {
    let former = entries
    let bits = former.isEmpty ? 9 : UInt64(former.count.trailingZeroBitCount) + 1
    entries = [(key: ObjectKey, number: Int)](repeating: (0, 0), count: 1 << bits)
    shift = 64 - bits
    for entry in former where entry.key != 0 { entries[place(of: entry.key)] = entry }
  }
}
