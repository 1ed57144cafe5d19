import CDModel
import CDRuntime
import Foundation
import Testing

@testable import CDPostgresStore

/// The PostgreSQL server that the environment variable `CDGEN_POSTGRES_URL` names.
enum TestServer {
  static let url = ProcessInfo.processInfo.environment["CDGEN_POSTGRES_URL"]

  /// Whether the server was built with a library for encryption.
  static let canEncrypt: Bool = {
    let connection = try? PostgresConnection.open(server("public"), toWrite: false)
    let library = try? connection?.run("SELECT current_setting('ssl_library')").string(0, 0)
    return library?.isEmpty == false
  }()

  /// The server, with a schema that nobody else has.
  static func server(_ schema: String = "test_" + UUID().uuidString) throws -> PostgresServer {
    var server = try PostgresServer(url: try #require(url))
    server.schema = schema
    server.poolSize = 4
    return server
  }
}

extension Trait where Self == ConditionTrait {
  /// For what talks to a server.
  static var needsServer: Self {
    .enabled(if: TestServer.url != nil, "no server: set CDGEN_POSTGRES_URL, or run .ci/postgresql")
  }

  /// For encrypted connections, which not all builds of the server have.
  static var needsEncryption: Self {
    .enabled(if: TestServer.canEncrypt, "the server was built without OpenSSL")
  }
}

/// A store of a small model on the server, which goes with the test.
///
/// Unchecked: the lock protects the contexts, which this object only keeps alive.
final class ServerStore: @unchecked Sendable {
  let server: PostgresServer
  private let lock = NSLock()
  private var contexts: [ManagedObjectContext] = []

  static let version = ModelVersion(
    number: 1,
    entities: [
      EntityDescription(
        name: "Shelf", attributes: [AttributeDescription(name: "name", type: .string)],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "shelf")
        ], uniquenessConstraints: [["name"]]),
      EntityDescription(
        name: "Book",
        attributes: [
          AttributeDescription(name: "title", type: .string),
          AttributeDescription(name: "pages", type: .int64, isOptional: true),
          AttributeDescription(name: "price", type: .decimal, isOptional: true),
          AttributeDescription(name: "added", type: .date, isOptional: true),
        ],
        relationships: [
          RelationshipDescription(name: "shelf", destination: "Shelf", inverse: "books"),
          RelationshipDescription(name: "tags", destination: "Tag", isToMany: true, inverse: "books"),
        ]),
      EntityDescription(
        name: "Tag", attributes: [AttributeDescription(name: "name", type: .string)],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "tags")
        ]),
    ])

  static let model = ManagedObjectModel(
    name: "Shelves", id: UUID(uuidString: "0B2D2D3E-9B07-4B1C-8C55-4B9C7C7B3A11") ?? UUID(),
    versions: [version], currentVersionNumber: 1)

  init(_ change: (inout PostgresServer) -> Void = { _ in }) throws {
    var server = try TestServer.server()
    change(&server)
    self.server = server
  }

  deinit {
    contexts.removeAll()
    do {
      for schema in try [server.schema] + besides() {
        try sql("DROP SCHEMA IF EXISTS \(SQLText.quoted(schema)) CASCADE")
      }
    } catch { Issue.record(error) }
  }

  func coordinator(
    through proxy: TestProxy? = nil, _ change: (inout PostgresServer) -> Void = { _ in }
  ) throws -> PersistentStoreCoordinator {
    var server = server
    if let proxy { server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)] }
    change(&server)
    return try PersistentStoreCoordinator(model: Self.model, at: .server(server))
  }

  /// A context over a coordinator of its own.
  func context(
    through proxy: TestProxy? = nil, _ change: (inout PostgresServer) -> Void = { _ in }
  ) throws -> ManagedObjectContext {
    let context = PersistentContainer(try coordinator(through: proxy, change)).newContext()
    lock.withLock { contexts.append(context) }
    return context
  }

  /// Runs a statement on the server, without a proxy.
  @discardableResult
  func sql(_ text: String, _ parameters: [PostgresParameter] = []) throws -> PostgresResult {
    var direct = try TestServer.server()
    direct.schema = server.schema
    let connection = try PostgresConnection.open(direct, toWrite: true)
    try connection.run("SET client_min_messages = warning")
    return try connection.run(text, parameters)
  }

  /// Creates a user who may write rows and nothing else. ``drop(_:)`` drops the user.
  func createWriter() throws -> String {
    let role = "writer_\(UInt32.random(in: 0 ... .max))"
    let schema = SQLText.quoted(server.schema)
    try sql("CREATE ROLE \(role) LOGIN")
    try sql("GRANT USAGE ON SCHEMA \(schema) TO \(role)")
    try sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO \(role)")
    return role
  }

  /// Drops a role, which owns nothing.
  func drop(_ role: String) {
    do {
      try sql("DROP OWNED BY \(role)")
      try sql("DROP ROLE \(role)")
    } catch { Issue.record(error) }
  }

  /// A table of the store, for ``sql(_:_:)``. After a migration with common features, it may be in another schema.
  func table(_ name: String) -> String { ((try? schemas()) ?? StoreSchemas(server.schema)).table(name) }

  /// The schemas of the store.
  func schemas() throws -> StoreSchemas {
    let exists = try sql(
      "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = '_cdgen_metadata'",
      [.value(.string(server.schema))])
    if exists.rowCount == 0 { return StoreSchemas(server.schema) }
    let pointer = StoreSchemas.pointer(of: server.schema)
    let result = try sql(pointer)
    let name = result.rowCount > 0 ? result.string(0, 0) : nil
    return StoreSchemas(server.schema, entries: name.map { [StoreSchemas.metadataKey: $0] } ?? [:])
  }

  /// The names of the schemas that migrations have created beside the store's own one.
  func besides() throws -> [String] {
    let result = try sql(
      "SELECT CAST(nspname AS text) FROM pg_namespace WHERE starts_with(CAST(nspname AS text), ?) ORDER BY 1",
      [.value(.string(server.schema + "~"))])
    return (0..<result.rowCount).compactMap { result.string($0, 0) }
  }

  /// The names of the tables and views in a schema.
  func tables(in schema: String) throws -> [String] {
    let result = try sql(
      "SELECT CAST(c.relname AS text) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        + "WHERE n.nspname = ? AND c.relkind IN ('r', 'v') ORDER BY 1", [.value(.string(schema))])
    return (0..<result.rowCount).compactMap { result.string($0, 0) }
  }

  /// Returns when statements wait for a lock of a table in the store's own schema. The machine may be slow, so no fixed time
  /// is enough.
  func awaitWaiter(for table: String, count expected: Int = 1) {
    // `table(_:)` reads the metadata, and would wait itself if they are locked.
    let name = StoreSchemas(server.schema).table(table)
    for _ in 0..<3000 {
      let count = try? sql(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = CAST(? AS regclass)",
        [.value(.string(name))]
      ).int(0, 0)
      if let count, count >= expected { return }
      usleep(10_000)
    }
    Issue.record("no statement waited for '\(table)'")
  }

  func count(_ table: String) throws -> Int {
    Int(try sql("SELECT count(*) FROM \(self.table(table))").int(0, 0))
  }
}

extension ManagedObjectContext {
  @discardableResult
  func addBook(_ title: String, pages: Int64? = nil) throws -> ManagedObject {
    let book = try insert(entityNamed: "Book")
    try book.setValue(title, forKey: "title")
    if let pages { try book.setValue(pages, forKey: "pages") }
    return book
  }

  func titles(_ format: String = "TRUEPREDICATE") throws -> [String] {
    try objects(forEntityNamed: "Book", format: format).map { try $0.value(forKey: "title") }.compactMap {
      if case .attribute(.string(let text)) = $0 { return text }
      return nil
    }
  }
}

extension ManagedObject {
  /// The text of an attribute; nil if it has none.
  func text(_ key: String) throws -> String? {
    if case .attribute(.string(let text)) = try value(forKey: key) { return text }
    return nil
  }
}
