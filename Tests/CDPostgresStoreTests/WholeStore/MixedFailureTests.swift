import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Saves to a file and to a server, over a connection that fails.
@Suite(.needsServer) struct MixedFailureTests {
  private let store: ServerStore
  private let proxy: TestProxy
  private let folder: URL

  static let model = ManagedObjectModel(
    name: "Shelves in two", id: UUID(uuidString: "5B7E2D3E-9B07-4B1C-8C55-4B9C7C7B3A12") ?? UUID(),
    versions: [
      ModelVersion(
        number: 1, entities: ServerStore.version.entities,
        configurations: [
          ConfigurationDescription(name: "Shelves", entities: ["Shelf"]),
          ConfigurationDescription(name: "Books", entities: ["Book", "Tag"]),
        ])
    ], currentVersionNumber: 1)

  init() throws {
    store = try ServerStore()
    proxy = try TestProxy(to: store.server)
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func coordinator(through proxy: TestProxy? = nil) throws -> PersistentStoreCoordinator {
    var server = store.server
    if let proxy { server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)] }
    server.replayTimeout = 5
    return try PersistentStoreCoordinator(
      model: Self.model,
      stores: [
        PersistentStoreDescription(.server(server), configuration: "Shelves"),
        PersistentStoreDescription(.sqlite(folder.appending(path: "books.sqlite")), configuration: "Books"),
      ])
  }

  private func add(_ number: Int, _ context: ManagedObjectContext) throws {
    let shelf = try context.insert(entityNamed: "Shelf")
    try shelf.setValue("shelf \(number)", forKey: "name")
    try context.addBook("book \(number)").setValue(shelf, forKey: "shelf")
  }

  private func check(_ numbers: [Int]) throws {
    let coordinator = try coordinator()
    let context = PersistentContainer(coordinator).newContext()
    #expect(try context.titles().sorted() == numbers.map { "book \($0)" }.sorted())
    #expect(try context.titles("shelf != nil").count == numbers.count)
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Shelf")) == numbers.count)
    #expect(try coordinator.verify() == [])
    #expect(try coordinator.history().count == 2 * numbers.count)
  }

  /// The connection fails at each point of a save: before, at and after the commit. The save is in both stores or in none.
  @Test func aSaveIsInBothOrInNone() throws {
    let context = PersistentContainer(try coordinator(through: proxy)).newContext()
    defer { try? FileManager.default.removeItem(at: folder) }
    var written: [Int] = []
    var number = 0
    try add(0, context)
    try context.save()
    written.append(0)
    enum Failure: CaseIterable { case before, after, serialization, shutdown, refusal }
    for failure in Failure.allCases {
      for place in 0..<4 {
        number += 1
        let passed = Mutex(0)
        let isRefusal = failure == .refusal
        try add(number, context)
        proxy.decide { statements in
          // The refusal comes again at each attempt.
          let current = passed.withLock { passed in
            defer { passed += 1 }
            return passed
          }
          guard current == place || isRefusal && current > place else { return .forward }
          switch failure {
          case .before: return .cutBefore
          case .after: return .cutAfter
          case .serialization: return .fail(code: "40001", at: statements.count - 1)
          case .shutdown: return .fail(code: "57P01", at: 0)
          case .refusal: return .fail(code: "42501", at: 0)
          }
        }
        do {
          try context.save()
          written.append(number)
        } catch {
          #expect(isRefusal, "\(failure) at \(place): \(error)")
          context.rollback()
        }
        proxy.decide { _ in .forward }
        try check(written)
      }
    }
    #expect(written.count >= 17)
  }

  /// The server is away: saves of the file's objects go on, and others fail without writing anything.
  @Test func aServerThatIsAwayStopsOnlyItsOwnSaves() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let context = PersistentContainer(try coordinator(through: proxy)).newContext()
    try add(1, context)
    try context.save()
    let book = try context.objects(forEntityNamed: "Book")[0]
    let shelf = try context.objects(forEntityNamed: "Shelf")[0]
    proxy.decide { _ in .cutBefore }
    try book.setValue("changed", forKey: "title")
    try context.save()
    #expect(try context.titles() == ["changed"])
    try book.setValue("changed again", forKey: "title")
    try shelf.setValue("changed", forKey: "name")
    #expect(throws: StoreError.self) { try context.save() }
    #expect(try PersistentContainer(coordinator()).newContext().titles() == ["changed"])
    proxy.decide { _ in .forward }
    try context.save()
    #expect(try PersistentContainer(coordinator()).newContext().titles() == ["changed again"])
  }

  /// A change was set back here, and another context has changed or deleted the row on the server.
  @Test(arguments: [false, true], [false, true])
  func aChangeThatWasSetBackDoesNotCount(isDeleted: Bool, counts: Bool) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let context = PersistentContainer(try coordinator()).newContext()
    let shelf = try context.insert(entityNamed: "Shelf")
    try shelf.setValue("a", forKey: "name")
    try context.save()
    for name in ["x", "a"] { try shelf.setValue(name, forKey: "name") }
    let other = PersistentContainer(try coordinator()).newContext()
    let same = try other.objects(forEntityNamed: "Shelf")[0]
    if isDeleted { other.delete(same) } else { try same.setValue("b", forKey: "name") }
    try other.save()
    if counts {
      let former = try FetchPredicate(format: "name == 'a'")
      #expect(
        try context.count(for: FetchRequest<ManagedObject>(entityName: "Shelf", where: former)) == 0)
    } else {
      #expect(try context.objects(forEntityNamed: "Shelf") == (isDeleted ? [] : [shelf]))
      if !isDeleted { #expect(try shelf.text("name") == "b") }
    }
    #expect(shelf.isInaccessible == isDeleted)
  }

  /// The server is away: a batch of the file's objects is written once, and the context learns of it at once.
  @Test func aServerThatIsAwayStopsNoBatchOfTheFile() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let context = PersistentContainer(try coordinator(through: proxy)).newContext()
    try add(1, context)
    try context.save()
    let book = try context.objects(forEntityNamed: "Book")[0]
    #expect(try book.text("title") == "book 1")
    proxy.decide { _ in .cutBefore }
    let rows: [[String: FetchedValue]] = [["name": .attribute(.string("tag"))]]
    #expect(
      try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Tag", rows: rows)).count == 1)
    let update = BatchUpdateRequest(
      FetchRequest<ManagedObject>(entityName: "Book"),
      set: [.set("title", to: .attribute(.string("changed")))])
    #expect(try context.execute(update).count == 1)
    #expect(try book.text("title") == "changed")
    proxy.decide { _ in .forward }
    let fresh = PersistentContainer(try coordinator()).newContext()
    #expect(try fresh.count(for: FetchRequest<ManagedObject>(entityName: "Tag")) == 1)
    #expect(try fresh.titles() == ["changed"])
  }

  /// The server is away: the undo of a deletion in the file is saved, because only the file's history matters.
  @Test func aServerThatIsAwayStopsNoUndoInTheFile() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let context = PersistentContainer(try coordinator(through: proxy)).newContext()
    context.undoManager = ContextUndoManager()
    try add(1, context)
    let tag = try context.insert(entityNamed: "Tag")
    try tag.setValue("tag", forKey: "name")
    try context.save()
    context.delete(tag)
    try context.save()
    proxy.decide { _ in .cutBefore }
    context.undoManager?.undo()
    #expect(context.hasChanges)
    try context.save()
    proxy.decide { _ in .forward }
    let fresh = PersistentContainer(try coordinator()).newContext()
    #expect(try fresh.count(for: FetchRequest<ManagedObject>(entityName: "Tag")) == 1)
  }
}
