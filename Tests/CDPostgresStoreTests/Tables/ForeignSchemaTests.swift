import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Metadata that name schemas of other stores. A user who may write only to the store's own schema could have written such
/// names. A program of a user with more rights must not read or drop the tables in these schemas.
@Suite(.needsServer) struct ForeignSchemaTests {
  private func setEntry(_ key: String, _ value: String, _ store: ServerStore) throws {
    try store.sql(
      #"INSERT INTO \#(store.table("_cdgen_metadata")) ("key", "value") VALUES (?, ?) "#
        + #"ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value""#,
      [.value(.string(key)), .value(.string(value))])
  }

  @Test(arguments: [false, true]) func tablesOfOthersAreNotDropped(isCommon: Bool) throws {
    let (store, other) = (try ServerStore(), try ServerStore())
    try other.context().addBook("precious").managedObjectContext?.save()
    _ = try store.context()
    for name in [other.server.schema, "\(store.server.schema)~", "\(store.server.schema)~x", "public"] {
      try setEntry(
        SchemaRecord.metadataKey, #"{"number":3,"unused":{"\#(name)":["Book","Book.tags"]}}"#, store)
      #expect(throws: StoreError.self) {
        try store.coordinator { if isCommon { $0.features = .common } }
      }
      try setEntry(
        SchemaRecord.metadataKey,
        #"{"attempt":{"schema":"\#(name)","tables":["Book"]},"number":3,"unused":{}}"#, store)
      #expect(throws: StoreError.self) {
        try PersistentStoreCoordinator.destroyPersistentStore(at: .server(store.server))
      }
    }
    #expect(try other.context().titles() == ["precious"])
  }

  @Test(arguments: [false, true]) func tablesOfOthersAreNotRead(isCommon: Bool) throws {
    let (store, other) = (try ServerStore(), try ServerStore())
    try other.context().addBook("secret").managedObjectContext?.save()
    try store.context().addBook("own").managedObjectContext?.save()
    try setEntry(StoreSchemas.metadataKey, other.server.schema, store)
    let titles = try? store.context { if isCommon { $0.features = .common } }.titles()
    #expect(titles != ["secret"])
    #expect(try other.context().titles() == ["secret"])
  }

  @Test(arguments: [
    "shop", "Ein \"Laden\"~2", String(repeating: "ü", count: 31), String(repeating: "a", count: 63),
  ])
  func namesAreFoundAgain(own: String) {
    for number in [2, 3, 17, 999] {
      #expect(StoreSchemas.isSchema(StoreSchemas.beside(own, number: number), of: own))
      #expect(!StoreSchemas.isSchema(StoreSchemas.beside("b" + own, number: number), of: own))
    }
    for name in ["public", "", own + "~", own + "~x", own + "2", "~2", own + "~-1~2"] {
      #expect(!StoreSchemas.isSchema(name, of: own))
    }
  }
}
