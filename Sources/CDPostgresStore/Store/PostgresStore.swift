import CDCombinedStores
public import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One store of a server.
final class PostgresStore: AttachedStore {
  let index: Int
  /// The address, without the user and the password.
  let url: URL
  let storeID: UUID
  let isReadOnly: Bool
  let schemas: StoreSchemas
  /// The hash of the data of the store's version.
  let dataHash: String
  /// The identifier of the last migration; nil if no migration has marked the store.
  let lastMigration: String?
  /// Whether foreign keys check the references at the end of a transaction. If not, the program checks them.
  let hasForeignKeys: Bool
  var isInMemory: Bool { false }
  // The rows have all values.
  var files: ExternalFiles? { nil }
  let migration: MigrationResult?

  init(
    index: Int, url: URL, storeID: UUID, isReadOnly: Bool, schemas: StoreSchemas, dataHash: String,
    lastMigration: String?, hasForeignKeys: Bool, migration: MigrationResult?
  ) {
    self.index = index
    self.url = url
    self.storeID = storeID
    self.isReadOnly = isReadOnly
    self.schemas = schemas
    self.dataHash = dataHash
    self.lastMigration = lastMigration
    self.hasForeignKeys = hasForeignKeys
    self.migration = migration
  }

  // Each transaction checks the version.
  func checkIdentity() throws(StoreError) {}
}

extension StoreLocation {
  /// A schema of a database of a PostgreSQL server. It is created if it does not exist.
  ///
  /// A coordinator can also have stores in files, but its stores on servers must be schemas of one database.
  /// <doc:StoresOnAServer> says what such a store does differently.
  ///
  /// ```swift
  /// let server = PostgresServer(host: "db.example.com", database: "library", schema: "tenant_7")
  /// let container = try PersistentContainer(for: LibraryModel.self, at: .server(server))
  /// ```
  public static func server(_ server: PostgresServer) -> StoreLocation {
    .engine(
      StoreEngineLocation(
        name: server.address, engine: "PostgreSQL", details: server,
        transfer: PostgresTransfer(server: server), combine: combinedEngine
      ) { stores, model in
        try PostgresEngine(stores, model)
      })
  }

  /// The schema of a URL such as `postgresql://host/database?schema=tenant_7`.
  ///
  /// - Throws: ``ServerURLError``.
  public static func server(url: String) throws(ServerURLError) -> StoreLocation {
    .server(try PostgresServer(url: url))
  }
}

extension StoreSettings {
  /// The server of the store; nil for a store of another engine.
  var server: PostgresServer? {
    if case .engine(let location) = location { location.details as? PostgresServer } else { nil }
  }
}
