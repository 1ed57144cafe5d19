import CDMapping
import CDModel

/// The declarations that the app's own code for custom steps uses: views of the versions' objects, and the protocol.
struct MigrationDeclaration {
  /// The type of the model, such as `ToDoModel`, which contains all other types.
  let modelTypeName: String
  /// The versions at the start or end of these steps, ordered by number.
  let versions: [VersionDeclaration]
  /// The steps with custom mappings, in the order of their versions.
  let steps: [StepDeclaration]

  /// The names of all types nested in the model's type.
  var nestedNames: Set<String> {
    Set(versions.flatMap { [VersionDeclaration.name($0.number), VersionDeclaration.nameOfNew($0.number)] })
      .union(["Migrations", "CustomMigrations"])
  }

  /// Whether a declaration uses a type from Foundation.
  var needsFoundation: Bool {
    versions.contains { version in
      version.composites.contains(where: \.needsFoundation)
        || (version.snapshots + version.created).contains(where: \.needsFoundation)
    }
  }
}

/// The types of one version.
struct VersionDeclaration {
  let number: Int
  let enums: [EnumDeclaration]
  let composites: [CompositeDeclaration]
  /// The views of objects that steps from this version read.
  let snapshots: [ViewDeclaration]
  /// The views of objects that steps to this version create.
  let created: [ViewDeclaration]

  /// The type that contains the snapshots, enumerations and composites.
  static func name(_ number: Int) -> String { "Version\(number)" }

  /// The type that contains the views of created objects. It has its own name, because one step reads a version in the
  /// middle, and another step creates its objects. Code that was written for one step must still compile when the next
  /// step is added.
  static func nameOfNew(_ number: Int) -> String { "NewVersion\(number)" }
}

/// A struct that represents an object of a version.
struct ViewDeclaration {
  struct Property {
    let property: String
    let type: String
    let getter: String
    /// The statement that sets `newValue`; nil for a read-only property.
    let setter: String?
    /// The function that adds an object to a to-many relationship: its name, its parameter's type and its statement.
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

  /// An initialiser of a created object.
  struct Initializer {
    /// The source object of a created object. An initialiser for objects without a source has no origin.
    struct Origin {
      let label: String
      let type: String
      /// The mapping's name, as a string literal.
      let mapping: String
    }

    let origin: Origin?
    let parameters: [Parameter]
    let doc: String

    /// The names of the origin and the manager inside the initialiser. They differ from the usual names if a property
    /// has these names.
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

  /// The suffix of names for the whole step: `Step1To2`.
  var suffix: String { "Step\(source)To\(destination)" }
}

/// A custom entity mapping and the protocol requirement for it.
struct CustomMappingDeclaration {
  let mapping: EntityMapping
  /// The mapping's name, as a string literal.
  let name: String
  /// The requirement's function.
  let make: String
  /// The function of the optional hook; nil if there is no source.
  let relate: String?
  /// The type of the source's snapshots; nil if there is no source.
  let sourceType: String?
  /// The type of the created objects.
  let destinationType: String
  /// The values that the author must supply for each object: the required parameters of the type's initialiser.
  let unknown: [ViewDeclaration.Parameter]
  /// The initialiser's label for the source.
  let originLabel: String
  let doc: String
}
