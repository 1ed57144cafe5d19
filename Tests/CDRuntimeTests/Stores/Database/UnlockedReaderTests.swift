import CSQLite
import Foundation
import Testing

@testable import CDRuntime

/// Who only reads a file with a rollback journal has no lock on it between two reads. A file has one while it is migrated,
/// and where it was copied: so it can be migrated under the reader.
@Suite(.onlyOnSQLite("its journals"))
struct UnlockedReaderTests {
  private static let first = MigrationFixture.version(
    1,
    [
      entity(
        "Note",
        [attribute("author", .string), attribute("title", .string), attribute("pages", .int64, .int(1))])
    ])
  /// The two names change places, so that a reader of the first version would take titles for authors.
  private static let exchanged = MigrationFixture.version(
    2,
    [
      entity(
        "Note",
        [
          attribute("author", .string, renamedFrom: "title"),
          attribute("title", .string, renamedFrom: "author"),
          attribute("pages", .int64, .int(1)),
        ])
    ])
  /// Rows are written anew, in another file.
  private static let rewritten = MigrationFixture.version(
    2,
    [
      entity(
        "Note", [attribute("author", .string), attribute("title", .string), attribute("pages", .string)])
    ])
  private static let old = MigrationFixture.model([first])

  private func withReader(
    _ body: (MigrationFixture, ManagedObjectContext) throws -> Void
  ) throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.first]) { context in
      let note = try context.insert(entityNamed: "Note")
      try note.setValue(.attribute(.string("Ada")), forKey: "author")
      try note.setValue(.attribute(.string("Engines")), forKey: "title")
    }
    let connection = try SQLiteConnection(path: fixture.url.path, of: [fixture.url])
    #expect(try connection.scalar("PRAGMA journal_mode = DELETE") == "delete")
    let reader = try PersistentStoreCoordinator(
      model: Self.old, stores: [PersistentStoreDescription(fixture.location, isReadOnly: true)])
    try body(fixture, ManagedObjectContext(reader))
  }

  private static func authors(_ context: ManagedObjectContext) throws -> [PropertyValue?] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).map { try $0.value(forKey: "author") }
  }

  private static func name(_ text: String) -> PropertyValue { .attribute(.string(text)) }

  @Test(arguments: [exchanged, rewritten])
  func aMigrationEndsTheReading(_ version: ModelVersion) throws {
    try withReader { fixture, context in
      #expect(try Self.authors(context) == [Self.name("Ada")])
      try fixture.open(MigrationFixture.model([Self.first, version]))
      #expect(throws: StoreError.replaced(fixture.url)) { try Self.authors(context) }
      let another = ManagedObjectContext(context.persistentStoreCoordinator)
      #expect(throws: StoreError.replaced(fixture.url)) { try Self.authors(another) }
    }
  }

  @Test func aBlockAfterAMigrationReadsNothingAtAll() throws {
    try withReader { fixture, context in
      #expect(try context.perform { try Self.authors(context) } == [Self.name("Ada")])
      try fixture.open(MigrationFixture.model([Self.first, Self.exchanged]))
      context.perform {
        for _ in 0..<2 {
          #expect(throws: StoreError.replaced(fixture.url)) { try Self.authors(context) }
        }
      }
    }
  }

  /// SQLite takes the journal of a transaction that is ending for the journal of a killed program.
  @Test func aReaderTriesAgainWhileAJournalSeemsToBeLeft() throws {
    try withReader { fixture, context in
      let reader = try SQLiteConnection.reading(fixture.url)
      try reader.execute("COMMIT")
      let journal = URL(fileURLWithPath: fixture.url.path + "-journal")
      func countOfAttempts(until last: Int) throws -> (code: Int32, count: Int) {
        try Data([1]).write(to: journal)
        defer { try? FileManager.default.removeItem(at: journal) }
        var count = 0
        let code = SeemingRollback.attempts(reader.handle) {
          count += 1
          if count == last { try? FileManager.default.removeItem(at: journal) }
          return sqlite3_exec(reader.handle, "SELECT count(*) FROM sqlite_master", nil, nil, nil)
        }
        return (code, count)
      }
      #expect(try countOfAttempts(until: 3) == (SQLITE_OK, 3))
      // The journal of a program that was killed stays. Somebody who may write must roll back.
      let left = try countOfAttempts(until: .max)
      #expect(left.code & 0xFF == SQLITE_READONLY && left.count == 10)
      try Data([1]).write(to: journal)
      #expect(throws: StoreError.self) { try reader.scalar("SELECT count(*) FROM sqlite_master") }
      #expect(throws: StoreError.self) { try Self.authors(context) }
      try FileManager.default.removeItem(at: journal)
      #expect(try Self.authors(context) == [Self.name("Ada")])
    }
  }

  @Test func whatOthersSaveIsRead() throws {
    try withReader { fixture, context in
      #expect(try Self.authors(context) == [Self.name("Ada")])
      try fixture.using(Self.old) { context in
        let note = try context.insert(entityNamed: "Note")
        try note.setValue(.attribute(.string("Grace")), forKey: "author")
        try note.setValue(.attribute(.string("Compilers")), forKey: "title")
      }
      #expect(try Self.authors(context) == [Self.name("Ada"), Self.name("Grace")])
    }
  }
}
