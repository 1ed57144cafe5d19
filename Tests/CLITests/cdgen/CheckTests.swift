import Foundation
import Testing

@Suite struct CheckTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func aGoodModelHasOneLine() throws {
    try SampleModel.make(in: folder)
    #expect(
      try BuiltTool.cdgen.run("check", "Notes.cdmodel/", in: folder.url)
        == .init(status: 0, output: "Notes.cdmodel: no errors, no warnings\n", errors: ""))
  }

  @Test func allMistakesOfAllModelsAreReported() throws {
    try SampleModel.make(
      "A", in: folder,
      version: """
        entities:
          Note:
            attributes:
              text: Strin
              size: Boolean
        """)
    try SampleModel.make("B", in: folder, version: "entities:\n  Note:\n    attribute: { text: String }\n")
    try SampleModel.make("C", in: folder)
    #expect(
      try BuiltTool.cdgen.run(
        "check", "A.cdmodel", "B.cdmodel", "missing.cdmodel", "C.cdmodel", in: folder.url)
        == .init(
          status: 1,
          output: """
            A.cdmodel: 2 errors, no warnings
            B.cdmodel: 1 error, no warnings
            missing.cdmodel: 1 error, no warnings
            C.cdmodel: no errors, no warnings

            """,
          errors: """
            A.cdmodel/1.yaml:4:13: error: unknown type 'Strin'; did you mean 'String'?
            A.cdmodel/1.yaml:5:13: error: unknown type 'Boolean'; did you mean 'Bool'?
            B.cdmodel/1.yaml:3:5: error: unknown key 'attribute'; did you mean 'attributes'?
            missing.cdmodel:1:1: error: there is no such folder; a model is a folder named NAME.cdmodel

            """))
  }

  @Test func warningsDoNotFail() throws {
    try SampleModel.make(
      in: folder,
      version: """
        entities:
          Note:
            relationships:
              next: { to: Note? }
        """)
    let result = try BuiltTool.cdgen.run("check", "Notes.cdmodel", in: folder.url)
    #expect(result.status == 0)
    #expect(result.output == "Notes.cdmodel: no errors, 1 warning\n")
    #expect(result.errors.hasPrefix("Notes.cdmodel/1.yaml:4:7: warning: "))
  }

  @Test func jsonIsOneListOnStandardOutput() throws {
    try SampleModel.make("A", in: folder, version: "entities:\n  Note:\n    attributes:\n      text: Strin\n")
    try SampleModel.make("C", in: folder)
    #expect(
      try BuiltTool.cdgen.run("check", "A.cdmodel", "C.cdmodel", "--format", "json", in: folder.url)
        == .init(
          status: 1,
          output: """
            [
              {
                "column" : 13,
                "line" : 4,
                "message" : "unknown type 'Strin'",
                "path" : "A.cdmodel/1.yaml",
                "severity" : "error",
                "suggestion" : "String"
              }
            ]

            """, errors: ""))
  }

  @Test(arguments: ["true", "nested"]) func namesThatSnapshotsReserveAreReported(value: String) throws {
    let version = """
      entities:
        Note:
          attributes:
            snapshot: String
            apply: String
        Snapshot: { attributes: { text: String } }

      """
    try SampleModel.make(in: folder, head: SampleModel.head + "snapshots: \(value)\n", version: version)
    let result = try BuiltTool.cdgen.run("check", "Notes.cdmodel", in: folder.url)
    #expect(result.status == 1)
    let end = "choose another with 'swiftName', or 'class' for an entity"
    #expect(
      Set(result.errors.split(separator: "\n").map(String.init)) == [
        "Notes.cdmodel/1.yaml:4:7: error: Note.snapshot: generated code needs the name 'snapshot'; \(end)",
        "Notes.cdmodel/1.yaml:5:7: error: Note.apply: generated code needs the name 'apply'; \(end)",
        "Notes.cdmodel/1.yaml:6:3: error: Snapshot: generated code needs the name 'Snapshot'; \(end)",
      ])
    try SampleModel.make(in: folder, version: version)
    #expect(try BuiltTool.cdgen.run("check", "Notes.cdmodel", in: folder.url).status == 0)
    try SampleModel.make(in: folder, head: SampleModel.head + "snapshots: neste\n")
    #expect(
      try BuiltTool.cdgen.run("check", "Notes.cdmodel", in: folder.url).errors
        == "Notes.cdmodel/model.yaml:2:12: error: 'snapshots' is true, false or nested, not 'neste'; "
        + "did you mean 'nested'?\n")
  }
}

/// `cdgen check --target`
@Suite struct CheckTargetTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func circle() throws {
    try SampleModel.make(
      in: folder,
      version: """
        entities:
          Note:
            attributes:
              xmin: Int64
            relationships:
              folder: { to: Folder, inverse: none }
          Folder:
            relationships:
              cover: { to: Note, inverse: none }

        """)
  }

  private static let column =
    "each table of PostgreSQL has a system column 'xmin', so that the store cannot be created; choose another name, "
    + "and keep that of the property with 'swiftName'"

  @Test func aModelThatFitsHasNoMessages() throws {
    try SampleModel.make(in: folder)
    #expect(
      try BuiltTool.cdgen.run("check", "Notes.cdmodel", "--target", "postgresql", in: folder.url)
        == .init(status: 0, output: "Notes.cdmodel: no errors, no warnings\n", errors: ""))
  }

  @Test func whatAServerLacksIsAnErrorAtItsLine() throws {
    try circle()
    #expect(try BuiltTool.cdgen.run("check", "Notes.cdmodel", in: folder.url).status == 0)
    #expect(
      try BuiltTool.cdgen.run("check", "Notes.cdmodel", "--target", "postgresql", in: folder.url)
        == .init(
          status: 1, output: "Notes.cdmodel: 1 error, no warnings\n",
          errors: "Notes.cdmodel/1.yaml:4:7: error: \(Self.column)\n"))
  }

  @Test func severalTargetsAreCheckedTogether() throws {
    try circle()
    let result = try BuiltTool.cdgen.run(
      "check", "Notes.cdmodel", "--target", "postgresql", "--target", "cockroachdb", in: folder.url)
    #expect(result.status == 1)
    #expect(result.output == "Notes.cdmodel: 1 error, 2 warnings\n")
    let lines = result.errors.split(separator: "\n").map(String.init)
    #expect(lines.count == 4)
    #expect(lines[0] == "Notes.cdmodel/1.yaml:4:7: error: \(Self.column)")
    #expect(lines[1].contains("1.yaml:1:1: note: no store has been opened on CockroachDB"))
    let problem = "are mandatory and lead to each other"
    #expect(lines[2].contains("1.yaml:6:7: warning: 'Note.folder' and 'Folder.cover' \(problem)"))
    #expect(lines[3].contains("1.yaml:9:7: warning: 'Folder.cover' and 'Note.folder' \(problem)"))
  }

  @Test func bothFormatsHaveTheSame() throws {
    try circle()
    let json = try BuiltTool.cdgen.run(
      "check", "Notes.cdmodel", "--target", "citus", "--format", "json", in: folder.url)
    #expect(json.status == 1 && json.errors == "")
    let list = try #require(
      try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]])
    #expect(list.map { $0["severity"] as? String } == ["note", "error", "warning", "warning"])
    #expect(list.map { $0["line"] as? Int } == [1, 4, 6, 9])
    let sarif = try BuiltTool.cdgen.run(
      "check", "Notes.cdmodel", "--target", "citus", "--format", "sarif", in: folder.url)
    let log = try #require(try JSONSerialization.jsonObject(with: Data(sarif.output.utf8)) as? [String: Any])
    let results = (log["runs"] as? [[String: Any]])?.first?["results"] as? [[String: Any]] ?? []
    #expect(results.map { $0["ruleId"] as? String } == ["target", "target", "target", "target"])
    #expect(results.map { $0["level"] as? String } == ["note", "error", "warning", "warning"])
  }

  @Test func aModelWithMistakesHasOnlyThose() throws {
    try SampleModel.make(in: folder, version: "entities:\n  Note:\n    attributes:\n      xmin: Strin\n")
    let result = try BuiltTool.cdgen.run(
      "check", "Notes.cdmodel", "--target", "cockroachdb", in: folder.url)
    #expect(result.status == 1)
    #expect(
      result.errors == "Notes.cdmodel/1.yaml:4:13: error: unknown type 'Strin'; did you mean 'String'?\n")
  }

  @Test func anUnknownTargetIsRefused() throws {
    try SampleModel.make(in: folder)
    let result = try BuiltTool.cdgen.run("check", "Notes.cdmodel", "--target", "oracle", in: folder.url)
    #expect(result.status == 64)
    for name in ["postgresql", "citus", "cockroachdb", "yugabytedb"] { #expect(result.errors.contains(name)) }
  }

  @Test func theHelpAndTheCompletionsKnowTheTargets() throws {
    let help = try BuiltTool.cdgen.run("check", "--help", in: folder.url).output
    #expect(help.contains("--target <target>"))
    for name in ["postgresql", "citus", "cockroachdb", "yugabytedb"] { #expect(help.contains(name)) }
    for shell in ["bash", "zsh", "fish"] {
      let script = try BuiltTool.cdgen.run("--generate-completion-script", shell, in: folder.url).output
      #expect(script.contains("cockroachdb"), "\(shell)")
    }
  }
}
