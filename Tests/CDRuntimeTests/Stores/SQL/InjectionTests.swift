import CDRuntime
import Foundation
import Testing

/// Text that looks like a language, given as a value, as a key and within a format. It changes nothing but what a
/// comparison gives.
@Suite struct InjectionTests {
  private static let texts = [
    "'; DROP TABLE Tag; --", "' OR '1'='1", "\" OR 1 == 1 --", "x') OR TRUEPREDICATE OR ('", "%@", "%K == %@",
    "$name",
    "a\(StoreKind.ofEnvironment.zero)b' OR 1=1", "\\' OR 1=1", "*", "[a-z", "(((((", "\u{202E}eman", "name",
    "TRUEPREDICATE", "NULL",
  ]

  private let store: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = try store.freshContext()
    for text in Self.texts { _ = Tag(name: text, in: context) }
    _ = Tag(name: "innocent", in: context)
    try context.save()
  }

  @Test(arguments: texts)
  func aValueIsAValue(text: String) throws {
    #expect(try Tag.objects(matching: \.name, text, in: context).map(\.name) == [text])
    #expect(try context.objects(forEntityNamed: "Tag", matching: ["name": text]).count == 1)
    #expect(try Tag.fetch(where: \.name == text, in: context).count == 1)
    for format in ["name == %@", "name IN {%@}", "name BEGINSWITH %@ AND name ENDSWITH %@", "%@ == name"] {
      let arguments = Array(repeating: text, count: format.components(separatedBy: "%@").count - 1)
      let predicate = try FetchPredicate(format: format, arguments: arguments)
      #expect(try context.fetch(FetchRequest<Tag>(where: predicate)).map(\.name) == [text], "\(format)")
    }
    var request = FetchRequest<Tag>(where: try FetchPredicate(format: "name == $name"))
    request.variables = ["name": text]
    #expect(try context.fetch(request).map(\.name) == [text])
    #expect(try Tag.count(in: context) == Self.texts.count + 1)
  }

  @Test(arguments: texts)
  func aKeyIsAKey(text: String) throws {
    guard text != "name" else { return }
    #expect(throws: FetchError.self) {
      try context.objects(forEntityNamed: "Tag", matching: [text: "innocent"])
    }
    #expect(throws: FetchError.self) {
      try context.objects(forEntityNamed: text, matching: ["name": "innocent"])
    }
    #expect(throws: PropertyError.self) {
      try Tag.objects(in: context).first?.setValue(.attribute(.string("x")), forKey: text)
    }
    #expect(try Tag.count(in: context) == Self.texts.count + 1)
  }

  @Test(arguments: texts)
  func aSpliceIsParsedOrRefused(text: String) throws {
    // What a careless program does. The format's own rules hold, whatever the text is: no more than its quote ends.
    do {
      let predicate = try FetchPredicate(format: "name == '\(text)'")
      _ = try context.fetch(FetchRequest<Tag>(where: predicate))
    } catch is FormatError {
    } catch is FetchError {
    }
    #expect(try store.rows("SELECT count(*) FROM Tag") == ["\(Self.texts.count + 1)"])
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
  }

  @Test func metadataAndAuthorsAreText() throws {
    let coordinator = context.persistentStoreCoordinator
    let values = Dictionary(
      uniqueKeysWithValues: Self.texts.filter { !$0.contains("\u{0}") }.map { ($0, $0) })
    try coordinator.setMetadata(values, forStore: coordinator.storeIDs[0])
    #expect(try coordinator.metadata(forStore: coordinator.storeIDs[0])?.values == values)
    context.transactionAuthor = Self.texts[0]
    _ = Tag(name: "another", in: context)
    try context.save()
    #expect(
      try store.rows("SELECT author FROM _cdgen_history ORDER BY id DESC LIMIT 1")
        == [Self.texts[0]])
  }
}
