/// A defect of the stored data that no object shows. A session finds it, because only the engine knows how the data are
/// stored.
enum StoreDefect {
  /// The file is damaged. The text is the database's message.
  case damaged(String)
  /// A row refers to a row that does not exist.
  case danglingReference(entity: String, key: ObjectKey, destination: String)
  /// A relationship that is its own inverse leads from one object to another, but not back.
  case oneDirection(entity: String, relationship: String, key: ObjectKey, other: ObjectKey)
  /// A row names an entity that the model does not have.
  case unknownEntity(entity: String, key: ObjectKey, name: String)
  /// The next key in the store's counter is already used, or no keys follow it.
  case keyTaken(entity: String)
  /// The store contains something that another program has created.
  case foreignObject(String)
}
