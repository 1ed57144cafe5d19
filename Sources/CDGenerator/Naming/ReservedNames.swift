/// The names that generated code uses for its own purposes.
enum ReservedNames {
  /// Modules by which every type of theirs is qualified.
  static let modules: Set<String> = ["Swift", "Foundation", "CDRuntime"]

  /// What a managed object has that starts with an underscore. A property of such a name, the underscore
  /// taken off, gets a storage with two.
  static let objectMembers: Set<String> = [
    "add", "decode", "definition", "didWrite", "encode", "fetch", "fetched", "insert", "missing", "object",
    "remove",
    "setInsertionDefaults", "setReference", "setToMany", "setToOne", "toMany", "toOne", "toOneOfInverse",
    "unknown", "willRead", "willWrite", "seed",
  ]

  /// The public properties and functions of a managed object, which a property cannot have as its name.
  static let publicMembers: Set<String> = ["self"]

  /// What a composite has, which a field cannot have as its name.
  static let fields: Set<String> = ["self"]

  /// Cases that an enumeration cannot have, since its type has a static member of that name.
  static let cases: Set<String> = ["allCases"]
}
