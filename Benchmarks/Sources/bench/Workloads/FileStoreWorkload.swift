import CDRuntime
import Foundation

/// The time to write and read a store in a single file, as a ratio to the platform's coder for the same values as
/// structs.
///
/// A store does more than a coder: it keeps keys, relationships and a history, validates all of them, and finally has
/// the objects in tables with indexes.
struct FileStoreWorkload: Workload {
  enum Kind: String, CaseIterable { case xml, binary }
  enum Direction: String, CaseIterable { case write, read }

  let kind: Kind
  let direction: Direction

  var name: String { "\(kind.rawValue)-\(direction.rawValue)" }
  var summary: String {
    "\(direction == .write ? "Saves" : "Opens") \(kind == .xml ? "an XML" : "a binary") store of 100,000 objects."
  }

  private struct Record: Codable {
    var title: String
    var notes: String?
    var priority: Int64
    var due: Date
    var done: Bool
    var uuid: UUID
    var category: Int?
  }

  private struct Document: Codable {
    var categories: [String]
    var todos: [Record]
  }

  private static let categoryCount = 1000

  private static func records(_ count: Int) -> [Record] {
    (0..<count).map { number in
      Record(
        title: "Todo number \(number)",
        notes: number.isMultiple(of: 3) ? nil : "Some words about \(number) & more",
        priority: Int64(number % 5), due: Date(timeIntervalSinceReferenceDate: Double(number) * 1000.25),
        done: number.isMultiple(of: 2), uuid: UUID(),
        category: number.isMultiple(of: 10) ? nil : number % categoryCount)
    }
  }

  func run(_ settings: Settings) throws -> [Figure] {
    let count = settings.isSmoke ? 1000 : 100_000
    let folder = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let records = Self.records(count)
    let document = Document(
      categories: (0..<Self.categoryCount).map { "Category \($0)" }, todos: records)
    let url = folder.appending(path: "store")
    let location: StoreLocation = kind == .xml ? .xml(url) : .binary(url)
    let coder = folder.appending(path: "coder")
    try fill(location, document)

    let ours = Contender(name: "cdruntime") {
      switch direction {
      case .write:
        let coordinator = try PersistentStoreCoordinator(for: TasksModel.self, at: location)
        let context = PersistentContainer(coordinator).newContext()
        guard let todo = try Todo.fetch(limit: 1, in: context).first else {
          throw BenchError("nothing to change")
        }
        todo.priority += 1
        // All objects are written, even if only one has changed.
        return try CPUTime.measure { try context.save() }
      case .read:
        return try CPUTime.measure { _ = try PersistentStoreCoordinator(for: TasksModel.self, at: location) }
      }
    }
    let plist = Contender(name: "PropertyListEncoder") {
      let encoder = PropertyListEncoder()
      encoder.outputFormat = kind == .xml ? .xml : .binary
      if direction == .write { return try CPUTime.measure { try encoder.encode(document).write(to: coder) } }
      try encoder.encode(document).write(to: coder)
      return try CPUTime.measure {
        _ = try PropertyListDecoder().decode(Document.self, from: Data(contentsOf: coder))
      }
    }
    let json = Contender(name: "JSONEncoder") {
      if direction == .write {
        return try CPUTime.measure { try JSONEncoder().encode(document).write(to: coder) }
      }
      try JSONEncoder().encode(document).write(to: coder)
      return try CPUTime.measure {
        _ = try JSONDecoder().decode(Document.self, from: Data(contentsOf: coder))
      }
    }
    let contenders = [json, plist, ours]
    let rounds = try Rounds(contenders, count: settings.rounds ?? 5)
    let best = rounds.median(json.name) <= rounds.median(plist.name) ? json.name : plist.name
    return contenders.map { contender in
      let isOurs = contender.name == ours.name
      return Figure(
        name, contender.name, ratio: rounds.ratio(contender.name, to: best),
        milliseconds: rounds.median(contender.name) * 1000, rounds: rounds.count,
        goal: isOurs && !settings.isSmoke ? 2 : nil)
    }
  }

  private func fill(_ location: StoreLocation, _ document: Document) throws {
    let container = PersistentContainer(try PersistentStoreCoordinator(for: TasksModel.self, at: location))
    let context = container.newContext()
    let categories = document.categories.map { Category(name: $0, in: context) }
    for record in document.todos {
      let todo = Todo(
        title: record.title, priority: record.priority, due: record.due, uuid: record.uuid, in: context)
      todo.notes = record.notes
      todo.done = record.done
      todo.category = record.category.map { categories[$0] }
    }
    try context.save()
  }
}
