import CDModel
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// What migrations on a server make of owners, privileges and row level security.
@Suite(.needsServer) struct MigrationRightsTests {
  private func giveTables(of store: ServerStore, to role: String) throws {
    let names = try store.sql(
      "SELECT CAST(tablename AS text) FROM pg_tables WHERE schemaname = ?",
      [.value(.string(store.server.schema))])
    for row in 0..<names.rowCount {
      try store.sql("ALTER TABLE \(store.table(names.string(row, 0) ?? "")) OWNER TO \(role)")
    }
  }

  private func owner(of table: String, _ store: ServerStore) throws -> String? {
    let result = try store.sql(
      "SELECT CAST(pg_get_userbyid(relowner) AS text) FROM pg_class WHERE oid = CAST(? AS regclass)",
      [.value(.string(store.table(table)))])
    return result.string(0, 0)
  }

  private func may(
    _ role: String, _ privilege: String, _ table: String, _ store: ServerStore
  ) throws -> Bool {
    let result = try store.sql(
      "SELECT has_table_privilege(?, CAST(? AS text), '\(privilege)')",
      [.value(.string(role)), .value(.string(store.table(table)))])
    return result.bool(0, 0)
  }

  /// Drops roles. The tables that they own stay.
  private func drop(_ roles: String..., of store: ServerStore) throws {
    let list = roles.joined(separator: ", ")
    for sql in ["REASSIGN OWNED BY \(list) TO current_user", "DROP OWNED BY \(list)", "DROP ROLE \(list)"] {
      try store.sql(sql)
    }
  }

  /// A user who may not create schemas migrates too, and other users keep their rights. Beside the store's own schema,
  /// somebody else has to create one.
  @Test(arguments: MovedShelves.Way.allCases)
  func rightsStay(way: MovedShelves.Way) throws {
    let store = try way.store()
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let role = "role_\(UInt32.random(in: 0 ... .max))"
    let reader = role + "_reader"
    let schema = SQLText.quoted(store.server.schema)
    for sql in [
      "CREATE ROLE \(role) LOGIN", "CREATE ROLE \(reader) LOGIN",
      "GRANT USAGE ON SCHEMA \(schema) TO \(reader)", "GRANT SELECT ON \(store.table("Book")) TO \(reader)",
      "GRANT SELECT (name) ON \(store.table("Tag")) TO \(reader)",
      "ALTER SCHEMA \(schema) OWNER TO \(role)",
    ] { try store.sql(sql) }
    if way == .beside {
      try store.sql("CREATE SCHEMA \(SQLText.quoted(store.server.schema + "~2")) AUTHORIZATION \(role)")
    }
    try giveTables(of: store, to: role)
    var server = store.server
    server.user = role
    let coordinator = try PersistentStoreCoordinator(model: way.model, at: .server(server))
    #expect(coordinator.migrations.count == 1)
    #expect(try MovedShelves.places(coordinator) == ["top"])
    server.user = reader
    let connection = try PostgresConnection.open(server, toWrite: false)
    #expect(try connection.run("SELECT count(*) FROM \(store.table("Book"))").int(0, 0) == 1)
    connection.close()
    // The next migration is another user's, who may create schemas.
    var version = try #require(way.model.version(2))
    version.number = 3
    version.basedOn = [2]
    version.entities[1].attributes[4].isOptional = true
    version.entities[1].attributes[4].defaultValue = nil
    let third = ManagedObjectModel(
      name: ServerStore.model.name, id: ServerStore.model.id, versions: way.model.versions + [version],
      currentVersionNumber: 3)
    let later = try PersistentStoreCoordinator(model: third, at: .server(store.server))
    #expect(later.migrations.count == 1)
    #expect(try owner(of: "Book", store) == role)
    for user in [role, reader] {
      server.user = user
      let connection = try PostgresConnection.open(server, toWrite: false)
      #expect(try connection.run("SELECT count(*) FROM \(store.table("Book"))").int(0, 0) == 1)
      #expect(try connection.run("SELECT count(name) FROM \(store.table("Tag"))").int(0, 0) == 0)
      connection.close()
    }
    try drop(role, reader, of: store)
  }

  /// A user who does not belong to the role that owns the tables, or belongs to it without all rights of a member, owns the
  /// new ones, and the former owner may use them.
  @Test(arguments: MovedShelves.Way.allCases, [false, true])
  func aUserMigratesTheTablesOfAnother(way: MovedShelves.Way, isMember: Bool) throws {
    let store = try way.store()
    let version = try store.sql("SELECT CAST(current_setting('server_version_num') AS bigint)").int(0, 0)
    try migrateTablesOfAnother(store, way) { role, former, schema in
      var statements: [String] = []
      if isMember {
        statements.append("GRANT CREATE ON SCHEMA \(SQLText.quoted(schema)) TO \(former)")
        if version >= 160_000 {
          // Whoever inherits the rights of the owner can change the tables where they are.
          let inherits = way == .inPlace ? "FALSE" : "TRUE"
          statements.append("GRANT \(former) TO \(role) WITH INHERIT \(inherits), SET FALSE")
        } else {
          statements += ["ALTER ROLE \(role) NOINHERIT", "GRANT \(former) TO \(role)"]
        }
      }
      if way == .beside {
        statements.append("CREATE SCHEMA \(SQLText.quoted(schema + "~2")) AUTHORIZATION \(role)")
      }
      return statements
    }
  }

  /// Somebody else has created the new schema, and the role may not own tables in it.
  @Test func aMemberMigratesTheTablesOfARoleToTheSchemaOfAnother() throws {
    let way = MovedShelves.Way.beside
    try migrateTablesOfAnother(try way.store(), way) { role, former, schema in
      let beside = SQLText.quoted(schema + "~2")
      return [
        "GRANT CREATE ON SCHEMA \(SQLText.quoted(schema)) TO \(former)", "GRANT \(former) TO \(role)",
        "CREATE SCHEMA \(beside)", "GRANT USAGE, CREATE ON SCHEMA \(beside) TO \(role)",
      ]
    }
  }

  /// Migrates the tables of a role by a user who cannot give it the new ones.
  ///
  /// - Parameter statements: Further statements about the user, the role, and the store's schema.
  private func migrateTablesOfAnother(
    _ store: ServerStore, _ way: MovedShelves.Way,
    _ statements: (_ role: String, _ former: String, _ schema: String) -> [String]
  ) throws {
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let role = "role_\(UInt32.random(in: 0 ... .max))"
    let former = role + "_former"
    let schema = SQLText.quoted(store.server.schema)
    let common = [
      "CREATE ROLE \(role) LOGIN", "CREATE ROLE \(former)", "ALTER SCHEMA \(schema) OWNER TO \(role)",
      "GRANT USAGE ON SCHEMA \(schema) TO \(former)",
      "GRANT ALL ON ALL TABLES IN SCHEMA \(schema) TO \(role)",
    ]
    for sql in common + statements(role, former, store.server.schema) { try store.sql(sql) }
    try giveTables(of: store, to: former)
    var server = store.server
    server.user = role
    let coordinator = try PersistentStoreCoordinator(model: way.model, at: .server(server))
    #expect(coordinator.migrations.count == 1)
    #expect(try MovedShelves.places(coordinator) == ["top"])
    #expect(try owner(of: "Book", store) == role)
    #expect(try may(former, "INSERT", "Book", store))
    try drop(role, former, of: store)
  }

  /// A new table would show all rows to everybody who may read it.
  @Test(arguments: [MovedShelves.Way.rows, .beside])
  func aTableWithRowLevelSecurityIsNotReplaced(way: MovedShelves.Way) throws {
    let store = try way.store()
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let table = store.table("Book")
    try store.sql("CREATE POLICY own ON \(table) USING (title = 'b')")
    try store.sql("ALTER TABLE \(table) ENABLE ROW LEVEL SECURITY")
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: way.model, at: .server(store.server))
    }
    guard case .cannotCreate(_, let reason)? = error, reason.contains("'Book'") else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try store.besides() == [])
    #expect(try old.titles() == ["a"])
    try store.sql("ALTER TABLE \(table) DISABLE ROW LEVEL SECURITY")
    let coordinator = try PersistentStoreCoordinator(model: way.model, at: .server(store.server))
    #expect(coordinator.migrations.count == 1)
  }

  @Test(arguments: [MovedShelves.Way.rows, .beside])
  func anErasedDraftKeepsOwnersAndPrivileges(way: MovedShelves.Way) throws {
    let store = try way.store()
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let role = "role_\(UInt32.random(in: 0 ... .max))"
    let reader = role + "_reader"
    for sql in [
      "CREATE ROLE \(role)", "CREATE ROLE \(reader)", "GRANT SELECT ON \(store.table("Book")) TO \(reader)",
      "GRANT SELECT ON \(store.table("_cdgen_metadata")) TO \(reader)",
    ] { try store.sql(sql) }
    try giveTables(of: store, to: role)
    var description = PersistentStoreDescription(.server(store.server))
    description.changedDraftPolicy = .eraseInEveryBuild
    let coordinator = try PersistentStoreCoordinator(model: MovedShelves.changedDraft, stores: [description])
    #expect(coordinator.migrations.map(\.hasErasedStore) == [true])
    for table in ["Book", "_cdgen_metadata"] {
      #expect(try owner(of: table, store) == role)
      #expect(try may(reader, "SELECT", table, store))
    }
    try drop(role, reader, of: store)
  }
}
