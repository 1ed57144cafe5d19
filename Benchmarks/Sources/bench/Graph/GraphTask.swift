/// The tasks of the object graph's workloads.
enum GraphTask: String, CaseIterable {
  case insert, fetch, free, refetch, predicate
  case byID = "by-id"
  case byIDRegistered = "by-id-registered"
  case byTitle = "by-title"
  case update
  case toOne = "to-one"
  case toOneMemory = "to-one-memory"
  case toMany = "to-many"
  case delete
  case batchInsert = "batch-insert"
  case batchUpdate = "batch-update"
  case batchDelete = "batch-delete"

  var summary: String {
    switch self {
    case .insert: "Inserts and saves 200,000 todos and 1,000 categories."
    case .fetch: "Fetches all todos."
    case .free: "Lets go of all todos."
    case .refetch: "Fetches all todos while they are in memory; to a fetch in C."
    case .predicate: "Fetches one todo of ten, sorted."
    case .byID: "Looks 100,000 todos up by identifier, none in memory."
    case .byIDRegistered: "Looks 100,000 todos up that are in memory; to C's of those that are not."
    case .byTitle: "Looks 100,000 todos up by an indexed title."
    case .update: "Changes two values of 100,000 todos and saves."
    case .toOne: "Fetches 100,000 todos and reads their categories' names."
    case .toOneMemory: "Reads the names of the categories of 100,000 todos that are in memory."
    case .toMany: "Reads the todos of 1,000 categories."
    case .delete: "Deletes 100,000 todos and saves."
    case .batchInsert:
      "Inserts 200,000 todos and 1,000 categories without objects. C keeps versions and a history too."
    case .batchUpdate:
      "Changes two values of the todos that meet a condition, about half, by one request. C does as above."
    case .batchDelete: "Deletes the todos that meet a condition, about half, by one request. C does as above."
    }
  }

  /// The wanted ratio to C.
  var goal: Double {
    switch self {
    case .insert: 1.5
    case .fetch: 1.35
    case .free: 1.6
    case .refetch: 0.8
    case .predicate: 1.2
    case .byID: 1.3
    case .byIDRegistered: 0.07
    case .byTitle: 1.15
    case .update: 1.15
    case .toOne: 1.1
    case .toOneMemory: 0.25
    case .toMany: 1.25
    case .delete: 1.2
    case .batchInsert: 1.3
    case .batchUpdate, .batchDelete: 1.1
    }
  }

  /// Whether the task changes the store.
  var writes: Bool {
    [.insert, .update, .delete, .batchInsert, .batchUpdate, .batchDelete].contains(self)
  }

  /// Whether the task starts with an empty store.
  var fills: Bool { self == .insert || self == .batchInsert }
}

/// An implementation of the tasks with its own store.
protocol GraphContender {
  static var name: String { get }

  /// Whether it supports a task that needs more than reading and writing rows.
  static func takes(_ task: GraphTask) -> Bool

  /// Opens a store, and creates it if it does not exist.
  init(path: String, data: GraphData) throws

  /// Prepares a task. This is not measured.
  func prepare(_ task: GraphTask) throws
  func run(_ task: GraphTask) throws
  /// A number that depends on the task's result, or on the store's contents after it.
  func checksum(_ task: GraphTask) throws -> Int64
}

/// The dataset in the types of all contenders.
struct GraphData {
  let swift: Dataset
  let c: CDataset

  init(count: Int, categories: Int) {
    swift = Dataset(count: count, categories: categories)
    c = CDataset(swift)
  }
}
