import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// The keys that a coordinator reserves for new objects.
@Suite(.needsServer) struct KeyReservationTests {
  /// Another program has locked the counter, as a batch does until it ends.
  @Test func nobodyWaitsForTheCounterLongerThanTheBusyTimeout() throws {
    let store = try ServerStore()
    let first = try store.context()
    try first.addBook("a")
    try first.save()
    let other = try PostgresConnection.open(store.server, toWrite: true)
    try other.run("BEGIN")
    let counter = try other.run(
      "SELECT 1 FROM \(store.table("_cdgen_keys")) WHERE entity = 'Book' FOR UPDATE")
    #expect(counter.rowCount == 1)
    var server = store.server
    server.statementTimeout = 5
    let container = PersistentContainer(
      try PersistentStoreCoordinator(
        model: ServerStore.model,
        stores: [PersistentStoreDescription(.server(server), busyTimeout: 0.2)]))
    let context = container.newContext()
    let error = #expect(throws: StoreError.self) { try context.addBook("b") }
    guard case .busy? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    try other.run("ROLLBACK")
    try context.addBook("b")
    try context.save()
    #expect(try store.count("Book") == 2)
  }

  /// A timeout that is negative or not a number counts as 0. SQLite's stores do the same.
  @Test(arguments: [Double.nan, -.infinity, -1e300, .infinity])
  func anyBusyTimeoutCanBeSet(busyTimeout: Double) throws {
    let store = try ServerStore()
    let description = PersistentStoreDescription(.server(store.server), busyTimeout: busyTimeout)
    let context = PersistentContainer(
      try PersistentStoreCoordinator(model: ServerStore.model, stores: [description])
    ).newContext()
    try context.addBook("a")
    try context.save()
    #expect(try store.count("Book") == 1)
  }

  @Test func aDeadlineThatIsNoNumberIsOver() {
    #expect(Deadline(seconds: .nan).isOver)
    #expect(!Deadline(seconds: .infinity).isOver)
  }
}
