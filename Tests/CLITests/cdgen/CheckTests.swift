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
