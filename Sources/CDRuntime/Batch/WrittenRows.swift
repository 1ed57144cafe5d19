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
