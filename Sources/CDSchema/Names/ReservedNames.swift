/// Names that generated code cannot give to what a model declares. The one place where they are listed.
///
/// Swift's keywords are not among them: generated code escapes those.
enum ReservedNames {
  /// Types that generated code mentions. An entity's class of such a name would stand in for them.
  static let types: Set<String> = swiftTypes.union(foundationTypes).union(runtimeTypes)

  private static let swiftTypes: Set<String> = [
    "Any", "AnyClass", "AnyHashable", "AnyKeyPath", "AnyObject", "Array", "Bool", "CaseIterable", "Character",
    "Codable", "CodingKey", "Collection", "Comparable", "CustomStringConvertible", "Decodable", "Decoder",
    "Dictionary", "Double", "Encodable", "Encoder", "Equatable", "Error", "Float", "Hashable", "Hasher",
    "Identifiable", "Int", "Int16", "Int32", "Int64", "Int8", "KeyPath", "KeyValuePairs", "MainActor",
    "Never",
    "Optional", "PartialKeyPath", "Protocol", "RawRepresentable", "Result", "Self", "Sendable", "Sequence",
    "Set", "StaticString", "String", "Substring", "Swift", "Task", "Type", "UInt", "UInt16", "UInt32",
    "UInt64", "UInt8", "Void",
  ]

  private static let foundationTypes: Set<String> = [
    "Data", "Date", "Decimal", "Foundation", "FoundationEssentials", "Predicate", "URL", "UUID",
  ]

  private static let runtimeTypes: Set<String> = [
    "CDModel", "CDRuntime", "EntityClass", "ManagedObject", "ManagedObjectContext", "ManagedObjectID",
    "ManagedObjectModel", "PersistentContainer", "PersistentStoreCoordinator",
  ]

  /// The public members of `ManagedObject`, and what no Swift property can be called.
  static let properties: Set<String> = [
    "objectID", "entity", "managedObjectContext", "value", "setValue", "values", "changedValues",
    "committedValues", "isFault", "isInaccessible", "isDeleted", "isInserted", "isUpdated", "hasChanges",
    "hash", "hashValue", "description", "awakeFromInsert", "awakeFromFetch", "willSave", "didSave",
    "prepareForDeletion", "validateForInsert", "validateForUpdate", "validateForDelete", "init", "self",
    "Type",
    "Protocol",
  ]

  /// The static members that every generated class has.
  static let statics: Set<String> = [
    "objects", "object", "fetch", "Fields", "Key", "entityName", "init", "self", "Type", "Protocol",
  ]

  /// What a field of a generated struct cannot be called.
  static let fields: Set<String> = ["hashValue", "hash", "init", "self", "Type", "Protocol"]

  /// What a case of a generated enum cannot be called.
  static let cases: Set<String> = ["allCases", "init", "self", "Type", "Protocol"]

  /// What an entity's relationships and composites' fields cannot be called, whatever their names in Swift,
  /// since the schema language gives the word a meaning.
  static let relationships: Set<String> = ["none"]
}
