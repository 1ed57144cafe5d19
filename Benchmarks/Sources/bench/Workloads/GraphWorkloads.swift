/// The object graph on SQLite, as ratios to a loop in C over the same work.
struct GraphWorkload: Workload {
  let task: GraphTask
  /// Shared by all tasks: filling the stores takes longer than most of them.
  let bench: GraphBenchMaker

  var name: String { task.rawValue }
  var summary: String { task.summary }

  func run(_ settings: Settings) throws -> [Figure] { try bench.make(settings).run(task) }
}

/// Makes the stores when the first task asks for them.
final class GraphBenchMaker {
  private var bench: GraphBench?

  func make(_ settings: Settings) throws -> GraphBench {
    if let bench { return bench }
    let bench = try GraphBench(settings)
    self.bench = bench
    return bench
  }
}
