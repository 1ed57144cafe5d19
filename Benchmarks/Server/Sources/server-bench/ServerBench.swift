import CDPostgresStore
import CDRuntime
import Foundation
import ServerBaseline

/// Compares stores on a PostgreSQL server with a program in C and with SQLAlchemy. `Benchmarks/Server/run` starts it.
///
/// The contenders run in turn within each round, and a ratio is the median of the rounds' own ratios, so that a machine that
/// is busy for a while slows them all alike. The times are those of the clock, because the server works for all of them.
///
/// With `--only TASK`, the rounds have only this task, behind one insertion.
///
/// With `--memory COUNT`, it measures instead how much memory a program needs that reads many objects lazily.
@main
enum ServerBench {
  static func main() throws {
    let arguments = CommandLine.arguments
    let environment = ProcessInfo.processInfo.environment
    guard let url = environment["CDGEN_POSTGRES_URL"] else { throw Failure("CDGEN_POSTGRES_URL is not set") }
    if let place = arguments.firstIndex(of: "--memory") {
      let count = arguments.indices.contains(place + 1) ? Int(arguments[place + 1]) : nil
      return try LazyReading.measure(url, count: count ?? 1_000_000)
    }
    var tasks = Task.allCases
    if let place = arguments.firstIndex(of: "--only") {
      guard let task = arguments.dropFirst(place + 1).first.flatMap(Task.init(rawValue:)) else {
        throw Failure("--only needs one of " + Task.allCases.map(\.rawValue).joined(separator: ", "))
      }
      tasks = [task]
    }
    let isSmoke = arguments.contains("--smoke")
    let rounds = isSmoke ? 1 : environment["ROUNDS"].flatMap { Int($0) } ?? 5
    let data = Dataset(count: isSmoke ? 600 : 20_000, categories: isSmoke ? 300 : 5000)
    var contenders: [any Contender] = [try CContender(url, data), try RuntimeContender(url, data)]
    if let script = arguments.dropFirst().first(where: { $0.hasSuffix(".py") }) {
      contenders.append(try PythonContender(script, url, data))
    }
    if !tasks.contains(.insert) { for contender in contenders { _ = try contender.run(.insert) } }
    var times: [Task: [String: [Double]]] = [:]
    for round in 0..<rounds {
      for task in tasks {
        for index in contenders.indices {
          let contender = contenders[(index + round) % contenders.count]
          let (seconds, checksum) = try contender.run(task)
          guard checksum == data.checksum(of: task) else {
            throw Failure("\(contender.name), \(task): \(checksum) instead of \(data.checksum(of: task))")
          }
          times[task, default: [:]][contender.name, default: []].append(seconds)
        }
      }
    }
    print("\(rounds) rounds of \(data.count) objects; µs an object, and ratios to C")
    for task in tasks {
      for contender in contenders {
        let own = times[task]?[contender.name] ?? []
        let ratio = median(zip(own, times[task]?["c"] ?? []).map { $0 / $1 })
        let microseconds = median(own) * 1e6 / Double(data.objects(of: task))
        var line = "\(task) \(contender.name)".padding(toLength: 24, withPad: " ", startingAt: 0)
        line += String(format: "%9.2f µs %8.2f x", microseconds, ratio)
        if contender.name == "cdruntime" {
          line += String(format: "   goal %.1f", task.goal) + (ratio <= task.goal ? "" : "  MISSED")
        }
        print(line)
      }
    }
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return .nan }
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}

struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

enum Task: String, CaseIterable {
  case insert, fetch, lookup, update

  var goal: Double {
    switch self {
    case .insert: 1.6
    case .fetch: 1.4
    case .lookup: 1.5
    case .update: 1.3
    }
  }
}

/// The same objects for all contenders.
struct Dataset {
  let count: Int
  let categories: Int

  struct Row {
    let title: String
    let notes: String?
    let priority: Int64
    let due: Double
    let done: Bool
    let uuid: UUID
    let category: Int
  }

  func row(_ n: Int) -> Row {
    let byte = UInt8(n % 256)
    return Row(
      title: "todo \(n * 7919 % count)", notes: n % 3 == 0 ? nil : "notes of the todo \(n)",
      priority: Int64(n % 10), due: Double(n) * 1000.5, done: n % 2 == 0,
      uuid: UUID(
        uuid: (
          byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte
        )), category: n % categories + 1)
  }

  func category(_ number: Int) -> String { "category \(number)" }

  func objects(of task: Task) -> Int { task == .lookup ? categories : count }

  func checksum(of task: Task) -> Int64 {
    switch task {
    case .insert, .update: Int64(count)
    case .fetch: (0..<count).reduce(0) { $0 + Self.checksum(row($1)) }
    case .lookup: (1...categories).reduce(0) { $0 + Int64($1 + category($1).utf8.count) }
    }
  }

  private static func checksum(_ row: Row) -> Int64 {
    row.priority + Int64(row.title.utf8.count) + Int64(row.notes?.utf8.count ?? 0) + Int64(row.due)
      + (row.done ? 1 : 0) + Int64(row.uuid.uuid.0)
  }
}

protocol Contender {
  var name: String { get }
  /// Does the work once. `insert` begins with an empty store.
  func run(_ task: Task) throws -> (seconds: Double, checksum: Int64)
}

func measured<R>(_ work: () throws -> R) rethrows -> (seconds: Double, result: R) {
  let start = ContinuousClock.now
  let result = try work()
  return ((ContinuousClock.now - start) / .seconds(1), result)
}

// MARK: C

final class CContender: Contender {
  let name = "c"
  private let data: Dataset
  private var todos: [baseline_todo] = []
  private var categories: [UnsafePointer<CChar>?] = []

  init(_ url: String, _ data: Dataset) throws {
    self.data = data
    try check(baseline_open(url))
    // The texts stay until the program ends.
    todos = (0..<data.count).map { n in
      let row = data.row(n)
      return baseline_todo(
        title: UnsafePointer(strdup(row.title)), notes: row.notes.map { UnsafePointer(strdup($0)) } ?? nil,
        priority: row.priority, due: row.due, done: row.done ? 1 : 0, uuid: row.uuid.uuid,
        category: Int64(row.category))
    }
    categories = (1...data.categories).map { UnsafePointer(strdup(data.category($0))) }
  }

  private func check(_ code: Int32) throws {
    if code != 0 { throw Failure(String(cString: baseline_error())) }
  }

  func run(_ task: Task) throws -> (seconds: Double, checksum: Int64) {
    var checksum: Int64 = Int64(data.count)
    if task == .insert { try check(baseline_create()) }
    let keys = (1...data.categories).map(Int64.init)
    let (seconds, _) = try measured {
      switch task {
      case .insert:
        try check(baseline_insert(todos, Int64(todos.count), categories, Int64(categories.count)))
      case .fetch: try check(baseline_fetch(&checksum))
      case .lookup: try check(baseline_lookup(keys, Int64(keys.count), &checksum))
      case .update: try check(baseline_update(Int64(data.count), 77))
      }
    }
    return (seconds, checksum)
  }
}

// MARK: The runtime

final class RuntimeContender: Contender {
  let name = "cdruntime"
  private let location: StoreLocation
  private let data: Dataset
  private let rows: [Dataset.Row]
  private var container: PersistentContainer?

  init(_ url: String, _ data: Dataset) throws {
    location = try .server(url: url + (url.contains("?") ? "&" : "?") + "schema=bench_swift")
    self.data = data
    rows = (0..<data.count).map(data.row)
  }

  func run(_ task: Task) throws -> (seconds: Double, checksum: Int64) {
    if task == .insert {
      container = nil
      try PersistentStoreCoordinator.destroyPersistentStore(at: location)
      container = PersistentContainer(try PersistentStoreCoordinator(for: TasksModel.self, at: location))
    }
    guard let container else { throw Failure("nothing was inserted") }
    let context = container.newContext()
    switch task {
    case .insert:
      let (seconds, _) = try measured { try insert(context) }
      return (seconds, Int64(try context.count(for: FetchRequest<Todo>())))
    case .fetch:
      let (seconds, checksum) = try measured {
        try context.perform {
          try Todo.objects(in: context).reduce(Int64(0)) { sum, todo in
            sum + todo.priority + Int64(todo.title.utf8.count) + Int64(todo.notes?.utf8.count ?? 0)
              + Int64(todo.due.timeIntervalSinceReferenceDate) + (todo.done ? 1 : 0) + Int64(todo.uuid.uuid.0)
          }
        }
      }
      return (seconds, checksum)
    case .lookup:
      return try context.perform {
        let todos = try Todo.fetch(limit: data.categories, in: context)
        var numbers: [String: Int64] = [:]
        for number in 1...data.categories { numbers[data.category(number)] = Int64(number) }
        let (seconds, lengths) = measured { todos.reduce(0) { $0 + ($1.category?.name.utf8.count ?? 0) } }
        let keys = todos.reduce(Int64(0)) { $0 + (numbers[$1.category?.name ?? ""] ?? 0) }
        return (seconds, Int64(lengths) + keys)
      }
    case .update:
      let todos = try Todo.objects(in: context)
      let (seconds, _) = try measured {
        for todo in todos { todo.priority = 77 }
        try context.save()
      }
      return (seconds, Int64(todos.count))
    }
  }

  private func insert(_ context: ManagedObjectContext) throws {
    let categories = (1...data.categories).map { Category(name: data.category($0), in: context) }
    for row in rows {
      let todo = Todo(
        title: row.title, priority: row.priority, due: Date(timeIntervalSinceReferenceDate: row.due),
        uuid: row.uuid, in: context)
      todo.notes = row.notes
      todo.done = row.done
      todo.category = categories[row.category - 1]
    }
    try context.save()
  }
}

// MARK: Memory

/// A program that reads all objects of a large store, of which only a few are in memory at a time.
enum LazyReading {
  static func measure(_ url: String, count: Int) throws {
    let location = try StoreLocation.server(
      url: url + (url.contains("?") ? "&" : "?") + "schema=bench_memory")
    try PersistentStoreCoordinator.destroyPersistentStore(at: location)
    let container = PersistentContainer(
      try PersistentStoreCoordinator(for: TasksModel.self, at: location))
    let data = Dataset(count: count, categories: 1000)
    let writer = container.newContext()
    try writer.execute(
      BatchInsertRequest<Category>(
        entityName: "Category",
        rows: (1...data.categories).map { ["name": .attribute(.string(data.category($0)))] }))
    try writer.execute(
      BatchInsertRequest<Todo>(
        entityName: "Todo",
        rows: (0..<count).lazy.map { number in
          let row = data.row(number)
          return [
            "title": .attribute(.string(row.title)),
            "notes": .attribute(row.notes.map { .string($0) } ?? .null),
            "priority": .attribute(.int(row.priority)),
            "due": .attribute(.date(Date(timeIntervalSinceReferenceDate: row.due))),
            "done": .attribute(.bool(row.done)), "uuid": .attribute(.uuid(row.uuid)),
          ]
        }))
    let context = container.newContext()
    print("before: \(memory()) MiB")
    try context.perform {
      var request = FetchRequest<Todo>()
      request.batchSize = 500
      let todos = try context.lazyFetch(request)
      print("\(todos.count) keys: \(memory()) MiB")
      var length = 0
      for (number, todo) in todos.enumerated() {
        length += todo.title.utf8.count
        if (number + 1) % max(1, count / 10) == 0 { print("\(number + 1) objects: \(memory()) MiB") }
      }
    }
  }

  /// The memory of this program, without the server's.
  private static func memory() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4096 / 1_048_576
  }
}

// MARK: SQLAlchemy

final class PythonContender: Contender {
  let name = "sqlalchemy"
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  init(_ script: String, _ url: String, _ data: Dataset) throws {
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", script, url, String(data.count), String(data.categories)]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  func run(_ task: Task) throws -> (seconds: Double, checksum: Int64) {
    try input.fileHandleForWriting.write(contentsOf: Data((task.rawValue + "\n").utf8))
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
      line.append(byte)
    }
    let parts = String(decoding: line, as: UTF8.self).split(separator: " ")
    guard parts.count == 2, let seconds = Double(parts[0]), let checksum = Int64(parts[1]) else {
      throw Failure("SQLAlchemy failed at \(task)")
    }
    return (seconds, checksum)
  }
}
