import Foundation
import GraphTester

/// Runs random programs on the runtime and on the reference model, and exits with 1 where they differ.
///
/// ```
/// graph-tester [--seed N] [--runs N] [--steps N] [--store sqlite|xml|binary|memory]… [--minutes M]
///              [--keep-going] [--no-shrink] [--contended]
/// ```
@main struct GraphTesterTool {
  var options = Tester.Options()
  var seed: UInt64 = 1
  var runs: UInt64 = 100
  var minutes: Double?
  var keepsGoing = false

  static func main() throws {
    var tool = GraphTesterTool()
    tool.read(Array(CommandLine.arguments.dropFirst()))
    exit(try tool.run() ? 0 : 1)
  }

  private mutating func read(_ arguments: [String]) {
    var rest = arguments[...]
    var stores: [StoreKind] = []
    func value<T>(_ convert: (String) -> T?) -> T {
      let name = rest.removeFirst()
      guard let text = rest.popFirst(), let value = convert(text) else { Self.fail("\(name) needs a value") }
      return value
    }
    func flag() -> Bool {
      rest.removeFirst()
      return true
    }
    while let argument = rest.first {
      switch argument {
      case "--seed": seed = value { UInt64($0) }
      case "--runs": runs = value { UInt64($0) }
      case "--steps": options.steps = value { Int($0) }
      case "--minutes": minutes = value { Double($0) }
      case "--store": stores.append(value { StoreKind(rawValue: $0) })
      case "--no-shrink": options.shrinks = !flag()
      case "--contended": options.contendsOnly = flag()
      case "--keep-going": keepsGoing = flag()
      default: Self.fail("unknown option \(argument)")
      }
    }
    if !stores.isEmpty { options.stores = stores }
  }

  private static func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(64)
  }

  private static func write(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
  }

  /// Whether there was no difference.
  private mutating func run() throws -> Bool {
    let folder = FileManager.default.temporaryDirectory.appending(path: "graph-tester-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    options.folder = folder
    let tester = Tester(options: options)
    let start = Date()
    var counts = Counts()
    var findings = 0
    var current = seed
    while minutes.map({ Date().timeIntervalSince(start) < $0 * 60 }) ?? (current < seed + runs) {
      guard tester.isWanted(seed: current) else {
        current += 1
        continue
      }
      let result = tester.run(seed: current)
      counts += result.counts
      if let finding = result.finding {
        findings += 1
        Self.write("\(finding)\n")
        if !keepsGoing { break }
      }
      current += 1
    }
    Self.write("\(counts.summary); \(findings) differences; \(Int(Date().timeIntervalSince(start))) s")
    return findings == 0
  }
}
