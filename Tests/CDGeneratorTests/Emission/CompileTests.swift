import CDGenerator
import CDModel
import Foundation
import SeededRandom
import Testing

/// Every expected file compiles in Swift 6 mode without a warning, in every way in which apps use it.
@Suite struct CompileTests {
  /// The build of GeneratedCodeTests and ShadowedNames compiles the files of all cases, each group as one module. What
  /// is left to see is that no file needs another case's file.
  private static let alone = ReferenceCase.all.enumerated()
    .filter { isThorough || $0.offset % 4 == 0 }.map(\.element)

  @Test(arguments: alone)
  func compilesWithoutWarnings(_ each: ReferenceCase) throws {
    let outcome = try SwiftCompiler().check(each.expectedFiles)
    #expect(outcome.isSuccess, "\(outcome.messages)")
  }

  /// The cases as one module, and as another one the case whose types have the names of the runtime's, which would then
  /// mean others in all cases' files.
  @Test(arguments: [false, true])
  func allCompileWhereTheMainActorIsTheDefault(shadowsNames: Bool) throws {
    let files = try ReferenceCase.all.filter { ($0.name == "Shadowing") == shadowsNames }
      .flatMap { try $0.expectedFiles }
    #expect(!files.isEmpty)
    let outcome = try SwiftCompiler().check(files, ["-default-isolation", "MainActor"])
    #expect(outcome.isSuccess, "\(outcome.messages)")
  }

  /// The app's own files import the modules without an access level, as in a target with default settings.
  @Test(arguments: [true, false])
  func packageDeclarationsCompileBesidePlainImports(importsAreInternal: Bool) throws {
    try SourceFolder.with { folder in
      var files = try ReferenceCase(name: "Package").expectedFiles
      let options = Generator.Options(access: .package, perEntity: true)
      for file in try ReferenceCase(name: "PerEntity").generate(options) {
        files.append(try folder.write(file.contents, file.name))
      }
      let app = """
        import CDRuntime
        import Foundation

        func isNew(_ object: ManagedObject, since date: Date) -> Bool { date < .now }
        """
      files.append(try folder.write(app, "App.swift"))
      let features = SwiftCompiler.features.filter { importsAreInternal || $0 != "InternalImportsByDefault" }
      let outcome = try SwiftCompiler().check(files, features: features)
      #expect(outcome.isSuccess, "\(outcome.messages)")
    }
  }

  /// As the documentation says, a type of the app's own that a codable attribute has must not be isolated.
  @Test(arguments: ["nonisolated ", ""])
  func aCodableTypeIsNotIsolated(isolation: String) throws {
    let attribute = AttributeDescription(
      name: "own", type: .codable(type: "Own", codec: 1), isOptional: true)
    let version = ModelVersion(
      number: 1, entities: [EntityDescription(name: "User", attributes: [attribute])])
    let model = ManagedObjectModel(
      name: "Users", id: UUID(), versions: [version], currentVersionNumber: 1)
    try SourceFolder.with { folder in
      let own = "\(isolation)struct Own: Codable, Sendable { var a: Int }\n"
      var files = [try folder.write(own, "Own.swift")]
      for file in try Generator().generate(model) {
        files.append(try folder.write(file.contents, file.name))
      }
      let outcome = try SwiftCompiler().check(files, ["-default-isolation", "MainActor"])
      #expect(outcome.isSuccess == !isolation.isEmpty, "\(outcome.messages)")
      if isolation.isEmpty { #expect("\(outcome.messages)".contains("main actor"), "\(outcome.messages)") }
    }
  }

  @Test(arguments: [[], ["-default-isolation", "MainActor"]], ["", "nonisolated "])
  func aSecondModuleAndASubclassUseIt(options: [String], isolation: String) throws {
    try SourceFolder.with { folder in
      let compiler = try SwiftCompiler()
      let library = try ReferenceCase(name: "Library").expectedFiles
      let subclass = try folder.write(
        """
        import CDRuntime

        \(isolation)class RareBook: Book {
          var vault = 0
          convenience init(vault: Int, in context: ManagedObjectContext) {
            self.init(title: "Rare", isbn: "0-000000-00-1", in: context)
            self.vault = vault
          }
          func describe() -> String { "\\(title) in vault \\(vault)" }
        }

        \(isolation)func makeRareBook(_ context: ManagedObjectContext) -> [Book] {
          [RareBook(vault: 1, in: context), RareBook(in: context)]
        }
        """, "RareBook.swift")
      let emitted = try compiler.emitModule(
        library + [subclass], module: "Library", to: folder.url, options)
      #expect(emitted.isSuccess, "\(emitted.messages)")
      let user = try folder.write(
        """
        import CDRuntime
        import Foundation
        import Library

        nonisolated func use(_ context: ManagedObjectContext) throws -> [String] {
          let author = Author(name: "Thoreau", in: context)
          let book = Book(title: "Walden", isbn: "0-000000-00-0", in: context)
          book.addToAuthors(author)
          book.price = 12.5
          book.language = .german
          let cheap = try Book.fetch(
            where: \\.price < 20 && \\.publisher.name == "Ticknor", sortedBy: \\.title, limit: 3, in: context)
          let named = try Book.objects(matching: \\.title, "Walden", in: context)
          let either = try Book.objects(
            matching: [.title: "Walden", .title: "Typee", .salesRank: nil], using: .or, in: context)
          let one = try Book.object(isbn: "0-000000-00-0", in: context)
          let best = try Book.bestsellers(rank: 10, in: context)
          return (cheap + named + either + best).map(\\.title) + [one?.title ?? ""]
        }
        """, "Use.swift")
      let used = try compiler.check([user], module: "Use", ["-I", folder.url.path] + options)
      #expect(used.isSuccess, "\(used.messages)")
    }
  }
}
