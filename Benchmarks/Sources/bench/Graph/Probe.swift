import CDRuntime
import Foundation

/// Measurements in a separate process: memory, and the time from the program's start to the first row.
enum Probe {
  private static var contenders: [any GraphContender.Type] {
    [
      CContender.self, GRDBContender.self, GRDBRecordContender.self, RuntimeContender.self,
    ]
  }

  /// Runs a probe, such as `memory-NAME`, `open-NAME` or `writers-COUNT`, and prints its result. `loop-TASK` repeats a
  /// task of CDRuntime on a filled store, for a profiler.
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
    // No dataset is created, because its memory and time would be measured too.
    let contender = try type.init(path: store, data: GraphData(count: 2, categories: 1))
    switch parts[0] {
    case "memory":
      let before = residentBytes()
      try contender.run(.fetch)
      print(Double(residentBytes() - before) / 1_048_576)
      // The result must stay alive until here.
      _ = try contender.checksum(.fetch)
    case "open":
      try contender.run(.predicate)
    default: throw BenchError("there is no probe '\(probe)'")
    }
  }

  /// Inserts, reads, changes and deletes a million objects in batches. Prints the peak memory.
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
    // One context is used for all batches. It releases objects that are no longer used.
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
      // Reading does not change the store's contents, so more runs are possible, and the profile becomes clearer.
      for _ in 0..<(task == .byIDRegistered ? 20 : 1) {
        print(try CPUTime.measure { try contender.run(task) } * 1000)
      }
    }
  }

  /// Runs a probe in a separate process.
  ///
  /// - Returns: Its output, and its CPU time in seconds.
  static func spawn(_ probe: String, store: String) throws -> (output: String, seconds: Double) {
    let pipe = Pipe()
    let start = CPUTime.children
    let process = try Self.start(probe, store: store, output: pipe)
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchError("the probe \(probe) failed") }
    return (String(decoding: output, as: UTF8.self), CPUTime.children - start)
  }

  /// Starts a probe in a separate process. Its output is discarded unless `output` is given.
  static func start(_ probe: String, store: String, output: Pipe? = nil) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    process.arguments = ["--probe", probe, "--store", store]
    if let output { process.standardOutput = output } else { process.standardOutput = FileHandle.nullDevice }
    try process.run()
    return process
  }

  /// The peak memory of the process, as Linux reports it.
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
