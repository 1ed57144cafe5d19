import Foundation
import Testing

/// `format`, `watch` and `install-completions`.
@Suite struct FormatAndWatchTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let messy = """
    # The licence, which belongs to the file.

    # Of the entities.
    entities:
      # A note.
      Note:
        # All relationships.
        relationships:
          folder:
            onDelete: nullify     # as usual
            # The other side.
            inverse: notes
            to: "Folder?"
        # All attributes.
        attributes:
          # The text,
          # in two lines.
          text:
            maxLength: 100
            type: String
          memo: String?   \t
          long:
            doc: |
              Kept   

              as it is.

            type: String?
        doc: A note.



      Folder:
        unique: [[name]]
        attributes: { name: String }
        relationships: { notes: { to: [Note], inverse: folder } }
    # Of the enums.
    enums:
      Mood: { type: String, cases: [good, bad] }
    label: First
    # The end.
    """

  private static let formatted = """
    # The licence, which belongs to the file.

    label: First
    # Of the enums.
    enums:
      Mood: { type: String, cases: [good, bad] }
    # Of the entities.
    entities:
      # A note.
      Note:
        doc: A note.
        # All attributes.
        attributes:
          # The text,
          # in two lines.
          text:
            type: String
            maxLength: 100
          memo: String?
          long:
            type: String?
            doc: |
              Kept   

              as it is.
        # All relationships.
        relationships:
          folder:
            to: "Folder?"
            # The other side.
            inverse: notes
            onDelete: nullify     # as usual

      Folder:
        attributes: { name: String }
        relationships: { notes: { to: [Note], inverse: folder } }
        unique: [[name]]
    # The end.

    """

  @Test func keysAreOrderedAndCommentsKept() throws {
    try SampleModel.make(in: folder, version: Self.messy)
    let before = try BuiltTool.cdgen.run(
      "compile", "Notes.cdmodel", "--output", "before.json", in: folder.url)
    #expect(before.status == 0, "\(before.errors)")
    #expect(
      try BuiltTool.cdgen.run("format", "Notes.cdmodel", "--check", in: folder.url)
        == .init(status: 1, output: "Notes.cdmodel/1.yaml\n", errors: ""))
    #expect(try folder.text(of: "Notes.cdmodel/1.yaml") == Self.messy)
    #expect(
      try BuiltTool.cdgen.run("format", "Notes.cdmodel", in: folder.url)
        == .init(status: 0, output: "Notes.cdmodel/1.yaml\n", errors: ""))
    #expect(try folder.text(of: "Notes.cdmodel/1.yaml") == Self.formatted)
    // What is formatted stays as it is, and the model is the same.
    #expect(
      try BuiltTool.cdgen.run("format", "Notes.cdmodel", "--check", in: folder.url)
        == .init(status: 0, output: "", errors: ""))
    _ = try BuiltTool.cdgen.run("compile", "Notes.cdmodel", "--output", "after.json", in: folder.url)
    #expect(try folder.text(of: "before.json") == folder.text(of: "after.json"))
  }

  @Test func theStartOfTheDocumentStaysAtTheTop() throws {
    let start = "# The licence.\n---\n"
    try SampleModel.make(in: folder, version: start + SampleModel.version + "# The name.\nlabel: First\n")
    #expect(
      try BuiltTool.cdgen.run("format", "Notes.cdmodel", in: folder.url)
        == .init(status: 0, output: "Notes.cdmodel/1.yaml\n", errors: ""))
    #expect(
      try folder.text(of: "Notes.cdmodel/1.yaml")
        == start + "# The name.\nlabel: First\n" + SampleModel.version)
  }

  /// Deeper than its key, the comment would become a part of the text that is before it in the new order.
  @Test func aCommentBehindATextIsNoPartOfIt() throws {
    try SampleModel.make(
      in: folder,
      version: """
        entities:
          Note:
            doc: |
              A note.
            attributes:
              a: String
              # Nothing else.
            abstract: true

        """)
    #expect(
      try BuiltTool.cdgen.run("format", "Notes.cdmodel", in: folder.url)
        == .init(status: 0, output: "Notes.cdmodel/1.yaml\n", errors: ""))
    let formatted = """
      entities:
        Note:
          doc: |
            A note.
          # Nothing else.
          abstract: true
          attributes:
            a: String

      """
    #expect(try folder.text(of: "Notes.cdmodel/1.yaml") == formatted)
    #expect(
      try BuiltTool.cdgen.run("format", "Notes.cdmodel", "--check", in: folder.url)
        == .init(status: 0, output: "", errors: ""))
  }

  /// Blank lines at the end of this text are a part of it.
  @Test func theFileThatCannotBeFormattedIsNamed() throws {
    try SampleModel.make(in: folder, version: Self.messy)
    let text = SampleModel.version + "info:\n  a: |+\n    x\n\n\n  b: y\n"
    try folder.write(text, to: "Notes.cdmodel/2.yaml")
    let result = try BuiltTool.cdgen.run("format", "Notes.cdmodel", in: folder.url)
    #expect(result.status == 1 && result.output == "")
    let start = "Notes.cdmodel/2.yaml: error: this file cannot be formatted"
    #expect(result.errors.hasPrefix(start), "\(result)")
    #expect(try folder.text(of: "Notes.cdmodel/2.yaml") == text)
    #expect(try folder.text(of: "Notes.cdmodel/1.yaml") == Self.messy)
  }

  @Test func whatInitWritesHasTheForm() throws {
    _ = try BuiltTool.cdgen.run("init", "Shop", in: folder.url)
    #expect(
      try BuiltTool.cdgen.run("format", "Shop.cdmodel", "--check", in: folder.url)
        == .init(status: 0, output: "", errors: ""))
  }

  @Test func aModelWithErrorsIsNotFormatted() throws {
    try SampleModel.make(in: folder, version: "entities:\n  Note:\n    attributes:   \n      text: Strin\n")
    let result = try BuiltTool.cdgen.run("format", "Notes.cdmodel", in: folder.url)
    #expect(result.status == 1 && result.errors.contains("unknown type 'Strin'"))
    #expect(try folder.text(of: "Notes.cdmodel/1.yaml").contains("attributes:   \n"))
  }

  // MARK: Watching

  @Test func watchReportsEachChange() throws {
    try SampleModel.make(in: folder)
    let log = folder.url.appending(path: "log")
    try Data().write(to: log)
    let process = Process()
    process.executableURL = BuiltTool.cdgen.url
    process.arguments = ["watch", "Notes.cdmodel", "--interval", "0.05", "--output", "Notes.swift"]
    process.currentDirectoryURL = folder.url
    process.standardInput = FileHandle.nullDevice
    let handle = try FileHandle(forWritingTo: log)
    process.standardOutput = handle
    process.standardError = handle
    try process.run()
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    func wait(for text: String, location: SourceLocation = #_sourceLocation) throws {
      for _ in 0..<400 {
        if try folder.text(of: "log").contains(text) { return }
        Thread.sleep(forTimeInterval: 0.05)
      }
      let found = try folder.text(of: "log")
      Issue.record("'\(text)' is not in \(found)", sourceLocation: location)
    }
    try wait(for: "Notes.cdmodel: generated Notes.swift\n")
    #expect(try folder.text(of: "Notes.swift").contains("class Note"))
    try folder.write(
      SampleModel.version.replacing("text: String", with: "text: Strin"), to: "Notes.cdmodel/1.yaml")
    try wait(for: "Notes.cdmodel/1.yaml:4:13: error: unknown type 'Strin'")
    #expect(process.isRunning)
    try folder.write(
      SampleModel.version.replacing("text: String", with: "text: String\n      more: Int64"),
      to: "Notes.cdmodel/1.yaml")
    for _ in 0..<400 {
      if try folder.text(of: "Notes.swift").contains("var more") { break }
      Thread.sleep(forTimeInterval: 0.05)
    }
    #expect(try folder.text(of: "Notes.swift").contains("var more"))
  }

  @Test func watchSeesAChangeBehindALink() throws {
    try SampleModel.make(in: folder)
    try folder.write(SampleModel.version, to: "shared.yaml")
    try folder.remove("Notes.cdmodel/1.yaml")
    try FileManager.default.createSymbolicLink(
      atPath: folder.url.appending(path: "Notes.cdmodel/1.yaml").path, withDestinationPath: "../shared.yaml")
    let process = try BuiltTool.cdgen.start(
      "watch", "Notes.cdmodel", "--interval", "0.05", "--output", "Notes.swift", in: folder.url)
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    func wait(for text: String) -> Bool {
      for _ in 0..<200 {
        if (try? folder.text(of: "Notes.swift"))?.contains(text) == true { return true }
        Thread.sleep(forTimeInterval: 0.05)
      }
      return false
    }
    try #require(wait(for: "var text"))
    try folder.write(
      SampleModel.version.replacing("text: String", with: "text: String\n      more: Int64"),
      to: "shared.yaml")
    #expect(wait(for: "var more"))
  }

  /// A watch whose reader has gone writes the files once, and ends when it reports that.
  @Test(
    arguments: [
      ("Out/", [], ["Notes+Generated.swift"]),
      (
        "Out", ["--per-entity"],
        ["Folder+Generated.swift", "Note+Generated.swift", "NotesModel+Generated.swift"]
      ),
    ] as [(String, [String], [String])])
  func watchGeneratesTheSameFilesAndEndsWithItsReader(
    output: String, options: [String], files: [String]
  ) throws {
    try SampleModel.make(in: folder)
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    let process = Process()
    process.executableURL = BuiltTool.cdgen.url
    process.arguments = ["watch", "Notes.cdmodel", "--interval", "0.05", "--output", output] + options
    process.currentDirectoryURL = folder.url
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe.fileHandleForWriting
    process.standardError = FileHandle.nullDevice
    try process.run()
    for _ in 0..<400 where process.isRunning { Thread.sleep(forTimeInterval: 0.05) }
    #expect(!process.isRunning)
    if process.isRunning { process.terminate() }
    process.waitUntilExit()
    #expect(process.terminationStatus == 141)
    #expect(try folder.names(in: "Out") == files)
    #expect(
      try BuiltTool.cdgen.run(
        ["generate", "Notes.cdmodel", "--output", output, "--check"] + options, in: folder.url)
        == .init(status: 0, output: "", errors: ""))
  }

  @Test func watchChecksItsArguments() throws {
    #expect(try BuiltTool.cdgen.run("watch", "A", "--per-entity", in: folder.url).status == 64)
    #expect(try BuiltTool.cdgen.run("watch", "A", "B", "--output", "x.swift", in: folder.url).status == 64)
    #expect(try BuiltTool.cdgen.run("watch", "A", "--interval", "0", in: folder.url).status == 64)
  }

  // MARK: Completions

  @Test(arguments: [
    ("bash", ".local/share/bash-completion/completions/cdgen"), ("zsh", ".zfunc/_cdgen"),
    ("fish", ".config/fish/completions/cdgen.fish"),
  ])
  func completionsAreInstalled(shell: String, path: String) throws {
    let process = Process()
    process.executableURL = BuiltTool.cdgen.url
    process.arguments = ["install-completions"]
    process.environment = ["HOME": folder.url.path, "SHELL": "/usr/bin/\(shell)"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let script = try folder.text(of: path)
    #expect(script.contains("add-version") && script.contains("cdgen"))
    #expect(
      try BuiltTool.cdgen.run("--generate-completion-script", shell, in: folder.url).output
        .trimmingCharacters(in: .newlines) == script.trimmingCharacters(in: .newlines))
  }

  @Test func anUnknownShellIsAnError() throws {
    let process = Process()
    process.executableURL = BuiltTool.cdstore.url
    process.arguments = ["install-completions"]
    process.environment = ["HOME": folder.url.path, "SHELL": "/bin/tcsh"]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
  }
}
