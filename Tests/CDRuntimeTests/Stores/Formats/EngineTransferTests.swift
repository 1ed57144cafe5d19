import Foundation
import Testing

@testable import CDRuntime

/// Stores of an engine that is neither SQLite nor a server, and has no SQL: all that it needs is in the interface of the
/// engines.
@Suite(.onceForAllKinds) struct EngineTransferTests {
  private let fixture: MigrationFixture
  private var plain: StoreLocation { StoreKind.plain.location(fixture.url) }
  private var shownURL: URL { StoreKind.plain.shownURL(fixture.url) }

  init() throws { fixture = try MigrationFixture() }

  private func fill(_ location: StoreLocation) throws -> [URL] {
    let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: location)
    let context = ManagedObjectContext(coordinator)
    let author = Author(name: "Thoreau", in: context)
    author.friends = [author, Author(name: "Emerson", in: context)]
    let book = Book(title: "Walden", isbn: "1-2", author: author, in: context)
    book.price = Decimal(string: "9.99") ?? 0
    book.added = Date(timeIntervalSinceReferenceDate: 0.25)
    for stars in [3, 1, 2] { book.addToReviews(Review(stars: Int16(stars), in: context)) }
    for name in ["b", "a"] { book.tags.append(Tag(name: name, in: context)) }
    try context.save()
    let id = try #require(coordinator.storeIDs.first)
    try coordinator.setMetadata(["key": "value"], forStore: id)
    return [book.objectID.uriRepresentation, author.objectID.uriRepresentation]
  }

  private func check(_ location: StoreLocation, _ uris: [URL]) throws {
    let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: location)
    let context = ManagedObjectContext(coordinator)
    let book = try #require(try Book.objects(in: context).first)
    #expect([book.objectID.uriRepresentation, book.author.objectID.uriRepresentation] == uris)
    #expect(book.price == Decimal(string: "9.99"))
    #expect(book.added == Date(timeIntervalSinceReferenceDate: 0.25))
    #expect(book.reviews.map(\.stars) == [3, 1, 2])
    #expect(Set(book.tags.map(\.name)) == ["a", "b"])
    #expect(Set(book.author.friends.map(\.name)) == ["Thoreau", "Emerson"])
    #expect(try coordinator.history().count == 1)
    let id = try #require(coordinator.storeIDs.first)
    #expect(try coordinator.metadata(forStore: id)?.values == ["key": "value"])
    #expect(try coordinator.verify() == [])
    let new = Author(name: "new", in: context)
    #expect(!uris.contains(new.objectID.uriRepresentation))
  }

  @Test func aStoreIsOpenedAgainAndCopied() throws {
    defer { StoreKind.plain.drop(fixture.url) }
    let uris = try fill(plain)
    try check(plain, uris)
    let file = fixture.folder.appending(path: "copy.sqlite")
    try PersistentStoreCoordinator.copyPersistentStore(at: plain, to: .sqlite(file))
    try check(.sqlite(file), uris)
    let back = fixture.folder.appending(path: "back")
    defer { StoreKind.plain.drop(back) }
    try PersistentStoreCoordinator.copyPersistentStore(
      at: .sqlite(file), to: StoreKind.plain.location(back))
    try check(StoreKind.plain.location(back), uris)
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator.copyPersistentStore(at: plain, to: StoreKind.plain.location(back))
    }
    #expect("\(try #require(error))".contains("already"))
  }

  @Test func aStoreHasOneOwner() throws {
    defer { StoreKind.plain.drop(fixture.url) }
    let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: plain)
    #expect(throws: StoreError.inUse(shownURL)) {
      try PersistentStoreCoordinator(for: LibraryModel.self, at: plain)
    }
    try coordinator.removePersistentStore(withID: coordinator.storeIDs[0])
    _ = try PersistentStoreCoordinator(for: LibraryModel.self, at: plain)
    try StoreKind.plain.destroy(fixture.url)
    #expect(try !StoreKind.plain.exists(fixture.url))
  }

  /// An engine without SQL shows the steps of the copy, and is migrated row by row.
  @Test func aMigrationIsRehearsedAndMade() throws {
    defer { StoreKind.plain.drop(fixture.url) }
    let versions = MigrationChainTests.line[..<3]
    do {
      let context = ManagedObjectContext(
        try PersistentStoreCoordinator(model: MigrationChainTests.model(versions[..<1]), at: plain))
      try MigrationChainTests.fill(context)
      try context.save()
    }
    let model = try MigrationChainTests.model(versions)
    let report = try MigrationRehearsal(PersistentStoreDescription(plain), model: model).run()
    #expect(report.succeeds && report.reached == 3)
    #expect(report.steps.first?.statements.isEmpty == false)
    #expect(try StoreKind.plain.metadata(fixture.url).modelVersion.number == 1)
    let coordinator = try PersistentStoreCoordinator(model: model, at: plain)
    #expect(coordinator.migrations.map { [$0.source, $0.destination] } == [[1, 3]])
    #expect(coordinator.migrations.map(\.storeURL) == [shownURL])
    let items = try ManagedObjectContext(coordinator).dictionaries(
      for: FetchRequest<ManagedObject>(entityName: "Item"))
    #expect(items.map { $0["count"]?.attribute } == Array(repeating: .int(3), count: 3))
    #expect(try coordinator.verify() == [])
  }
}
