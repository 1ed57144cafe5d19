import Foundation
import Testing

/// The commands of `cdstore` with URLs of a server. They need a program that was built with the trait PostgreSQL, and a
/// server: see .ci/postgresql.
@Suite(.enabled(if: CommandServer.isUsable, "no server, or cdstore was built without PostgreSQL"))
struct ServerStoreTests: StoreCommands {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make("Things", in: folder, version: DumpTests.version)
  }

  /// The URL of a store that nobody else has. The server is one of the tests', so that nothing is removed.
  private func url() throws -> String {
    CommandServer.schema("cli_" + UUID().uuidString, try #require(CommandServer.url))
  }

  @Test(arguments: [1, 2, 3] as [UInt64]) func everythingComesBack(seed: UInt64) throws {
    let (first, second) = (try url(), try url())
    try succeed("create", "a", "--model", "Things.cdmodel")
    var random = RandomThings(seed: seed)
    try folder.write(random.file().replacingOccurrences(of: "\\u0000", with: "\\u0001"), to: "data.json")
    try succeed("load", "a", "data.json")
    let dump = try succeed("dump", "a")
    // By a copy, and back.
    try succeed("convert", "a", first)
    #expect(try succeed("dump", first) == dump)
    try succeed("convert", first, "b")
    #expect(try succeed("dump", "b") == dump)
    for store in ["a", "b", first] {
      #expect(try succeed("verify", store).contains("is whole"))
      #expect(try succeed("info", store).contains("Thing"))
    }
    // By a dump, which creates the store. Its objects keep their identifiers.
    try folder.write(dump, to: "dump.jsonl")
    try succeed("load", second, "dump.jsonl")
    #expect(try objects(succeed("dump", second)) == objects(dump))
    #expect(try succeed("verify", second).contains("is whole"))
    // By the objects alone, into a store that is there.
    let third = try url()
    #expect(try succeed("create", third, "--model", "Things.cdmodel").contains("version 1"))
    try succeed("load", third, "data.json")
    #expect(try objects(succeed("dump", third)) == objects(dump))
    #expect(
      try succeed("fetch", third, "Owner", "--sort", "name", "--format", "json")
        .replacing(/cdgen:\/\/[0-9A-F-]{36}/, with: "cdgen://STORE")
        == succeed("fetch", "a", "Owner", "--sort", "name", "--format", "json")
        .replacing(/cdgen:\/\/[0-9A-F-]{36}/, with: "cdgen://STORE"))
  }

  @Test func aLoadThatFailsLeavesNoObjects() throws {
    try succeed("create", "a", "--model", "Things.cdmodel")
    try succeed("load", "a", "-", input: #"{"@entity": "Owner", "name": "x"}"#)
    let dump = try succeed("dump", "a")
    let store = try url()
    let cut = dump.split(separator: "\n").dropLast().joined(separator: "\n")
    let failed = try run("load", store, "-", input: cut)
    #expect(failed.status == 1 && failed.errors.contains("the dump is incomplete"), "\(failed.errors)")
    // With common features, nothing can tell whether others are about to save objects.
    #expect(try run("info", store).status == (store.contains("features=common") ? 0 : 1))
    try succeed("load", store, "-", input: dump)
    #expect(try objects(succeed("dump", store)) == objects(dump))
  }

  /// Values that must be unique, in rows that are sent together.
  @Test func aRefusedRowIsNamedByItsLine() throws {
    let store = try url()
    try succeed("create", store, "--model", "Things.cdmodel")
    var lines = (0..<1500).map { "{\"@entity\": \"Tag\", \"name\": \"tag \($0)\"}" }
    try succeed("load", store, "-", input: lines.joined(separator: "\n"))
    lines = (0..<1500).map { "{\"@entity\": \"Tag\", \"name\": \"new \($0)\"}" }
    lines[1234] = "{\"@entity\": \"Tag\", \"name\": \"new 7\"}"
    let twice = try run("load", store, "-", input: lines.joined(separator: "\n"))
    #expect(twice.status == 1 && twice.errors.contains("line 1235"), "\(twice.errors)")
    lines[1234] = "{\"@entity\": \"Tag\", \"name\": \"tag 7\"}"
    let former = try run("load", store, "-", input: lines.joined(separator: "\n"))
    #expect(former.status == 1 && former.errors.contains("line 1235"), "\(former.errors)")
    #expect(try succeed("fetch", store, "Tag", "--count").contains("1500"))
    lines.remove(at: 1234)
    try succeed("load", store, "-", input: lines.joined(separator: "\n"))
    #expect(try succeed("fetch", store, "Tag", "--count").contains("2999"))
    #expect(try succeed("verify", store).contains("is whole"))
  }

  @Test func theSecondVersion() throws {
    let store = try url()
    try succeed("create", store, "--model", "Things.cdmodel")
    try succeed("load", store, "-", input: #"{"@entity": "Owner", "name": "A"}"#)
    try folder.write(
      DumpTests.version.replacingOccurrences(
        of: "attributes: { name: String }",
        with: "attributes: { name: String, age: { type: Int16, default: 7 } }"),
      to: "Things.cdmodel/2.yaml")
    #expect(
      try succeed("migrate", store, "--model", "Things.cdmodel", "--dry-run", "--sql").contains("on a copy"))
    #expect(try succeed("info", store).contains("version 1"))
    let output = try succeed("migrate", store, "--model", "Things.cdmodel", "--verify")
    #expect(output.contains("version 1 to version 2") && output.contains("the store is whole"))
    #expect(!output.contains("cd@"))
    #expect(try succeed("fetch", store, "Owner", "--format", "json").contains("\"age\":7"))
    #expect(
      try succeed("migrate", store, "--model", "Things.cdmodel").contains("already at version 2"))
  }

  /// All commands, on a store that has been migrated twice. With common features, its tables are in a schema beside.
  @Test func everyCommandAfterMigrations() throws {
    let (store, copy) = (try url(), try url())
    func version(_ number: Int, _ attributes: String) throws {
      try folder.write(
        DumpTests.version.replacingOccurrences(
          of: "attributes: { name: String }", with: "attributes: { \(attributes) }"),
        to: "Things.cdmodel/\(number).yaml")
    }
    func fetch(_ store: String) throws -> String {
      try succeed("fetch", store, "Owner", "--sort", "name", "--format", "json")
    }
    try succeed("create", store, "--model", "Things.cdmodel")
    var random = RandomThings(seed: 4)
    try folder.write(random.file().replacingOccurrences(of: "\\u0000", with: "\\u0001"), to: "data.json")
    try succeed("load", store, "data.json")
    try version(2, "name: String, age: { type: Int16, default: 7 }")
    try version(3, "name: String, age: { type: String, default: none }")
    for number in 2...3 {
      let before = try succeed("dump", store)
      let rehearsal = try succeed(
        "migrate", store, "--model", "Things.cdmodel", "--to", "\(number)", "--dry-run", "--sql")
      #expect(rehearsal.contains("on a copy"), "\(rehearsal)")
      #expect(try succeed("dump", store) == before)
      let output = try succeed(
        "migrate", store, "--model", "Things.cdmodel", "--to", "\(number)", "--verify")
      #expect(output.contains("to version \(number)") && output.contains("the store is whole"), "\(output)")
      let info = try succeed("info", store)
      #expect(info.contains("version \(number)"))
      // With common features, the tables are in a schema beside.
      let isBeside = store.contains("features=common")
      #expect(info.contains("~\(number)'") == isBeside)
      #expect(output.contains("~\(number)'") == isBeside && output.contains("in place") == !isBeside)
      if isBeside {
        let other = try run("info", store + "~\(number)")
        #expect(other.status == 1 && other.errors.contains("tables of the store"), "\(other)")
      }
      #expect(try succeed("verify", store).contains("is whole"))
      try succeed("load", store, "-", input: "{\"@entity\": \"Owner\", \"name\": \"late \(number)\"}")
    }
    let dump = try succeed("dump", store)
    let owners = try fetch(store)
    #expect(owners.contains("late 2") && owners.contains("late 3") && owners.contains("\"age\":\"none\""))
    #expect(!dump.contains("tableSchema"))
    // To a file and back, whose tables are in one schema again.
    try succeed("convert", store, "b")
    #expect(try succeed("dump", "b") == dump)
    #expect(try succeed("info", "b").contains("version 3"))
    try succeed("convert", "b", copy)
    try succeed("convert", store, "c.xml", "--type", "xml")
    for other in ["c.xml", copy] {
      #expect(try succeed("dump", other) == dump)
      #expect(try succeed("verify", other).contains("is whole"))
      #expect(try fetch(other) == owners)
    }
    // The copy can be migrated too.
    try version(4, "name: String, aged: { type: String, renamedFrom: age }")
    for each in [store, copy] {
      try succeed("migrate", each, "--model", "Things.cdmodel", "--verify")
      #expect(
        try fetch(each) == owners.replacingOccurrences(of: "\"age\"", with: "\"aged\""))
    }
    #expect(try objects(succeed("dump", copy)) == objects(succeed("dump", store)))
  }

  /// Two programs migrate at once.
  @Test func twoProgramsAtOnce() throws {
    try folder.write(
      DumpTests.version.replacingOccurrences(
        of: "attributes: { name: String }",
        with: "attributes: { name: String, age: { type: Int16, default: 7 } }"),
      to: "Things.cdmodel/2.yaml")
    for _ in 0..<5 {
      let store = try url()
      try succeed("create", store, "--model", "Things.cdmodel", "--version", "1")
      let lines = (0..<2000).map { "{\"@entity\": \"Tag\", \"name\": \"tag \($0)\"}" }
      try succeed("load", store, "-", input: lines.joined(separator: "\n"))
      let processes = try (0..<3).map { number in
        let process = Process()
        process.executableURL = BuiltTool.cdstore.url
        process.arguments = ["migrate", store, "--model", "Things.cdmodel", "--format", "json"]
        process.currentDirectoryURL = folder.url
        let file = folder.url.appending(path: "output \(number)")
        try Data().write(to: file)
        process.standardOutput = try FileHandle(forWritingTo: file)
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
      }
      for process in processes { process.waitUntilExit() }
      #expect(processes.allSatisfy { $0.terminationStatus == 0 })
      let outputs = try (0..<3).map {
        String(decoding: try Data(contentsOf: folder.url.appending(path: "output \($0)")), as: UTF8.self)
      }
      #expect(outputs.count { $0.contains("\"steps\":[{") } == 1, "\(outputs)")
      #expect(try succeed("fetch", store, "Tag", "--count").contains("2000"))
      #expect(try succeed("verify", store).contains("is whole"))
    }
  }

  /// What a URL leaves out comes from libpq's environment variables, and from the section of a service file.
  @Test func theEnvironmentAndServicesName() throws {
    let store = try url()
    try succeed("create", store, "--model", "Things.cdmodel")
    try succeed("load", store, "-", input: "{\"@entity\": \"Tag\", \"name\": \"there\"}")
    let parts = try #require(URLComponents(string: store))
    let (host, port) = (try #require(parts.host), try #require(parts.port))
    let (user, database) = (try #require(parts.user), parts.path.dropFirst())
    // The schema and other parameters stay.
    let parameters = try #require(parts.percentEncodedQuery)
    func tags(_ url: String, _ variables: [String: String]) throws -> BuiltTool.Result {
      try BuiltTool.cdstore.run(
        ["fetch", url, "Tag", "--format", "csv"], in: folder.url, variables: variables)
    }
    let environment = [
      "PGHOST": host, "PGPORT": "\(port)", "PGUSER": user, "PGDATABASE": String(database),
    ]
    let byEnvironment = try tags("postgresql:///?\(parameters)", environment)
    #expect(byEnvironment.status == 0 && byEnvironment.output.contains("there"), "\(byEnvironment.errors)")
    // What the URL names has precedence.
    let byBoth = try tags(
      "postgresql://\(user)@\(host):\(port)/\(database)?\(parameters)",
      ["PGHOST": "127.0.0.1", "PGPORT": "1", "PGDATABASE": "none", "PGUSER": "nobody"])
    #expect(byBoth.status == 0 && byBoth.output.contains("there"), "\(byBoth.errors)")
    try folder.write(
      "[things]\nhost=\(host)\nport=\(port)\nuser=\(user)\ndbname=\(database)\n", to: "services.conf")
    let file = ["PGSERVICEFILE": folder.url.appending(path: "services.conf").path]
    let byService = try tags("postgresql:///?service=things&\(parameters)", file)
    #expect(byService.status == 0 && byService.output.contains("there"), "\(byService.errors)")
    let unknown = try tags("postgresql:///?service=others&\(parameters)", file)
    #expect(unknown.status == 1 && unknown.errors.contains("others"), "\(unknown.errors)")
  }

  /// A plan needs no server. Its statements are those that the server gets.
  @Test func aPlanShowsTheStatementsOfTheServer() throws {
    try folder.write(
      DumpTests.version.replacingOccurrences(
        of: "attributes: { name: String }",
        with: "attributes: { name: String, age: { type: Int16, default: 7 } }"),
      to: "Things.cdmodel/2.yaml")
    let plan = try succeed("plan", "Things.cdmodel", "--dialect", "postgresql")
    #expect(plan.contains("version 1 to version 2"))
    #expect(plan.contains("ALTER TABLE") && plan.contains(#"ADD COLUMN "age" bigint"#), "\(plan)")
    #expect(!plan.contains("INTEGER"), "the types of SQLite")
  }

  @Test func mistakes() throws {
    let store = try url()
    let missing = try run("info", store)
    #expect(
      missing.status == 1 && missing.errors.contains("there is no store at postgresql://"),
      "\(missing.errors)")
    #expect(!missing.errors.contains("cd@"))
    try succeed("create", store, "--model", "Things.cdmodel")
    #expect(try run("create", store, "--model", "Things.cdmodel").status == 1)
    try succeed("create", "a", "--model", "Things.cdmodel")
    #expect(try run("convert", "a", store).errors.contains("already is a store"))
    #expect(try run("convert", "a", url(), "--type", "xml").errors.contains("--type is for files"))
    #expect(
      try run("info", "postgresql://localhost/db?shema=x").errors.contains("the parameter 'shema' is unknown")
    )
    let wrong = try run("info", "postgresql://me:secret@127.0.0.1:1/db?schema=x")
    #expect(wrong.status == 1 && !wrong.errors.contains("secret"))
    let capitals = try run("info", "POSTGRESQL://me:secret@127.0.0.1:1/db?schema=x")
    #expect(capitals.status == 1 && !capitals.errors.contains("secret"))
    try succeed("load", "a", "-", input: "{\"@entity\": \"Owner\", \"name\": \"a\\u0000b\"}")
    let zero = try run("convert", "a", url())
    #expect(zero.status == 1 && zero.errors.contains("Owner.name") && zero.errors.contains("U+0000"))
  }
}
