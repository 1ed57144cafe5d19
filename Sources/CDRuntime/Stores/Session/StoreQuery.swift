/// What a fetch asks a store: the objects of an entity that a condition chooses, in an order.
struct StoreQuery {
  let entity: EntityPlan
  /// Whether objects of the entities below count too.
  let includesSubentities: Bool
  /// Checked against the model; nil for all objects.
  let predicate: FetchPredicate?
  /// The values of the predicate's `$name`.
  let variables: [String: EvaluationValue]
  /// Empty for the order of insertion.
  let sortKeys: [SortKey]
  /// Whether the store is to decide by the predicate and the sort keys. If not, it gives all rows, and the evaluator
  /// decides.
  let storeDecides: Bool

  /// Whether the rows may be of several entities.
  var isMixed: Bool { includesSubentities && entity.isPolymorphic }
}

/// A part of an answer: how many of its rows are passed over, and how many follow at the most.
struct StoreWindow {
  var offset = 0
  /// Nil for all that follow.
  var limit: Int?
}

/// An object that has been found: its key and the place of its entity.
struct FetchedKey {
  let key: ObjectKey
  let entity: Int
}

/// Rows each of which comes once, where its first one stood.
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
