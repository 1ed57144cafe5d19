/// A class to be declared, for an entity.
struct ClassDeclaration {
  let entityName: String
  /// The entity's name, as a string literal.
  let entity: String
  /// The class's name, unescaped, for a file's name.
  let plainName: String
  /// The class's name where a type stands and in an expression.
  let typeName: String
  let expression: String
  /// The superclass, if it is a generated one.
  let superclass: String?
  let isAbstract: Bool
  let attributes: [AttributeDeclaration]
  let relationships: [RelationshipDeclaration]
  let fetched: [FetchedDeclaration]
  /// The names of all attributes and relationships, inherited ones too: in the model, as string literals, and in
  /// Swift.
  let properties: [(key: String, name: String)]
  let initializers: Initializers
  let uniqueKeys: [UniqueKeyDeclaration]
  let templates: [TemplateDeclaration]
  let doc: String?

  /// Whether a declaration of the class that users see names a type of Foundation's.
  var needsFoundation: Bool {
    attributes.contains(where: \.type.needsFoundation)
      || initializers.inherited.contains(where: \.needsFoundation)
      || uniqueKeys.contains { $0.parts.contains(where: \.needsFoundation) }
      || templates.contains { $0.variables.contains(where: \.needsFoundation) }
  }
}

/// The initialisers of a class.
struct Initializers {
  struct Parameter {
    /// The label and name, escaped where needed.
    let name: String
    let type: String
    /// How the class that declares the property stores it; an inherited one is set as a property.
    let assignment: String
    let needsFoundation: Bool
  }

  /// Those of inherited properties first.
  let inherited: [Parameter]
  let own: [Parameter]
  /// Whether the superclass has initialisers of the same parameters, and one of none.
  let overridesFull: Bool
  let overridesEmpty: Bool
  /// What the context is called within, where a property has its name.
  let contextName: String

  var parameters: [Parameter] { inherited + own }
}

/// A list of properties whose values together find one object at most.
struct UniqueKeyDeclaration {
  struct Part {
    let key: String
    let name: String
    let type: String
    let value: String
    let needsFoundation: Bool
  }

  let parts: [Part]
  let contextName: String
}

/// A fetch that the schema names.
struct TemplateDeclaration {
  struct Variable {
    /// The name in the predicate, as a string literal.
    let key: String
    let name: String
    let type: String
    let value: String
    let needsFoundation: Bool
  }

  /// The name in the model, as a string literal.
  let key: String
  let function: String
  let variables: [Variable]
  let contextName: String
  let doc: String?
}
