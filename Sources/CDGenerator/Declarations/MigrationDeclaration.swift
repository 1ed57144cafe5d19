import CDMapping
import CDModel

/// What the app's own code for custom steps is written against: views of the versions' objects, and the protocol.
struct MigrationDeclaration {
  /// The type of the model, `ToDoModel`, in which everything is nested.
  let modelTypeName: String
  /// The versions that steps start from or lead to, by number.
  let versions: [VersionDeclaration]
  /// The steps with custom mappings, in the order of their versions.
  let steps: [StepDeclaration]

  /// The names of all types that are nested in the model's.
  var nestedNames: Set<String> {
    Set(versions.flatMap { [VersionDeclaration.name($0.number), VersionDeclaration.nameOfNew($0.number)] })
      .union(["Migrations", "CustomMigrations"])
  }

  /// Whether a declaration names a type of Foundation's.
  var needsFoundation: Bool {
    versions.contains { version in
      version.composites.contains(where: \.needsFoundation)
        || (version.snapshots + version.made).contains(where: \.needsFoundation)
    }
  }
}

/// The types of one version.
struct VersionDeclaration {
  let number: Int
  let enums: [EnumDeclaration]
  let composites: [CompositeDeclaration]
  /// What steps that start from the version read.
  let snapshots: [ViewDeclaration]
  /// What steps that lead to the version make.
  let made: [ViewDeclaration]

  /// What snapshots, enumerations and composites are nested in.
  static func name(_ number: Int) -> String { "Version\(number)" }

  /// What the objects that are made are nested in. A name of its own: a version in the middle is read by one step
  /// and made by another, and code that was written for a step has to go on compiling when the next one comes.
  static func nameOfNew(_ number: Int) -> String { "NewVersion\(number)" }
}

/// A struct that shows an object of a version.
struct ViewDeclaration {
  struct Property {
    let property: String
    let type: String
    let getter: String
    /// The statement that sets `newValue`; nil where the property is only read.
    let setter: String?
    /// The function that adds an object to a to-many relationship, its parameter's type and its statement.
    let adding: (name: String, type: String, statement: String)?
    let needsFoundation: Bool
    let doc: String?
  }

  struct Parameter {
    /// The property's name in the model.
    let key: String
    /// The label and name, escaped where needed.
    let name: String
    let type: String
    let property: String
    let isRelationship: Bool
    let needsFoundation: Bool
  }

  /// An initialiser of an object that is made.
  struct Initializer {
    /// What the object comes from; nil for one that comes of none.
    struct Origin {
      let label: String
      let type: String
      /// The mapping's name, as a string literal.
      let mapping: String
    }

    let origin: Origin?
    let parameters: [Parameter]
    let doc: String

    /// What the origin and the manager are called within, where a property has the name.
    var sourceName: String { parameters.contains { $0.name == "source" } ? "___source" : "source" }
    var managerName: String { parameters.contains { $0.name == "manager" } ? "___manager" : "manager" }
  }

  /// The entity's name, as a string literal.
  let entity: String
  let typeName: String
  let properties: [Property]
  let initializers: [Initializer]
  let doc: String

  var needsFoundation: Bool {
    properties.contains(where: \.needsFoundation)
      || initializers.contains { $0.parameters.contains(where: \.needsFoundation) }
  }
}

/// A step with custom mappings.
struct StepDeclaration {
  let source: Int
  let destination: Int
  let mappings: [CustomMappingDeclaration]
  let step: MigrationStep

  /// The end of the names of what belongs to the step as a whole: `Step1To2`.
  var suffix: String { "Step\(source)To\(destination)" }
}

/// A custom entity mapping and the requirement that serves it.
struct CustomMappingDeclaration {
  let mapping: EntityMapping
  /// The mapping's name, as a string literal.
  let name: String
  /// The requirement's function.
  let make: String
  /// The function of the optional hook; nil where there is no source.
  let relate: String?
  /// The type of the source's snapshots; nil where there is none.
  let sourceType: String?
  /// The type of what is made.
  let destinationType: String
  /// What is to be said for each object by the author: the required parameters of the type's initialiser.
  let unknown: [ViewDeclaration.Parameter]
  /// The label of the source in the initialiser.
  let originLabel: String
  let doc: String
}
