/// The situation of a person who uses an app when an error occurs. Many errors lead to the same situation.
///
/// The raw value is the first part of the keys of its texts; see ``ErrorTexts``.
public enum ErrorSituation: String, Hashable, Sendable, CaseIterable {
  // MARK: The store

  /// Another program or another part of the app is using the store.
  case storeBusy = "store.busy"
  /// The disk has too little space.
  case diskFull = "store.diskFull"
  /// The store, or its folder, cannot be written to.
  case notWritable = "store.notWritable"
  /// The store's file was removed or replaced, or does not exist.
  case storeMissing = "store.missing"
  /// The store's contents are damaged.
  case storeDamaged = "store.damaged"
  /// The file is not a store of the app.
  case foreignFile = "store.foreign"
  /// A newer release of the app has written the store.
  case newerStore = "store.newer"
  /// An older release of the app has written the store, which has to be migrated.
  case olderStore = "store.older"
  /// The operating system could not read or write.
  case inputOutput = "store.inputOutput"
  /// The server that has the store does not answer, or it refuses the connection.
  case serverUnreachable = "store.serverUnreachable"

  // MARK: Migration

  /// A migration failed. The store is as it was before.
  case migrationFailed = "migration.failed"
  /// A migration was cancelled. The store is as it was before.
  case migrationCancelled = "migration.cancelled"

  // MARK: Saving

  /// A value breaks a rule. The names are those of the property and the entity.
  case invalidValue = "save.invalidValue"
  /// A mandatory value is missing. The names are those of the property and the entity.
  case missingValue = "save.missingValue"
  /// Several values break rules.
  case invalidValues = "save.invalidValues"
  /// Something is saved that exists already. The name is that of the entity.
  case notUnique = "save.notUnique"
  /// Somebody else has changed the same data.
  case conflict = "save.conflict"
  /// Other objects need the object that was deleted. The name is that of its entity.
  case deletionDenied = "save.deletionDenied"
  /// The object has been deleted in the meantime.
  case objectGone = "save.objectGone"
  /// Only some of the changes have been saved.
  case partlySaved = "save.partly"

  // MARK: Reading

  /// The object does not exist.
  case notFound = "fetch.notFound"
  /// A search or calculation has no result.
  case noResult = "fetch.noResult"
  /// A search takes too long.
  case tooCostly = "fetch.tooCostly"
  /// The person, or the app, cancelled what was running.
  case cancelled = "fetch.cancelled"
  /// Older changes are not recorded any more.
  case expiredHistory = "history.expired"
  /// A text or file from elsewhere cannot be read.
  case unreadableText = "data.unreadable"

  // MARK: The app

  /// The app has a mistake, which its developers must correct.
  case mistakeOfApp = "app.mistake"

  typealias Texts = (description: String, reason: String, suggestion: String)

  /// The English texts. A name in them may be singular or plural, so that no verb depends on it.
  var english: Texts {
    switch self {
    case .storeBusy:
      ("The data is in use.", "Another program or window is working with it.", "Try again in a moment.")
    case .diskFull:
      (
        "There is not enough space to save the data.", "The disk is full.",
        "Free some space on the disk, then try again."
      )
    case .notWritable:
      (
        "The data cannot be changed.", "The file or its folder cannot be written to.",
        "Check that you have permission to change the file, and that the disk is not locked."
      )
    case .storeMissing:
      (
        "The data cannot be found.", "The file was moved, replaced or deleted.",
        "Put the file back, or restore it from a backup, then open the app again."
      )
    case .storeDamaged:
      (
        "The data cannot be read.", "The file is damaged.",
        "Restore the file from a backup. If you have none, contact the app's developers before you delete anything."
      )
    case .foreignFile:
      (
        "The file cannot be opened.", "The file does not contain data of this app.",
        "Choose a file that this app has created."
      )
    case .newerStore:
      (
        "The data cannot be opened.", "A newer version of the app has written it.",
        "Update the app, then try again."
      )
    case .olderStore:
      (
        "The data cannot be opened yet.",
        "An older version of the app has written it, and it has not been updated.",
        "Open the data in the app, which updates it."
      )
    case .inputOutput:
      (
        "The data cannot be read or written.", "The disk or the network reported an error.",
        "Check that the disk is connected, then try again."
      )
    case .serverUnreachable:
      (
        "The data cannot be reached.",
        "The server that has it does not answer, or it refuses the connection.",
        "Check the connection to the server, then try again."
      )
    case .migrationFailed:
      (
        "The data could not be updated for this version of the app.",
        "Some of the data does not fit the new version.",
        "Your data is unchanged. Contact the app's developers."
      )
    case .migrationCancelled:
      (
        "The update of the data was cancelled.", "It was stopped before it was complete.",
        "Your data is unchanged. Open the app again to update it."
      )
    case .invalidValue:
      (
        "The {1} cannot be saved because of the {0}.", "The value is not one that is allowed here.",
        "Correct the {0}, then save again."
      )
    case .missingValue:
      (
        "The {1} cannot be saved without the {0}.", "A value is needed there.",
        "Enter the {0}, then save again."
      )
    case .invalidValues:
      (
        "Some values are not valid.", "Several values are missing or are not allowed.",
        "Correct the values, then save again."
      )
    case .notUnique:
      (
        "The {0} cannot be saved with these values.", "Other data has the same values already.",
        "Change the values, or use the data that has them."
      )
    case .conflict:
      (
        "The changes could not be saved.", "The same data was changed elsewhere.",
        "Look at the new data, then make your changes again."
      )
    case .deletionDenied:
      (
        "The {0} cannot be deleted.", "Other data still depends on this.",
        "Delete or change the other data first."
      )
    case .objectGone:
      (
        "The changes could not be saved.", "What you changed was deleted in the meantime.",
        "Create it again if you still need it."
      )
    case .partlySaved:
      (
        "Not all changes have been saved.", "Some of the data could not be written.",
        "Save again to write the rest."
      )
    case .notFound:
      ("This does not exist.", "It was deleted, or it belongs to other data.", "Choose something else.")
    case .noResult:
      (
        "The search has no result.", "A calculation with these values is not possible.",
        "Change the search, then try again."
      )
    case .tooCostly:
      ("The search takes too long.", "The pattern is too complicated.", "Use a simpler pattern.")
    case .cancelled:
      ("The operation was cancelled.", "It was stopped before it was complete.", "Try again.")
    case .expiredHistory:
      (
        "The latest changes cannot be listed.", "They are older than the changes that are kept.",
        "Load all data again."
      )
    case .unreadableText:
      (
        "The text or file cannot be read.", "It is not written in the expected form.",
        "Check the text or file, then try again."
      )
    case .mistakeOfApp:
      ("Something went wrong in the app.", "The app has a mistake.", "Contact the app's developers.")
    }
  }
}
