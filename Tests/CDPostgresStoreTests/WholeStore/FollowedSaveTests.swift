import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Others save while a context follows the history, and it tells its observers of each save once.
@Suite(.needsServer) struct FollowedSaveTests {
  /// The save comes after the number of the newest one has been read, and before the history.
  @Test func aSaveBetweenTwoStatementsIsToldOnce() throws {
    let store = try ServerStore()
    let context = try store.context()
    let other = try store.context()
    #expect(try context.titles().isEmpty)
    try other.addBook("1")
    try other.save()
    var inserted = 0
    context.changeNotices.addObserver(store) { inserted += $0.inserted.count }
    let link = try #require(try context.reader() as? PostgresSession).link
    defer { link.observer = nil }
    var hasSaved = false
    link.observer = { text in
      if hasSaved || !text.contains(#""changes""#) || !text.contains("_cdgen_history") { return }
      hasSaved = true
      do {
        try other.addBook("2")
        try other.save()
      } catch { Issue.record(error) }
    }
    #expect(try context.titles() == ["1"])
    #expect(hasSaved && inserted == 1)
    #expect(try context.titles().sorted() == ["1", "2"])
    #expect(inserted == 2)
  }
}
