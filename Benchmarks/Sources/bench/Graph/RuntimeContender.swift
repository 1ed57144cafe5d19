import CDRuntime
import Foundation

/// CDRuntime with generated classes, as a program uses it.
final class RuntimeContender: GraphContender {
  static let name = "cdruntime"
  static func takes(_ task: GraphTask) -> Bool { true }

  private let container: PersistentContainer
  private let data: Dataset
  private var context: ManagedObjectContext
  private var todos: [Todo] = []
  private var categories: [Category] = []
  private var ids: [ManagedObjectID] = []
  private var sum: Int64 = 0

  init(path: String, data: GraphData) throws {
    container = try PersistentContainer(for: TasksModel.self, at: URL(filePath: path))
    context = container.newContext()
    self.data = data.swift
  }

  func prepare(_ task: GraphTask) throws {
    switch task {
    case .free, .refetch, .toOneMemory: try run(.fetch)
    case .update, .delete: try run(.byID)
    case .toMany: categories = try Category.objects(in: context)
    default: break
    }
    if [.byID, .byIDRegistered].contains(task) { ids = try identifiers() }
    if task == .byIDRegistered { try run(.fetch) }
    if task == .toOneMemory { categories = try Category.objects(in: context) }
  }

  private func identifiers() throws -> [ManagedObjectID] {
    // Keys are assigned in the order of insertion, starting at 1.
    let other = container.newContext()
    guard let first = try Todo.fetch(limit: 1, in: other).first else {
      throw BenchError("there is nothing to look up")
    }
    let prefix = first.objectID.uriRepresentation.deletingLastPathComponent()
    return try data.half.map { number in
      let uri = prefix.appending(path: "p\(number)")
      guard let id = container.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri) else {
        throw BenchError("\(uri) is no identifier")
      }
      return id
    }
  }

  func run(_ task: GraphTask) throws {
    switch task {
    case .insert: try insert()
    case .fetch, .refetch: todos = try Todo.objects(in: context)
    case .free:
      todos = []
      context = container.newContext()
    case .predicate: todos = try Todo.fetch(where: \.priority == 3, sortedBy: \.due, in: context)
    case .byID, .byIDRegistered: try lookUp()
    case .byTitle:
      todos = try context.perform {
        try data.halfTitles.flatMap { try Todo.objects(matching: \.title, $0, in: context) }
      }
    case .update:
      for todo in todos {
        todo.priority = 77
        todo.done = true
      }
      try context.save()
    case .toOne:
      todos = try Todo.fetch(limit: data.half.count, in: context)
      context.perform { sum = nameLengths() }
    case .toOneMemory: sum = nameLengths()
    case .toMany: todos = context.perform { categories.flatMap(\.todos) }
    case .batchInsert: try batchInsert()
    case .batchUpdate:
      try context.execute(
        BatchUpdateRequest<Todo>(
          where: \.priority < 5, set: [.set(\.priority, to: 77), .set(\.done, to: true)]))
    case .batchDelete: try context.execute(BatchDeleteRequest<Todo>(where: \.priority < 5))
    case .delete:
      for todo in todos { context.delete(todo) }
      todos = []
      try context.save()
    }
  }

  private func insert() throws {
    let categories = data.categories.map { Category(name: $0, in: context) }
    for input in data.todos {
      let todo = Todo(
        title: input.title, priority: input.priority, due: input.due, uuid: input.uuid, in: context)
      todo.notes = input.notes
      todo.done = input.done
      todo.category = categories[Int(input.category) - 1]
    }
    try context.save()
  }

  private func batchInsert() throws {
    let names = BatchInsertRequest<Category>(data.categories, columns: [.set(\.name) { $0 }])
    let categories = Array(try context.execute(names).changes.inserted)
    try context.execute(
      BatchInsertRequest<Todo>(
        data.todos,
        columns: [
          .set(\.title) { $0.title }, .set(\.notes) { $0.notes }, .set(\.priority) { $0.priority },
          .set(\.due) { $0.due }, .set(\.done) { $0.done }, .set(\.uuid) { $0.uuid },
          .set(\.category) { categories[Int($0.category) - 1] },
        ]))
  }

  private func lookUp() throws {
    let ids = ids.isEmpty ? try identifiers() : ids
    todos = try context.perform {
      try ids.map { id in
        guard let todo = try context.existingObject(with: id) as? Todo else { throw BenchError("no Todo") }
        return todo
      }
    }
  }

  private func nameLengths() -> Int64 {
    var sum = 0
    for todo in todos.prefix(data.half.count) { sum += todo.category?.name.utf8.count ?? 0 }
    return Int64(sum)
  }

  func checksum(_ task: GraphTask) throws -> Int64 {
    if task == .free { return 0 }
    if [.toOne, .toOneMemory].contains(task) { return sum }
    // A new context, which has not seen the written objects. It must live while the relationships are read.
    if task.writes { context = container.newContext() }
    let results = task.writes ? try Todo.objects(in: context) : todos
    return results.reduce(0) { sum, todo in
      sum
        &+ Checksum.of(
          title: todo.title, notes: todo.notes, priority: todo.priority, due: todo.due, done: todo.done,
          uuid: todo.uuid, category: todo.category.map { $0.name }.flatMap(number) ?? 0)
    }
  }

  /// The number of a category, taken from its name.
  private func number(_ name: String) -> Int64? {
    name.split(separator: " ").last.flatMap { Int64($0) }.map { $0 + 1 }
  }
}

/// What a todo contributes to a checksum. The C code computes the same.
enum Checksum {
  static func of(
    title: String, notes: String?, priority: Int64, due: Date, done: Bool, uuid: UUID, category: Int64
  ) -> Int64 {
    priority + Int64(due.timeIntervalSinceReferenceDate) + (done ? 1 : 0) + Int64(title.utf8.count)
      + Int64(notes?.utf8.count ?? 0) + category + Int64(uuid.uuid.0) + Int64(uuid.uuid.15)
  }
}
