import CDModel
import CDSchema
import Foundation
import Testing

/// What the README shows is true: its schema loads, its code stands in a file that is compiled and run.
@Suite struct ReadmeTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The fenced blocks of a language.
  private func blocks(_ language: String) throws -> [String] {
    let text = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    return text.components(separatedBy: "```\(language)\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
  }

  @Test func theSchemaIsTheExamples() throws {
    let yaml = try #require(blocks("yaml").first)
    let files = ["model.yaml": SampleModel.head, "1.yaml": yaml].mapValues { Array($0.utf8) }
    let shown = ModelLoader.load(name: "ToDo", files: files)
    #expect(shown.diagnostics == [])
    var entities = try #require(
      ModelLoader.load(folder: Self.root.appending(path: "Schemas/ToDo.cdmodel").path).model?.currentVersion?
        .entities)
    // The README leaves these out, and says that it is short.
    for place in entities.indices {
      entities[place].indexes = []
      if entities[place].name == "ToDo" { entities[place].fetchTemplates[0].doc = nil }
    }
    #expect(shown.model?.currentVersion?.entities == entities)
  }

  @Test func theSwiftStandsInTheProgramThatShowsIt() throws {
    let code = try #require(blocks("swift").first)
    let compiled = try String(
      contentsOf: Self.root.appending(path: "Tests/GeneratedCodeTests/ReadmeTests.swift"), encoding: .utf8)
    func statements(_ text: String) -> [String] {
      text.split(separator: "\n").map { line in
        let code = line.components(separatedBy: "  // ")[0]
        return code.trimmingCharacters(in: .whitespaces)
      }.filter { !$0.isEmpty }
    }
    let shown = statements(code)
    #expect(shown.count == 10)
    for statement in shown {
      #expect(
        statements(compiled).contains { $0 == statement || $0 == "_ = " + statement },
        "the README shows what is compiled nowhere: \(statement)")
    }
  }

  /// The first program is the one that `cdgen init` writes.
  @Test func theFirstProgramIsThatOfInit() throws {
    let shown = try #require(blocks("swift").first { $0.contains("URL(filePath: \"Notes.sqlite\")") })
    #expect(shown == ModelTemplate.firstProgram(model: "Notes"))
  }

  /// The commands begin with a version that is not there yet: the present one is locked already.
  @Test func theCommandsDoWhatTheirCommentsSay() throws {
    let folder = try TemporaryFolder()
    for name in ["1.yaml", "2.yaml", "model.yaml", "versions.lock"] {
      let path = "Schemas/ToDo.cdmodel/\(name)"
      try folder.write(String(contentsOf: Self.root.appending(path: path), encoding: .utf8), to: path)
    }
    for command in try blocks("sh").flatMap({ $0.split(separator: "\n") }) where command.contains("Schemas/")
    {
      let words = command.prefix { $0 != "#" }.split(separator: " ").map(String.init)
      let result = try BuiltTool.cdgen.run(Array(words.dropFirst(3)), in: folder.url)
      #expect(result.status == 0 && !result.output.contains("already locked"), "\(command): \(result)")
    }
    #expect(try folder.text(of: "Schemas/ToDo.cdmodel/versions.lock").contains("\nversion 3\n"))
  }

  @Test func theCommandsExist() throws {
    let shell = try blocks("sh").flatMap { $0.split(separator: "\n") }
    #expect(
      shell == [
        ".ci/install && swift run todo demo", ".ci/install && swift test",
        "mkdir -p Sources/MyApp",
        "swift package --allow-writing-to-package-directory cdgen init Notes --directory Sources/MyApp",
        "swift run MyApp",
        "swift run cdgen add-version Schemas/ToDo.cdmodel      # version 3 begins as a copy of version 2",
        "swift run cdgen diff Schemas/ToDo.cdmodel             # the effect on users' data, and the missing rules",
        "swift run cdgen lock Schemas/ToDo.cdmodel             # when you release version 3",
      ])
  }
}
