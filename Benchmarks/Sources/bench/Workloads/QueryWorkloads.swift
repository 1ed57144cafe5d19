import CDRuntime
import Foundation
import GRDB
import GRDBSQLite

/// The time to parse a format string with four clauses.
struct ParseWorkload: Workload {
  let name = "parse"
  let summary = "Parses a format string of four clauses, a thousand times."

  private static let format =
    "due >= %@ AND due <= %@ AND done == NO AND (closed == nil OR category.name BEGINSWITH[c] 'a')"

  func run(_ settings: Settings) throws -> [Figure] {
    let count = settings.isSmoke ? 10 : 1000
    let (from, to) = (Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceReferenceDate: 1e8))
    let contender = Contender(name: "parser") {
      try CPUTime.measure {
        for _ in 0..<count { _ = try FetchPredicate(format: Self.format, from, to) }
      }
    }
    let rounds = try Rounds([contender], count: settings.rounds ?? 21)
    return [
      Figure(
        name, "a thousand formats", milliseconds: rounds.median("parser") / Double(count) * 1_000_000,
        rounds: rounds.count, goal: settings.isSmoke ? nil : 10)
    ]
  }
}

/// The cost of a request in addition to its statement. The request finds one object by an indexed attribute; the object
/// is in memory in one case and not in the other.
struct RequestWorkload: Workload {
  let name = "request"
  let summary = "A thousand requests for one object each, above a prepared statement in place of each."

  func run(_ settings: Settings) throws -> [Figure] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let count = settings.isSmoke ? 10 : 1000
    let url = folder.appending(path: "store.sqlite")
    let container = try PersistentContainer(for: TasksModel.self, at: url)
    let context = container.newContext()
    for number in 0..<2000 {
      _ = Todo(title: "Todo \(number)", priority: 1, due: Date(), uuid: UUID(), in: context)
    }
    try context.save()
    let todos = try Todo.objects(in: context)
    let statement = try PreparedSelect(path: url.path)
    var same = FetchRequest<Todo>(where: \.title == "Todo 700")
    same.limit = 1
    var bound = FetchRequest<Todo>(where: try FetchPredicate(format: "title == $title AND done == NO"))
    let titles = (0..<count).map { "Todo \($0)" }
    let contenders = [
      Contender(name: "statement") {
        try CPUTime.measure { for title in titles { try statement.run(title) } }
      },
      Contender(name: "one request") {
        try CPUTime.measure {
          try context.perform { for _ in 0..<count { _ = try context.fetch(same) } }
        }
      },
      Contender(name: "a template's") {
        try CPUTime.measure {
          try context.perform {
            for title in titles {
              bound.variables["title"] = title
              _ = try context.fetch(bound)
            }
          }
        }
      },
    ]
    let rounds = try Rounds(contenders, count: settings.rounds ?? 21)
    return withExtendedLifetime(todos) {
      contenders.dropFirst().map { contender in
        Figure(
          name, contender.name,
          milliseconds: rounds.difference(contender.name, "statement") / Double(count) * 1_000_000,
          rounds: rounds.count, goal: settings.isSmoke || contender.name != "one request" ? nil : 10)
      }
    }
  }
}

/// A prepared SQLite statement that reads a todo's row by its title.
private final class PreparedSelect {
  private let queue: DatabaseQueue
  private let statement: OpaquePointer

  init(path: String) throws {
    queue = try DatabaseQueue(path: path)
    let address = queue.inDatabase { UInt(bitPattern: $0.sqliteConnection) }
    var statement: OpaquePointer?
    let sql = "SELECT * FROM \"Todo\" WHERE \"title\" IS ? ORDER BY _pk"
    guard sqlite3_prepare_v2(OpaquePointer(bitPattern: address), sql, -1, &statement, nil) == SQLITE_OK,
      let statement
    else { throw BenchError("the statement cannot be prepared") }
    self.statement = statement
  }

  func run(_ title: String) throws {
    let copied = unsafeBitCast(-1 as Int, to: sqlite3_destructor_type.self)
    sqlite3_bind_text(statement, 1, title, -1, copied)
    while sqlite3_step(statement) == SQLITE_ROW {
      for column in 0..<sqlite3_column_count(statement) { _ = sqlite3_column_bytes(statement, column) }
    }
    sqlite3_reset(statement)
  }

  deinit { sqlite3_finalize(statement) }
}

/// The time to type-check seven typed clauses, in addition to an empty function.
struct TypeCheckWorkload: Workload {
  let name = "typecheck"
  let summary = "Checks the types of seven clauses of the typed query language."

  func run(_ settings: Settings) throws -> [Figure] {
    let compiler = try SwiftCompiler(modules: settings.modules)
    defer { compiler.removeFiles() }
    let empty = try compiler.write(Self.source("Item.objects(in: context)"), as: "Nothing.swift")
    let keyPaths = try compiler.write(
      Self.source(
        #"""
        Item.fetch(
          where: \.title == "a" && \.notes != nil && \.priority > 3 && \.due <= Date() && !(\.done == true)
            && \.parent.title == "b" || \.children.priority.any >= 2, in: context)
        """#), as: "KeyPaths.swift")
    let closure = try compiler.write(
      Self.source(
        #"""
        Item.fetch(
          where: {
            $0.title == "a" && $0.notes != nil && $0.priority * 2 > 3 && $0.due <= Date() && !($0.done == true)
              && $0.parent.title.hasPrefix("b") || $0.children.contains { $0.priority >= 2 }
          }, in: context)
        """#), as: "Closure.swift")
    let sources = [("nothing", empty), ("key paths", keyPaths), ("a closure", closure)]
    let contenders = sources.map { name, source in
      Contender(name: name) { try compiler.check(source) }
    }
    let rounds = try Rounds(contenders, count: settings.isSmoke ? 1 : settings.rounds ?? 5)
    return sources.dropFirst().map { name, _ in
      Figure(
        self.name, name, milliseconds: rounds.difference(name, "nothing") * 1000, rounds: rounds.count,
        goal: settings.isSmoke ? nil : 300)
    }
  }

  /// The source of a function with a query, and of the fields that a generator would write.
  private static func source(_ query: String) -> String {
    #"""
    @_spi(Generated) import CDRuntime
    import Foundation

    class Item: ManagedObject, EntityClass {
      override class var entityName: String { "Item" }
      override init(_seed: borrowing ObjectSeed) { super.init(_seed: _seed) }
    }
    extension Fields where Root: Item {
      var title: Attribute<String> { .init("title") }
      var notes: Attribute<String?> { .init("notes") }
      var priority: Attribute<Int64> { .init("priority") }
      var due: Attribute<Date> { .init("due") }
      var done: Attribute<Bool> { .init("done") }
      var parent: ToOne<Item> { .init("parent") }
      var children: ToMany<Item> { .init("children") }
    }
    func query(_ context: ManagedObjectContext) throws -> [Item] {
      try \#(query)
    }
    """#
  }
}
