import CDRuntime
import Foundation

/// Saves, and the conflicts that they meet.
extension Window {
  /// Saves the changes of the window.
  ///
  /// - Parameter choices: Whose version of contested values to save, as the person has chosen in the dialog.
  func save(choosing choices: [ConflictChoice]) -> Message {
    let decision = ConflictDecision(
      deleted: Set(context.deletedObjects.map(\.objectID)), shown: conflicts, choices: choices)
    conflicts = []
    do {
      do {
        // Without a policy, a save that meets conflicts throws all of them and changes nothing.
        try context.save()
      } catch SaveError.conflict(let found) {
        guard found.allSatisfy(decision.isDecided) else { throw SaveError.conflict(found) }
        try save(deciding: decision)
      } catch SaveError.notUnique {
        try save(deciding: decision)
      }
      return Message("Saved.")
    } catch SaveError.conflict(let found) {
      conflicts = found.filter(decision.isContested)
      return Message("Somebody else has changed the same items. Choose which values to keep.", isError: true)
    } catch SaveError.validation(let errors) {
      return Message(summary(of: errors), isError: true)
    } catch {
      complain("The changes cannot be saved: \(error)")
      return Message("Not saved. \(explanation(of: error))", isError: true)
    }
  }

  private func save(deciding decision: ConflictDecision) throws {
    context.mergePolicy = MergePolicy { try decision.resolution(of: $0) }
    defer { context.mergePolicy = .error }
    try context.save()
  }

  private func summary(of errors: [ValidationError]) -> String {
    // Another window can have given the category to an item since this one has removed it.
    if let error = errors.first(where: { $0.reason == .deleteDenied }), let count = error.denyingCount {
      let name = (context.registeredObject(for: error.objectID) as? Category)?.shownName ?? ""
      return
        "Not saved. “\(name)” cannot be removed: \(Self.uses(count)). Undo the removal, or change what uses it."
    }
    let names = Set(errors.map(\.objectID)).prefix(5).compactMap { title(of: $0) }.joined(separator: ", ")
    let what = errors.count == 1 ? errors[0].sentence : "\(errors.count) values are not valid."
    return "Not saved. \(what)" + (names.isEmpty ? "" : " See \(names).")
  }

  /// What a message calls an object that cannot be saved.
  private func title(of id: ManagedObjectID) -> String? {
    switch context.registeredObject(for: id) {
    case let toDo as ToDo: toDo.title.isEmpty ? "an item without a title" : "“\(toDo.title.prefix(40))”"
    case let category as Category:
      category.name.isEmpty ? "a category without a name" : "“\(category.name.prefix(40))”"
    default: nil
    }
  }

  /// Saves before the server stops.
  ///
  /// - Returns: The reason why the changes could not be saved; nil if they were, or if there were none.
  func saveForQuitting() -> String? {
    context.perform {
      guard context.hasChanges else { return nil }
      let message = save(choosing: [])
      return message.isError ? message.text : nil
    }
  }
}

extension SaveConflict {
  /// The values that both sides have changed, to different values. Nobody is asked about the dates of alerts, which no
  /// page shows.
  var contestedValues: [Value] {
    values.filter {
      $0.object != $0.snapshot && $0.store != $0.snapshot && $0.object != $0.store
        && !Self.alertDates.contains($0.key)
    }
  }

  /// Whether others have changed more than the dates of alerts.
  var hasChangesOfPeople: Bool { !keys.allSatisfy(Self.alertDates.contains) }

  private static let alertDates: Set<String> = [
    AttributeKey<ToDo>.lastAlertDate.name, AttributeKey<ToDo>.remindDate.name,
  ]
}

/// The resolution of conflicts by the choices of a person. It has only values, because a merge policy is `Sendable`.
struct ConflictDecision: Sendable {
  /// The objects that the window has deleted.
  var deleted: Set<ManagedObjectID>
  var shown: [SaveConflict]
  var choices: [ConflictChoice]

  /// Whether a person must choose: both sides have changed the same value, or one side has deleted what the other has
  /// changed. Alerts and other changes of different values are combined.
  func isContested(_ conflict: SaveConflict) -> Bool {
    switch conflict.reason {
    case .changed:
      deleted.contains(conflict.objectID) ? conflict.hasChangesOfPeople : !conflict.contestedValues.isEmpty
    case .deleted: true
    // New categories of the same name become one. Delete rules decide about the others.
    case .notUnique, .partnerTaken, .related: false
    }
  }

  /// Whether a save can go on: nobody must choose, or the person has chosen between the values that are there now.
  func isDecided(_ conflict: SaveConflict) -> Bool {
    guard isContested(conflict) else { return true }
    let seen = shown.first { $0.objectID == conflict.objectID && $0.reason == conflict.reason }
    guard let seen, seen.contestedValues == conflict.contestedValues else { return false }
    let keys = Set(choices.filter { $0.id == conflict.objectID }.map(\.key))
    return keys.contains(nil) || conflict.contestedValues.allSatisfy { keys.contains($0.key) }
  }

  func resolution(of conflict: SaveConflict) throws -> MergePolicy.Resolution {
    guard isContested(conflict) else { return .objectWins }
    // Somebody may have saved once more since the conflict was found.
    guard isDecided(conflict) else { throw SaveError.conflict([conflict]) }
    let own = choices.filter { $0.id == conflict.objectID }
    if let whole = own.first(where: { $0.key == nil }) { return whole.isMine ? .objectWins : .storeWins }
    let theirs = Set(own.filter { !$0.isMine }.compactMap(\.key))
    let values = conflict.contestedValues.filter { theirs.contains($0.key) }
    let pairs = values.compactMap { value in value.store.map { (value.key, $0) } }
    return .values(Dictionary(pairs) { first, _ in first })
  }
}
