/// The object graph on SQLite, as a ratio to a loop in C that does the same work.
struct GraphWorkload: Workload {
  let task: GraphTask
  /// All tasks share it, because filling the stores takes longer than most tasks.
  let bench: GraphBenchMaker

  var name: String { task.rawValue }
  var summary: String { task.summary }

  func run(_ settings: Settings) throws -> [Figure] { try bench.make(settings).run(task) }
}

/// Creates the stores when the first task needs them.
final class GraphBenchMaker {
  private var bench: GraphBench?

  func make(_ settings: Settings) throws -> GraphBench {
    if let bench { return bench }
    let bench = try GraphBench(settings)
    self.bench = bench
    return bench
  }
}
