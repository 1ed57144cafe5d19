import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// A server takes over, and lacks the last save of the one before it.
@Suite(.needsServer) struct LostSavesTests {
  private let store: ServerStore

  init() throws { store = try ServerStore() }

  /// Gives the store the state of before its last save, which has changed the only book.
  private func loseLastSave(keeping title: String) throws {
    let history = store.table("_cdgen_history")
    try store.sql(#"DELETE FROM \#(history) WHERE "id" = (SELECT max("id") FROM \#(history))"#)
    try store.sql(
      #"UPDATE \#(store.table("_cdgen_keys")) SET "next" = "next" - 1 WHERE "entity" = '_cdgen_history'"#)
    try store.sql(
      #"UPDATE \#(store.table("Book")) SET "title" = ?, "_version" = "_version" - 1"#,
      [.value(.string(title))])
  }

  @Test func contextsFollowTheSavesThatGetTheSameNumbers() throws {
    let writer = try store.context()
    let book = try writer.addBook("kept")
    try writer.save()
    let reader = try store.context()
    let read = try #require(try reader.objects(forEntityNamed: "Book").first)
    try book.setValue("lost", forKey: "title")
    try writer.save()
    #expect(try reader.titles() == ["lost"])
    try loseLastSave(keeping: "kept")
    for context in [reader, writer] { #expect(try context.titles() == ["kept"]) }
    #expect(try read.text("title") == "kept")
    #expect(try book.text("title") == "kept")
    let other = try store.context()
    try other.objects(forEntityNamed: "Book")[0].setValue("new", forKey: "title")
    try other.save()
    for context in [reader, writer] { #expect(try context.titles() == ["new"]) }
    #expect(try read.text("title") == "new")
    #expect(try book.text("title") == "new")
    #expect(try store.coordinator().verify() == [])
  }
}
