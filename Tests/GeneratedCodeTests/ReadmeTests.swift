import CDRuntime
import Foundation
import Testing

/// The Swift of the README, statement by statement as it stands there.
@Suite struct ReadmeTests {
  @Test @MainActor func whatTheReadmeShows() throws {
    let container = try PersistentContainer(inMemoryFor: ToDoModel.self)
    let context = container.viewContext
    let now = Date(timeIntervalSinceReferenceDate: 800_000_000)

    let work = Category(name: "Work", in: context)
    let call = ToDo(name: "Call Grace", dueDate: now + 180, in: context)
    work.addToToDos(call)
    try context.save()
    #expect(call.category === work)

    _ = try ToDo.objects(in: context)
    _ = try ToDo.objects(matching: \.completed, false, in: context)
    _ = try ToDo.objects(matching: [.completed: true, .doNotAlert: true], using: .or, in: context)
    _ = try Category.object(name: "Work", in: context)
    // swift-format-ignore
    _ = try ToDo.fetch(where: \.category.name == "Work" && \.completed == false, sortedBy: \.dueDate, in: context)
    _ = try ToDo.dueForAlert(now: now, later: now + 300, before: now - 300, in: context)

    #expect(try ToDo.objects(in: context) == [call])
    #expect(try ToDo.objects(matching: \.completed, false, in: context) == [call])
    #expect(
      try ToDo.objects(matching: [.completed: true, .doNotAlert: true], using: .or, in: context) == [])
    #expect(try Category.object(name: "Work", in: context) === work)
    #expect(
      try ToDo.fetch(
        where: \.category.name == "Work" && \.completed == false, sortedBy: \.dueDate, in: context) == [call])
    #expect(try ToDo.dueForAlert(now: now, later: now + 300, before: now - 300, in: context) == [call])
  }
}
