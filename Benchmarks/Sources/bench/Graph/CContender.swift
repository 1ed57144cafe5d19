import Baseline

/// The loop over sqlite3 in C.
final class CContender: GraphContender {
  static let name = "c"
  static func takes(_ task: GraphTask) -> Bool { true }

  private let store: OpaquePointer
  private let data: GraphData
  private var list = base_list()
  private var keys = base_keys()
  private var sum: Int64 = 0

  init(path: String, data: GraphData) throws {
    guard let store = base_open(path) else { throw BenchError("C cannot open \(path)") }
    self.store = store
    self.data = data
  }

  deinit {
    base_free(&list)
    base_free_keys(&keys)
    base_close(store)
  }

  func prepare(_ task: GraphTask) throws {
    switch task {
    case .free: try run(.fetch)
    case .toOneMemory: try check(base_fetch(store, -1, &list))
    // The batches do the same work as the runtime's: versions, a history, the keys of changed rows, and enforced
    // references.
    case .batchInsert, .batchUpdate, .batchDelete: try check(base_track(store))
    default: break
    }
  }

  func run(_ task: GraphTask) throws {
    let half = data.swift.half
    switch task {
    case .insert:
      try check(
        base_insert(
          store, data.c.todos.baseAddress, data.c.todos.count, data.c.categories, data.c.categories.count))
    case .batchInsert:
      try check(
        base_batch_insert(
          store, data.c.todos.baseAddress, data.c.todos.count, data.c.categories, data.c.categories.count))
    case .fetch, .refetch: try check(base_fetch(store, -1, &list))
    case .free: base_free(&list)
    case .predicate: try check(base_fetch(store, 3, &list))
    case .byID, .byIDRegistered: try check(base_by_id(store, half, half.count, &list))
    case .byTitle: try check(base_by_title(store, data.c.titles, half.count, &list))
    case .update: try check(base_update(store, half, half.count, 77))
    case .toOne: try check(base_fetch_to_one(store, half.count, &list, &sum))
    case .toOneMemory: try check(base_to_one(store, list.items, half.count, &sum))
    case .toMany: try check(base_to_many(store, data.swift.categories.count, &list))
    case .delete: try check(base_delete(store, half, half.count))
    case .batchUpdate: try check(base_batch_update(store, 5, 77, &keys))
    case .batchDelete: try check(base_batch_delete(store, 5, &keys))
    }
  }

  func checksum(_ task: GraphTask) throws -> Int64 {
    switch task {
    case .free: return 0
    case .toOne, .toOneMemory: return sum
    case _ where task.writes: try check(base_fetch(store, -1, &list))
    default: break
    }
    return base_checksum(&list)
  }

  private func check(_ code: Int32) throws {
    if code != 0 { throw BenchError("SQLite's error \(code) in C") }
  }
}
