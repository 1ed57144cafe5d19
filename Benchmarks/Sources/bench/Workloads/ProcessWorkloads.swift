import Foundation

/// The memory of 200,000 fetched todos, in addition to the idle process.
struct MemoryWorkload: Workload {
  let name = "memory"
  let summary = "The memory of 200,000 fetched todos, above the idle process."

  func run(_ settings: Settings) throws -> [Figure] {
    #if os(Linux)
      let stores = try ProbeStores(settings, count: settings.isSmoke ? 400 : 200_000)
      let rounds = settings.rounds ?? 3
      return try ProbeStores.contenders.map { type in
        let sizes = try (0..<rounds).map { _ in
          let text = try Probe.spawn("memory-\(type.name)", store: stores.path(type)).output
          return Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? .nan
        }
        let isOurs = type.name == RuntimeContender.name && !settings.isSmoke
        return Figure(
          name, type.name, mebibytes: Rounds.median(sizes), rounds: rounds, goal: isOurs ? 60 : nil)
      }
    #else
      return []
    #endif
  }
}

/// The peak memory of a program that inserts, reads, changes and deletes a million objects in batches.
struct MillionWorkload: Workload {
  let name = "million"
  let summary = "A million objects in batches: inserted, read, changed and deleted."

  func run(_ settings: Settings) throws -> [Figure] {
    // The workload takes a minute and has no smaller form.
    if settings.isSmoke { return [] }
    let folder = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (output, seconds) = try Probe.spawn(
      "million-cdruntime", store: folder.appending(path: "million.sqlite").path)
    let peak = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? .nan
    return [
      Figure(
        name, RuntimeContender.name, milliseconds: seconds * 1000, mebibytes: peak, rounds: 1)
    ]
  }
}

/// The time from a program's start to the first rows of a store, as a ratio to C.
struct OpenWorkload: Workload {
  let name = "open"
  let summary = "Starts a program, opens a store and fetches a few rows."

  func run(_ settings: Settings) throws -> [Figure] {
    let stores = try ProbeStores(settings, count: 100)
    let contenders = ProbeStores.contenders.map { type in
      Contender(name: type.name) { try Probe.spawn("open-\(type.name)", store: stores.path(type)).seconds }
    }
    let rounds = try Rounds(contenders, count: settings.rounds ?? 21)
    return contenders.map { contender in
      Figure(
        name, contender.name, ratio: rounds.ratio(contender.name, to: GRDBContender.name),
        milliseconds: rounds.median(contender.name) * 1000, rounds: rounds.count,
        goal: contender.name == RuntimeContender.name && !settings.isSmoke ? 1 : nil)
    }
  }
}

/// Filled stores of all contenders for separate processes.
private final class ProbeStores {
  static var contenders: [any GraphContender.Type] {
    [
      CContender.self, GRDBContender.self, RuntimeContender.self,
    ]
  }

  private let folder: URL

  init(_ settings: Settings, count: Int) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let data = GraphData(count: count, categories: 10)
    for contender in Self.contenders {
      try contender.init(path: path(contender), data: data).run(.insert)
    }
  }

  deinit {
    // Remaining files in a temporary folder do no harm.
    try? FileManager.default.removeItem(at: folder)
  }

  func path(_ contender: any GraphContender.Type) -> String {
    folder.appending(path: contender.name + ".sqlite").path
  }
}
