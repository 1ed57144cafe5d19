/// The class of an entity.
struct ClassDeclaration {
  let entityName: String
  /// The entity's name, as a string literal.
  let entity: String
  /// The class's name without escaping, for a file's name.
  let plainName: String
  /// The class's name in the form for type positions and in the form for expressions.
  let typeName: String
  let expression: String
  /// The superclass, if it is a generated class.
  let superclass: String?
  let isAbstract: Bool
  let attributes: [AttributeDeclaration]
  let relationships: [RelationshipDeclaration]
  let fetched: [FetchedDeclaration]
  /// The names of all attributes and relationships, including inherited ones: in the model as string literals, and in
  /// Swift.
  let properties: [(key: String, name: String)]
  let initializers: Initializers
  let uniqueKeys: [UniqueKeyDeclaration]
  let templates: [TemplateDeclaration]
  /// Nil if classes have no snapshots.
  let snapshot: SnapshotDeclaration?
  let doc: String?

  /// Whether a visible declaration of the class uses a type from Foundation.
  var needsFoundation: Bool {
    attributes.contains(where: \.type.needsFoundation)
      || !isAbstract && initializers.inherited.contains(where: \.needsFoundation)
      || snapshot?.attributes.contains(where: \.type.needsFoundation) == true
      || uniqueKeys.contains { $0.parts.contains(where: \.needsFoundation) }
      || templates.contains { $0.variables.contains(where: \.needsFoundation) }
  }

  /// Whether the default of a composite, which is private, uses a type from Foundation.
  var needsFoundationPrivately: Bool { attributes.contains { $0.sharedDefault?.needsFoundation == true } }

  /// The codable types of inherited properties that the initialisers name.
  var inheritedCodableTypes: [String] {
    isAbstract ? [] : initializers.inherited.compactMap(\.codableType)
  }
}

/// The initialisers of a class.
struct Initializers {
  struct Parameter {
    /// The label and name, escaped where needed.
    let name: String
    let type: String
    /// The statement with which the declaring class stores the property. For an inherited property, the initialiser
    /// sets the property.
    let assignment: String
    let needsFoundation: Bool
    /// Whether the parameter is an optional attribute, with nil as its default.
    var isOptional = false
    /// The type of a codable attribute; nil for other properties.
    var codableType: String?
  }

  /// The parameters of inherited properties, and those of the class's own.
  let inherited: [Parameter]
  let own: [Parameter]
  /// Whether the superclass has an initialiser with the same parameters, and one without parameters.
  let overridesFull: Bool
  let overridesEmpty: Bool
  /// The name of the context inside the initialiser. It differs from `context` if a property has that name.
  let contextName: String

  /// The mandatory parameters, followed by the optional ones; inherited ones first.
  var parameters: [Parameter] {
    let all = inherited + own
    return all.filter { !$0.isOptional } + all.filter(\.isOptional)
  }
}

/// A list of properties whose values together identify at most one object.
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

/// A named fetch of the schema.
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

/// The struct with the values of an object.
struct SnapshotDeclaration {
  /// All attributes and relationships, inherited ones first.
  let attributes: [AttributeDeclaration]
  let relationships: [RelationshipDeclaration]
  /// The names of the entity and its ancestors.
  let owners: [String]
  /// Whether related objects can be present as snapshots.
  let isNested: Bool
}
