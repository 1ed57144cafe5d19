/// A measurement.
protocol Workload {
  var name: String { get }
  var summary: String { get }

  /// Measures and returns the results.
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

/// The options of the command line for all workloads.
struct Settings {
  var isSmoke: Bool
  /// The number of rounds; nil for the default.
  var rounds: Int?
  /// The folder with CDRuntime's built module; nil for the default.
  var modules: String?
}

/// An error in the program's arguments or setup.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
