import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One store of a server: a schema.
final class PostgresStore: AttachedStore {
  let index: Int
  /// The address, without the user and the password.
  let url: URL
  let storeID: UUID
  let isReadOnly: Bool
  let schema: String
  /// The hash of the data of the store's version.
  let dataHash: String
  var isInMemory: Bool { false }
  // The rows have all values.
  var files: ExternalFiles? { nil }
  var migration: MigrationResult? { nil }

  init(index: Int, url: URL, storeID: UUID, isReadOnly: Bool, schema: String, dataHash: String) {
    self.index = index
    self.url = url
    self.storeID = storeID
    self.isReadOnly = isReadOnly
    self.schema = schema
    self.dataHash = dataHash
  }

  // Each transaction checks the version.
  func checkIdentity() throws(StoreError) {}
}
