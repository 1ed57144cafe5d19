import Foundation
import Testing

/// `lock` and `diff`.
@Suite struct LockAndDiffTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func second(_ note: String, folder other: String = "name: String") throws {
    try folder.write(
      """
      entities:
        Note:
          attributes: { \(note) }
          relationships: { folder: { to: Folder?, inverse: notes } }
        Folder:
          attributes: { \(other) }
          relationships: { notes: { to: [Note], inverse: folder, onDelete: cascade } }

      """, to: "Notes.cdmodel/2.yaml")
  }

  @Test func aLockedVersionCannotChange() throws {
    try SampleModel.make(in: folder)
    #expect(
      try BuiltTool.cdgen.run("lock", "Notes.cdmodel/", in: folder.url)
        == .init(status: 0, output: "Notes.cdmodel: locked version 1\n", errors: ""))
    #expect(try BuiltTool.cdgen.run("check", "Notes.cdmodel", in: folder.url).status == 0)
    let lock = try folder.text(of: "Notes.cdmodel/versions.lock")
    #expect(
      try BuiltTool.cdgen.run("lock", "Notes.cdmodel", in: folder.url)
        == .init(status: 0, output: "Notes.cdmodel: version 1: already locked\n", errors: "")
    )
    #expect(try folder.text(of: "Notes.cdmodel/versions.lock") == lock)
    try folder.write(
      SampleModel.version.replacing("text: String", with: "text: String?"), to: "Notes.cdmodel/1.yaml")
    let message =
      "Notes.cdmodel/1.yaml:4:7: error: version 1 is locked, and attribute 'text' of 'Note' was changed "
      + "since: stores of the version exist; undo this, and change a new version ('cdgen add-version')\n"
    for arguments in [
      ["check", "Notes.cdmodel"], ["generate", "Notes.cdmodel", "--output", "Notes.swift"],
      ["lock", "Notes.cdmodel"], ["add-version", "Notes.cdmodel"],
    ] {
      let result = try BuiltTool.cdgen.run(arguments, in: folder.url)
      #expect(result.status == 1)
      #expect(result.errors == message)
    }
    #expect(!folder.exists("Notes.swift"))
  }

  @Test func aDamagedLockIsNotWrittenAnew() throws {
    try SampleModel.make(in: folder)
    #expect(try BuiltTool.cdgen.run("lock", "Notes.cdmodel", in: folder.url).status == 0)
    let lock = try folder.text(of: "Notes.cdmodel/versions.lock")
    let line = try #require(lock.split(separator: "\n").first { $0.hasPrefix("  data ") })
    try folder.write(
      lock.replacing(line, with: "  data " + String(repeating: "0", count: 64)),
      to: "Notes.cdmodel/versions.lock")
    #expect(
      try BuiltTool.cdgen.run("lock", "Notes.cdmodel", in: folder.url)
        == .init(
          status: 1, output: "",
          errors:
            "Notes.cdmodel/versions.lock: error: the block of version 1 is damaged, although the version "
            + "itself is unchanged; restore the file from version control\n"))
  }

  @Test func whatIsNotProvenIsNotLocked() throws {
    try SampleModel.make(in: folder)
    try second("text: String, size: Int32")
    let result = try BuiltTool.cdgen.run("lock", "Notes.cdmodel", "--all", in: folder.url)
    #expect(result.status == 1)
    #expect(result.output == "")
    #expect(
      result.errors.hasSuffix(
        "Notes.cdmodel: error: nothing was locked: migration steps must lead from a locked version to the current one\n"
      ))
    #expect(!folder.exists("Notes.cdmodel/versions.lock"))
    try second("text: String, size: { type: Int32, default: 0 }")
    #expect(
      try BuiltTool.cdgen.run("lock", "Notes.cdmodel", "--all", in: folder.url)
        == .init(
          status: 0, output: "Notes.cdmodel: locked version 1\nNotes.cdmodel: locked version 2\n", errors: "")
    )
    #expect(try BuiltTool.cdgen.run("lock", "Notes.cdmodel", "--version", "3", in: folder.url).status == 1)
    #expect(
      try BuiltTool.cdgen.run("lock", "Notes.cdmodel", "--version", "1", "--all", in: folder.url).status == 64
    )
  }

  @Test func aPlanIsPrinted() throws {
    try SampleModel.make(in: folder)
    try second("body: { type: String, renamedFrom: text }")
    #expect(
      try BuiltTool.cdgen.run("diff", "Notes.cdmodel", in: folder.url)
        == .init(
          status: 0,
          output: """
            version 1 to version 2
              transform Note
                body = text
              copy Folder
              changes:
                automatic: attribute 'text' of 'Note' is now 'body' of 'Note'
              proven; nothing is lost

            """, errors: ""))
    let json = try BuiltTool.cdgen.run("diff", "Notes.cdmodel", "--format", "json", in: folder.url)
    #expect(json.status == 0)
    let steps = try #require(
      try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]])
    #expect(steps.count == 1)
    #expect(steps[0]["proven"] as? Bool == true)
    #expect((steps[0]["changes"] as? [[String: Any]])?.first?["kind"] as? String == "attributeRenamed")
  }

  @Test func aLossIsAcceptedWhereItIsMeant() throws {
    try SampleModel.make(in: folder)
    try second("title: String?", folder: "label: { type: String, default: x }")
    let mapping = "entities:\n  Folder:   # kept\n    attributes: { label: name }\n"
    try folder.write(mapping, to: "Notes.cdmodel/1-2.mapping.yaml")
    let before = try BuiltTool.cdgen.run("diff", "Notes.cdmodel", in: folder.url)
    #expect(before.status == 1)
    #expect(before.output.hasSuffix("  not proven\n"))
    let result = try BuiltTool.cdgen.run("diff", "Notes.cdmodel", "--accept", in: folder.url)
    #expect(result.status == 0)
    #expect(result.output.hasSuffix("  proven; one loss, which is confirmed\n"))
    #expect(
      result.errors
        == "note: Notes.cdmodel/1-2.mapping.yaml: confirmed the loss of 'text' for 'Note'\n")
    #expect(
      try folder.text(of: "Notes.cdmodel/1-2.mapping.yaml") == mapping + "  Note:\n    drop: [text]\n")
    #expect(try BuiltTool.cdgen.run("lock", "Notes.cdmodel", "--all", in: folder.url).status == 0)
    // The losses of a way are those of all its steps.
    try folder.write(
      try folder.text(of: "Notes.cdmodel/2.yaml") + "  Log: { attributes: { text: String } }\n",
      to: "Notes.cdmodel/3.yaml")
    let later = try BuiltTool.cdgen.run("diff", "Notes.cdmodel", in: folder.url)
    #expect(later.status == 0)
    #expect(
      later.output.hasPrefix(
        """
        version 1 to version 2: proven; one loss, which is confirmed
          confirmed: attribute 'text' of 'Note' is gone from version 2: its values are lost
        version 2 to version 3

        """), "\(later)")
    #expect(later.output.hasSuffix("  proven; no data is touched\n"))
    let alone = try BuiltTool.cdgen.run("diff", "Notes.cdmodel", "--from", "2", in: folder.url)
    #expect(alone.output.hasPrefix("version 2 to version 3\n"))
  }

  private static let log = "  Log: { attributes: { text: String } }\n"
  private static let mark = "  Mark: { attributes: { text: String } }\n"

  @Test func theStepsFromAllBasesAreShown() throws {
    try SampleModel.make(in: folder)
    let additions = [(2, "[1]", Self.log), (3, "[1]", Self.mark), (4, "[2, 3]", Self.log + Self.mark)]
    for (number, bases, addition) in additions {
      try folder.write(
        "basedOn: \(bases)\n" + SampleModel.version + addition, to: "Notes.cdmodel/\(number).yaml")
    }
    let result = try BuiltTool.cdgen.run("diff", "Notes.cdmodel", in: folder.url)
    #expect(result.status == 0)
    let heads = result.output.split(separator: "\n").filter { $0.hasPrefix("version ") }
      .map { $0.prefix { $0 != ":" } }
    #expect(heads == ["version 1 to version 2", "version 2 to version 4", "version 3 to version 4"])
  }

  /// Stores of version 1 skip version 2.
  @Test func aStepOverAVersionIsShown() throws {
    try SampleModel.make(in: folder)
    try folder.write(SampleModel.version + Self.log, to: "Notes.cdmodel/2.yaml")
    try folder.write(SampleModel.version + Self.log + Self.mark, to: "Notes.cdmodel/3.yaml")
    try folder.write(
      "entities: { Note: { attributes: { text: uppercase(text) } } }\n", to: "Notes.cdmodel/1-3.mapping.yaml")
    let result = try BuiltTool.cdgen.run("diff", "Notes.cdmodel", in: folder.url)
    #expect(result.output.hasPrefix("version 1 to version 3: "), "\(result)")
    #expect(result.output.contains("\nversion 2 to version 3\n"))
    #expect(!result.output.contains("version 1 to version 2"))
  }

  @Test func theStatusIsTheSameInEachFormat() throws {
    try SampleModel.make(in: folder)
    try second("title: String?")
    try folder.write(
      try folder.text(of: "Notes.cdmodel/2.yaml") + Self.log, to: "Notes.cdmodel/3.yaml")
    for format in ["text", "json", "sarif"] {
      let result = try BuiltTool.cdgen.run("diff", "Notes.cdmodel", "--format", format, in: folder.url)
      #expect(result.status == 1, "\(format)")
      if format != "json" { continue }
      let steps = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [[String: Any]]
      #expect(steps?.map { $0["proven"] as? Bool } == [false, true])
    }
  }

  @Test func commandsThatWriteTheSameFileWaitForEachOther() throws {
    try SampleModel.make(in: folder)
    try second("title: String?")
    // As another command does that has read the files and will write one.
    let descriptor = open(folder.url.appending(path: "Notes.cdmodel").path, O_RDONLY | O_CLOEXEC)
    try #require(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
    let processes = [
      try BuiltTool.cdgen.start("lock", "Notes.cdmodel", "--version", "1", in: folder.url),
      try BuiltTool.cdgen.start("diff", "Notes.cdmodel", "--accept", in: folder.url),
      try BuiltTool.cdgen.start("format", "Notes.cdmodel", in: folder.url),
    ]
    Thread.sleep(forTimeInterval: 0.4)
    let areRunning = processes.allSatisfy { $0.isRunning }
    #expect(areRunning)
    #expect(try folder.names(in: "Notes.cdmodel") == ["1.yaml", "2.yaml", "model.yaml"])
    close(descriptor)
    for process in processes { process.waitUntilExit() }
    #expect(folder.exists("Notes.cdmodel/1-2.mapping.yaml"))
  }

  @Test func aReleaseWarnsOfAVersionThatIsNotLocked() throws {
    try SampleModel.make(in: folder)
    let arguments = ["generate", "Notes.cdmodel", "--output", "Notes.swift"]
    #expect(try BuiltTool.cdgen.run(arguments, in: folder.url).status == 0)
    #expect(
      try folder.text(of: "Notes.swift").hasSuffix(
        """

        #if !DEBUG
          #warning("version 1 of Notes is not locked: run 'cdgen lock' before stores of it are released")
        #endif

        """))
    #expect(try BuiltTool.cdgen.run("lock", "Notes.cdmodel", in: folder.url).status == 0)
    #expect(try BuiltTool.cdgen.run(arguments, in: folder.url).status == 0)
    #expect(!(try folder.text(of: "Notes.swift").contains("#warning")))
  }

  @Test func wrongVersionsAreRefused() throws {
    try SampleModel.make(in: folder)
    #expect(
      try BuiltTool.cdgen.run("diff", "Notes.cdmodel", in: folder.url)
        == .init(
          status: 1, output: "",
          errors: "Notes.cdmodel: error: version 1 is based on no other: name one with --from\n"))
    #expect(
      try BuiltTool.cdgen.run("diff", "Notes.cdmodel", "--from", "7", in: folder.url)
        == .init(
          status: 1, output: "", errors: "Notes.cdmodel: error: the model has no version 7; it has 1\n"))
  }
}
