import CDRuntime
import Foundation

/// A row of the list. Its texts are fields that are edited in place.
struct Row {
  private let toDo: ToDo
  private let index: Int
  private let now: Date
  private let errors: [FieldError]
  private let id: String

  init(_ toDo: ToDo, at index: Int, now: Date, errors: [FieldError]) {
    self.toDo = toDo
    self.index = index
    self.now = now
    self.errors = errors
    id = toDo.objectID.domID
  }

  var html: HTML {
    let title = toDo.title
    let isLate = !toDo.completed && toDo.dueDate < now
    let late: HTML = isLate ? #"<span class="late">overdue</span>"# : ""
    return #"""
      <tr id="\#(id)" data-id="\#(toDo.objectID.description)" aria-rowindex="\#(index + 2)" class="\#(classes(isLate))">
      <td class="pick"><input type="checkbox" class="pick" id="\#(id)-pick" aria-label="Select \#(title)"></td>
      <td class="title">\#(field(.title, #"<input id="\#(id)-title" data-field="title" value="\#(title)" aria-label="Title""#))\#
      \#(notes)</td>
      <td class="due">\#(field(.dueDate, #"<input type="datetime-local" id="\#(id)-dueDate" data-field="dueDate" value="\#(LocalTime.text(toDo.dueDate))" aria-label="Due date of \#(title)""#))\#
      \#(late)</td>
      <td class="category">\#(category)</td>
      <td class="state">
      <button type="button" id="\#(id)-done" data-action="complete" aria-pressed="\#(toDo.completed ? "true" : "false")" aria-label="\#(title) is completed" title="\#(toDo.completed ? "Open it again" : "Complete it")">\#(toDo.completed ? "Done" : "Open")</button>
      <button type="button" id="\#(id)-mute" data-action="mute" aria-pressed="\#(toDo.doNotAlert ? "true" : "false")" aria-label="\#(title) is muted" title="\#(toDo.doNotAlert ? "Alert again" : "Do not alert")">\#(toDo.doNotAlert ? "Muted" : "Alerts")</button>
      <button type="button" id="\#(id)-delete" data-action="delete" class="delete" aria-label="Delete \#(title)">×</button>
      </td></tr>

      """#
  }

  private func classes(_ isLate: Bool) -> String {
    (toDo.completed ? "done " : "") + (isLate ? "late " : "") + (toDo.doNotAlert ? "muted" : "")
  }

  private var notes: HTML {
    field(
      .notes,
      #"<textarea id="\#(id)-notes" data-field="notes" rows="1" placeholder="Notes" aria-label="Notes of \#(toDo.title)""#,
      // A browser drops the first line break of a text area.
      end: #">\#n\#(toDo.notes)</textarea>"#)
  }

  /// Only the chosen category: the script adds the others when the person opens the menu.
  private var category: HTML {
    let category = toDo.category
    return #"""
      <select id="\#(id)-category" data-action="categorize" aria-label="Category of \#(toDo.title)">\#
      <option value="\#(category?.objectID.description ?? "")">\#(category?.shownName ?? "–")</option></select>
      """#
  }

  /// A field and its mistakes, which a screen reader reads together.
  private func field(_ field: Field, _ start: HTML, end: HTML = ">") -> HTML {
    let own = errors.filter { $0.field == field.rawValue }
    guard !own.isEmpty else { return "\(start)\(end)" }
    let errorID = "\(id)-\(field.rawValue)-error"
    let text = own.map(\.text).joined(separator: " ")
    return
      #"\#(start) aria-invalid="true" aria-describedby="\#(errorID)"\#(end)<p class="error" id="\#(errorID)">\#(text)</p>"#
  }
}

extension ManagedObjectID {
  /// The identifier of the object's element: the end of the URI, which is the entity and the key.
  var domID: String { description.split(separator: "/").suffix(2).joined(separator: "-") }
}
