import Baseline
import Foundation

/// The data that all contenders store, in Swift's types and in C's. It is created before any measurement.
final class Dataset: Sendable {
  struct Todo: Sendable {
    var title: String
    var notes: String?
    var priority: Int64
    var due: Date
    var done: Bool
    var uuid: UUID
    /// The number of the category, counted from 1.
    var category: Int64
  }

  let todos: [Todo]
  let categories: [String]
  /// The numbers of half of the todos, shuffled. A todo's number is its position, counted from 1.
  let half: [Int64]
  /// Their titles. They are separate strings, one after the other in memory like those of C, so that all contenders
  /// have the same conditions.
  let halfTitles: [String]

  init(count: Int, categories categoryCount: Int) {
    var random = SplitMix(state: 42)
    categories = (0..<categoryCount).map { "Category number \($0)" }
    todos = (0..<count).map { place in
      let high = random.next()
      let low = random.next()
      let uuid = withUnsafeBytes(of: (high, low)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
      return Todo(
        title: "Todo \(place): \(high % 1_000_000) things to be done",
        notes: place % 3 == 0 ? nil : "Some notes on number \(place) that say a little more about it",
        priority: Int64(low % 10), due: Date(timeIntervalSinceReferenceDate: Double(high % 500_000_000)),
        done: low % 7 == 0, uuid: uuid, category: Int64(place % categoryCount) + 1)
    }
    half = (1...Int64(count)).shuffled(using: &random).prefix(count / 2).map { $0 }
    halfTitles = half.map { [todos] in String(decoding: Array(todos[Int($0) - 1].title.utf8), as: UTF8.self) }
  }
}

/// The dataset in C's types.
final class CDataset {
  let todos: UnsafeMutableBufferPointer<base_todo>
  let categories: [UnsafePointer<CChar>?]
  let titles: [UnsafePointer<CChar>?]

  init(_ data: Dataset) {
    todos = .allocate(capacity: data.todos.count)
    for (place, todo) in data.todos.enumerated() {
      todos.initializeElement(
        at: place,
        to: base_todo(
          id: Int64(place) + 1, title: strdup(todo.title), notes: todo.notes.flatMap { strdup($0) },
          priority: todo.priority, due: todo.due.timeIntervalSinceReferenceDate, done: todo.done ? 1 : 0,
          uuid: todo.uuid.uuid, category: todo.category))
    }
    categories = data.categories.map { UnsafePointer(strdup($0)) }
    titles = data.halfTitles.map { UnsafePointer(strdup($0)) }
  }
  // The buffers are never freed. They live as long as the process.
}

/// A small random number generator with a fixed seed, so that every run stores the same data.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}
