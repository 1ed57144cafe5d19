import CDRuntime
import Foundation

/// Something that a person does in a window. The page sends it as JSON: `{"complete":{"ids":["cdgen:…"],"isOn":true}}`.
enum Command: Decodable, Sendable {
  case query(ListQuery)
  case add(title: String, dueDate: String, category: ManagedObjectID?)
  /// Sets a text. `was` is what the field had when the person began to edit it.
  case set(id: ManagedObjectID, field: Field, value: String, was: String?)
  case complete(ids: [ManagedObjectID], isOn: Bool)
  case mute(ids: [ManagedObjectID], isOn: Bool)
  case categorize(ids: [ManagedObjectID], category: ManagedObjectID?)
  case delete(ids: [ManagedObjectID])
  case addCategory(name: String)
  case renameCategory(id: ManagedObjectID, name: String)
  case moveCategory(id: ManagedObjectID, index: Int)
  case deleteCategory(id: ManagedObjectID)
  case load(document: ListDocument)
  case undo
  case redo
  case save
  case revert
  case resolve(choices: [ConflictChoice])
  /// Closes the dialog of conflicts without a choice.
  case decideLater
  /// Shows the list again, because others have saved.
  case refresh
}

/// A text of an item that is edited in place. The raw values are the names of the properties.
enum Field: String, Decodable, Sendable {
  case title, notes, dueDate

  /// The text in the field of an item.
  func text(of toDo: ToDo) -> String {
    switch self {
    case .title: toDo.title
    case .notes: toDo.notes
    case .dueDate: LocalTime.text(toDo.dueDate)
    }
  }
}

/// Whose version of a contested object is saved.
struct ConflictChoice: Decodable, Sendable {
  var id: ManagedObjectID
  /// The property; nil for the object as a whole, if one of the two sides has deleted it.
  var key: String?
  var isMine: Bool
}
