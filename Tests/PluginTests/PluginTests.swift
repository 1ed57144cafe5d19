import Foundation
import Testing

/// The plugins, in another package. One test, since its steps build upon each other and upon one scratch folder:
/// what matters is that a change is seen by the next build, and the manifest never has to change.
///
/// The other package compiles the runtime and the generator anew, which takes as long as half of all other tests. So the
/// test runs only if the environment variable `CDGEN_PLUGIN_TESTS` is set, as in `.ci/run`.
@Suite(
  .enabled(
    if: ProcessInfo.processInfo.environment["CDGEN_PLUGIN_TESTS"] != nil,
    "it compiles another package for minutes: set CDGEN_PLUGIN_TESTS to run it, as .ci/run does"))
struct PluginTests {
  @Test func modelsAreBuiltAsTheyChange() throws {
    let package = try FixturePackage()
    try package.write("print(\"no model\")\n", to: "Sources/App/main.swift")

    try aTargetWithoutAModelIsToldWhatToAdd(package)
    try theCommandPluginMakesAModel(package)
    try theCommandPluginMakesASecondModel(package)
    try readingCommandsNeedNoPermission(package)
    try anEditChangesTheClass(package)
    try anEntityIsAdded(package)
    try aVersionIsAdded(package)
    try aLinkedModelIsAdded(package)
    try aMistakeIsShownAtItsPlace(package)
    try twoModelsOfOneNameAreRefused(package)
    try aModelInAHiddenFolderIsIgnored(package)
    try aReleasedVersionIsGuarded(package)
    try anAppMayDoWithoutTheGenerator(package)
  }

  /// A program that prints what the build knows of its models.
  private func program(_ models: [String], _ expressions: [String] = []) -> String {
    let prints = models.map { model in
      """
      for entity in \(model)Model.model.currentVersion?.entities ?? [] {
        print(entity.name, entity.attributes.map(\\.name))
      }
      """
    }
    // That these compile is the test.
    let uses = expressions.enumerated().map { index, expression in
      "func use\(index)(_ context: ManagedObjectContext) { _ = \(expression) }"
    }
    return (["import CDRuntime"] + prints + uses).joined(separator: "\n") + "\n"
  }

  private func aTargetWithoutAModelIsToldWhatToAdd(_ package: FixturePackage) throws {
    let result = try package.build()
    #expect(result.status != 0)
    #expect(
      Set(result.messages) == [
        """
        error: target 'App' uses CDGenPlugin and has no model: add a folder NAME.cdmodel, or a symbolic link to \
        one, to Sources/App, such as this command makes: swift package --allow-writing-to-package-directory \
        cdgen init App --directory Sources/App
        """
      ], "\(result.output)")
  }

  private func theCommandPluginMakesAModel(_ package: FixturePackage) throws {
    let usage = try package.cdgen()
    #expect(usage.status == 0, "\(usage.output)")
    #expect(usage.output.contains("\nUSAGE: cdgen <subcommand>\n"))

    let result = try package.cdgen("init", "Shop", "--directory", "Sources/App")
    #expect(result.status == 0, "\(result.output)")
    try package.write(program(["Shop"]), to: "Sources/App/main.swift")
    let run = try package.buildAndRun()
    #expect(run.output == "Item [\"name\", \"note\", \"created\", \"done\"]\nFolder [\"name\"]\n")

    let check = try package.cdgen("check", "Sources/App/Shop.cdmodel", "Missing.cdmodel")
    #expect(check.status == 1)
    // The order of the two depends on who is first to be read.
    #expect(
      Set(check.messages) == [
        "error: cdgen ended with status 1",
        "Missing.cdmodel:1:1: error: there is no such folder; a model is a folder named NAME.cdmodel",
      ], "\(check.output)")
  }

  /// The classes of both models are in one module.
  private func theCommandPluginMakesASecondModel(_ package: FixturePackage) throws {
    let result = try package.cdgen("init", "More", "--directory", "Sources/App")
    #expect(result.status == 0, "\(result.output)")
    try package.write(program(["More"], ["Item(in: context)"]), to: "Sources/App/main.swift")
    let run = try package.buildAndRun()
    #expect(
      run.output == "MoreItem [\"name\", \"note\", \"created\", \"done\"]\nMoreFolder [\"name\"]\n")
    try package.remove("Sources/App/More.cdmodel")
  }

  private func readingCommandsNeedNoPermission(_ package: FixturePackage) throws {
    let model = "Sources/App/Shop.cdmodel"
    let asked = try package.reading("cdgen", "check", model)
    #expect(
      asked.status != 0 && asked.output.contains("--allow-writing-to-package-directory"), "\(asked.output)")

    let check = try package.reading("cdgen-read", "check", model)
    #expect(check.status == 0 && check.output.contains("\(model): no errors"), "\(check.output)")
    let graph = try package.reading("cdgen-read", "graph", model, "--format", "mermaid")
    #expect(graph.status == 0 && graph.output.contains("erDiagram"), "\(graph.output)")
    let usage = try package.reading("cdgen-read")
    #expect(usage.status == 0 && usage.output.contains("USAGE: cdgen <subcommand>"), "\(usage.output)")

    for arguments in [
      ["add-version", model], ["diff", model, "--accept"], ["generate", model, "--output", "x.swift"],
      ["graph", model, "-o=x.swift"], ["graph", model, "--output=x.swift"],
    ] {
      let line = arguments.joined(separator: " ")
      let refused = try package.reading(["cdgen-read"] + arguments)
      #expect(refused.status != 0)
      #expect(
        refused.messages == [
          "error: 'cdgen \(line)' writes files; run it as 'swift package --allow-writing-to-package-directory cdgen "
            + "\(line)'"
        ], "\(refused.output)")
    }
    #expect(!package.exists("\(model)/2.yaml") && !package.exists("x.swift"))
  }

  private func anEditChangesTheClass(_ package: FixturePackage) throws {
    try package.replace("note: String?", with: "memo: String?", in: "Sources/App/Shop.cdmodel/1.yaml")
    try package.write(program(["Shop"], ["Item(in: context).memo"]), to: "Sources/App/main.swift")
    let run = try package.buildAndRun()
    #expect(run.output == "Item [\"name\", \"memo\", \"created\", \"done\"]\nFolder [\"name\"]\n")
  }

  private func anEntityIsAdded(_ package: FixturePackage) throws {
    try package.replace(
      "entities:\n", with: "entities:\n  Tag:\n    attributes: { label: String }\n",
      in: "Sources/App/Shop.cdmodel/1.yaml")
    try package.write(
      program(["Shop"], ["Tag(label: \"new\", in: context).label"]), to: "Sources/App/main.swift")
    let run = try package.buildAndRun()
    #expect(
      run.output == """
        Tag ["label"]
        Item ["name", "memo", "created", "done"]
        Folder ["name"]

        """)
  }

  private func aVersionIsAdded(_ package: FixturePackage) throws {
    let result = try package.cdgen("add-version", "Sources/App/Shop.cdmodel")
    #expect(result.status == 0, "\(result.output)")
    try package.replace(
      "memo: String?", with: "remark: { type: String?, renamedFrom: memo }",
      in: "Sources/App/Shop.cdmodel/2.yaml")
    try package.write(program(["Shop"], ["Item(in: context).remark"]), to: "Sources/App/main.swift")
    let run = try package.buildAndRun()
    #expect(
      run.output == """
        Tag ["label"]
        Item ["name", "remark", "created", "done"]
        Folder ["name"]

        """)
  }

  private func aLinkedModelIsAdded(_ package: FixturePackage) throws {
    let head = "id: 5D6A7B1C-36B4-4B8E-A0B7-2C2F8F0F6E21\n"
    try package.write(head, to: "Models/Library.cdmodel/model.yaml")
    try package.write(
      "entities:\n  Book:\n    attributes:\n      title: String\n", to: "Models/Library.cdmodel/1.yaml")
    try package.link("Sources/App/Library.cdmodel", to: "../../Models/Library.cdmodel")
    try package.write(
      program(["Library"], ["Book(title: \"\", in: context)", "Item(in: context)"]),
      to: "Sources/App/main.swift")
    let build = try package.build()
    #expect(build.status == 0, "\(build.output)")
    #expect(build.messages == [])
    #expect(try package.buildAndRun().output == "Book [\"title\"]\n")

    // A file behind the link.
    try package.write(
      "entities:\n  Book:\n    attributes:\n      title: String\n      isbn: String\n",
      to: "Models/Library.cdmodel/2.yaml")
    try package.write(program(["Library"]), to: "Sources/App/main.swift")
    #expect(try package.buildAndRun().output == "Book [\"title\", \"isbn\"]\n")
  }

  private func aMistakeIsShownAtItsPlace(_ package: FixturePackage) throws {
    try package.replace("isbn: String", with: "isbn: Strin", in: "Models/Library.cdmodel/2.yaml")
    let result = try package.build()
    #expect(result.status != 0)
    let file = package.folder.appending(path: "Models/Library.cdmodel/2.yaml").path
    #expect(result.messages == ["\(file):5:13: error: unknown type 'Strin'; did you mean 'String'?"])
    try package.replace("isbn: Strin", with: "isbn: String", in: "Models/Library.cdmodel/2.yaml")
    #expect(try package.buildAndRun().output == "Book [\"title\", \"isbn\"]\n")
  }

  private func twoModelsOfOneNameAreRefused(_ package: FixturePackage) throws {
    try package.write(
      "id: 5D6A7B1C-36B4-4B8E-A0B7-2C2F8F0F6E22\n", to: "Sources/App/Old/Library.cdmodel/model.yaml")
    let result = try package.build()
    #expect(result.status != 0)
    #expect(
      Set(result.messages) == [
        """
        error: target 'App' has 2 models named 'Library', Sources/App/Library.cdmodel and \
        Sources/App/Old/Library.cdmodel: remove or rename one
        """
      ])
    try package.remove("Sources/App/Old")
    #expect(try package.buildAndRun().output == "Book [\"title\", \"isbn\"]\n")
  }

  private func aModelInAHiddenFolderIsIgnored(_ package: FixturePackage) throws {
    try package.write(
      "id: 5D6A7B1C-36B4-4B8E-A0B7-2C2F8F0F6E23\n", to: "Sources/App/.old/Shop.cdmodel/model.yaml")
    let run = try package.buildAndRun()
    #expect(run.output == "Book [\"title\", \"isbn\"]\n")
    try package.remove("Sources/App/.old")
  }

  /// An edit of a locked version stops the build, and so does a step from it that lacks a rule, until the remedy
  /// that the message names is there.
  private func aReleasedVersionIsGuarded(_ package: FixturePackage) throws {
    let folder = "Models/Library.cdmodel"
    try package.replace("isbn: String", with: "isbn: String?", in: "\(folder)/2.yaml")
    let lock = try package.cdgen("lock", folder, "--all")
    #expect(lock.status == 0, "\(lock.output)")
    try package.replace("title: String", with: "title: String?", in: "\(folder)/1.yaml")
    let path = package.folder.appending(path: folder).path
    #expect(
      try package.build().messages == [
        "\(path)/1.yaml:4:7: error: version 1 is locked, and attribute 'title' of 'Book' was changed since: "
          + "stores of the version exist; undo this, and change a new version ('cdgen add-version')"
      ])
    try package.replace("title: String?", with: "title: String", in: "\(folder)/1.yaml")

    let version = try package.cdgen("add-version", folder)
    #expect(version.status == 0, "\(version.output)")
    try package.replace("isbn: String?", with: "isbn: String?\n      pages: Int32", in: "\(folder)/3.yaml")
    #expect(
      try package.build().messages == [
        "\(path)/3.yaml:6:7: error: attribute 'pages' of 'Book' is new: it is mandatory and has no default, so "
          + "objects of version 2 have no value for it; write 'policy: custom' for 'Book' in 2-3.mapping.yaml, "
          + "write a rule 'pages: …' under the attributes of 'Book' there, give it a default, or make it optional"
      ])
    try package.write("entities: { Book: { attributes: { pages: 0 } } }\n", to: "\(folder)/2-3.mapping.yaml")
    #expect(try package.buildAndRun().output == "Book [\"title\", \"isbn\", \"pages\"]\n")
    try aLossHasToBeMeant(package, folder)
  }

  /// What a locked version stores may go where a mapping says that it is meant: the message has the words. It is a
  /// warning as long as the version in which it is gone can still be changed.
  private func aLossHasToBeMeant(_ package: FixturePackage, _ folder: String) throws {
    try package.replace("      isbn: String?\n", with: "", in: "\(folder)/3.yaml")
    let place = "\(package.folder.appending(path: folder).path)/2.yaml:5:7"
    let text =
      "attribute 'isbn' of 'Book' is gone from version 3: its values are lost; confirm the loss with "
      + "'drop: [isbn]' for 'Book' in 2-3.mapping.yaml"
    let build = try package.build()
    #expect(build.status == 0)
    #expect(build.output.contains("\(place): warning: \(text)"), "\(build.output)")
    let lock = try package.cdgen("lock", folder)
    #expect(lock.status != 0)
    #expect(lock.output.contains("2.yaml:5:7: error: \(text)"), "\(lock.output)")

    try package.write(
      "entities: { Book: { attributes: { pages: 0 }, drop: [isbn] } }\n", to: "\(folder)/2-3.mapping.yaml")
    let again = try package.cdgen("lock", folder)
    #expect(again.status == 0, "\(again.output)")
    #expect(try package.buildAndRun().output == "Book [\"title\", \"pages\"]\n")
    // Of a version that is locked it is an error: somebody has taken the confirmation back.
    try package.write("entities: { Book: { attributes: { pages: 0 } } }\n", to: "\(folder)/2-3.mapping.yaml")
    #expect(try package.build().messages == ["\(place): error: \(text)"])
    try package.write(
      "entities: { Book: { attributes: { pages: 0 }, drop: [isbn] } }\n", to: "\(folder)/2-3.mapping.yaml")
    try aCustomStepIsNotForgotten(package, folder)
  }

  /// A store is not opened without the app's own code where stores exist that need it, and the code that 'cdgen stub'
  /// begins does not compile before its questions are answered.
  private func aCustomStepIsNotForgotten(_ package: FixturePackage, _ folder: String) throws {
    let version = try package.cdgen("add-version", folder)
    #expect(version.status == 0, "\(version.output)")
    try package.replace("pages: Int32", with: "pages: Int32\n      shelf: String", in: "\(folder)/4.yaml")
    try package.write("entities: { Book: { policy: custom } }\n", to: "\(folder)/3-4.mapping.yaml")
    let open = "func open(_ url: URL) throws { _ = try PersistentContainer(for: LibraryModel.self, at: url) }"
    let main = "import Foundation\n" + program(["Library"])
    try package.write(main + open + "\n", to: "Sources/App/main.swift")
    let missing = try package.build()
    #expect(missing.status != 0)
    #expect(
      missing.output.contains(
        "the model has custom migration steps: pass 'migrations: { … }' with a type that implements them"),
      "\(missing.output)")

    let migrating = open.replacing(
      "self, at", with: "self, migrations: { LibraryMigrations() }, at")
    try package.write(main + migrating + "\n", to: "Sources/App/main.swift")
    let file = "Sources/App/LibraryMigrations.swift"
    let stub = try package.cdgen("stub", folder, "3", "4", "--output", file)
    #expect(stub.status == 0, "\(stub.output)")
    let question = "#error(\"Book.shelf: attribute 'shelf' of 'Book' is new. Set 'shelf'\")"
    let unanswered = try package.build()
    #expect(unanswered.status != 0)
    #expect(
      unanswered.output.contains("Book.shelf: attribute 'shelf' of 'Book' is new."), "\(unanswered.output)")
    try package.replace(question, with: "shelf = \"A\"", in: file)
    #expect(try package.buildAndRun().output == "Book [\"title\", \"pages\", \"shelf\"]\n")
  }

  /// Such an app compiles only the runtime: `Benchmarks/build-cost` builds one. The plugin needs the generator. Here it names
  /// the missing trait before the package manager compiles anything.
  private func anAppMayDoWithoutTheGenerator(_ package: FixturePackage) throws {
    try package.replace("tools-version: 6.0", with: "tools-version: 6.1", in: "Package.swift")
    try package.replace("\")],\n  targets", with: "\", traits: [])],\n  targets", in: "Package.swift")
    let refused = try package.build()
    #expect(refused.status != 0)
    #expect(
      Set(refused.messages) == [
        """
        error: target 'App' uses CDGenPlugin, and the dependency on cdgen leaves its trait 'Generator' out: remove \
        'traits: []' from that dependency
        """
      ], "\(refused.output)")
  }
}
