/// A thing to measure. Each one is a file in `Workloads`.
protocol Workload {
  static var name: String { get }
  static var summary: String { get }

  /// Measures, and gives what it found.
  static func run(_ settings: Settings) throws -> [Figure]
}

/// The workloads, in the order in which they run.
enum Workloads {
  static var all: [any Workload.Type] { [GenerateWorkload.self, CompileWorkload.self] }
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
