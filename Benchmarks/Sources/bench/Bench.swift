import ArgumentParser
import Foundation

/// Measures parts of cdgen. It measures CPU time, so that other work on the machine has little effect.
@main
struct Bench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measures cdgen's object graph and generator.",
    discussion: """
      Workloads:
      \(Workloads.all().map { "  \($0.name)  \($0.summary)" }.joined(separator: "\n"))

      The object graph's workloads are ratios to a loop in C over sqlite3 that does the same work.
      Contenders of a workload run in turn within each round, and a ratio is the median of the rounds' own
      ratios, so that a machine that is busy for a while slows them all alike.
      """)

  @Option(name: .long, help: "Run only this workload; may be given several times.")
  var only: [String] = []

  @Option(name: .long, help: "How many rounds to run.")
  var rounds: Int?

  @Flag(name: .long, help: "Print one JSON object a line.")
  var json = false

  @Flag(name: .long, help: "Tiny sizes and one round: that it runs, and not how fast.")
  var smoke = false

  @Option(
    name: .long,
    help: "The folder of CDRuntime's built module, for 'compile'; by default the one beside this program.")
  var modules: String?

  @Option(name: .long, help: .hidden)
  var probe: String?

  @Option(name: .long, help: .hidden)
  var store: String?

  func validate() throws {
    for name in only where !Workloads.all().contains(where: { $0.name == name }) {
      let names = Workloads.all().map { $0.name }.joined(separator: ", ")
      throw ValidationError("there is no workload '\(name)'; the workloads are \(names)")
    }
    if let rounds, rounds < 1 { throw ValidationError("--rounds is 1 at least") }
  }

  func run() throws {
    if let probe, let store { return try Probe.run(probe, store: store) }
    let settings = Settings(isSmoke: smoke, rounds: smoke ? 1 : rounds, modules: modules)
    for workload in Workloads.all() where only.isEmpty || only.contains(workload.name) {
      let figures = try workload.run(settings)
      for figure in figures { print(json ? figure.json : figure.text) }
      fflush(nil)
    }
  }
}
