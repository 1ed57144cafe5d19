import CDGenerator
import Foundation
import Testing

/// The Swift that the documentation shows compiles, and shows every public type of an app's modules in use. `.ci/site` shows
/// what DocC warns of.
@Suite struct DocumentationTests {
  @Test func everyBlockIsClosedAndNamesItsLanguage() throws {
    for block in try CodeBlock.all() {
      #expect(block.isClosed, "\(block.place): the block has no end")
      #expect(!block.language.isEmpty, "\(block.place): the block's fence names no language")
    }
  }

  @Test func everySwiftBlockCompiles() throws {
    let blocks = try CodeBlock.all().filter {
      $0.language == "swift" && !$0.isManifest && !$0.isFirstProgram && $0.hasModules
    }
    try SourceFolder.with { folder in
      var files = [try folder.write(ExamplePrelude.source, "Prelude.swift")]
      for name in ["Library", "ToDo"] {
        // The access that generated code has unless a model says otherwise. Examples use snapshots too.
        for file in try ReferenceCase(name: name).generate(
          Generator.Options(access: .internal, snapshots: true))
        {
          files.append(try folder.write(file.contents, file.name))
        }
      }
      for block in blocks { files.append(try folder.write(block.source, "\(block.name).swift")) }
      report(try SwiftCompiler().check(files, module: "Examples", warningsAreErrors: false))
    }
  }

  /// A whole file has its imports. A block that cannot be compiled could lack one.
  @Test func blocksOnServersImportTheRuntime() throws {
    let blocks = try CodeBlock.all().filter { block in
      !block.hasModules && block.lines.contains { $0.hasPrefix("import CDPostgresStore") }
    }
    #expect(!blocks.isEmpty)
    for block in blocks { #expect(block.lines.contains("import CDRuntime"), "\(block.place)") }
  }

  /// What an article calls a whole app starts.
  @Test func wholeAppsHaveAnEntryPoint() throws {
    let apps = try CodeBlock.all().filter { block in block.lines.contains { $0.contains(": App {") } }
    #expect(!apps.isEmpty)
    for app in apps {
      #expect(app.lines.contains { $0.contains("@main struct") }, "\(app.place): the app has no entry point")
    }
  }

  /// The application's model has custom steps, unlike the model that the blocks are compiled with. So this block is text.
  @Test func theArticleOpensTheStoreAsTheApplicationDoes() throws {
    let block = try #require(
      CodeBlock.all().first { block in
        block.path.hasSuffix("TheToDoApplication.md") && block.lines.contains { $0.contains("migrations:") }
      })
    let program = try String(
      contentsOf: CodeBlock.root.appending(path: "Examples/ToDoApp/Sources/ToDoApp/Store/OpenList.swift"),
      encoding: .utf8)
    let statements = Set(program.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
    for line in block.lines {
      let statement = line.trimmingCharacters(in: .whitespaces)
      #expect(statements.contains(statement), "\(block.place): OpenList.swift lacks '\(statement)'")
    }
  }

  @Test func theContractShowsTheClassesAsTheyAreGenerated() throws {
    let line = #""Book": CDRuntime.GeneratedClass(Book.self) { Book(_seed: $0) },"#
    let article = try String(
      contentsOf: CodeBlock.root.appending(path: "Sources/CDRuntime/CDRuntime.docc/GeneratedCode.md"),
      encoding: .utf8)
    #expect(article.contains(line))
    let files = try ReferenceCase(name: "Library").generate(Generator.Options(access: .internal))
    #expect(files.contains { $0.contents.contains(line) })
  }

  @Test func everyManifestCompiles() throws {
    let manifests = try CodeBlock.all().filter { $0.language == "swift" && $0.isManifest }
    #expect(manifests.count == 1)
    for block in manifests {
      try SourceFolder.with { folder in
        let file = try folder.write(block.source, "Package.swift")
        report(try SwiftCompiler().checkManifest(file))
      }
    }
  }

  /// What an example leaves unused is for its reader to use; all else that the compiler says is a mistake.
  private func report(_ outcome: SwiftCompiler.Outcome) {
    var errorCount = 0
    for line in outcome.messages.split(separator: "\n") {
      guard let match = line.firstMatch(of: #/^(/.+?:\d+:\d+): (error|warning): (.+)$/#) else { continue }
      let isUnused = match.3.contains(#/is unused|never used|never read/#)
      if match.2 == "warning", isUnused { continue }
      if match.2 == "error" { errorCount += 1 }
      Issue.record("\(match.1.replacing(CodeBlock.root.path + "/", with: "")): \(match.3)")
    }
    #expect(outcome.isSuccess || errorCount > 0, "\(outcome.messages)")
  }

  // MARK: Symbols

  /// The modules whose interface is an app's or its tests', with the least count of their types.
  static let modules = [("CDRuntime", 50), ("CDMigrationTesting", 3), ("CDCoreDataStore", 4)]

  @Test(arguments: modules)
  func everyPublicTypeHasAnExample(module: String, count: Int) throws {
    let symbols = try SymbolGraph(of: module).symbols
    let types = symbols.filter { $0.isType && !$0.isSynthesized }
    #expect(types.count > count)
    let shown = Set(types.filter(\.hasExample).map(\.path))
    let associated = Set(
      symbols.filter { $0.kind.identifier == "swift.associatedtype" }.compactMap(\.pathComponents.last))
    for type in types where !type.hasExample {
      // A nested type relies on the example of the one it is nested in, the witness of an associated type on
      // that of the protocol.
      let parents = type.pathComponents.indices.map { type.pathComponents[..<$0].joined(separator: ".") }
      let isWitness = type.pathComponents.dropFirst().last.map(associated.contains) ?? false
      #expect(isWitness || parents.contains { shown.contains($0) }, "\(type.place) has no example")
    }
  }

  /// All modules of the documentation site.
  static let documented = modules.map(\.0) + ["CDValues", "CDModel", "CDMapping", "CDSchema", "CDGenerator"]

  @Test(arguments: documented)
  func everyPublicSymbolHasADocComment(module: String) throws {
    for symbol in try SymbolGraph(of: module).symbols where !symbol.isSynthesized {
      #expect(!symbol.comment.isEmpty, "\(symbol.place) has no doc comment")
    }
  }

  @Test(arguments: documented)
  func theLandingPageListsEveryPublicType(module: String) throws {
    let page = try String(
      contentsOf: CodeBlock.root.appending(path: "Sources/\(module)/\(module).docc/\(module).md"),
      encoding: .utf8)
    let topics = Set(page.matches(of: #/(?m)^- ``([^`]+)``$/#).map { String($0.1) })
    for symbol in try SymbolGraph(of: module).symbols where symbol.isType {
      guard symbol.pathComponents.count == 1, !topics.contains(symbol.path) else { continue }
      Issue.record("\(symbol.place) is not listed")
    }
  }

  /// The page that translates Core Data's names mentions only names of ours that exist. DocC checks those that are links.
  @Test func coreDataNamesLeadToTypesThatExist() throws {
    let page = try String(
      contentsOf: CodeBlock.root.appending(path: "Sources/CDRuntime/CDRuntime.docc/CoreDataNames.md"),
      encoding: .utf8)
    var types = Set<Substring>()
    for module in ["CDRuntime", "CDModel", "CDMapping", "CDValues", "CDMigrationTesting"] {
      for symbol in try SymbolGraph(of: module).symbols where symbol.isType {
        types.insert(Substring(symbol.pathComponents.last ?? ""))
      }
    }
    // Swift's own, and the generated types of the documentation's models.
    types.formUnion(["Sendable", "Codable", "Book", "LibraryModel"])
    var checked = 0
    for row in page.matches(of: #/(?m)^\| (.+?) \| (.+) \|$/#) {
      for name in row.2.matches(of: #/(?:^|[^`])`([A-Z]\w*)/#) {
        checked += 1
        #expect(types.contains(name.1), "CoreDataNames.md mentions '\(name.1)', which is no public type")
      }
    }
    #expect(checked > 20)
  }

  // MARK: Links

  @Test func linksBetweenFilesLeadToFilesAndHeadings() throws {
    var count = 0
    for path in try ArticleLink.paths() {
      for link in try ArticleLink.all(in: path) {
        count += 1
        guard FileManager.default.fileExists(atPath: link.file.path) else {
          Issue.record("\(link.place): there is no file '\(link.target)'")
          continue
        }
        #expect(try link.hasHeading(), "\(link.place): '\(link.target)' has no heading '\(link.anchor)'")
      }
    }
    #expect(count > 100)
  }

  /// A code host shows DocC's own links as text.
  @Test func articlesLinkFiles() throws {
    for path in try ArticleLink.paths() where path.hasSuffix(".md") {
      let text = try String(contentsOf: CodeBlock.root.appending(path: path), encoding: .utf8)
      #expect(!text.contains("<doc:") && !text.contains("](doc:"), "\(path) has a link for DocC only")
    }
  }
}
