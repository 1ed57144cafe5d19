import Foundation
import Testing

/// `cdstore migrate`, run as a user would.
@Suite struct MigrateTests {
  private let folder: TemporaryFolder

  private static let first = """
    entities:
      Note:
        attributes: { text: String, age: Int32?, extra: String? }
      Log: { attributes: { text: String } }

    """
  private static let second = """
    entities:
      Note:
        attributes: { text: String, age: Int32?, extra: String?, mark: { type: Int16, default: 3 } }
      Log: { attributes: { text: String } }

    """
  private static let third = """
    entities:
      Note:
        attributes:
          text: { type: String, minLength: 2 }
          age: String?
          mark: { type: Int16, default: 3 }

    """
  private static let mapping = "entities: { Note: { drop: [extra] } }\ndrop: [Log]\n"

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make("Notes", in: folder, version: Self.first)
    try folder.write(Self.second, to: "Notes.cdmodel/2.yaml")
    try folder.write(Self.third, to: "Notes.cdmodel/3.yaml")
    try folder.write(Self.mapping, to: "Notes.cdmodel/2-3.mapping.yaml")
    try folder.write(
      #"{"Note": [{"text": "a", "age": 1, "extra": "x"}, {"text": "bb", "extra": "y"}], "Log": [{"text": "l"}]}"#,
      to: "data.json")
    #expect(try run("create", "n.sqlite", "--model", "Notes.cdmodel", "--version", "1").status == 0)
    #expect(try run("load", "n.sqlite", "data.json").status == 0)
  }

  private func run(_ arguments: String...) throws -> BuiltTool.Result {
    try BuiltTool.cdstore.run(arguments, in: folder.url)
  }

  private func migrate(_ arguments: String...) throws -> BuiltTool.Result {
    try BuiltTool.cdstore.run(
      ["migrate", "n.sqlite", "--model", "Notes.cdmodel"] + arguments, in: folder.url)
  }

  private func json(_ text: String) throws -> [String: Any] {
    try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  /// What does not change from run to run.
  private func plain(_ text: String) -> String {
    text.replacing(/[0-9.]+ (ms|s|bytes|KB|MB|GB|TB)\b/, with: "…")
  }

  @Test func aStoreIsMigrated() throws {
    let result = try migrate()
    #expect(result.status == 0, "\(result.errors)")
    #expect(
      plain(result.output) == """
        n.sqlite: version 1 to version 3
          steps    1 → 2, 2 → 3
          objects  2
          time     …
          made     as a new file
          backup   n.sqlite-before-1, until the store is opened the next time

        """)
    #expect(result.errors.contains("version 1 to 2"))
    #expect(try run("info", "n.sqlite").output.contains("Notes, version 3"))
    let again = try migrate()
    #expect(again == BuiltTool.Result(status: 0, output: "n.sqlite: already at version 3\n", errors: ""))
    #expect(!folder.exists("n.sqlite-before-1"))
  }

  @Test func theBackupOfALinkedStoreIsNamed() throws {
    let files = FileManager.default
    try files.createDirectory(at: folder.url.appending(path: "data"), withIntermediateDirectories: false)
    for name in try folder.names() where name.hasPrefix("n.sqlite") {
      try files.moveItem(
        at: folder.url.appending(path: name), to: folder.url.appending(path: "data/\(name)"))
    }
    try files.createSymbolicLink(
      atPath: folder.url.appending(path: "n.sqlite").path, withDestinationPath: "data/n.sqlite")
    let result = try migrate("--keep-backup")
    #expect(result.status == 0, "\(result)")
    let backup = try #require(result.output.firstMatch(of: /backup +(.+)/)?.output.1)
    #expect(backup.hasPrefix("/") && backup.hasSuffix("data/n.sqlite-before-1"), "\(backup)")
    #expect(files.fileExists(atPath: String(backup)), "\(backup)")
  }

  @Test func otherCommandsDoNotMigrate() throws {
    for arguments in [["load", "n.sqlite", "data.json"], ["fetch", "n.sqlite", "Note"]] {
      let result = try BuiltTool.cdstore.run(arguments + ["--model", "Notes.cdmodel"], in: folder.url)
      #expect(result.status == 1 && result.output == "")
      #expect(
        result.errors.hasSuffix("must be migrated to version 3; run 'cdstore migrate' first\n"),
        "\(result.errors)")
    }
    #expect(try run("info", "n.sqlite").output.contains("Notes, version 1"))
    #expect(try run("fetch", "n.sqlite", "Note", "--count").output == "2\n")
  }

  @Test func whatBreaksARuleIsFoundByTheCheck() throws {
    let result = try migrate("--to", "2", "--verify")
    #expect(result.status == 0 && result.output.hasSuffix("the store is whole\n"), "\(result)")
    let last = try migrate("--verify")
    #expect(last.status == 1)
    #expect(last.output.contains("'Note.text' of ") && last.output.hasSuffix("1 finding\n"), "\(last.output)")
  }

  @Test func theResultIsJSONOnRequest() throws {
    let result = try migrate("--to", "2", "--format", "json")
    #expect(result.status == 0 && result.errors.isEmpty)
    let json = try json(result.output)
    #expect(json["from"] as? Int == 1 && json["to"] as? Int == 2 && json["objects"] as? Int == 3)
    #expect(json["inPlace"] as? Bool == true && json["backup"] == nil)
    let beside = try self.json(try migrate("--keep-backup", "--format", "json").output)
    #expect((beside["backup"] as? String)?.hasSuffix("n.sqlite-before-2") == true)
    for _ in 0..<2 { #expect(try migrate("--keep-backup").status == 0) }
    #expect(folder.exists("n.sqlite-before-2"))
  }

  @Test func aRehearsalTouchesNothing() throws {
    let before = try Data(contentsOf: folder.url.appending(path: "n.sqlite"))
    let result = try migrate("--dry-run")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try Data(contentsOf: folder.url.appending(path: "n.sqlite")) == before)
    let uri = try run("fetch", "n.sqlite", "Note", "--where", "text == 'a'", "--format", "json").output
      .firstMatch(of: /cdgen:[^"]*/)?.output
    #expect(
      plain(result.output) == """
        n.sqlite: rehearsal of version 1 to version 3, on a copy

        automatic, …:
        version 1 to version 2
          transform Note
            mark = 3
          copy Log
          changes:
            automatic: attribute 'mark' of 'Note' is new
          proven; nothing is lost

        mapped, …:
        version 2 to version 3, by 2-3.mapping.yaml
          transform Note
            age = CAST(age, "String")
          remove Log
          changes:
            confirmed: entity 'Log' is gone from version 3: its objects are lost
            automatic: attribute 'text' of 'Note' has rules that older objects may break: such objects are migrated, but cannot be saved until they meet the rules
            automatic: attribute 'age' of 'Note' was Int32 and is String
            confirmed: attribute 'extra' of 'Note' is gone from version 3: its values are lost
          proven; 2 losses, all of them confirmed
          lost:
            entity 'Log' is gone from version 3: 1 object
            attribute 'extra' of 'Note' is gone from version 3: 2 values

        Entity  Objects  Then
        ------  -------  ----
        Note    2        2
        Log     1        gone

        objects that break a rule of version 3; they cannot be saved until they are corrected:
          'text' of 'Note' is shorter or longer than allowed: 1 object, \(uri ?? "")

        made as a new file, in …; … are there, … more are needed; … are free
        it would succeed

        """)
  }

  @Test func aRehearsalSaysWhyAMigrationWouldFail() throws {
    try folder.remove("Notes.cdmodel/2-3.mapping.yaml")
    let result = try migrate("--dry-run", "--sql", "--format", "json")
    #expect(result.status == 1)
    let json = try json(result.output)
    #expect(json["succeeds"] as? Bool == false && json["reached"] as? Int == 2)
    let steps = try #require(json["steps"] as? [[String: Any]])
    #expect(steps.map { $0["done"] as? Bool } == [true, false])
    let losses = try #require(steps[1]["losses"] as? [[String: Any]])
    #expect(losses.map { $0["confirmed"] as? Bool } == [false, false])
    #expect(Set(losses.compactMap { $0["count"] as? Int }) == [1, 2])
    let statements = try #require(steps[0]["statements"] as? [[String: Any]])
    #expect(!statements.isEmpty)

    let refused = try migrate()
    #expect(refused.status == 1 && refused.errors.contains("these changes need a rule"), "\(refused.errors)")
    #expect(try run("info", "n.sqlite").output.contains("Notes, version 1"))
  }

  @Test func codeOfAnAppsOwnCannotRunHere() throws {
    try folder.write(
      "entities: { Note: { policy: custom, drop: [extra] } }\ndrop: [Log]\n",
      to: "Notes.cdmodel/2-3.mapping.yaml")
    let result = try migrate("--dry-run")
    #expect(result.status == 1)
    #expect(result.output.contains("needs the app's own code for"), "\(result.output)")
    #expect(result.output.contains("the steps before it were rehearsed"))
  }

  @Test func theArgumentsAreChecked() throws {
    #expect(try migrate("--sql").status == 64)
    #expect(try migrate("--dry-run", "--verify").status == 64)
    #expect(try migrate("--to", "9").status == 1)
    #expect(try run("migrate", "none.sqlite", "--model", "Notes.cdmodel").status == 1)
    #expect(try run("migrate", "n.sqlite").status == 64)
  }

  // MARK: Processes

  /// Starts a migration, and gives it to a body once it says what it does.
  private func start(_ body: (Process, FileHandle) throws -> Void) throws -> Process {
    let process = Process()
    process.executableURL = BuiltTool.cdstore.url
    process.arguments = ["migrate", "n.sqlite", "--model", "Notes.cdmodel"]
    process.currentDirectoryURL = folder.url
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    try body(process, errors.fileHandleForReading)
    process.waitUntilExit()
    return process
  }

  @Test func anInterruptedMigrationLeavesTheStoreAsItWas() throws {
    // Enough for a step to be under way when the signal comes: SQL does not fold case, so that rows are read one by one.
    try folder.write(
      """
      entities: { Note: { attributes: { text: uppercase(text) }, drop: [extra] } }
      drop: [Log]

      """, to: "Notes.cdmodel/2-3.mapping.yaml")
    let rows = (0..<20_000).map { #"{"text": "number \#($0)"}"# }.joined(separator: ", ")
    try folder.write(#"{"Note": [\#(rows)]}"#, to: "many.json")
    #expect(try run("load", "n.sqlite", "many.json").status == 0)
    let process = try start { process, errors in
      _ = errors.availableData
      process.interrupt()
    }
    #expect(process.terminationStatus == 130)
    #expect(
      try folder.names().filter { $0.hasPrefix("n.sqlite") && !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") }
        == ["n.sqlite"])
    #expect(try run("info", "n.sqlite").output.contains("Notes, version 1"))
    #expect(try run("verify", "n.sqlite").status == 0)
    #expect(try run("fetch", "n.sqlite", "Note", "--count").output == "20002\n")
  }

  @Test func twoProcessesMigrateAtOnce() throws {
    for _ in 0..<3 {
      var other: Process?
      let process = try start { _, _ in
        let second = try BuiltTool.cdstore.start(
          "migrate", "n.sqlite", "--model", "Notes.cdmodel", in: folder.url)
        second.waitUntilExit()
        other = second
      }
      #expect([0, 1].contains(process.terminationStatus))
      #expect([0, 1].contains(other?.terminationStatus))
      #expect(process.terminationStatus == 0 || other?.terminationStatus == 0)
      #expect(try migrate().status == 0)
      #expect(try run("fetch", "n.sqlite", "Note", "--count").output == "2\n")
      try folder.remove("n.sqlite")
      #expect(try run("create", "n.sqlite", "--model", "Notes.cdmodel", "--version", "1").status == 0)
      #expect(try run("load", "n.sqlite", "data.json").status == 0)
    }
  }

  @Test func aPlanShowsTheSQLOfEachStepWithoutAStore() throws {
    let last = try run("plan", "Notes.cdmodel")
    #expect(last.status == 0 && last.errors.isEmpty)
    #expect(last.output.contains("version 2 to version 3") && !last.output.contains("version 1"))
    #expect(last.output.contains("INSERT INTO"))
    let all = try run("plan", "Notes.cdmodel", "--from", "1", "--to", "2")
    #expect(all.output.contains("ADD COLUMN") && !all.output.contains("version 3"))
    let first = try run("plan", "Notes.cdmodel", "--to", "1")
    #expect(first.status == 1 && first.errors.contains("version 1 is the first one"))
    let unknown = try run("plan", "Notes.cdmodel", "--from", "9")
    #expect(unknown.status == 1 && unknown.errors.contains("no version 9; it has 1, 2, 3"))
  }
}
