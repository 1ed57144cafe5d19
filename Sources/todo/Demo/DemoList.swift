import CDRuntime
import Foundation

/// The list for the demonstration.
struct DemoList {
  var now: Date

  private static let minute: TimeInterval = 60
  private static let hour: TimeInterval = 3600

  /// Adds the list's objects and saves them.
  func fill(_ context: ManagedObjectContext) throws {
    let work = Category(name: "Work", in: context)
    let home = Category(name: "Home", in: context)
    _ = Category(name: "Someday", in: context)

    let call = ToDo(name: "Call Grace", dueDate: now + 3 * Self.minute, in: context)
    let review = ToDo(name: "Review the schema", dueDate: now + 2 * Self.hour, in: context)
    let report = ToDo(name: "Send the report", dueDate: now - 26 * Self.hour, in: context)
    report.completed = true
    // Setting a to-many relationship also sets the inverse, toDo.category.
    work.addToToDos([call, review, report])

    let plants = ToDo(name: "Water the plants", dueDate: now + 4 * Self.minute, in: context)
    plants.lastAlertDate = now - 10 * Self.minute
    let tea = ToDo(name: "Fetch the tea", dueDate: now + 4 * Self.minute, in: context)
    tea.lastAlertDate = now - Self.minute
    let bins = ToDo(name: "Put out the bins", dueDate: now + 5 * Self.minute, in: context)
    bins.doNotAlert = true
    home.addToToDos([plants, tea, bins])
    // An ordered relationship keeps the order of its objects.
    home.removeFromToDos(tea)
    home.insertIntoToDos(tea, at: 0)

    _ = ToDo(name: "Learn to juggle", dueDate: now + 30 * 24 * Self.hour, in: context)
    try context.save()
  }
}
