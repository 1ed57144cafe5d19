/// A thing to measure.
protocol Workload {
  var name: String { get }
  var summary: String { get }

  /// Measures, and gives what it found.
  func run(_ settings: Settings) throws -> [Figure]
}

/// The workloads, in the order in which they run.
enum Workloads {
  static func all() -> [any Workload] {
    let maker = GraphBenchMaker()
    return GraphTask.allCases.map { GraphWorkload(task: $0, bench: maker) }
      + [
        MemoryWorkload(), OpenWorkload(), MillionWorkload(), WritersWorkload(), ParseWorkload(),
        RequestWorkload(), ObservedGetWorkload(), MigrateWorkload(kind: .rewrite),
        MigrateWorkload(kind: .custom),
        AddColumnWorkload(),
        GenerateWorkload(), CompileWorkload(), TypeCheckWorkload(),
      ]
      + FileStoreWorkload.Kind.allCases.flatMap { kind in
        FileStoreWorkload.Direction.allCases.map { FileStoreWorkload(kind: kind, direction: $0) }
      }
  }
}

/// What the command line asks of every workload.
struct Settings {
  var isSmoke: Bool
  /// The count of rounds, where it was given.
  var rounds: Int?
  /// The folder of CDRuntime's built module, where it was given.
  var modules: String?
}

/// A mistake in how the program was called or set up.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
