@testable import CDRuntime

// What SQLite has behind a coordinator and a context, for tests of just that.
extension PersistentStoreCoordinator {
  /// - Throws: ``StoreError/notSupported(_:)`` for another engine.
  var database: SQLiteDatabase {
    get throws {
      guard let database = engine as? SQLiteDatabase else { throw StoreError.notSupported("tables") }
      return database
    }
  }
}

extension ManagedObjectContext {
  /// The connection that the context reads by.
  func connection() throws -> SQLiteConnection {
    guard let session = try reader() as? SQLiteSession else { throw StoreError.notSupported("statements") }
    return session.connection
  }
}
