import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Batches that reach a second store on the server over more than one relationship, while another program saves to it.
@Suite(.needsServer) struct DistantBatchTests {
  private let shelves: ServerStore
  private let houses: ServerStore
  private let proxy: TestProxy

  init() throws {
    shelves = try ServerStore()
    houses = try ServerStore()
    proxy = try TestProxy(to: shelves.server)
  }

  /// A house's cost is its fee and the pages of the books on its shelves. Shelves and books are in a store of their own.
  private static let model: ManagedObjectModel = {
    var cost = AttributeDescription(name: "cost", type: .int64, isOptional: true)
    cost.derivation = try? ValueExpression(format: "fee + shelves.@sum.total")
    var total = AttributeDescription(name: "total", type: .int64, isOptional: true)
    total.derivation = try? ValueExpression(format: "books.@sum.pages")
    let entities = [
      EntityDescription(
        name: "House", attributes: [AttributeDescription(name: "fee", type: .int64), cost],
        relationships: [
          RelationshipDescription(name: "shelves", destination: "Shelf", isToMany: true, inverse: "house")
        ]),
      EntityDescription(
        name: "Shelf", attributes: [total],
        relationships: [
          RelationshipDescription(name: "house", destination: "House", inverse: "shelves"),
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "shelf"),
        ]),
      EntityDescription(
        name: "Book", attributes: [AttributeDescription(name: "pages", type: .int64)],
        relationships: [RelationshipDescription(name: "shelf", destination: "Shelf", inverse: "books")]),
      EntityDescription(name: "Note", attributes: [AttributeDescription(name: "text", type: .string)]),
    ]
    return ManagedObjectModel(
      name: "Houses", id: UUID(uuidString: "5B7E2D3E-9B07-4B1C-8C55-4B9C7C7B3A15") ?? UUID(),
      versions: [
        ModelVersion(
          number: 1, entities: entities,
          configurations: [
            ConfigurationDescription(name: "Houses", entities: ["House"]),
            ConfigurationDescription(name: "Shelves", entities: ["Shelf", "Book", "Note"]),
          ])
      ], currentVersionNumber: 1)
  }()

  private func coordinator(through proxy: TestProxy? = nil) throws -> PersistentStoreCoordinator {
    func location(_ store: ServerStore) -> StoreLocation {
      var server = store.server
      if let proxy { server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)] }
      return .server(server)
    }
    return try PersistentStoreCoordinator(
      model: Self.model,
      stores: [
        PersistentStoreDescription(location(shelves), configuration: "Shelves"),
        PersistentStoreDescription(location(houses), configuration: "Houses"),
      ])
  }

  private func context(through proxy: TestProxy? = nil) throws -> ManagedObjectContext {
    PersistentContainer(try coordinator(through: proxy)).newContext()
  }

  @Test func savesToStoresThatABatchDoesNotReachDoNotMatter() throws {
    let context = try context(through: proxy)
    try context.insert(entityNamed: "Note").setValue("a", forKey: "text")
    try context.save()
    let others = try coordinator()
    let updates = Mutex(0)
    proxy.decide { statements in
      guard statements.contains(where: { $0.hasPrefix("UPDATE") && $0.contains("Note") }) else {
        return .forward
      }
      updates.withLock { $0 += 1 }
      do {
        let other = PersistentContainer(others).newContext()
        try other.insert(entityNamed: "House").setValue(Int64(1), forKey: "fee")
        try other.save()
      } catch { Issue.record(error) }
      return .forward
    }
    let result = try context.execute(
      BatchUpdateRequest(
        FetchRequest<ManagedObject>(entityName: "Note"), set: [.set("text", to: .attribute(.string("b")))]))
    proxy.decide { _ in .forward }
    #expect(result.count == 1)
    // A batch that others have disturbed begins again.
    #expect(updates.withLock { $0 } == 1)
  }

  /// Who writes to one store needs no right to write to another one that is open for reading only.
  @Test(arguments: [PostgresServer.Features.postgresql, .common])
  func aStoreThatMayOnlyBeReadPreventsNoSaves(features: PostgresServer.Features) throws {
    _ = try coordinator()
    let role = try shelves.createWriter()
    defer { shelves.drop(role) }
    let other = SQLText.quoted(houses.server.schema)
    try houses.sql("GRANT USAGE ON SCHEMA \(other) TO \(role)")
    try houses.sql("GRANT SELECT ON ALL TABLES IN SCHEMA \(other) TO \(role)")
    func description(
      _ store: ServerStore, _ configuration: String, isReadOnly: Bool
    ) -> PersistentStoreDescription {
      var server = store.server
      server.user = role
      server.features = features
      return PersistentStoreDescription(
        .server(server), configuration: configuration, isReadOnly: isReadOnly)
    }
    let container = PersistentContainer(
      try PersistentStoreCoordinator(
        model: Self.model,
        stores: [
          description(shelves, "Shelves", isReadOnly: false), description(houses, "Houses", isReadOnly: true),
        ]))
    let context = container.newContext()
    try context.insert(entityNamed: "Note").setValue("a", forKey: "text")
    try context.save()
    let result = try context.execute(
      BatchUpdateRequest(
        FetchRequest<ManagedObject>(entityName: "Note"), set: [.set("text", to: .attribute(.string("b")))]))
    #expect(result.count == 1)
    #expect(try context.objects(forEntityNamed: "House", format: "TRUEPREDICATE").isEmpty)
  }

  @Test(arguments: [false, true])
  func whatIsDerivedFarAwayReadsTheNewestValues(isDeletion: Bool) throws {
    let context = try context(through: proxy)
    let house = try context.insert(entityNamed: "House")
    try house.setValue(Int64(1), forKey: "fee")
    let shelf = try context.insert(entityNamed: "Shelf")
    try shelf.setValue(house, forKey: "house")
    let book = try context.insert(entityNamed: "Book")
    try book.setValue(Int64(10), forKey: "pages")
    try book.setValue(shelf, forKey: "shelf")
    try context.save()
    let others = try coordinator()
    let hasSaved = Mutex(false)
    proxy.decide { statements in
      let isDerivation = statements.contains { $0.hasPrefix("UPDATE") && $0.contains("cost") }
      guard isDerivation,
        hasSaved.withLock({ hasSaved in
          defer { hasSaved = true }
          return !hasSaved
        })
      else { return .forward }
      do {
        let other = PersistentContainer(others).newContext()
        for house in try other.objects(forEntityNamed: "House", format: "TRUEPREDICATE") {
          try house.setValue(Int64(5), forKey: "fee")
        }
        try other.save()
      } catch { Issue.record(error) }
      return .forward
    }
    let books = FetchRequest<ManagedObject>(entityName: "Book")
    if isDeletion {
      try context.execute(BatchDeleteRequest(books))
    } else {
      try context.execute(BatchUpdateRequest(books, set: [.set("pages", to: .attribute(.int(20)))]))
    }
    proxy.decide { _ in .forward }
    #expect(hasSaved.withLock { $0 })
    let houses = try self.context().objects(forEntityNamed: "House", format: "TRUEPREDICATE")
    #expect(try houses.map { try $0.value(forKey: "cost") } == [.attribute(.int(isDeletion ? 5 : 25))])
  }
}
