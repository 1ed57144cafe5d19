import Foundation
import Testing

/// Every expected file compiles in Swift 6 mode without a warning, in every way in which apps use it.
@Suite(.serialized) struct CompileTests {
  @Test(arguments: ReferenceCase.all)
  func compilesWithoutWarnings(_ each: ReferenceCase) throws {
    let outcome = try SwiftCompiler().check(each.expectedFiles)
    #expect(outcome.isSuccess, "\(outcome.messages)")
  }

  @Test(arguments: ReferenceCase.all)
  func compilesWhereTheMainActorIsTheDefault(_ each: ReferenceCase) throws {
    let outcome = try SwiftCompiler().check(each.expectedFiles, ["-default-isolation", "MainActor"])
    #expect(outcome.isSuccess, "\(outcome.messages)")
  }

  @Test(arguments: [[String](), ["-default-isolation", "MainActor"]])
  func aSecondModuleAndASubclassUseIt(options: [String]) throws {
    try withFolder { folder in
      let compiler = try SwiftCompiler()
      let library = try ReferenceCase(name: "Library").expectedFiles
      let subclass = try write(
        """
        import CDRuntime

        nonisolated class RareBook: Book {
          var vault = 0
          func describe() -> String { "\\(title) in vault \\(vault)" }
        }
        """, "RareBook.swift", in: folder)
      let emitted = try compiler.emitModule(library + [subclass], module: "Library", to: folder)
      #expect(emitted.isSuccess, "\(emitted.messages)")
      let user = try write(
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
        """, "Use.swift", in: folder)
      let used = try compiler.check([user], module: "Use", ["-I", folder.path] + options)
      #expect(used.isSuccess, "\(used.messages)")
    }
  }

  /// What must not compile, and what the compiler says of it.
  static let refused: [(source: String, message: String)] = [
    (
      "func f(_ c: ManagedObjectContext) -> Publication { Publication(in: c) }",
      "error: incorrect argument label in call (have 'in:', expected '_seed:')"
    ),
    (
      "func f(_ c: ManagedObjectContext) throws { _ = try Book.objects(matching: \\.title, 5, in: c) }",
      "error: cannot convert value of type 'Int' to expected argument type 'String'"
    ),
    (
      "func f(_ book: Book) { Task.detached { print(book.title) } }",
      "error: passing closure as a 'sending' parameter risks causing data races"
    ),
    (
      "func f(_ book: Book) -> any Sendable { book }",
      "error: conformance of 'ManagedObject' to 'Sendable' is unavailable"
    ),
    (
      "let format = CDRuntime.GeneratedCodeFormat2.self",
      "error: module 'CDRuntime' has no member named 'GeneratedCodeFormat2'"
    ),
  ]

  @Test(arguments: refused.indices)
  func whatIsWrongDoesNotCompile(place: Int) throws {
    let (source, message) = Self.refused[place]
    try withFolder { folder in
      let file = try write("import CDRuntime\n" + source + "\n", "Refused.swift", in: folder)
      let outcome = try SwiftCompiler().check(try ReferenceCase(name: "Library").expectedFiles + [file])
      #expect(!outcome.isSuccess)
      #expect(outcome.messages.contains(message), "\(outcome.messages)")
    }
  }

  private func write(_ source: String, _ name: String, in folder: URL) throws -> URL {
    let url = folder.appending(path: name)
    try source.write(to: url, atomically: true, encoding: .utf8)
    return url
  }

  private func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }
}
