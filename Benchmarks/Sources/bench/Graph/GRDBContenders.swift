import Foundation
import GRDB

/// GRDB as its performance guide recommends: cached statements, columns by index, plain structs.
final class GRDBContender: GraphContender {
  static let name = "grdb"
  static func takes(_ task: GraphTask) -> Bool {
    ![.refetch, .byIDRegistered, .toOneMemory].contains(task)
  }

  struct Todo {
    var id: Int64
    var title: String
    var notes: String?
    var priority: Int64
    var due: Date
    var done: Bool
    var uuid: UUID
    var category: Int64

    init(_ row: Row) {
      id = row[0]
      title = row[1]
      notes = row[2]
      priority = row[3]
      due = Date(timeIntervalSinceReferenceDate: row[4])
      done = row[5]
      uuid = row[6]
      category = row[7]
    }
  }

  private static let columns = "t.id, t.title, t.notes, t.priority, t.due, t.done, t.uuid, t.category"
  private let queue: DatabaseQueue
  private let data: Dataset
  private var todos: [Todo] = []
  private var sum: Int64 = 0

  init(path: String, data: GraphData) throws {
    self.data = data.swift
    queue = try GraphDatabase.open(path)
  }

  func prepare(_ task: GraphTask) throws {
    if task == .free { try run(.fetch) }
  }

  func run(_ task: GraphTask) throws {
    switch task {
    case .insert, .batchInsert: try insert()
    case .fetch: todos = try fetch("")
    case .free: todos = []
    case .predicate: todos = try fetch(" WHERE t.priority = 3 ORDER BY t.due")
    case .byID: todos = try lookUp("id", data.half)
    case .byTitle: todos = try lookUp("title", data.halfTitles)
    case .toMany: todos = try lookUp("category", Array(1...Int64(data.categories.count)))
    case .update: try change("UPDATE todo SET priority = 77, done = 1 WHERE id = ?")
    case .delete: try change("DELETE FROM todo WHERE id = ?")
    case .batchUpdate:
      try queue.write { try $0.execute(sql: "UPDATE todo SET priority = 77, done = 1 WHERE priority < 5") }
    case .batchDelete: try queue.write { try $0.execute(sql: "DELETE FROM todo WHERE priority < 5") }
    case .toOne:
      try queue.read { db in
        let statement = try db.cachedStatement(
          sql: "SELECT \(Self.columns), c.name FROM todo AS t JOIN category AS c ON c.id = t.category "
            + "WHERE t.id <= \(data.half.count)")
        let rows = try Row.fetchCursor(statement)
        while let row = try rows.next() {
          todos.append(Todo(row))
          let name: String = row[8]
          sum += Int64(name.utf8.count)
        }
      }
    case .refetch, .byIDRegistered, .toOneMemory: throw BenchError("GRDB keeps no objects")
    }
  }

  private func fetch(_ end: String) throws -> [Todo] {
    try queue.read { db in
      let statement = try db.cachedStatement(sql: "SELECT \(Self.columns) FROM todo AS t" + end)
      let rows = try Row.fetchCursor(statement)
      var todos: [Todo] = []
      while let row = try rows.next() { todos.append(Todo(row)) }
      return todos
    }
  }

  private func lookUp(_ column: String, _ values: [some StatementBinding & DatabaseValueConvertible]) throws
    -> [Todo]
  {
    try queue.read { db in
      let statement = try db.cachedStatement(
        sql: "SELECT \(Self.columns) FROM todo AS t WHERE t.\(column) = ?")
      var todos: [Todo] = []
      for value in values {
        let rows = try Row.fetchCursor(statement, arguments: [value])
        while let row = try rows.next() { todos.append(Todo(row)) }
      }
      return todos
    }
  }

  private func change(_ sql: String) throws {
    try queue.write { db in
      let statement = try db.cachedStatement(sql: sql)
      for id in data.half { try statement.execute(arguments: [id]) }
    }
  }

  private func insert() throws {
    try queue.write { db in
      let category = try db.cachedStatement(sql: "INSERT INTO category VALUES (?, ?)")
      for (place, name) in data.categories.enumerated() {
        try category.execute(arguments: [place + 1, name])
      }
      let todo = try db.cachedStatement(sql: "INSERT INTO todo VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      for (place, input) in data.todos.enumerated() {
        try todo.execute(arguments: [
          place + 1, input.title, input.notes, input.priority, input.due.timeIntervalSinceReferenceDate,
          input.done, input.uuid, input.category,
        ])
      }
    }
  }

  func checksum(_ task: GraphTask) throws -> Int64 {
    if task == .free { return 0 }
    if task == .toOne { return sum }
    let results = task.writes ? try fetch("") : todos
    return results.reduce(0) { sum, todo in
      sum
        &+ Checksum.of(
          title: todo.title, notes: todo.notes, priority: todo.priority, due: todo.due, done: todo.done,
          uuid: todo.uuid, category: todo.category)
    }
  }
}

/// GRDB's records as most programs use them, with columns by name.
final class GRDBRecordContender: GraphContender {
  static let name = "grdb-record"
  static func takes(_ task: GraphTask) -> Bool { GRDBContender.takes(task) && task != .toMany }

  struct Todo: FetchableRecord, PersistableRecord {
    static let databaseTableName = "todo"
    var id: Int64
    var title: String
    var notes: String?
    var priority: Int64
    var due: Date
    var done: Bool
    var uuid: UUID
    var category: Int64

    init(_ input: Dataset.Todo, id: Int64) {
      self.id = id
      title = input.title
      notes = input.notes
      priority = input.priority
      due = input.due
      done = input.done
      uuid = input.uuid
      category = input.category
    }

    init(row: Row) throws {
      id = row["id"]
      title = row["title"]
      notes = row["notes"]
      priority = row["priority"]
      due = Date(timeIntervalSinceReferenceDate: row["due"])
      done = row["done"]
      uuid = row["uuid"]
      category = row["category"]
    }

    func encode(to container: inout PersistenceContainer) throws {
      container["id"] = id
      container["title"] = title
      container["notes"] = notes
      container["priority"] = priority
      container["due"] = due.timeIntervalSinceReferenceDate
      container["done"] = done
      container["uuid"] = uuid
      container["category"] = category
    }
  }

  struct Category: FetchableRecord, PersistableRecord {
    static let databaseTableName = "category"
    var id: Int64
    var name: String

    init(id: Int64, name: String) {
      self.id = id
      self.name = name
    }

    init(row: Row) throws {
      id = row["id"]
      name = row["name"]
    }

    func encode(to container: inout PersistenceContainer) throws {
      container["id"] = id
      container["name"] = name
    }
  }

  private let queue: DatabaseQueue
  private let data: Dataset
  private var todos: [Todo] = []
  private var sum: Int64 = 0

  init(path: String, data: GraphData) throws {
    self.data = data.swift
    queue = try GraphDatabase.open(path)
  }

  func prepare(_ task: GraphTask) throws {
    if [.free].contains(task) { try run(.fetch) }
    if [.update].contains(task) { try run(.byID) }
  }

  func run(_ task: GraphTask) throws {
    switch task {
    case .insert, .batchInsert:
      try queue.write { db in
        for (place, name) in data.categories.enumerated() {
          try Category(id: Int64(place) + 1, name: name).insert(db)
        }
        for (place, input) in data.todos.enumerated() { try Todo(input, id: Int64(place) + 1).insert(db) }
      }
    case .fetch: todos = try queue.read { try Todo.fetchAll($0) }
    case .free: todos = []
    case .predicate:
      todos = try queue.read { try Todo.filter(Column("priority") == 3).order(Column("due")).fetchAll($0) }
    case .byID: todos = try queue.read { db in try data.half.compactMap { try Todo.fetchOne(db, key: $0) } }
    case .byTitle:
      todos = try queue.read { db in
        try data.halfTitles.flatMap { try Todo.filter(Column("title") == $0).fetchAll(db) }
      }
    case .update:
      try queue.write { db in
        for var todo in todos {
          todo.priority = 77
          todo.done = true
          try todo.update(db)
        }
      }
    case .delete:
      try queue.write { db in
        for id in data.half { _ = try Todo.deleteOne(db, key: id) }
      }
    case .batchUpdate:
      _ = try queue.write {
        try Todo.filter(Column("priority") < 5).updateAll(
          $0, Column("priority").set(to: 77), Column("done").set(to: true))
      }
    case .batchDelete: _ = try queue.write { try Todo.filter(Column("priority") < 5).deleteAll($0) }
    case .toOne:
      sum = try queue.read { db in
        todos = try Todo.limit(data.half.count).fetchAll(db)
        return try todos.reduce(0) { sum, todo in
          sum + Int64(try Category.fetchOne(db, key: todo.category)?.name.utf8.count ?? 0)
        }
      }
    case .refetch, .byIDRegistered, .toOneMemory, .toMany: throw BenchError("not for records")
    }
  }

  func checksum(_ task: GraphTask) throws -> Int64 {
    if task == .free { return 0 }
    if task == .toOne { return sum }
    let results = task.writes ? try queue.read { try Todo.fetchAll($0) } : todos
    return results.reduce(0) { sum, todo in
      sum
        &+ Checksum.of(
          title: todo.title, notes: todo.notes, priority: todo.priority, due: todo.due, done: todo.done,
          uuid: todo.uuid, category: todo.category)
    }
  }
}

/// The database of GRDB's contenders. It has the same tables as the baseline.
enum GraphDatabase {
  static func open(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    }
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS category (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
          CREATE TABLE IF NOT EXISTS todo (id INTEGER PRIMARY KEY, title TEXT NOT NULL, notes TEXT,
            priority INTEGER NOT NULL, due REAL NOT NULL, done INTEGER NOT NULL, uuid BLOB NOT NULL,
            category INTEGER REFERENCES category (id)) STRICT;
          CREATE INDEX IF NOT EXISTS todo_title ON todo (title);
          CREATE INDEX IF NOT EXISTS todo_category ON todo (category);
          """)
    }
    return queue
  }
}
