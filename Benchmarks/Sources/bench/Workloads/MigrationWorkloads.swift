import Baseline
import CDRuntime
import Foundation

/// A folder with stores of the first version. Each round uses copies.
private final class MigrationStores {
  private let folder: URL
  private var copies = 0

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit {
    // Remaining files in a temporary folder do no harm.
    try? FileManager.default.removeItem(at: folder)
  }

  func path(_ name: String) -> String { folder.appending(path: name + ".sqlite").path }

  /// Calls a body with its own copy of a store.
  func withCopy<R>(_ name: String, _ body: (String) throws -> R) throws -> R {
    copies += 1
    let copy = folder.appending(path: "copy-\(copies)")
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: copy) }
    let path = copy.appending(path: "store.sqlite").path
    try FileManager.default.copyItem(atPath: self.path(name), toPath: path)
    // Otherwise the first contender to sync the store would also pay for the copy.
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.synchronize()
    try file.close()
    return try body(path)
  }
}

/// Rewrites the rows of a million todos, as a ratio to the SQLite statements that do the same.
struct MigrateWorkload: Workload {
  let kind: MigrationKind
  var name: String { "migrate-\(kind.rawValue)" }
  var summary: String {
    kind == .rewrite
      ? "Migrates a million todos by rules, to SQLite's INSERT … SELECT with two indexes."
      : "Migrates a million todos by the app's own code, to SQLite's INSERT … SELECT with two indexes."
  }

  func run(_ settings: Settings) throws -> [Figure] {
    let count = settings.isSmoke ? 1000 : 1_000_000
    let stores = try MigrationStores()
    try MigrationModel.createBaseline(stores.path("c"), count: count)
    try MigrationModel.create(stores.path("cdruntime"), count: count)
    let contenders = [
      Contender(name: "c") {
        try stores.withCopy("c") { path in
          let seconds = try CPUTime.measure { try MigrationModel.check(base_rewrite(path)) }
          try check(path, table: "todo", key: "id", count)
          return seconds
        }
      },
      Contender(name: "cdruntime") {
        try stores.withCopy("cdruntime") { path in
          let seconds = try CPUTime.measure { try MigrationModel.migrate(path, kind) }
          try check(path, table: "Todo", key: "_pk", count)
          return seconds
        }
      },
    ]
    let rounds = try Rounds(contenders, count: settings.rounds ?? 5)
    var figures = contenders.map { contender in
      let isOurs = contender.name == "cdruntime" && !settings.isSmoke
      return Figure(
        name, contender.name, ratio: rounds.ratio(contender.name, to: "c"),
        milliseconds: rounds.median(contender.name) * 1000, rounds: rounds.count,
        goal: isOurs ? (kind == .rewrite ? 0.7 : 1.8) : nil)
    }
    #if os(Linux)
      let peak = try stores.withCopy("cdruntime") { path in
        try Probe.spawn("migrate-\(kind.rawValue)", store: path).output
      }
      figures.append(
        Figure(
          name, "peak", mebibytes: Double(peak.trimmingCharacters(in: .whitespacesAndNewlines)) ?? .nan,
          rounds: 1, goal: settings.isSmoke ? nil : 100))
    #endif
    return figures
  }

  /// Checks that the result has the values that the same expressions give for the original rows.
  private func check(_ path: String, table: String, key: String, _ count: Int) throws {
    let sum = try MigrationModel.checksum(path, table: table, key: key)
    let wanted = try Self.wanted(count)
    guard sum == wanted else { throw BenchError("\(name): the values are not right in \(table)") }
  }

  private static func wanted(_ count: Int) throws -> Int64 {
    try MigrationModel.number(
      ":memory:",
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      SELECT sum(i * 3 + length('Todo number ' || (i * 7919 % 1000003)) * 5
        + CASE WHEN i % 3 = 0 THEN 0 ELSE length('Some notes on it, ' || i) END * 7 + i % 5 * 11
        + CAST(i * 60.5 AS INTEGER) * 13 + i % 2 * 17 + unicode(substr(printf('%016d', i), 16)) * 19
        + (i % 1000 + 1) * 23 + (i % 5 + 1) * 29) FROM n
      """)
  }
}

/// Adds a column to a table of ten thousand rows and to a table of a million.
struct AddColumnWorkload: Workload {
  let name = "migrate-add-column"
  let summary = "Adds a column to ten thousand todos and to a million: the time is to be the same."

  func run(_ settings: Settings) throws -> [Figure] {
    let stores = try MigrationStores()
    let sizes = settings.isSmoke ? [100, 1000] : [10_000, 1_000_000]
    for size in sizes { try MigrationModel.create(stores.path("\(size)"), count: size) }
    let contenders = sizes.map { size in
      Contender(name: "\(size)") {
        try stores.withCopy("\(size)") { path in
          let seconds = try CPUTime.measure { try MigrationModel.migrate(path, .column) }
          guard try MigrationModel.number(path, "SELECT count(*) FROM Todo WHERE rank = 0") == size else {
            throw BenchError("\(name): the values are not right")
          }
          return seconds
        }
      }
    }
    let rounds = try Rounds(contenders, count: settings.rounds ?? 21)
    return contenders.map { contender in
      Figure(
        name, contender.name, ratio: rounds.ratio(contender.name, to: contenders[0].name),
        milliseconds: rounds.median(contender.name) * 1000, rounds: rounds.count,
        goal: contender.name == contenders[0].name || settings.isSmoke ? nil : 1.5)
    }
  }
}
