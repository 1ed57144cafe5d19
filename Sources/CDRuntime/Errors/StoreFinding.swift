#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A defect of a store, found by ``PersistentStoreCoordinator/verify()``.
///
/// ```swift
/// for finding in try container.persistentStoreCoordinator.verify() {
///   switch finding {
///   case .damaged(let text): print("restore the store from a backup: \(text)")
///   case .invalid(let error): print("\(error.entity) breaks a rule: \(error)")
///   default: print(finding)
///   }
/// }
/// ```
public enum StoreFinding: Error, Hashable, Sendable {
  /// The file is damaged. The text is the database's message.
  case damaged(String)
  /// A row refers to a row that does not exist.
  case danglingReference(entity: String, key: Int64, destination: String)
  /// A relationship that is its own inverse leads from one object to another, but not back. The two numbers are the
  /// keys of the objects. Each direction is stored in a row of its own.
  case oneDirection(entity: String, relationship: String, key: Int64, other: Int64)
  /// A value cannot be read as the type that the model declares.
  case unreadable(ObservedError)
  /// A value breaks a rule of the model.
  case invalid(ValidationError)
  /// The value of a derived attribute is not the one that its derivation gives now. The key is that of the object. A save
  /// of any change of the object computes the value again.
  case outdatedValue(entity: String, attribute: String, key: Int64)
  /// A row names an entity that the model does not have, or an abstract one. No fetch returns the row, but counts of its
  /// root entity include it. Copies and migrations of the store are refused, because they would lose the row.
  case unknownEntity(entity: String, key: Int64, name: String)
  /// A hash in the metadata is not the hash of the model that the store carries.
  case wrongHash(key: String)
  /// The history row with this number cannot be read. Contexts and listeners miss this save.
  case unreadableHistory(id: Int64)
  /// A save to several stores is in this store, under this number in the history, but not in the other stores named.
  /// Either a crash happened between writing the files, or one of the stores was restored from a backup.
  case incompleteSave(id: Int64, store: UUID, missing: [UUID])
  /// The next key in the store's counter is already used, or no keys follow it. A new object could not be inserted.
  case keyTaken(entity: String)
  /// A metadata entry, named by its key, cannot be read: see <doc:SQLiteLayout>.
  case unreadableMetadata(key: String)
  /// The file contains a table or an index that another program has created and that no store of cdgen has.
  case foreignObject(String)
}

extension StoreFinding: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .damaged(let text): "damaged: \(text)"
    case .danglingReference(let entity, let key, let destination):
      "'\(entity)' p\(key) refers to an object of '\(destination)' that does not exist"
    case .oneDirection(let entity, let relationship, let key, let other):
      "'\(entity)' p\(key) has p\(other) in '\(relationship)', but p\(other) does not have p\(key)"
    case .unreadable(let error):
      "\(error.objectID.map { "\($0): " } ?? "")\(error)"
    case .invalid(let error): "\(error)"
    case .outdatedValue(let entity, let attribute, let key):
      "'\(entity)' p\(key) has a value of '\(attribute)' that its derivation does not give; change the object and save it"
    case .unknownEntity(let entity, let key, let name):
      "'\(entity)' p\(key) has the entity '\(name)', which is unknown to the model or abstract"
    case .wrongHash(let key): "the metadata's \(key) does not match the model in the store"
    case .unreadableHistory(let id): "row \(id) of _cdgen_history cannot be read"
    case .incompleteSave(let id, let store, let missing):
      "save \(id) of the store \(store) has not reached the stores "
        + missing.map(\.uuidString).joined(separator: ", ")
    case .keyTaken(let entity):
      "the next key of '\(entity)' is in use, or is the last one; set it in _cdgen_keys above the largest _pk"
    case .unreadableMetadata(let key):
      "the metadata's \(key) cannot be read; restore the store from a backup"
    case .foreignObject(let object): "\(object) was created by another program; drop it if it is not needed"
    }
  }
}
