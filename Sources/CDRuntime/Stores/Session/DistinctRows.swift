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
