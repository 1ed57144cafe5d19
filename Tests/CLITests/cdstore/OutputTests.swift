import Foundation
import Testing

/// Output that does not arrive: a full disk is an error, and a reader that goes is none.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"))) struct OutputTests {
  private let folder: TemporaryFolder

  /// What each test begins with, made once. It goes when the tests end.
  private static let template: Result<TemporaryFolder, any Error> = Result {
    let folder = try makeTemplate()
    atexit { try? FileManager.default.removeItem(at: OutputTests.template.get().url) }
    return folder
  }

  init() throws { folder = try TemporaryFolder(copyOf: Self.template.get()) }

  private static func makeTemplate() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("id: 183A65E1-536E-4E59-A122-249A1527F8AD\n", to: "Notes.cdmodel/model.yaml")
    try folder.write(
      "entities:\n  Note: { attributes: { text: String } }\n", to: "Notes.cdmodel/1.yaml")
    try folder.write(
      "basedOn: 1\nentities:\n  Note: { attributes: { text: String, rank: { type: Int64, default: 1 } } }\n",
      to: "Notes.cdmodel/2.yaml")
    let rows = (0..<3_000).map { #"{"text": "number \#($0) \#(String(repeating: "-", count: 60))"}"# }
    try folder.write(#"{"Note": [\#(rows.joined(separator: ", "))]}"#, to: "notes.json")
    _ = try BuiltTool.cdstore.run(
      "create", "n.sqlite", "--model", "Notes.cdmodel", "--version", "1", in: folder.url)
    _ = try BuiltTool.cdstore.run("load", "n.sqlite", "notes.json", in: folder.url)
    return folder
  }

  /// Runs a line of the shell in the folder; `$cdgen` and the like are the programs.
  private func shell(_ line: String) throws -> BuiltTool.Result {
    let script =
      ["cdgen", "cdstore", "todo"].map { "\($0)='\(BuiltTool(name: $0).url.path)'\n" }.joined() + line
    let process = Process()
    process.executableURL = URL(filePath: "/bin/bash")
    process.arguments = ["-c", script]
    process.currentDirectoryURL = folder.url
    process.standardInput = FileHandle.nullDevice
    let (output, errors) = (folder.url.appending(path: "output"), folder.url.appending(path: "errors"))
    for file in [output, errors] { try Data().write(to: file) }
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    process.waitUntilExit()
    return BuiltTool.Result(
      status: process.terminationStatus, output: try folder.text(of: "output"),
      errors: try folder.text(of: "errors"))
  }

  @Test(arguments: [
    "$cdgen json-schema", "$cdgen check Notes.cdmodel", "$cdgen check Notes.cdmodel --format json",
    "$cdgen diff Notes.cdmodel", "$cdgen diff Notes.cdmodel --format json",
    "$cdgen graph Notes.cdmodel --format svg", "$cdgen lock Notes.cdmodel --all", "$cdgen init New",
    "$cdgen add-version Notes.cdmodel", "$cdgen --help", "$cdgen check --help",
    "$cdstore fetch n.sqlite Note", "$cdstore fetch n.sqlite Note --format csv",
    "$cdstore fetch n.sqlite Note --format json", "$cdstore fetch n.sqlite Note --count",
    "echo '{\"entity\": \"Note\"}' | $cdstore fetch n.sqlite --batch",
    "echo '{}' | $cdstore fetch n.sqlite --batch",
    "echo 1 | $cdstore filter --where 'SELF == 1'", "$cdstore info n.sqlite", "$cdstore verify n.sqlite",
    "$cdstore plan Notes.cdmodel", "$cdstore convert n.sqlite n.xml --type xml",
    "$cdstore create other.sqlite --model Notes.cdmodel",
    "$cdstore migrate n.sqlite --model Notes.cdmodel --dry-run",
    "$cdstore --help", "$todo list --store t.sqlite", "$todo demo", "$todo --help",
  ])
  func aFullDiskIsAnError(_ command: String) throws {
    let result = try shell("\(command) >/dev/full")
    #expect(result.status == 1, "\(command): \(result)")
    #expect(result.errors.contains("standard output cannot be written to"), "\(command): \(result)")
    #expect(!result.errors.contains("Fatal"), "\(command): \(result)")
  }

  /// Otherwise the caller would load the objects again.
  @Test func workThatIsDoneSucceedsWithoutItsSummary() throws {
    let loaded = try shell("$cdstore load n.sqlite notes.json >/dev/full")
    #expect(loaded.status == 0 && loaded.output.isEmpty, "\(loaded)")
    #expect(
      loaded.errors.hasPrefix("warning: the objects are loaded, but standard output cannot be written to"))
    #expect(try shell("$cdstore fetch n.sqlite Note --count").output == "6000\n")
    for _ in 0..<2 {
      let migrated = try shell("$cdstore migrate n.sqlite --model Notes.cdmodel >/dev/full")
      #expect(migrated.status == 0 && migrated.output.isEmpty, "\(migrated)")
      #expect(
        migrated.errors.contains("warning: the store has version 2, but standard output"), "\(migrated)")
    }
    #expect(try shell("$cdstore info n.sqlite").output.contains("Notes, version 2"))
    // A reader that goes does not want the summary.
    let unread = try shell("$cdstore load n.sqlite notes.json | true; exit ${PIPESTATUS[0]}")
    #expect(unread.status == 0 && unread.errors.isEmpty, "\(unread)")
  }

  @Test(arguments: [
    "$cdgen json-schema", "$cdgen --help", "$cdstore fetch n.sqlite Note", "$cdstore --help", "$todo demo",
    "$cdstore fetch n.sqlite Note --format csv", "$cdstore fetch n.sqlite Note --format json",
  ])
  func aReaderThatGoesIsNoError(_ command: String) throws {
    for ignored in [false, true] {
      // A reader that has gone before the first line, and one that goes after it.
      for reader in ["true", "head -1 >/dev/null"] {
        let wait = reader == "true" ? "sleep 0.2; " : ""
        let ignore = ignored ? "trap '' PIPE; " : ""
        let result = try shell("\(ignore){ \(wait)\(command); } | \(reader); echo ${PIPESTATUS[0]}")
        #expect(result.errors == "", "\(command): \(result)")
        #expect(["0\n", "141\n"].contains(result.output), "\(command): \(result)")
        if reader == "true" { #expect(result.output == "141\n", "\(command): \(result)") }
      }
    }
  }

  @Test func aMigrationGoesOnWithoutItsProgress() throws {
    let result = try shell("$cdstore migrate n.sqlite --model Notes.cdmodel 2>/dev/full")
    #expect(result.status == 0 && result.output.contains("version 2"))
    #expect(try shell("$cdstore fetch n.sqlite Note --count").output == "3000\n")
    _ = try shell(
      "$cdstore create o.sqlite --model Notes.cdmodel --version 1 && $cdstore load o.sqlite notes.json")
    let piped = try shell(
      "{ $cdstore migrate o.sqlite --model Notes.cdmodel 2>&1 >/dev/null; echo $? >status; } | true; cat status"
    )
    #expect(piped.output == "0\n", "\(piped)")
    #expect(try shell("$cdstore verify o.sqlite").status == 0)
  }

  @Test func errorsThatCannotBeShownHaveAStatus() throws {
    for command in ["$cdgen check Missing.cdmodel", "$cdstore info missing.sqlite", "$cdgen --unknown"] {
      let result = try shell("\(command) >/dev/full 2>/dev/full")
      #expect([1, 64].contains(result.status), "\(command): \(result)")
    }
    // The log of the statements is for people, too.
    let logged = try shell("CDGEN_SQL_LOG=1 $cdstore fetch n.sqlite Note --count 2>/dev/full")
    #expect(logged.status == 0 && logged.output == "3000\n")
  }

  /// SQLite's own times are whole milliseconds: three digits behind the point would all be 0.
  @Test func theLogOfStatementsHasTimesOfMicroseconds() throws {
    let log = try shell("CDGEN_SQL_LOG=1 $cdstore fetch n.sqlite Note --limit 3 2>&1 >/dev/null").output
    let times = log.split(separator: "\n").compactMap { line in
      line.hasPrefix("cdgen: ") ? line.dropFirst(7).split(separator: " ").first : nil
    }
    #expect(times.count > 5)
    #expect(times.contains { !$0.hasSuffix(".000") }, "\(log)")
    #expect(times.allSatisfy { Double($0).map { $0 < 10_000 } ?? false })
  }
}
