import CDModel

/// Everything that is to be declared for a model, with names and types resolved to what Swift reads.
struct ModelDeclaration {
  /// The model's name, for files' names.
  let name: String
  /// The enumeration that holds the model, `ToDoModel`.
  let typeName: String
  let canonicalJSON: String
  let enums: [EnumDeclaration]
  let composites: [CompositeDeclaration]
  let classes: [ClassDeclaration]
  /// Types that a property somewhere has the name of, with the names that expressions know them by.
  let aliases: [(name: String, type: String)]
  /// The modules that the model imports for its codable types.
  let imports: [String]
  /// The codable types, as the schema writes them, by the class or composite that uses them.
  let codableTypes: [String: [String]]
  /// What the app's own migrations are written against; nil where no step of a store needs any.
  let migrations: MigrationDeclaration?

  init(_ model: ManagedObjectModel) throws(GenerationError) {
    guard let version = model.currentVersion else {
      throw GenerationError(problems: [.init(.missingCurrentVersion(model.currentVersionNumber))])
    }
    var migrationResolver = MigrationResolver(model)
    migrations = migrationResolver.declaration()
    var resolver = Resolver(
      version, modelName: model.name, imports: model.imports, nestedNames: migrations?.nestedNames ?? [])
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
