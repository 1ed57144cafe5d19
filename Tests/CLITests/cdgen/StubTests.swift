import Foundation
import Testing

/// `stub`.
@Suite struct StubTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make(in: folder)
    try folder.write(
      SampleModel.version.replacing("text: String", with: "text: String\n      priority: Int16"),
      to: "Notes.cdmodel/2.yaml")
    try folder.write("entities: { Note: { policy: custom } }\n", to: "Notes.cdmodel/1-2.mapping.yaml")
  }

  private func run(_ arguments: String...) throws -> BuiltTool.Result {
    try BuiltTool.cdgen.run(["stub", "Notes.cdmodel"] + arguments, in: folder.url)
  }

  @Test func theConformanceIsBegun() throws {
    #expect(
      try run("1", "2", "--output", "Sources/NotesMigrations.swift")
        == .init(status: 0, output: "", errors: ""))
    let text = try folder.text(of: "Sources/NotesMigrations.swift")
    #expect(text.contains("nonisolated struct NotesMigrations: NotesModel.Migrations {\n"))
    #expect(
      text.contains("#error(\"Note.priority: attribute 'priority' of 'Note' is new. Set 'priority'\")\n"))
    #expect(text.contains("- Kept as they are: `text`, `folder`.\n"))
    #expect(text.split(separator: "\n").count { $0.contains("#error(\"") } == 1)
  }

  @Test func theTypeCanBeNamed() throws {
    #expect(try run("1", "2", "--type", "Mine", "--output", "Mine.swift").status == 0)
    #expect(try folder.text(of: "Mine.swift").contains("nonisolated struct Mine: NotesModel.Migrations {\n"))
  }

  @Test func aTypeIsNamedAsSwiftAllows() throws {
    for name in ["a b", "_", "App.Mine"] {
      let refused = try run("1", "2", "--type", name, "--output", "Mine.swift")
      #expect(refused.status == 64)
      #expect(refused.errors.contains("--type is the name of a Swift type, not '\(name)'."))
    }
    #expect(!folder.exists("Mine.swift"))
    #expect(try run("1", "2", "--type", "class", "--output", "Mine.swift").status == 0)
    let text = try folder.text(of: "Mine.swift")
    #expect(text.contains("nonisolated struct `class`: NotesModel.Migrations {\n"))
  }

  @Test func whatIsThereIsNeverOverwritten() throws {
    try folder.write("mine\n", to: "Mine.swift")
    for further in [[], ["--tests"]] {
      #expect(
        try BuiltTool.cdgen.run(
          ["stub", "Notes.cdmodel", "1", "2", "-o", "Mine.swift"] + further, in: folder.url)
          == .init(
            status: 1, output: "",
            errors:
              "Mine.swift: error: the file already exists and was not changed: name another with --output\n"))
    }
    #expect(try folder.text(of: "Mine.swift") == "mine\n")
  }

  @Test func whereNothingIsCustomItIsSaid() throws {
    try folder.write(
      "entities: { Note: { attributes: { priority: 1 } } }\n", to: "Notes.cdmodel/1-2.mapping.yaml")
    #expect(
      try run("1", "2", "--output", "Mine.swift")
        == .init(
          status: 0,
          output:
            "Notes.cdmodel: nothing is custom from version 1 to version 2, so that there is nothing to write; "
            + "'cdgen diff' shows what is done\n", errors: ""))
    #expect(!folder.exists("Mine.swift"))
  }

  @Test func testsAreBegunForReleasedVersions() throws {
    #expect(
      try run("1", "2", "--tests", "--output", "Tests.swift")
        == .init(
          status: 1, output: "",
          errors:
            "Notes.cdmodel: error: no version from 1 on that leads to version 2 is released: 'cdgen lock' says "
            + "which are\n"))
    // Version 1 was released before there was a second one.
    let second = try folder.text(of: "Notes.cdmodel/2.yaml")
    let mapping = try folder.text(of: "Notes.cdmodel/1-2.mapping.yaml")
    for name in ["2.yaml", "1-2.mapping.yaml"] { try folder.remove("Notes.cdmodel/\(name)") }
    #expect(try BuiltTool.cdgen.run("lock", "Notes.cdmodel", in: folder.url).status == 0)
    try folder.write(second, to: "Notes.cdmodel/2.yaml")
    try folder.write(mapping, to: "Notes.cdmodel/1-2.mapping.yaml")
    // Without the module, the tests know no generated code, which a note says.
    #expect(
      try run("1", "2", "--tests", "--output", "Other.swift")
        == .init(
          status: 0, output: "",
          errors:
            "note: Other.swift imports no module with the generated code: name it with --module, unless the test "
            + "target itself has the model\n"))
    #expect(try !folder.text(of: "Other.swift").contains("@testable"))
    #expect(
      try run("1", "2", "--tests", "--module", "App", "--output", "Tests.swift")
        == .init(status: 0, output: "", errors: ""))
    let text = try folder.text(of: "Tests.swift")
    #expect(text.contains("@testable import App\n"))
    #expect(text.contains("@Test func version1BecomesVersion2() throws {\n"))
    #expect(
      text.contains(
        "of: NotesModel.self, version: 1, migrations: { NotesMigrations() })\n"))
    #expect(text.contains("#error(\"Note: 'makeNote' creates these objects. Check the values of "))
  }

  @Test func waysThatNoStoreTakesAreRefused() throws {
    for (from, to, message) in [
      ("1", "7", "the model has no version 7; it has 1, 2"),
      ("2", "1", "no migration steps lead from version 2 to version 1"),
      ("2", "2", "no migration steps lead from version 2 to version 2"),
    ] {
      #expect(
        try run(from, to, "--output", "Mine.swift")
          == .init(status: 1, output: "", errors: "Notes.cdmodel: error: \(message)\n"))
    }
    #expect(try run("1", "2", "--module", "App", "--output", "Mine.swift").status == 64)
    #expect(try run("1", "2").status == 64)
    #expect(!folder.exists("Mine.swift"))
  }

  @Test func aBrokenModelIsReportedWhereItIsWrong() throws {
    try folder.write("entities: { Note: { policy: other } }\n", to: "Notes.cdmodel/1-2.mapping.yaml")
    let result = try run("1", "2", "--output", "Mine.swift")
    #expect(result.status == 1)
    #expect(result.errors.hasPrefix("Notes.cdmodel/1-2.mapping.yaml:1:29: error: "))
  }
}
