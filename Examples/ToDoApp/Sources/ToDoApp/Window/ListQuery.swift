import CDRuntime
import Foundation

/// What a window shows, and in which order.
struct ListQuery: Decodable, Sendable {
  enum Column: String, Decodable, CaseIterable {
    case title, dueDate, category, state
  }

  enum Due: String, Decodable, CaseIterable {
    case any, open, overdue, today, week, done

    var label: String {
      switch self {
      case .any: "All items"
      case .open: "Not completed"
      case .overdue: "Overdue"
      case .today: "Due today"
      case .week: "Due within 7 days"
      case .done: "Completed"
      }
    }
  }

  var column = Column.dueDate
  var isAscending = true
  var text = ""
  /// The category; nil for all.
  var category: ManagedObjectID?
  /// Whether only the items without a category are shown.
  var isUncategorized = false
  var due = Due.any

  /// The request for the items, which the store filters and sorts.
  ///
  /// - Throws: ``FetchError`` if the category does not exist.
  func request(now: Date, in context: ManagedObjectContext) throws -> FetchRequest<ToDo> {
    var conditions: [TypedPredicate<ToDo>] = []
    let text = self.text.trimmingCharacters(in: .whitespaces)
    if !text.isEmpty {
      let options: ComparisonOptions = [.caseInsensitive, .diacriticInsensitive]
      conditions.append(
        TypedPredicate {
          $0.title.contains(text, options: options) || $0.notes.contains(text, options: options)
        })
    }
    if let category {
      conditions.append(try \.category == Category.object(with: category, in: context))
    } else if isUncategorized {
      conditions.append(TypedPredicate { $0.category == nil })
    }
    if let condition = dueCondition(now) { conditions.append(condition) }
    let predicate = conditions.map(\.predicate).reduce(nil as FetchPredicate?) { all, next in
      all.map { $0 && next } ?? next
    }
    var request = FetchRequest<ToDo>(where: predicate, sortedBy: order)
    request.batchSize = Window.pageSize
    return request
  }

  private func dueCondition(_ now: Date) -> TypedPredicate<ToDo>? {
    let today = LocalTime.calendar.startOfDay(for: now)
    let tomorrow = LocalTime.calendar.date(byAdding: .day, value: 1, to: today) ?? today + 86_400
    let nextWeek = now + 7 * 86_400
    switch due {
    case .any: return nil
    case .open: return !\.completed
    case .done: return TypedPredicate(\.completed)
    case .overdue: return !\.completed && \.dueDate < now
    case .today: return \.dueDate >= today && \.dueDate < tomorrow
    case .week: return !\.completed && \.dueDate >= now && \.dueDate < nextWeek
    }
  }

  private var order: TypedSort<ToDo> {
    switch (column, isAscending) {
    case (.title, true): .ascending(\.title, options: .caseInsensitive)
    case (.title, false): .descending(\.title, options: .caseInsensitive)
    case (.dueDate, true): .ascending(\.dueDate)
    case (.dueDate, false): .descending(\.dueDate)
    case (.category, true): [.ascending(\.category.name), .ascending(\.dueDate)]
    case (.category, false): [.descending(\.category.name), .ascending(\.dueDate)]
    case (.state, true): [.ascending(\.completed), .ascending(\.doNotAlert), .ascending(\.dueDate)]
    case (.state, false): [.descending(\.completed), .descending(\.doNotAlert), .ascending(\.dueDate)]
    }
  }
}
