import CDRuntime
import Foundation
import Testing

/// Attributes of type Bool as conditions, on a store.
@Suite struct BoolConditionTests {
  @Test @MainActor func aBoolAttributeIsACondition() throws {
    let container = try PersistentContainer(inMemoryFor: ToDoModel.self)
    let context = container.viewContext
    let now = Date(timeIntervalSinceReferenceDate: 800_000_000)
    let names = ["a", "b", "c", "d"].enumerated().map { index, name in
      let toDo = ToDo(name: name, dueDate: now - Double(index), in: context)
      toDo.completed = index < 2
      toDo.doNotAlert = index % 2 == 0
      return toDo.name
    }
    for isSaved in [false, true] {
      if isSaved { try context.save() }
      #expect(try ToDo.fetch(where: \.completed, in: context).map(\.name) == ["a", "b"])
      #expect(try ToDo.fetch(where: \.completed, sortedBy: \.dueDate, in: context).map(\.name) == ["b", "a"])
      #expect(
        try ToDo.fetch(where: \.completed, sortedBy: .descending(\.name), limit: 1, in: context).map(\.name)
          == ["b"])
      #expect(try ToDo.fetch(where: !\.completed, in: context).map(\.name) == ["c", "d"])
      #expect(try ToDo.fetch(where: \.completed && \.doNotAlert, in: context).map(\.name) == ["a"])
      #expect(
        try ToDo.fetch(where: \.doNotAlert || \.name == "b", in: context).map(\.name) == ["a", "b", "c"])
      #expect(try ToDo.fetch(where: { !$0.completed && $0.name != "c" }, in: context).map(\.name) == ["d"])
      #expect(try ToDo.count(where: \.completed, in: context) == 2)
      #expect(try ToDo.first(where: \.completed, sortedBy: .descending(\.name), in: context)?.name == "b")
      #expect(try ToDo.exists(where: \.completed, in: context))
      #expect(try context.fetch(FetchRequest<ToDo>(where: \.doNotAlert, limit: 1)).map(\.name) == ["a"])
    }
    #expect(try ToDo.delete(where: \.completed, in: context) == 2)
    #expect(try !ToDo.exists(where: \.completed, in: context))
    #expect(try ToDo.objects(in: context).map(\.name) == Array(names.dropFirst(2)))
  }
}
