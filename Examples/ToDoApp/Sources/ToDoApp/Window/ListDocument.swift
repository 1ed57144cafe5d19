import CDRuntime
import Foundation

/// The list as JSON, for exports and imports.
struct ListDocument: Codable, Sendable {
  struct Item: Codable, Sendable {
    var title: String
    var notes: String?
    var dueDate: Date
    var completed: Bool?
    var doNotAlert: Bool?
    var lastAlertDate: Date?
    /// The name of the category, which is created if it does not exist.
    var category: String?
  }

  /// The categories in the order of the panel.
  var categories: [String] = []
  var items: [Item] = []

  /// Reads everything that the context has, with its unsaved changes.
  init(of context: ManagedObjectContext) throws {
    categories = try Panel.first(in: context)?.categories.map(\.name) ?? []
    for toDo in try context.lazyFetch(FetchRequest<ToDo>(sortedBy: .ascending(\.dueDate))) {
      items.append(
        Item(
          title: toDo.title, notes: toDo.notes.isEmpty ? nil : toDo.notes, dueDate: toDo.dueDate,
          completed: toDo.completed ? true : nil, doNotAlert: toDo.doNotAlert ? true : nil,
          lastAlertDate: toDo.lastAlertDate, category: toDo.category?.name))
    }
  }

  /// Adds the items and the missing categories to a context.
  func insert(into panel: Panel, in context: ManagedObjectContext) {
    var known: [String: Category] = [:]
    for category in panel.categories where known[category.name] == nil { known[category.name] = category }
    func category(_ name: String) -> Category {
      if let found = known[name] { return found }
      let made = Category(name: name, in: context)
      panel.addToCategories(made)
      known[name] = made
      return made
    }
    for name in categories { _ = category(name) }
    for item in items {
      let toDo = ToDo(title: item.title, dueDate: item.dueDate, in: context)
      toDo.notes = item.notes ?? ""
      toDo.completed = item.completed ?? false
      toDo.doNotAlert = item.doNotAlert ?? false
      toDo.lastAlertDate = item.lastAlertDate
      if let name = item.category { toDo.category = category(name) }
    }
  }

  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return decoder
  }
}
