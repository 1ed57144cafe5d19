import Foundation
import Synchronization
import Testing

@testable import CDRuntime

/// Copies of stores that no coordinator has open, where something is in the way.
@Suite(.onceForAllKinds) struct ClosedStoreCopyTests {
  private let folder: URL
  private let url: URL
  private let target: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appending(path: "library.store")
    target = folder.appending(path: "copy")
  }

  private func removeFiles() { try? FileManager.default.removeItem(at: folder) }

  /// Makes a store with an author, a book and a review.
  private func make(_ kind: StoreKind) throws {
    let context = ManagedObjectContext(
      try PersistentStoreCoordinator(for: LibraryModel.self, at: kind.location(url)))
    let book = Book(title: "Walden", isbn: "0-1", author: Author(name: "Thoreau", in: context), in: context)
    book.addToReviews(Review(stars: 3, in: context))
    try context.save()
  }

  private func copy(to kind: StoreKind, _ formats: [any StoreFormat] = []) throws {
    try PersistentStoreCoordinator.copyPersistentStore(at: url, to: kind.location(target), formats: formats)
  }

  /// A format during whose reading somebody else creates a store at the place of the copy.
  private struct Overtaken: StoreFormat {
    let name = "overtaken"
    let json = JSONStoreFormat()
    let target: URL

    func recognizes(_ start: [UInt8]) -> Bool { json.recognizes(start) }

    func write(_ contents: StoreContents, to output: StoreOutput) throws {
      try json.write(contents, to: output)
    }

    func read(_ input: StoreInput, into builder: StoreBuilder) throws {
      try json.read(input, into: builder)
      guard !FileManager.default.fileExists(atPath: target.path) else { return }
      let context = ManagedObjectContext(
        try PersistentStoreCoordinator(for: LibraryModel.self, at: .xml(target)))
      _ = Tag(name: "theirs", in: context)
      try context.save()
    }
  }

  @Test(arguments: StoreKind.whole) func aStoreThatWasCreatedMeanwhileStays(_ kind: StoreKind) throws {
    defer { removeFiles() }
    try make(.json)
    #expect {
      try copy(to: kind, [Overtaken(target: target)])
    } throws: { error in
      if case StoreError.cannotCreate(_, let reason) = error { reason.contains("exists") } else { false }
    }
    let context = ManagedObjectContext(
      try PersistentStoreCoordinator(for: LibraryModel.self, at: .xml(target)))
    #expect(try Tag.objects(in: context).map(\.name) == ["theirs"])
    withExtendedLifetime(context) {}
  }

  /// The names of the files of the copy.
  private func copies() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("copy") }
  }

  /// A killed program has left them, and somebody has removed the file that they belong to.
  @Test(arguments: StoreKind.files) func theLogOfAFormerFileIsRemoved(_ kind: StoreKind) throws {
    defer { removeFiles() }
    try make(.sqlite)
    for name in ["copy-wal", "copy-shm", "copy-journal"] {
      try Data("log".utf8).write(to: folder.appending(path: name))
    }
    try copy(to: kind)
    #expect(try copies() == ["copy"])
  }

  /// A format during whose reading somebody else copies the same store to the same place.
  private struct Rivalled: StoreFormat {
    final class Outcome: Sendable {
      let error = Mutex<StoreError?>(nil)
    }

    let name = "rivalled"
    let json = JSONStoreFormat()
    let url: URL
    let target: StoreLocation
    let outcome = Outcome()

    func recognizes(_ start: [UInt8]) -> Bool { json.recognizes(start) }

    func write(_ contents: StoreContents, to output: StoreOutput) throws {
      try json.write(contents, to: output)
    }

    func read(_ input: StoreInput, into builder: StoreBuilder) throws {
      try json.read(input, into: builder)
      do {
        try PersistentStoreCoordinator.copyPersistentStore(at: url, to: target, formats: [json])
      } catch let error as StoreError {
        outcome.error.withLock { $0 = error }
      }
    }
  }

  @Test(arguments: [StoreKind.sqlite, .xml]) func ofTwoCopiesToAPlaceOneIsMade(_ kind: StoreKind) throws {
    defer { removeFiles() }
    try make(.json)
    let format = Rivalled(url: url, target: kind.location(target))
    try copy(to: kind, [format])
    #expect(format.outcome.error.withLock { $0 } == .inUse(target))
    #expect(try copies() == ["copy"])
    _ = try PersistentStoreCoordinator(for: LibraryModel.self, at: kind.location(target))
  }

  /// What a killed copy has left does not prevent the next one, and goes with the store.
  @Test func theFilesOfAKilledCopyGo() throws {
    defer { removeFiles() }
    try make(.sqlite)
    func leave() throws {
      for name in ["copy-copying", "copy-copying-data"] {
        try Data("rest".utf8).write(to: folder.appending(path: name))
      }
    }
    try leave()
    try copy(to: .sqlite)
    #expect(try copies() == ["copy"])
    for _ in 0..<2 {
      try leave()
      // The second time, there is no store.
      try PersistentStoreCoordinator.destroyPersistentStore(at: target)
      #expect(try copies() == [])
    }
  }

  /// A SQLite file with such rows can be opened. An XML or binary file with such rows cannot.
  @Test(arguments: StoreKind.whole) func rowsThatNobodyCouldOpenAreNotCopied(_ kind: StoreKind) throws {
    defer { removeFiles() }
    try make(.sqlite)
    let changes: [(change: String, undoing: String, reason: StoreFormatError.Reason)] = [
      (
        "UPDATE Review SET stars = 70000", "UPDATE Review SET stars = 3",
        .invalidValue(entity: "Review", property: "stars", key: 1)
      ),
      (
        "UPDATE Publication SET author = 99", "UPDATE Publication SET author = 1",
        .danglingReference(entity: "Publication", key: 1, destination: "Author")
      ),
    ]
    for (change, undoing, reason) in changes {
      let pragmas = "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; "
      try PlainSQL.run(pragmas + change, at: url)
      #expect {
        try copy(to: kind)
      } throws: { error in
        if case StoreError.unreadable(_, let found) = error { found.reason == reason } else { false }
      }
      #expect(!FileManager.default.fileExists(atPath: target.path))
      try PlainSQL.run(pragmas + undoing, at: url)
    }
    try copy(to: kind)
    _ = try PersistentStoreCoordinator(for: LibraryModel.self, at: kind.location(target))
  }

  /// No format has a place for such a row, so a copy would silently lack it.
  @Test(arguments: StoreKind.whole + [.sqlite], ["Scroll", "Publication"])
  func rowsOfUnknownAndAbstractEntitiesAreNotLost(_ kind: StoreKind, _ entity: String) throws {
    defer { removeFiles() }
    try make(.sqlite)
    try PlainSQL.run("UPDATE Publication SET _entity = '\(entity)'", at: url)
    #expect {
      try copy(to: kind)
    } throws: { error in
      guard case StoreError.unreadable(_, let found) = error else { return false }
      return found.reason == .unknownEntity(entity)
    }
    #expect(try copies() == [])
  }
}
