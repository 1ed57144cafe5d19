import Foundation
import Testing

@Suite struct GraphTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make(in: folder)
    try folder.write("entities: { Page: { attributes: { text: String? } } }\n", to: "Notes.cdmodel/2.yaml")
  }

  @Test func theCurrentVersionIsDrawnUnlessAnotherIsAskedFor() throws {
    #expect(
      try BuiltTool.cdgen.run("graph", "Notes.cdmodel", "--format", "mermaid", in: folder.url)
        == .init(
          status: 0,
          output: """
            ---
            title: "Notes, version 2"
            ---
            erDiagram
              "Page" {
                String text "optional"
              }

            """, errors: ""))
    #expect(
      try BuiltTool.cdgen.run(
        "graph", "Notes.cdmodel", "--format", "mermaid", "--version", "1", in: folder.url)
        == .init(
          status: 0,
          output: """
            ---
            title: "Notes, version 1"
            ---
            erDiagram
              "Note" {
                String text
              }
              "Folder" {
                String name
              }
              "Note" }o--o| "Folder" : "folder / notes"

            """, errors: ""))
  }

  @Test func anUnknownVersionIsAnError() throws {
    #expect(
      try BuiltTool.cdgen.run("graph", "Notes.cdmodel", "--format", "dot", "--version", "7", in: folder.url)
        == .init(
          status: 1, output: "", errors: "Notes.cdmodel: error: the model has no version 7; it has 1, 2\n"))
  }

  @Test func anSVGIsWrittenToAFile() throws {
    #expect(
      try BuiltTool.cdgen.run(
        "graph", "Notes.cdmodel", "--format", "svg", "-o", "a/Notes.svg", in: folder.url)
        == .init(status: 0, output: "", errors: ""))
    let text = try folder.text(of: "a/Notes.svg")
    #expect(text.hasPrefix("<svg xmlns=\"http://www.w3.org/2000/svg\" "))
    #expect(text.hasSuffix("</svg>\n"))
  }

  @Test func anUnknownVersionIsAnErrorForSVGToo() throws {
    #expect(
      try BuiltTool.cdgen.run("graph", "Notes.cdmodel", "--format", "svg", "--version", "7", in: folder.url)
        == .init(
          status: 1, output: "", errors: "Notes.cdmodel: error: the model has no version 7; it has 1, 2\n"))
  }

  @Test func aMissingProgramForSVGIsAnErrorWithTheRemedy() throws {
    // A link to cdgen, with nothing beside it.
    try FileManager.default.createSymbolicLink(
      at: folder.url.appending(path: "cdgen"), withDestinationURL: BuiltTool.cdgen.url)
    let process = Process()
    process.executableURL = folder.url.appending(path: "cdgen")
    process.arguments = ["graph", "Notes.cdmodel", "--format", "svg"]
    process.currentDirectoryURL = folder.url
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
    #expect(
      String(decoding: try #require(try errors.fileHandleForReading.readToEnd()), as: UTF8.self) == """
        error: SVG is drawn by the program cdgen-graph, which was not built: run 'swift run cdgen-graph \
        Notes.cdmodel' with the same options, or have Graphviz draw it: 'cdgen graph Notes.cdmodel --format dot \
        | dot -Tsvg'

        """)
  }
}
