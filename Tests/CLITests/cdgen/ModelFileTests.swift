import CDModel
import CDSchema
import Foundation
import Testing

/// `init`, `add-version` and `compile`.
@Suite struct ModelFileTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func initMakesAModelThatIsRight() throws {
    #expect(
      try BuiltTool.cdgen.run("init", "ToDo", "--directory", "a/b", in: folder.url)
        == .init(status: 0, output: "a/b/ToDo.cdmodel\n", errors: ""))
    #expect(try folder.names(in: "a/b/ToDo.cdmodel") == ["1.yaml", "model.yaml"])
    let loaded = ModelLoader.load(folder: folder.url.appending(path: "a/b/ToDo.cdmodel").path)
    #expect(loaded.diagnostics == [])
    let first = try #require(loaded.model?.id)
    #expect(try BuiltTool.cdgen.run("init", "ToDo", in: folder.url).status == 0)
    let second = ModelLoader.load(folder: folder.url.appending(path: "ToDo.cdmodel").path).model?.id
    #expect(second != nil && second != first)
  }

  /// The package manager builds no target without a source file, so a model alone would have no effect.
  @Test func initWritesTheFirstProgramOfAnEmptyTarget() throws {
    try folder.write(
      """
      // swift-tools-version: 6.1
      import PackageDescription
      let package = Package(
        name: "App", targets: [.executableTarget( name: "App"), .target(name: "Kit"), .executableTarget(
          name: "Other")])
      """, to: "Package.swift")
    let made = try BuiltTool.cdgen.run("init", "Notes", "--directory", "Sources/App", in: folder.url)
    #expect(
      made
        == .init(
          status: 0,
          output: """
            Sources/App/Notes.cdmodel
            Sources/App/main.swift
            Next:
              swift build
              swift run App
              swift package cdgen-read check Sources/App/Notes.cdmodel

            """, errors: ""))
    let program = try folder.text(of: "Sources/App/main.swift")
    #expect(program.contains("PersistentContainer(for: NotesModel.self"))
    // A second model, a library, and a target that has code already.
    #expect(try BuiltTool.cdgen.run("init", "More", "--directory", "Sources/App", in: folder.url).status == 0)
    #expect(try folder.text(of: "Sources/App/main.swift") == program)
    try folder.write("// mine", to: "Sources/Other/Deep/Code.swift")
    for target in ["Kit", "Other", "Missing"] {
      let made = try BuiltTool.cdgen.run("init", "Notes", "--directory", "Sources/\(target)", in: folder.url)
      #expect(made.output == "Sources/\(target)/Notes.cdmodel\n")
      #expect(try !folder.names(in: "Sources/\(target)").contains("main.swift"))
    }
  }

  @Test func theFirstProgramFitsALowerCaseModel() throws {
    let manifest = #"let package = Package(name: "App", targets: [.executableTarget(name: "App")])"#
    try folder.write(manifest, to: "Package.swift")
    _ = try BuiltTool.cdgen.run("init", "notes", "--directory", "Sources/App", in: folder.url)
    let generated = try BuiltTool.cdgen.run(
      "generate", "Sources/App/notes.cdmodel", "--output", "G.swift", in: folder.url)
    #expect(generated.status == 0)
    #expect(try folder.text(of: "G.swift").contains("enum NotesModel: "))
    let program = try folder.text(of: "Sources/App/main.swift")
    #expect(program.contains("PersistentContainer(for: NotesModel.self"))
  }

  /// The plugin generates the classes of both models in one module.
  @Test func aSecondModelOfATargetHasNamesOfItsOwn() throws {
    func entities(_ model: String) -> [String]? {
      let loaded = ModelLoader.load(folder: folder.url.appending(path: model).path)
      return loaded.model?.versions.first?.entities.map(\.name)
    }
    // The models of hidden folders do not count, because the plugin does not read them.
    try folder.write("", to: "App/.build/checkouts/Other.cdmodel/model.yaml")
    for name in ["First", "more"] {
      #expect(try BuiltTool.cdgen.run("init", name, "--directory", "App", in: folder.url).status == 0)
    }
    #expect(entities("App/First.cdmodel") == ["Item", "Folder"])
    #expect(entities("App/more.cdmodel") == ["MoreItem", "MoreFolder"])
    // A model in a subfolder belongs to the same target.
    try folder.write("", to: "Kit/Models/Old.cdmodel/model.yaml")
    #expect(try BuiltTool.cdgen.run("init", "New", "--directory", "Kit", in: folder.url).status == 0)
    #expect(entities("Kit/New.cdmodel") == ["NewItem", "NewFolder"])
  }

  /// A model in a subfolder is one of the target's, and one of another target is not.
  @Test func aSecondModelOfATargetMayBeInASubfolder() throws {
    try folder.write("// swift-tools-version: 6.2\n", to: "Package.swift")
    try folder.write("", to: "Sources/App/Old.cdmodel/model.yaml")
    for (name, place) in [("New", "Sources/App/Models"), ("Kit", "Sources/Kit"), ("Root", ".")] {
      #expect(try BuiltTool.cdgen.run("init", name, "--directory", place, in: folder.url).status == 0)
    }
    func text(_ path: String) throws -> String { try folder.text(of: path) }
    #expect(try text("Sources/App/Models/New.cdmodel/1.yaml").contains("NewItem"))
    #expect(try !text("Sources/Kit/Kit.cdmodel/1.yaml").contains("KitItem"))
  }

  @Test func theNextCommandsQuoteAFolderWithABlank() throws {
    let manifest = #"let package = Package(name: "App", targets: [.executableTarget(name: "App")])"#
    try folder.write(manifest, to: "My Package/Package.swift")
    let made = try BuiltTool.cdgen.run(
      "init", "Notes", "--directory", "My Package/Sources/App", in: folder.url)
    #expect(made.output.contains("\n  swift run App\n"))
    #expect(
      made.output.hasSuffix(
        "\n  swift package cdgen-read check 'My Package/Sources/App/Notes.cdmodel'\n"))
  }

  /// The plugin runs this command. `init` accepts the name that the message suggests.
  @Test(arguments: [
    ("App", "Sources/App", "App", "Sources/App"), ("my-app", "Sources/my-app", "MyApp", "Sources/my-app"),
    ("list tool", "Sources/list tool", "ListTool", "'Sources/list tool'"),
    ("2do", "a$b!'c", "Do", "'a$b!'\\''c'"), ("1-2", ".", "Model", "."), ("_my_app", ".", "My_app", "."),
  ])
  func aTargetWithoutAModelGetsACommandThatWorks(
    target: String, place: String, name: String, directory: String
  ) throws {
    #expect(
      try BuiltTool.cdgen.run("missing-model", target, place, in: folder.url)
        == .init(
          status: 1, output: "",
          errors: """
            error: target '\(target)' uses CDGenPlugin and has no model: add a folder NAME.cdmodel, or a \
            symbolic link to one, to \(place), such as this command makes: \
            swift package --allow-writing-to-package-directory cdgen init \(name) --directory \(directory)

            """))
    #expect(try BuiltTool.cdgen.run("init", name, "--directory", place, in: folder.url).status == 0)
  }

  @Test func initOverwritesNothing() throws {
    try folder.write("mine", to: "ToDo.cdmodel/1.yaml")
    let result = try BuiltTool.cdgen.run("init", "ToDo", in: folder.url)
    #expect(
      result == .init(status: 1, output: "", errors: "ToDo.cdmodel: error: cannot be made: file exists\n"))
    #expect(try folder.names(in: "ToDo.cdmodel") == ["1.yaml"])
    #expect(try folder.text(of: "ToDo.cdmodel/1.yaml") == "mine")
  }

  @Test func whatAFullDiskStopsCanBeRepeated() throws {
    #expect(try BuiltTool.cdgen.runOnFullDisk("init", "ToDo", in: folder.url) == 1)
    #expect(try folder.names() == [])
    #expect(try BuiltTool.cdgen.run("init", "ToDo", in: folder.url).status == 0)
    #expect(try BuiltTool.cdgen.runOnFullDisk("add-version", "ToDo.cdmodel", in: folder.url) == 1)
    #expect(try folder.names(in: "ToDo.cdmodel") == ["1.yaml", "model.yaml"])
    #expect(
      try BuiltTool.cdgen.runOnFullDisk(
        "export", "ToDo.cdmodel", "--output", "ToDo.xcdatamodeld", in: folder.url) == 1)
    #expect(try folder.names() == ["ToDo.cdmodel"])
    #expect(try BuiltTool.cdgen.run("add-version", "ToDo.cdmodel", in: folder.url).status == 0)
    #expect(try folder.text(of: "ToDo.cdmodel/2.yaml") != "")
  }

  @Test(arguments: ["2Do", "a/b", "..", ""])
  func initRefusesWhatIsNoName(name: String) throws {
    let result = try BuiltTool.cdgen.run("init", name, in: folder.url)
    #expect(result.status == 1)
    #expect(result.errors.hasPrefix("error: "))
    #expect(try folder.names() == [])
  }

  @Test func addVersionCopiesTheCurrentOneWithoutWhatIsItsOwn() throws {
    try SampleModel.make(in: folder)
    try folder.write(
      """
      # The second.
      label: Second
      basedOn:
        - 1
      entities:
        Memo:
          renamedFrom: Note
          attributes:
            text: { type: String, renamedFrom: text }  # the text
      """, to: "Notes.cdmodel/2.yaml")
    #expect(
      try BuiltTool.cdgen.run("add-version", "Notes.cdmodel/", in: folder.url)
        == .init(status: 0, output: "Notes.cdmodel/3.yaml\n", errors: ""))
    #expect(
      try folder.text(of: "Notes.cdmodel/3.yaml") == """
        # The second.
        entities:
          Memo:
            attributes:
              text: { type: String }  # the text
        """)
  }

  /// A second swap of the two fields would exchange their values again.
  @Test func addVersionRefusesACopyWithRenames() throws {
    let note = "entities: { Note: { attributes: { text: String, form: Form } } }\n"
    try SampleModel.make(
      in: folder, version: "composites: { Form: { fields: String, doc: String } }\n" + note)
    try folder.write(
      """
      composites:
        Form:
          fields: { type: String, renamedFrom: doc }
          doc: { type: String, renamedFrom: fields }

      """ + note, to: "Notes.cdmodel/2.yaml")
    let result = try BuiltTool.cdgen.run("add-version", "Notes.cdmodel", in: folder.url)
    #expect(result.status == 1)
    #expect(result.errors.contains("2.yaml: error: this file cannot be copied automatically"))
    #expect(try folder.names(in: "Notes.cdmodel") == ["1.yaml", "2.yaml", "model.yaml"])
  }

  @Test func addVersionCopiesAFileWithLinesOfWindows() throws {
    try SampleModel.make(in: folder)
    let rest = "entities:\r\n  Note:\r\n    attributes: { text: String }\r\n"
    try folder.write("label: Second\r\nbasedOn:\r\n  - 1\r\n" + rest, to: "Notes.cdmodel/2.yaml")
    #expect(
      try BuiltTool.cdgen.run("add-version", "Notes.cdmodel", in: folder.url)
        == .init(status: 0, output: "Notes.cdmodel/3.yaml\n", errors: ""))
    #expect(try folder.text(of: "Notes.cdmodel/3.yaml") == rest)
  }

  @Test func addVersionFollowsTheCurrentVersionWhereThatIsNotTheHighest() throws {
    try SampleModel.make(in: folder, head: SampleModel.head + "current: 1\n")
    try folder.write("entities: { Note: { attributes: { text: String } } }\n", to: "Notes.cdmodel/2.yaml")
    #expect(
      try BuiltTool.cdgen.run("add-version", "Notes.cdmodel", in: folder.url)
        == .init(
          status: 0, output: "Notes.cdmodel/3.yaml\n",
          errors: "note: model.yaml still says 'current: 1'; change it when version 3 is done\n"))
    #expect(try folder.text(of: "Notes.cdmodel/3.yaml") == "basedOn: [1]\n" + SampleModel.version)
    #expect(try BuiltTool.cdgen.run("check", "Notes.cdmodel", in: folder.url).status == 0)
  }

  @Test func addVersionOfAModelWithMistakesAddsNone() throws {
    try SampleModel.make(in: folder, version: "entities:\n  Note:\n    attributes: { text: Strin }\n")
    let result = try BuiltTool.cdgen.run("add-version", "Notes.cdmodel", in: folder.url)
    #expect(
      result
        == .init(
          status: 1, output: "",
          errors: "Notes.cdmodel/1.yaml:3:25: error: unknown type 'Strin'; did you mean 'String'?\n"))
    #expect(try folder.names(in: "Notes.cdmodel") == ["1.yaml", "model.yaml"])
  }

  @Test func aCompiledModelReadsBackEqual() throws {
    try SampleModel.make(in: folder)
    #expect(
      try BuiltTool.cdgen.run("compile", "Notes.cdmodel", "--output", "out/Notes.json", in: folder.url)
        == .init(status: 0, output: "", errors: ""))
    let model = try #require(ModelLoader.load(folder: folder.url.appending(path: "Notes.cdmodel").path).model)
    let text = try folder.text(of: "out/Notes.json")
    #expect(text == model.canonicalJSON + "\n")
    #expect(try ManagedObjectModel(canonicalJSON: text) == model)
  }

  @Test func theJSONSchemaIsJSON() throws {
    let result = try BuiltTool.cdgen.run("json-schema", in: folder.url)
    #expect(result == .init(status: 0, output: JSONSchema.text + "\n", errors: ""))
    #expect(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) is [String: Any])
  }

  /// The command must not compare the output with what the path has: reading from the pipe would never end.
  @Test(arguments: ["compile", "generate"])
  func theOutputCanBeAPipe(_ command: String) throws {
    try SampleModel.make(in: folder, version: "entities: { Note: { attributes: { text: String } } }\n")
    #expect(try BuiltTool.cdgen.run(command, "Notes.cdmodel", "--output", "file", in: folder.url).status == 0)
    let process = Process()
    process.executableURL = BuiltTool.cdgen.url
    process.arguments = [command, "Notes.cdmodel", "--output", "/dev/stdout"]
    process.currentDirectoryURL = folder.url
    process.standardInput = FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let end = Date.now.addingTimeInterval(30)
    // The text is shorter than a pipe's buffer, so that the command need not wait for a reader.
    while process.isRunning, Date.now < end { Thread.sleep(forTimeInterval: 0.02) }
    if process.isRunning { process.terminate() }
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(try text == folder.text(of: "file"))
  }
}
