import Foundation

/// Runs the tasks of the object graph with all contenders. Each has its own store, and all stores have the same
/// contents.
final class GraphBench {
  private static var contenders: [any GraphContender.Type] {
    [
      CContender.self, GRDBContender.self, GRDBRecordContender.self, RuntimeContender.self,
    ]
  }

  private let folder: URL
  private let data: GraphData
  private let settings: Settings

  init(_ settings: Settings) throws {
    self.settings = settings
    data =
      settings.isSmoke ? GraphData(count: 400, categories: 10) : GraphData(count: 200_000, categories: 1000)
    folder = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for contender in Self.contenders {
      let filled = try contender.init(path: template(contender), data: data)
      try filled.run(.insert)
    }
  }

  deinit {
    // Remaining files in a temporary folder do no harm.
    try? FileManager.default.removeItem(at: folder)
  }

  private func template(_ contender: any GraphContender.Type) -> String {
    folder.appending(path: contender.name + ".sqlite").path
  }

  func run(_ task: GraphTask) throws -> [Figure] {
    var checksums: [String: Int64] = [:]
    let contenders = Self.contenders.filter { $0.takes(task) }.map { type in
      Contender(name: type.name) { [self] in
        let path = try file(for: task, of: type)
        let contender = try type.init(path: path, data: data)
        try contender.prepare(task)
        let seconds = try CPUTime.measure { try contender.run(task) }
        checksums[type.name] = try contender.checksum(task)
        return seconds
      }
    }
    let rounds = try Rounds(contenders, count: settings.rounds ?? 7)
    guard Set(checksums.values).count == 1 else {
      throw BenchError("\(task.rawValue): the contenders disagree: \(checksums)")
    }
    return contenders.map { contender in
      Figure(
        task.rawValue, contender.name, ratio: rounds.ratio(contender.name, to: CContender.name),
        milliseconds: rounds.median(contender.name) * 1000, rounds: rounds.count,
        goal: contender.name == RuntimeContender.name && !settings.isSmoke ? task.goal : nil)
    }
  }

  /// The store for a contender. For a task that writes, it is a copy, or a new store for insertions.
  private func file(for task: GraphTask, of contender: any GraphContender.Type) throws -> String {
    guard task.writes else { return template(contender) }
    let copy = folder.appending(path: "work-\(contender.name).sqlite")
    for end in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: copy.path + end)
    }
    if !task.fills {
      try FileManager.default.copyItem(atPath: template(contender), toPath: copy.path)
    }
    return copy.path
  }
}
