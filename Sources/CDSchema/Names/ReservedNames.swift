import CDModel

/// Names that declarations of a model cannot have in generated code. This is the only list of them.
///
/// Swift's keywords are not included, because generated code escapes them.
enum ReservedNames {
  /// Types that generated code uses. An entity's class with such a name would hide the type.
  static let types: Set<String> = attributeTypes.union(swiftTypes).union(foundationTypes)
    .union(runtimeTypes)

  private static let attributeTypes = Set(AttributeTraits.all.map(\.name))

  private static let swiftTypes: Set<String> = [
    "Any", "AnyClass", "AnyHashable", "AnyKeyPath", "AnyObject", "Array", "CaseIterable", "Character",
    "Codable", "CodingKey", "Collection", "Comparable", "CustomStringConvertible", "Decodable", "Decoder",
    "Dictionary", "Encodable", "Encoder", "Equatable", "Error", "Hashable", "Hasher", "Identifiable", "Int",
    "Int8", "KeyPath", "KeyValuePairs", "MainActor", "Never", "Optional", "PartialKeyPath", "Protocol",
    "RawRepresentable", "Result", "Self", "Sendable", "Sequence", "Set", "StaticString", "Substring", "Swift",
    "Task", "Type", "UInt", "UInt16", "UInt32", "UInt64", "UInt8", "Void",
  ]

  private static let foundationTypes: Set<String> = ["Foundation", "FoundationEssentials", "Predicate"]

  private static let runtimeTypes: Set<String> = [
    "CDModel", "CDRuntime", "EntityClass", "ManagedObject", "ManagedObjectContext", "ManagedObjectID",
    "ManagedObjectModel", "PersistentContainer", "PersistentStoreCoordinator",
  ]

  /// Names that mean other types where generated code names an entity's class: the generic parameter of the fields' extensions,
  /// the type of an object's identity, and the members of the class that names another one.
  static let hiddenClasses: Set<String> = members.union(["ID", "Root"])

  /// The members of generated classes. Within a class, such a name means the member and not a type. `Fields` and `Key` are
  /// types, which generated code calls by their full names.
  static let members = properties.union(statics).subtracting([
    "Fields", "Key", "init", "self", "Type", "Protocol",
  ])

  /// Names that mean other types where generated code names an enumeration or a composite. `Value` is the generic parameter
  /// of a composite's fields, `Comparand` the type that values are compared with, and `CodingKeys` a type within a composite.
  static let hiddenValues: Set<String> = hiddenClasses.union(["CodingKeys", "Comparand", "Value"])

  /// The public members of `ManagedObject`, and names that no Swift property can have.
  static let properties: Set<String> = [
    "objectID", "entity", "managedObjectContext", "value", "setValue", "values", "changedValues",
    "committedValues", "isFault", "isInaccessible", "isDeleted", "isInserted", "isUpdated", "hasChanges",
    "hash", "hashValue", "description", "awakeFromInsert", "awakeFromFetch", "willSave", "didSave",
    "delete", "prepareForDeletion", "validateForInsert", "validateForUpdate", "validateForDelete",
    "evaluationIdentity", "expressionConstant", "init",
    "self",
    "Type",
    "Protocol",
  ]

  /// The static members that every generated class has.
  static let statics: Set<String> = [
    "objects", "object", "fetch", "first", "count", "exists", "delete", "aggregate", "Fields", "Key",
    "entityName", "init", "self", "Type", "Protocol",
  ]

  /// The members of the types that make key paths of conditions. In a key path, such a name never means a property.
  static let pathMembers: Set<String> = ["expression", "keyPath", "keys"]

  /// Names that a field of a generated struct cannot have.
  static let fields: Set<String> = [
    "CodingKeys", "hashValue", "hash", "init", "self", "Self", "Type", "Protocol",
  ]

  /// Names that a case of a generated enum cannot have.
  static let cases: Set<String> = [
    "AllCases", "allCases", "init", "RawValue", "self", "Type", "Protocol",
  ]

  /// Names that relationships and composites' fields cannot have, whatever their Swift name is, because the word has a
  /// meaning in the schema language.
  static let relationships: Set<String> = ["none"]
}
