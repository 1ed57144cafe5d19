import CDRuntime
import Foundation

/// The app's own code for the step from version 2 to version 3.
struct ToDoMigrations: ToDoModel.Migrations {
  /// Splits the name at its first colon or line break into a title and notes, and silences the items whose names
  /// start with "A". A date that version 3 does not allow becomes the nearest one, and the notes tell the former date.
  func makeToDo(
    from source: ToDoModel.Version2.ToDo, in manager: MigrationManager
  ) throws -> ToDoModel.NewVersion3.ToDo? {
    let (title, notes) = Self.split(source.name)
    let made = try ToDoModel.NewVersion3.ToDo(from: source, title: title, in: manager)
    made.dueDate = min(max(source.dueDate, Self.earliest), Self.latest)
    let former = made.dueDate == source.dueDate ? "" : "Due \(LocalTime.readable(source.dueDate))"
    made.notes = Self.cut([former, notes].filter { !$0.isEmpty }.joined(separator: "\n"))
    made.doNotAlert = source.doNotAlert || source.name.hasPrefix("A")
    return made
  }

  // Version 3 limits the dates. One item outside the limits would keep the whole list from being opened.
  private static let earliest = Date(timeIntervalSince1970: 946_684_800)  // 2000-01-01
  private static let latest = Date(timeIntervalSince1970: 4_102_444_800)  // 2100-01-01

  /// Only the file of version 2 keeps the rest of notes that are too long for version 3.
  private static func cut(_ notes: String) -> String {
    notes.count > 2000 ? String(notes.prefix(1999)) + "…" : notes
  }

  /// Version 3 limits the length of both texts. The whole text of a long title becomes the beginning of the notes.
  private static func split(_ name: String) -> (title: String, notes: String) {
    let parts = name.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == ":" || $0.isNewline }
    let first = parts.first.map(trimmed) ?? ""
    let rest = parts.count > 1 ? trimmed(parts[1]) : ""
    guard !first.isEmpty else { return (rest.isEmpty ? "Untitled" : String(rest.prefix(120)), rest) }
    guard first.count > 120 else { return (first, rest) }
    return (String(first.prefix(119)) + "…", rest.isEmpty ? first : first + "\n" + rest)
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
