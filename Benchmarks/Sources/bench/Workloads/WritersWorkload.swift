import CDRuntime
import Foundation

/// Two processes save to one store at the same time, 10,000 times each. No change is lost, and each process sees the
/// other's changes.
struct WritersWorkload: Workload {
  let name = "writers"
  let summary = "Two processes save to one store at once, 10,000 times each, and lose nothing."

  func run(_ settings: Settings) throws -> [Figure] {
    let count = settings.isSmoke ? 50 : 10_000
    let folder = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = folder.appending(path: "writers.sqlite")
    try TwoWriters.prepare(store)
    let start = CPUTime.children
    let processes = try (0..<2).map { _ in try Probe.start("writers-\(count)", store: store.path) }
    for process in processes { process.waitUntilExit() }
    guard processes.allSatisfy({ $0.terminationStatus == 0 }) else { throw BenchError("a writer failed") }
    try TwoWriters.check(store, count: count)
    return [
      Figure(name, RuntimeContender.name, milliseconds: (CPUTime.children - start) * 1000, rounds: 1)
    ]
  }
}

/// The work of each of the two processes: it adds its own todos, and increments a counter in a todo that both change.
struct TwoWriters {
  let store: String
  let count: Int

  private static let counter = "counter"

  static func prepare(_ store: URL) throws {
    let context = try PersistentContainer(for: TasksModel.self, at: store).newContext()
    _ = Todo(title: counter, priority: 0, due: .distantPast, uuid: UUID(), in: context)
    try context.save()
  }

  func write() throws {
    let own = UUID()
    let context = try PersistentContainer(for: TasksModel.self, at: URL(filePath: store)).newContext()
    guard let counter = try Todo.object(matching: \.title, Self.counter, in: context) else {
      throw BenchError("there is no counter")
    }
    // The first process waits until it sees the other one.
    _ = Todo(title: "writer", priority: 0, due: .distantPast, uuid: own, in: context)
    try context.save()
    while try Todo.count(where: \.title == "writer", in: context) < 2 { usleep(1000) }
    var (conflicts, seen) = (0, 0)
    for number in 0..<count {
      _ = Todo(title: "todo \(number)", priority: Int64(number), due: .distantPast, uuid: own, in: context)
      while true {
        let before = counter.priority
        counter.priority = before + 1
        do {
          try context.save()
          break
        } catch SaveError.conflict {
          // The other process was faster, so the counter continues from its value.
          conflicts += 1
          context.refresh(counter, mergeChanges: false)
          if counter.priority > before { seen += 1 }
        }
      }
    }
    guard seen == conflicts else { throw BenchError("a conflict without a change of the other's") }
    // No refresh is needed: a read starts with everything that others have saved.
    while try Todo.count(where: \.uuid != own && \.title != "writer", in: context) < count + 1 {
      usleep(1000)
    }
    print("\(conflicts) conflicts")
  }

  static func check(_ store: URL, count: Int) throws {
    let container = try PersistentContainer(for: TasksModel.self, at: store)
    let context = container.newContext()
    let total = try Todo.object(matching: \.title, counter, in: context)?.priority
    guard total == Int64(count * 2) else {
      throw BenchError("the counter says \(total.map(String.init) ?? "nothing"), and not \(count * 2)")
    }
    guard try Todo.count(in: context) == count * 2 + 3 else { throw BenchError("todos are missing") }
    for number in [0, count / 2, count - 1] {
      guard try Todo.objects(matching: \.title, "todo \(number)", in: context).count == 2 else {
        throw BenchError("todo \(number) is not there twice")
      }
    }
    let findings = try container.persistentStoreCoordinator.verify()
    guard findings.isEmpty else { throw BenchError("\(findings)") }
  }
}
