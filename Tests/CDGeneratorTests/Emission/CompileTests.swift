import Foundation
import Testing

/// Every expected file compiles in Swift 6 mode without a warning, in every way in which apps use it.
@Suite(.serialized) struct CompileTests {
  @Test(arguments: ReferenceCase.all)
  func compilesWithoutWarnings(_ each: ReferenceCase) throws {
    let outcome = try SwiftCompiler().check(each.expectedFiles)
    #expect(outcome.isSuccess, "\(outcome.messages)")
  }

  /// The cases as one module, as GeneratedCodeTests has them. That each compiles by itself is the test above.
  private static let together = Result {
    let files = try ReferenceCase.all.filter { !$0.namesTypesAsOthersDo }.flatMap { try $0.expectedFiles }
    return try SwiftCompiler().check(files, ["-default-isolation", "MainActor"])
  }

  @Test(arguments: ReferenceCase.all)
  func compilesWhereTheMainActorIsTheDefault(_ each: ReferenceCase) throws {
    let files = try each.expectedFiles
    let outcome =
      try each.namesTypesAsOthersDo
      ? SwiftCompiler().check(files, ["-default-isolation", "MainActor"]) : Self.together.get()
    let paths = Set(files.map(\.path))
    #expect(outcome.placedErrors.filter { paths.contains($0.path) }.map(\.text) == [])
    // What has no place is of all cases.
    #expect(outcome.isSuccess || !outcome.placedErrors.isEmpty, "\(outcome.messages)")
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
      let whole = try compiler.check(library + [subclass], module: "Library", options)
      #expect(whole.isSuccess, "\(whole.messages)")
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

extension ReferenceCase {
  /// Whether the case's types have the names of the runtime's, which would then mean others in all cases' files.
  fileprivate var namesTypesAsOthersDo: Bool { name == "Shadowing" }
}
