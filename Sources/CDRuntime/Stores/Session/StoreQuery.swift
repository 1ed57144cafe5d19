/// A query of a store: an entity's objects that meet a condition, in an order.
struct StoreQuery {
  let entity: EntityPlan
  /// Whether the result includes objects of subentities.
  let includesSubentities: Bool
  /// The condition, checked against the model; nil for all objects.
  let predicate: FetchPredicate?
  /// The values of the predicate's variables, such as `$name`.
  let variables: [String: EvaluationValue]
  /// The sort keys; empty for the order of insertion.
  let sortKeys: [SortKey]
  /// Whether the store may evaluate the predicate and the sort keys. Otherwise, the store returns all rows, and the
  /// evaluator decides.
  let storeDecides: Bool

  /// Whether the rows may be of several entities.
  var isMixed: Bool { includesSubentities && entity.isPolymorphic }
}

/// A range of a result: the number of rows to skip, and the maximum number of rows to return.
struct StoreWindow {
  var offset = 0
  /// The maximum number of rows; nil for no limit.
  var limit: Int?
}

/// A found object: its key and the index of its entity.
struct FetchedKey {
  let key: ObjectKey
  let entity: Int
}

/// Removes duplicate rows. Each row stays at its first position.
struct DistinctRows {
  private let window: StoreWindow
  private(set) var rows: [[FetchedValue]] = []
  private var seen: Set<[FetchedValue]> = []

  init(_ window: StoreWindow) { self.window = window }

  var isFull: Bool { window.limit.map { rows.count >= $0 } ?? false }

  mutating func add(_ row: [FetchedValue]) {
    if seen.insert(row.map(\.identity)).inserted, seen.count > window.offset { rows.append(row) }
  }
}
