import CSQLite
import Foundation
import Testing

/// `cdstore load` writes large values of `external:` attributes to files, as a save does.
@Suite struct LargeValueLoadTests: StoreCommands {
  let folder: TemporaryFolder

  private static let version = """
    entities:
      Scan:
        attributes:
          key: String
          front: { type: Data?, external: true }
          back: { type: Data?, external: true }
          small: Data?
        unique: [[key]]

    """

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make("Scans", in: folder, version: Self.version)
  }

  private func create(_ store: String, type: String = "sqlite") throws {
    _ = try succeed("create", store, "--model", "Scans.cdmodel", "--type", type)
  }

  /// Bytes of all values. Their number is prime, so that they do not begin anew where a block of a file does.
  private static let pattern = Data((0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

  /// Bytes that no other number gives. They are copied, because a debug build takes seconds to calculate as many.
  private func bytes(_ count: Int, _ number: Int) -> Data {
    var data = withUnsafeBytes(of: number.littleEndian) { Data($0) }
    while data.count < count { data.append(Self.pattern) }
    return data.prefix(count)
  }

  private func row(_ number: Int, front: Int?, back: Int? = nil, small: Int = 0, entity: Bool = true)
    -> String
  {
    func value(_ count: Int?, _ seed: Int) -> String {
      count.map { "\"\(bytes($0, seed).base64EncodedString())\"" } ?? "null"
    }
    return "{" + (entity ? #""@entity": "Scan", "# : "")
      + #""@id": \#(number), "key": "\#(number)", "front": \#(value(front, number)), "back": {"$data": "#
      + (back.map { _ in value(back, -number) } ?? "\"\"")
      + #"}, "small": \#(value(small, number))}"#
  }

  private func names(_ store: String) -> [String] { (try? folder.names(in: store + "-external")) ?? [] }

  /// The contents of the files beside a store, sorted.
  private func files(_ store: String) throws -> [Data] {
    try names(store).map { try Data(contentsOf: folder.url.appending(path: "\(store)-external/\($0)")) }
      .sorted { ($0.count, $0.hashValue) < ($1.count, $1.hashValue) }
  }

  /// The first column of the rows of a statement.
  private func texts(_ store: String, _ sql: String) throws -> [String] {
    var handle: OpaquePointer?
    defer { sqlite3_close(handle) }
    try #require(sqlite3_open(folder.url.appending(path: store).path, &handle) == SQLITE_OK)
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    try #require(sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK)
    var result: [String] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      result.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "NULL")
    }
    return result
  }

  private func listed(_ store: String) throws -> [String] {
    try texts(store, "SELECT name FROM _cdgen_files ORDER BY name")
  }

  private static let sizes = [
    0, 1, 49_151, 49_152, 65_535, 65_536, 65_537, 65_538, 87_381, 87_384, 131_072, 2_000_000,
  ]

  @Test(arguments: ["sqlite", "xml", "binary"])
  func aLoadWritesTheFilesOfASave(type: String) throws {
    // A file with lists of rows is saved as an app saves.
    let rows = Self.sizes.indices.map { index in
      row(
        index, front: Self.sizes[index], back: index == 3 ? 70_000 : nil, small: index == 1 ? 100_000 : 0,
        entity: false)
    }
    try folder.write(#"{"Scan": ["# + rows.joined(separator: ",\n") + "]}", to: "saved.json")
    try create("saved", type: type)
    _ = try succeed("load", "saved", "saved.json")
    try create("loaded", type: type)
    _ = try succeed("load", "loaded", "-", "--entity", "Scan", input: rows.joined(separator: "\n"))
    let expected = try files("saved")
    #expect(expected.map(\.count) == [65_537, 65_538, 70_000, 87_381, 87_384, 131_072, 2_000_000])
    #expect(try files("loaded") == expected)

    let dump = try succeed("dump", "saved")
    _ = try succeed("load", "copy", "-", "--type", type, input: dump)
    #expect(try files("copy") == expected)
    #expect(try succeed("dump", "copy") == dump)
    #expect(try succeed("verify", "copy") == "copy is whole\n")
    if type == "sqlite" {
      for store in ["loaded", "copy"] {
        #expect(try listed(store) == [])
        #expect(
          try texts(
            store,
            "SELECT front FROM Scan WHERE typeof(front) = 'text' UNION SELECT back FROM Scan "
              + "WHERE typeof(back) = 'text' ORDER BY 1") == names(store))
      }
    }
    // A second load adds files, and the first ones stay.
    let before = names("copy")
    _ = try succeed("load", "copy", "-", input: row(99, front: 70_001))
    #expect(names("copy").count == 8 && Set(names("copy")).isSuperset(of: before))
  }

  @Test func aLoadThatFailsLeavesNoFile() throws {
    try create("a")
    _ = try succeed("load", "a", "-", input: row(0, front: 100_000))
    let before = (names("a"), try succeed("dump", "a"))
    #expect(before.0.count == 1)
    // The last row is not valid: only the end of the load tells.
    let rows = (1...50).map { row($0, front: 100_000, back: 66_000) } + [row(0, front: 70_000)]
    let result = try run("load", "a", "-", input: rows.joined(separator: "\n"))
    #expect(result.status == 1 && result.errors.contains("have the same key"), "\(result.errors)")
    #expect(names("a") == before.0)
    #expect(try listed("a") == [])
    #expect(try succeed("dump", "a") == before.1)

    // A new store goes as a whole.
    let lines = before.1.split(separator: "\n").map(String.init)
    let twice = [lines[0], lines[1], lines[1].replacing(/p\d+"/, with: "p7\""), #"{"@end":{"objects":2}}"#]
    let second = try run("load", "b", "-", input: twice.joined(separator: "\n"))
    #expect(second.status == 1 && second.errors.contains("have the same key"), "\(second.errors)")
    #expect(!folder.exists("b") && !folder.exists("b-external"))
  }

  @Test func theFilesOfAKilledLoadAreCollected() throws {
    try create("a")
    _ = try succeed("load", "a", "-", input: row(0, front: 100_000))
    let before = names("a")
    try folder.write((1...600).map { row($0, front: 66_000) }.joined(separator: "\n"), to: "many.jsonl")
    let process = try BuiltTool.cdstore.start("load", "a", "many.jsonl", in: folder.url)
    let deadline = Date(timeIntervalSinceNow: 120)
    while process.isRunning, names("a").count < 30, Date() < deadline { Thread.sleep(forTimeInterval: 0.002) }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    try #require(process.terminationReason == .uncaughtSignal)

    // The store is as it was, and each file of the load is listed.
    #expect(try succeed("fetch", "a", "Scan", "--count") == "1\n")
    #expect(try succeed("verify", "a") == "a is whole\n")
    let left = Set(names("a")).subtracting(before)
    #expect(try left.count >= 29 && Set(listed("a")).isSuperset(of: left))
    // After an hour, the next opening to write removes them. Another load does not wait for that.
    _ = try texts("a", "UPDATE _cdgen_files SET time = 0 RETURNING name")
    _ = try succeed("load", "a", "many.jsonl")
    #expect(try succeed("fetch", "a", "Scan", "--count") == "601\n")
    #expect(
      names("a").count == 601 && left.isDisjoint(with: names("a")) && Set(names("a")).isSuperset(of: before))
    #expect(try listed("a") == [])
  }

  @Test func severalLoadsAtOnceKeepTheirFiles() async throws {
    try create("a")
    let url = folder.url
    let inputs = (0..<4).map { part in
      (0..<40).map { row(part * 100 + $0, front: 65_537 + part) }.joined(separator: "\n")
    }
    let statuses = try await withThrowingTaskGroup(of: Int32.self) { group in
      for input in inputs {
        group.addTask { try BuiltTool.cdstore.run(["load", "a", "-"], in: url, input: input).status }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == [0, 0, 0, 0])
    #expect(names("a").count == 160)
    #expect(try listed("a") == [])
    #expect(try succeed("verify", "a") == "a is whole\n")
  }
}
