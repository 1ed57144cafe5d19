import CDModel

/// All declarations for a model, with names and types already in Swift syntax.
struct ModelDeclaration {
  /// The model's name, for the names of files.
  let name: String
  /// The enumeration that contains the model, such as `ToDoModel`.
  let typeName: String
  let canonicalJSON: String
  let enums: [EnumDeclaration]
  let composites: [CompositeDeclaration]
  let classes: [ClassDeclaration]
  /// Types whose names are also names of properties or fetches, with the aliases that expressions use for them.
  let aliases: [(name: String, type: String)]
  /// The modules that the model imports for its codable types.
  let imports: [String]
  /// The codable types in the schema's syntax, by the class or composite that uses them.
  let codableTypes: [String: [String]]
  /// The declarations for the app's own migrations; nil if no store needs them.
  let migrations: MigrationDeclaration?

  /// - Parameters:
  ///   - hasSnapshots: Whether classes have snapshots.
  ///   - nestsSnapshots: Whether related objects can be present in snapshots as snapshots.
  init(_ model: ManagedObjectModel, hasSnapshots: Bool = false, nestsSnapshots: Bool = false)
    throws(GenerationError)
  {
    guard let version = model.currentVersion else {
      throw GenerationError(problems: [.init(.missingCurrentVersion(model.currentVersionNumber))])
    }
    var migrationResolver = MigrationResolver(model)
    migrations = migrationResolver.declaration()
    var resolver = Resolver(
      version, modelName: model.name, imports: model.imports, nestedNames: migrations?.nestedNames ?? [],
      hasSnapshots: hasSnapshots, nestsSnapshots: nestsSnapshots)
    let enums = resolver.enums()
    let composites = resolver.composites()
    let classes = resolver.classes()
    let problems = resolver.problems + migrationResolver.problems
    guard problems.isEmpty else { throw GenerationError(problems: problems) }
    name = model.name
    typeName = resolver.modelTypeName
    canonicalJSON = model.canonicalJSON
    self.enums = enums
    self.composites = composites
    self.classes = classes
    aliases = resolver.aliases
    imports = model.imports
    codableTypes = resolver.codableTypes
  }
}
