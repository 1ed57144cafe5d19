import CDMigrationTesting
import CDRuntime
import Foundation
import Testing

@testable import QuietToDo

/// A list of version 1 with categories, taken to version 2 by the app's own code. That of the example program goes the
/// same way without any, in its own tests.
@Suite struct ToDoStoryTests {
  private let now = Date(timeIntervalSinceReferenceDate: 800_000_000)

  private func oldList() throws -> VersionedStore {
    let old = try VersionedStore(
      of: QuietToDoModel.self, version: 1, migrations: { QuietToDoMigrations() })
    let home = try old.insert("Category", ["name": "Home"])
    try old.insert("Category", ["name": "Work"])
    for (place, name) in ["water the plants", "answer mail", "Air the rooms", "a"].enumerated() {
      try old.insert(
        "ToDo",
        [
          "name": .init(name), "dueDate": .init(now + 60 * Double(place + 1)),
          "completed": .init(name == "a"), "category": place < 3 ? .object(home) : nil,
        ])
    }
    return old
  }

  @Test func whatStartsWithAnAIsQuiet() throws {
    let old = try oldList()
    let new = try old.migrated()
    let context = try new.newContext()
    let toDos = try ToDo.fetch(sortedBy: \.dueDate, in: context)
    #expect(toDos.map(\.name) == ["water the plants", "answer mail", "Air the rooms", "a"])
    #expect(toDos.map(\.doNotAlert) == [false, true, false, true])
    #expect(toDos.map(\.completed) == [false, false, false, true])
    #expect(toDos.allSatisfy { $0.lastAlertDate == nil })
    #expect(try new.differences(from: old) == [])
  }

  @Test func categoriesFollowTheirToDos() throws {
    let new = try oldList().migrated()
    let context = try new.newContext()
    let home = try #require(try Category.object(name: "Home", in: context))
    #expect(home.toDos.map(\.name) == ["water the plants", "answer mail", "Air the rooms"])
    #expect(try Category.object(name: "Work", in: context)?.toDos == [])
  }

  @Test func alertsRespectBothNewAttributes() throws {
    let new = try oldList().migrated()
    let context = try new.newContext()
    func due() throws -> [String] {
      try ToDo.dueForAlert(now: now, later: now + 300, before: now - 300, in: context).map(\.name)
    }
    #expect(try due() == ["water the plants", "Air the rooms"])
    try ToDo.object(matching: \.name, "Air the rooms", in: context)?.lastAlertDate = now
    #expect(try due() == ["water the plants"])
    try context.save()
    #expect(try due() == ["water the plants"])
  }

  @Test func theListKeepsItsIdentifiers() throws {
    let old = try oldList()
    let uris = try old.objects(of: "ToDo").map(\.objectID.uriRepresentation)
    let new = try old.migrated()
    #expect(try ToDo.objects(in: new.newContext()).map(\.objectID.uriRepresentation) == uris)
  }
}
