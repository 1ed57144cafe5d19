import CDRuntime
import Foundation

/// What is measured in a process of its own: memory, and the way from the program's start to the first row.
enum Probe {
  private static var contenders: [any GraphContender.Type] {
    [
      CContender.self, GRDBContender.self, GRDBRecordContender.self, RuntimeContender.self,
    ]
  }

  /// Does the work of a probe, `memory-NAME`, `open-NAME` or `writers-COUNT`, and prints what it found. `loop-TASK` does a task
  /// of CDRuntime's twenty times on a filled store, for a profiler to look at.
  static func run(_ probe: String, store: String) throws {
    let parts = probe.split(separator: "-", maxSplits: 1).map(String.init)
    if parts.count == 2, parts[0] == "loop", let task = GraphTask(rawValue: parts[1]) {
      return try loop(task, store: store)
    }
    if parts.count == 2, parts[0] == "migrate", let kind = MigrationKind(rawValue: parts[1]) {
      try MigrationModel.migrate(store, kind)
      return print(peakMebibytes())
    }
    if parts.count == 2, parts[0] == "writers", let count = Int(parts[1]) {
      return try TwoWriters(store: store, count: count).write()
    }
    guard parts.count == 2, let type = contenders.first(where: { $0.name == parts[1] }) else {
      throw BenchError("there is no probe '\(probe)'")
    }
    if parts[0] == "million" { return try million(store: store) }
    // No dataset is made: its memory and time are not the contender's.
    let contender = try type.init(path: store, data: GraphData(count: 2, categories: 1))
    switch parts[0] {
    case "memory":
      let before = residentBytes()
      try contender.run(.fetch)
      print(Double(residentBytes() - before) / 1_048_576)
      // The result is alive until here.
      _ = try contender.checksum(.fetch)
    case "open":
      try contender.run(.predicate)
    default: throw BenchError("there is no probe '\(probe)'")
    }
  }

  /// A million objects in batches: insert, read, change and delete them all. Prints the most memory it had.
  private static func million(store: String) throws {
    let container = try PersistentContainer(for: TasksModel.self, at: URL(filePath: store))
    let (count, size) = (1_000_000, 10_000)
    let uuid = UUID()
    for start in stride(from: 0, to: count, by: size) {
      let context = container.newContext()
      for number in start..<start + size {
        _ = Todo(title: "Todo \(number)", priority: 1, due: .distantPast, uuid: uuid, in: context)
      }
      try context.save()
    }
    // One context all the way: what nobody holds any more, it lets go of.
    let context = container.newContext()
    var seen = 0
    for start in stride(from: 0, to: count, by: size) {
      let batch = try Todo.fetch(limit: size, offset: start, in: context)
      for todo in batch { todo.priority = 2 }
      seen += batch.count
      try context.save()
    }
    guard seen == count, try Todo.count(where: \.priority == 2, in: context) == count else {
      throw BenchError("not all of a million objects were changed")
    }
    while true {
      let batch = try Todo.fetch(limit: size, in: context)
      if batch.isEmpty { break }
      for todo in batch { context.delete(todo) }
      try context.save()
    }
    guard try Todo.count(in: context) == 0 else { throw BenchError("not all of a million objects are gone") }
    print(peakMebibytes())
  }

  private static func loop(_ task: GraphTask, store: String) throws {
    let data = GraphData(count: 200_000, categories: 1000)
    let filled = FileManager.default.fileExists(atPath: store)
    if !filled { try RuntimeContender(path: store, data: data).run(.insert) }
    for _ in 0..<20 {
      var path = store
      if task.writes {
        path = store + ".copy"
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
        if task != .insert { try FileManager.default.copyItem(atPath: store, toPath: path) }
      }
      let contender = try RuntimeContender(path: path, data: data)
      try contender.prepare(task)
      // What the store holds does not change by reading: more runs, a clearer profile.
      for _ in 0..<(task == .byIDRegistered ? 20 : 1) {
        print(try CPUTime.measure { try contender.run(task) } * 1000)
      }
    }
  }

  /// Runs a probe in a process of its own.
  ///
  /// - Returns: What it printed, and its CPU time in seconds.
  static func spawn(_ probe: String, store: String) throws -> (output: String, seconds: Double) {
    let pipe = Pipe()
    let start = CPUTime.children
    let process = try Self.start(probe, store: store, output: pipe)
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchError("the probe \(probe) failed") }
    return (String(decoding: output, as: UTF8.self), CPUTime.children - start)
  }

  /// Lets a probe begin in a process of its own. What it prints is dropped unless it is asked for.
  static func start(_ probe: String, store: String, output: Pipe? = nil) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    process.arguments = ["--probe", probe, "--store", store]
    if let output { process.standardOutput = output } else { process.standardOutput = FileHandle.nullDevice }
    try process.run()
    return process
  }

  /// The most memory that the process has had, as Linux counts it.
  private static func peakMebibytes() -> Double {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return (line.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? .nan) / 1024
  }

  private static func residentBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
      let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { return 0 }
    return pages * sysconf(Int32(_SC_PAGESIZE))
  }
}
