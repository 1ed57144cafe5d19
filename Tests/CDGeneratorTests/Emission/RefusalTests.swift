import Foundation
import Testing

/// What must not compile, and all that the compiler says of it.
@Suite(.serialized) struct RefusalTests {
  struct Mistake: CustomTestStringConvertible {
    let testDescription: String
    let source: String
    let errors: [String]

    init(_ description: String, _ source: String, _ errors: String...) {
      testDescription = description
      self.source = source
      self.errors = errors
    }
  }

  /// What the compiler says of a property that a class lacks.
  static func unknown(_ type: String) -> [String] {
    [
      "subscript 'subscript(dynamicMember:)' requires that '\(type)' conform to 'HasPropertyOfThisName'",
      "subscript index of type 'NoSuchProperty<\(type)>' in a key path must be Hashable",
    ]
  }

  static let mistakes = [
    Mistake(
      "an object of an abstract entity",
      "func f(_ c: ManagedObjectContext) -> Publication { Publication(in: c) }",
      "'init(in:)' is unavailable: Publication is abstract: make an object of an entity that inherits from it"
    ),
    Mistake(
      "a missing mandatory argument",
      "func f(_ c: ManagedObjectContext) -> Book { Book(title: \"Walden\", in: c) }",
      "missing argument for parameter 'isbn' in call"),
    Mistake(
      "a key's value of another type",
      "func f(_ c: ManagedObjectContext) throws { _ = try Book.objects(matching: \\.title, 5, in: c) }",
      "cannot convert value of type 'Int' to expected argument type 'String'"),
    Mistake(
      "a comparison with another type",
      "func f(_ c: ManagedObjectContext) throws { _ = try Book.fetch(where: \\.title == 5, in: c) }",
      "cannot convert value of type 'Int' to expected argument type 'String'"),
    Mistake(
      "an unknown attribute in a condition",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Book.fetch(where: \\.titel == \"\", in: c) }",
      unknown("Book")[0], unknown("Book")[1]),
    Mistake(
      "an unknown attribute behind a known one",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Book.fetch(where: \\.title == \"\" && \\.pagse < 3, in: c) }",
      unknown("Book")[0], unknown("Book")[1]),
    Mistake(
      "an unknown attribute compared with nil",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Book.count(where: \\.salesRnak == nil, in: c) }",
      unknown("Book")[0], unknown("Book")[1]),
    Mistake(
      "an unknown attribute at the end of a path",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Book.fetch(where: \\.publisher.nmae == \"\", in: c) }",
      unknown("Publisher")[0], unknown("Publisher")[1]),
    Mistake(
      "an unknown relationship in the middle of a path",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Book.fetch(where: \\.publishr.name == \"\", in: c) }",
      unknown("Book")[0], unknown("Book")[1]),
    Mistake(
      "an unknown relationship",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Book.fetch(where: \\.publishr == p, in: c) }",
      unknown("Book")[0], unknown("Book")[1]),
    Mistake(
      "an unknown condition",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Book.exists(where: \\.isSold, in: c) }",
      unknown("Book")[0], unknown("Book")[1]),
    Mistake(
      "an unknown number of objects",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Book.fetch(where: \\.reviews.cuont > 3, in: c) }",
      unknown("Review")[0], unknown("Review")[1]),
    Mistake(
      "an unknown field of a composite",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Author.fetch(where: \\.address.ctiy == \"\", in: c) }",
      "subscript index of type 'NoSuchField<Address?, String>' in a key path must be Hashable"),
    Mistake(
      "an unknown attribute as a sort order",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Book.fetch(sortedBy: \\.titel, in: c) }",
      unknown("Book")[0], unknown("Book")[1]),
    Mistake(
      "an unknown attribute in a list of sort orders",
      "func f(_ c: ManagedObjectContext, _ p: Publisher) throws { _ = try Book.fetch(sortedBy: [.descending(\\.titel)], in: c) }",
      unknown("Book")[0], unknown("Book")[1]),
    Mistake(
      "a key of another entity",
      "func f(_ c: ManagedObjectContext) throws { _ = try Book.objects(matching: [.barcode: 1], in: c) }",
      "static property 'barcode' requires that 'Book' inherit from 'Copy'"),
    Mistake(
      "a path through a relationship to a property of another entity",
      "func f(_ c: ManagedObjectContext) throws { _ = try Book.fetch(where: \\.publisher.isbn == \"\", in: c) }",
      "property 'isbn' requires that 'Publisher' inherit from 'Book'"),
    Mistake(
      "a derived attribute that is set",
      "func f(_ book: Book) { book.reviewCount = 1 }",
      "cannot assign to property: 'reviewCount' is a get-only property"),
    Mistake(
      "an object in a detached task",
      "func f(_ book: Book) { Task.detached { print(book.title) } }",
      "passing closure as a 'sending' parameter risks causing data races between code in the current task "
        + "and concurrent execution of the closure"),
    Mistake(
      "an object given to an actor",
      """
      actor Shelf { func put(_ book: Book) {} }
      func f(_ book: Book, _ shelf: Shelf) async { await shelf.put(book) }
      """, "sending 'book' risks causing data races"),
    Mistake(
      "an object given to the main actor",
      """
      @MainActor func show(_ book: Book) {}
      func f(_ book: Book) async { await show(book) }
      """, "sending 'book' risks causing data races"),
    Mistake(
      "an object in a sendable closure",
      "func f(_ book: Book) -> @Sendable () -> String { { book.title } }",
      "capture of 'book' with non-Sendable type 'Book' in a '@Sendable' closure"),
    Mistake(
      "an object as a sendable value",
      "func f(_ book: Book) -> any Sendable { book }",
      "conformance of 'ManagedObject' to 'Sendable' is unavailable"),
    Mistake(
      "an object that a background task returns",
      """
      func f(_ container: PersistentContainer) async throws -> Book? {
        try await container.performBackgroundTask { try Book.objects(in: $0).first }
      }
      """, "returning a task-isolated 'Array<Book>' value as a 'sending' result risks causing data races"),
    Mistake(
      "an object that a background task captures",
      """
      @MainActor func f(_ container: PersistentContainer) async throws {
        let book = Book(in: container.viewContext)
        try await container.performBackgroundTask { _ in book.title = "" }
      }
      """, "capture of 'book' with non-Sendable type 'Book' in a '@Sendable' closure"),
    Mistake(
      "a context given to an actor",
      """
      actor Shelf { func read(_ context: ManagedObjectContext) {} }
      func f(_ context: ManagedObjectContext, _ shelf: Shelf) async { await shelf.read(context) }
      """, "sending 'context' risks causing data races"),
    Mistake(
      "a context in a detached task",
      "func f(_ context: ManagedObjectContext) { Task.detached { _ = context.hasChanges } }",
      "passing closure as a 'sending' parameter risks causing data races between code in the current task "
        + "and concurrent execution of the closure"),
    Mistake(
      "the main actor's context elsewhere",
      "func f(_ container: PersistentContainer) async -> ManagedObjectContext { await container.viewContext }",
      "non-Sendable type 'ManagedObjectContext' of property 'viewContext' cannot exit main actor-isolated "
        + "context"),
  ]

  private static let refusals = Refusals(of: mistakes, beside: "Library", imports: ["CDRuntime"])

  @Test(arguments: mistakes)
  func doesNotCompile(_ mistake: Mistake) throws {
    #expect(try Self.refusals.errors(of: mistake) == mistake.errors)
  }

  /// Generated for another format, a file says so itself: by the runtime's message where that knows the format,
  /// else by the remark on the line that the compiler shows.
  @Test(arguments: [
    (
      2,
      "'GeneratedCodeFormat2' is unavailable: this file was generated by a later cdgen than CDRuntime; "
        + "update CDRuntime to the release of cdgen"
    ),
    (9, "module 'CDRuntime' has no member named 'GeneratedCodeFormat9'"),
  ])
  func aFileOfAnotherFormatDoesNotCompile(format: Int, error: String) throws {
    try SourceFolder.with { folder in
      let expected = try #require(try ReferenceCase(name: "ToDo").expectedFiles.first)
      let source = try String(contentsOf: expected, encoding: .utf8)
      let changed = source.replacing("GeneratedCodeFormat1", with: "GeneratedCodeFormat\(format)")
      #expect(changed != source)
      let outcome = try SwiftCompiler().check([try folder.write(changed, "ToDo+Generated.swift")])
      #expect(outcome.errors == [error], "\(outcome.messages)")
      let line =
        "    format: CDRuntime.GeneratedCodeFormat\(format).self,"
        + "  // Unknown? Update cdgen and CDRuntime to one version."
      #expect(outcome.messages.split(separator: "\n").contains { $0.hasSuffix(" |" + " " + line) })
    }
  }
}
