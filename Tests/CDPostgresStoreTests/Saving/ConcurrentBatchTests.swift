import CDModel
import Foundation
import SeededRandom
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Batches that read rows before they change them, while other programs save.
@Suite(.needsServer) struct ConcurrentBatchTests {
  private let store: ServerStore
  private let proxy: TestProxy

  init() throws {
    store = try ServerStore()
    proxy = try TestProxy(to: store.server)
  }

  /// The shelves have the number of pages of their books.
  private static let model: ManagedObjectModel = {
    var entities = ServerStore.version.entities
    var total = AttributeDescription(name: "total", type: .int64, isOptional: true)
    total.derivation = try? ValueExpression(format: "books.@sum.pages")
    entities[0].attributes.append(total)
    return ManagedObjectModel(
      name: "Counted shelves", id: UUID(uuidString: "0B2D2D3E-9B07-4B1C-8C55-4B9C7C7B3A13") ?? UUID(),
      versions: [ModelVersion(number: 1, entities: entities)], currentVersionNumber: 1)
  }()

  private func coordinator(through proxy: TestProxy? = nil) throws -> PersistentStoreCoordinator {
    var server = store.server
    if let proxy { server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)] }
    return try PersistentStoreCoordinator(model: Self.model, at: .server(server))
  }

  private func context(through proxy: TestProxy? = nil) throws -> ManagedObjectContext {
    PersistentContainer(try coordinator(through: proxy)).newContext()
  }

  /// Lets another program save once, just before the server gets a statement.
  ///
  /// - Parameter start: The start of the statement, and what it contains.
  /// - Returns: Whether it has saved.
  private func withSave(
    before start: (prefix: String, part: String),
    by save: @escaping @Sendable (ManagedObjectContext) throws -> Void,
    _ body: () throws -> Void
  ) throws -> Bool {
    let hasSaved = Mutex(false)
    let coordinator = try coordinator()
    proxy.decide { statements in
      guard statements.contains(where: { $0.hasPrefix(start.prefix) && $0.contains(start.part) }),
        hasSaved.withLock({ hasSaved in
          defer { hasSaved = true }
          return !hasSaved
        })
      else { return .forward }
      do {
        let context = PersistentContainer(coordinator).newContext()
        try save(context)
        try context.save()
      } catch { Issue.record(error) }
      return .forward
    }
    defer { proxy.decide { _ in .forward } }
    try body()
    return hasSaved.withLock { $0 }
  }

  /// The same model with accounts in a store of their own.
  private static let separateModel: ManagedObjectModel = {
    let shelves = model.versions.first?.entities ?? []
    let account = EntityDescription(
      name: "Account", attributes: [AttributeDescription(name: "name", type: .string)])
    return ManagedObjectModel(
      name: "Accounts", id: UUID(uuidString: "0B2D2D3E-9B07-4B1C-8C55-4B9C7C7B3A19") ?? UUID(),
      versions: [
        ModelVersion(
          number: 1, entities: [account] + shelves,
          configurations: [
            ConfigurationDescription(name: "Accounts", entities: ["Account"]),
            ConfigurationDescription(name: "Shelves", entities: shelves.map(\.name)),
          ])
      ], currentVersionNumber: 1)
  }()

  private static func book(_ title: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.objects(forEntityNamed: "Book", format: "title == '\(title)'").first)
  }

  @Test func aRowThatNoLongerMatchesIsNotDeleted() throws {
    let context = try context(through: proxy)
    try context.addBook("a", pages: 1)
    try context.addBook("b", pages: 1)
    try context.save()
    let hasSaved = try withSave(before: ("DELETE FROM", "Book")) {
      try Self.book("a", $0).setValue(Int64(2), forKey: "pages")
    } _: {
      let result = try context.execute(
        BatchDeleteRequest(
          FetchRequest<ManagedObject>(entityName: "Book", where: FetchPredicate(format: "pages == 1"))))
      #expect(result.count == 1 && result.changes.deleted.count == 1)
    }
    #expect(hasSaved)
    #expect(try self.context().titles() == ["a"])
  }

  @Test func aReferenceThatOthersHaveSetIsCounted() throws {
    let context = try context(through: proxy)
    let shelves = try ["x", "y"].map { name in
      let shelf = try context.insert(entityNamed: "Shelf")
      try shelf.setValue(name, forKey: "name")
      return shelf
    }
    try context.addBook("a", pages: 1).setValue(shelves[0], forKey: "shelf")
    try context.addBook("b", pages: 10).setValue(shelves[0], forKey: "shelf")
    try context.save()
    let target = shelves[1].objectID
    // While the batch changes one book, another program moves the other one.
    let hasSaved = try withSave(before: ("UPDATE", "total")) { other in
      try Self.book("b", other).setValue(other.existingObject(with: target), forKey: "shelf")
    } _: {
      try context.execute(
        BatchUpdateRequest(
          FetchRequest<ManagedObject>(entityName: "Book", where: FetchPredicate(format: "title == 'a'")),
          set: [.set("pages", to: .attribute(.int(5)))]))
    }
    #expect(hasSaved)
    #expect(try totals() == ["x": 5, "y": 10])
  }

  @Test func aValueIsCalculatedFromTheNewestOne() throws {
    let context = try context(through: proxy)
    try context.addBook("a", pages: 1)
    try context.save()
    let hasSaved = try withSave(before: ("UPDATE", "Book")) {
      try Self.book("a", $0).setValue("b", forKey: "title")
    } _: {
      try context.execute(
        BatchUpdateRequest(
          FetchRequest<ManagedObject>(entityName: "Book"),
          set: [.set("title", to: ValueExpression(format: "uppercase:(title)"))]))
    }
    #expect(hasSaved)
    #expect(try self.context().titles() == ["B"])
  }

  /// An import cannot begin again. So it keeps others from saving before it reads what it derives attributes from, also if
  /// the objects are not in the store of the model's first entity.
  @Test func nobodySavesWhileAnImportDerives() throws {
    let accounts = try ServerStore()
    func coordinator(
      through proxy: TestProxy? = nil, busyTimeout: Double = 10
    ) throws -> PersistentStoreCoordinator {
      func description(_ store: ServerStore, _ configuration: String) -> PersistentStoreDescription {
        var server = store.server
        if let proxy { server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)] }
        return PersistentStoreDescription(
          .server(server), configuration: configuration, busyTimeout: busyTimeout)
      }
      return try PersistentStoreCoordinator(
        model: Self.separateModel,
        stores: [description(accounts, "Accounts"), description(store, "Shelves")])
    }
    let context = PersistentContainer(try coordinator(through: proxy)).newContext()
    let shelf = try context.insert(entityNamed: "Shelf")
    try shelf.setValue("x", forKey: "name")
    try context.addBook("a", pages: 1).setValue(shelf, forKey: "shelf")
    try context.save()
    let key = shelf.objectID.number
    let others = try coordinator(busyTimeout: 0)
    let refusals = Mutex<[Bool]>([])
    proxy.decide { statements in
      guard statements.contains(where: { $0.hasPrefix("UPDATE") && $0.contains("total") }) else {
        return .forward
      }
      var isRefused = false
      do {
        let other = PersistentContainer(others).newContext()
        try Self.book("a", other).setValue(Int64(5), forKey: "pages")
        try other.save()
      } catch StoreError.busy { isRefused = true } catch { Issue.record(error) }
      refusals.withLock { $0.append(isRefused) }
      return .forward
    }
    try context.importObjects { objects in
      let first = try objects.firstKey(ofEntity: "Book")
      try objects.insert(entity: "Book", key: first, references: [("shelf", key)], size: 0) { book in
        try book.setValue("b", forKey: "title")
        try book.setValue(Int64(10), forKey: "pages")
      }
    }
    proxy.decide { _ in .forward }
    #expect(refusals.withLock { $0 } == [true])
    #expect(try totals(PersistentContainer(others).newContext()) == ["x": 11])
    #expect(try others.verify() == [])
  }

  /// A save refuses a reference to a missing row in its first transaction, also if it derives attributes from other objects.
  @Test func aDanglingReferenceIsFoundBeforeAttributesAreDerivedAgain() throws {
    let context = try context(through: proxy)
    let shelf = try context.insert(entityNamed: "Shelf")
    try shelf.setValue("x", forKey: "name")
    let tag = try context.insert(entityNamed: "Tag")
    try tag.setValue("t", forKey: "name")
    try context.save()
    let book = try context.addBook("a", pages: 3)
    try book.setValue(shelf, forKey: "shelf")
    try book.setValue([tag], forKey: "tags")
    try store.sql("DELETE FROM \(store.table("Tag"))")
    #expect(throws: SaveError.danglingReferences([book.objectID])) { try context.save() }
    // The merge policy is asked, and gives the reference up.
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    let fresh = try self.context()
    #expect(try fresh.titles("shelf.total == 3") == ["a"])
    #expect(try fresh.titles("tags.@count == 0") == ["a"])
  }

  /// The same for a batch. It would otherwise run a second time.
  @Test func aBatchWithADanglingReferenceRunsOnce() throws {
    let context = try context(through: proxy)
    let shelf = try context.insert(entityNamed: "Shelf")
    try shelf.setValue("x", forKey: "name")
    try context.save()
    let id = shelf.objectID
    context.delete(shelf)
    try context.save()
    _ = proxy.takeRoundTrips()
    let rows: [[String: FetchedValue]] = [["title": .attribute(.string("a")), "shelf": .object(id)]]
    #expect(throws: BatchError.danglingReferences(entity: "Book")) {
      try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Book", rows: rows))
    }
    let begins = proxy.takeRoundTrips().joined().count { $0.hasPrefix("BEGIN") && $0.hasSuffix("READ WRITE") }
    #expect(begins == 1)
    #expect(try store.count("Book") == 0)
  }

  private func totals(_ other: ManagedObjectContext? = nil) throws -> [String: Int64] {
    let context = try other ?? self.context()
    return try context.perform {
      var result: [String: Int64] = [:]
      for shelf in try context.objects(forEntityNamed: "Shelf", format: "TRUEPREDICATE") {
        if case .attribute(.int(let total)) = try shelf.value(forKey: "total") {
          result[try shelf.text("name") ?? "", default: 0] += total
        }
      }
      return result
    }
  }

  /// Programs that save and programs that write batches, all at once.
  @Test func allTotalsAreRightInTheEnd() throws {
    let shelfCount = 3
    do {
      let context = try context()
      for number in 0..<shelfCount {
        let shelf = try context.insert(entityNamed: "Shelf")
        try shelf.setValue("\(number)", forKey: "name")
      }
      for number in 0..<20 {
        let shelves = try context.objects(forEntityNamed: "Shelf", format: "name == '\(number % shelfCount)'")
        try context.addBook("\(number)", pages: 1).setValue(#require(shelves.first), forKey: "shelf")
      }
      try context.save()
    }
    let coordinator = try coordinator()
    inThreads(4) { thread in
      do {
        var random = SplitMix(seed: UInt64(thread))
        let context = PersistentContainer(coordinator).newContext()
        context.mergePolicy = .overwrite
        for round in 0..<6 { try Self.write(round, thread, context, &random) }
      } catch { Issue.record(error) }
    }
    let context = try context()
    try context.perform {
      for shelf in try context.objects(forEntityNamed: "Shelf", format: "TRUEPREDICATE") {
        guard case .objects(let books) = try shelf.value(forKey: "books") else { continue }
        var pages: Int64 = 0
        for book in books {
          if case .attribute(.int(let number)) = try book.value(forKey: "pages") { pages += number }
        }
        #expect(try shelf.value(forKey: "total") == .attribute(.int(pages)))
      }
    }
    #expect(try coordinator.verify() == [])
  }

  private static func write(
    _ round: Int, _ thread: Int, _ context: ManagedObjectContext, _ random: inout SplitMix
  ) throws {
    let title = "\(Int.random(in: 0..<20, using: &random))"
    let pages = Int64.random(in: 1..<100, using: &random)
    let one = FetchRequest<ManagedObject>(
      entityName: "Book", where: try FetchPredicate(format: "title == '\(title)'"))
    switch (thread + round) % 4 {
    case 0:
      for book in try context.fetch(one) { try book.setValue(pages, forKey: "pages") }
      try context.save()
    case 1: try context.execute(BatchUpdateRequest(one, set: [.set("pages", to: .attribute(.int(pages)))]))
    case 2: try context.execute(BatchDeleteRequest(one))
    default:
      guard let shelf = try context.objects(forEntityNamed: "Shelf", format: "TRUEPREDICATE").first else {
        return
      }
      let row: [String: FetchedValue] = [
        "title": .attribute(.string(title)), "pages": .attribute(.int(pages)),
        "shelf": .object(shelf.objectID),
      ]
      try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Book", rows: [row, row]))
    }
  }
}
