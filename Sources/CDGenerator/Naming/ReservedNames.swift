/// The names that generated code uses for its own purposes.
enum ReservedNames {
  /// The modules that qualify their types in generated code.
  static let modules: Set<String> = ["Swift", "Foundation", "CDRuntime"]

  /// The members of a managed object that start with an underscore, without the underscore. The storage of a property
  /// with such a name gets two underscores.
  static let objectMembers: Set<String> = [
    "add", "decode", "definition", "didWrite", "encode", "fetch", "fetched", "insert", "missing", "object",
    "remove",
    "setInsertionDefaults", "setReference", "setToMany", "setToOne", "toMany", "toOne", "toOneOfInverse",
    "unknown", "willRead", "willWrite", "willWriteLarge", "readLarge", "seed",
  ]

  /// The public members of a managed object that a property cannot have as its name.
  static let publicMembers: Set<String> = ["self"]

  /// The same for the members that only snapshots use.
  static let snapshotStorage: Set<String> = [
    "differs", "relate", "relatedID", "relatedIDs", "snapshotObjects",
  ]

  /// The public members that a class or its snapshot has in addition if there are snapshots.
  static let snapshotMembers: Set<String> = ["snapshot", "apply", "CodingKeys", snapshot]

  /// The type that is nested in each class if there are snapshots. It would hide another type of this name.
  static let snapshot = "Snapshot"

  /// The members of a composite that a field cannot have as its name.
  static let fields: Set<String> = ["self", "Self", "CodingKeys"]

  /// Names that a case of an enumeration cannot have, because the type has a static member or a type of that name.
  static let cases: Set<String> = ["allCases", "AllCases", "RawValue"]
}
