import CDModel

/// An attribute of a class.
struct AttributeDeclaration {
  /// The name in the model, as a string literal.
  let key: String
  /// The property's name, escaped where needed.
  let property: String
  /// The stored property's name.
  let storage: String
  let type: ValueType
  /// Whether the storage can be nil.
  let isOptional: Bool
  let slot: String
  /// The number of its first column; nil for a transient one.
  let column: String?
  /// What a new object's storage holds.
  let initialValue: String
  /// The name of the static property that keeps a default which is costly to make, and its value.
  let sharedDefault: (name: String, value: String)?
  /// `now()` or `uuid()`, called at an insertion.
  let insertionDefault: String?
  /// The case that stands for unknown raw values.
  let fallback: String?
  let isReadOnly: Bool
  /// Whether a fetch can ask for it.
  let isFetchable: Bool
  let doc: String?

  /// The type of the property. What is foreign JSON may not decode, and so is always optional.
  var propertyType: String {
    isOptional || type.kind == .codable ? type.name + "?" : type.name
  }

  /// The type by which a query knows the attribute.
  var fieldType: String { isOptional ? type.name + "?" : type.name }

  /// The statement by which an initialiser stores its parameter.
  func assignment(_ parameter: String) -> String {
    switch type.kind {
    case .scalar, .composite: "\(storage) = \(parameter)"
    case .enumeration: "\(storage) = \(parameter).rawValue"
    case .codable: "\(storage).set(\(parameter))"
    }
  }
}

/// A relationship of a class.
struct RelationshipDeclaration {
  enum Kind {
    /// To-one; its key is a column of this table.
    case reference
    /// To-one; the key stands in the other table.
    case inverseReference
    case toMany
    case orderedToMany
  }

  /// The name in the model, as a string literal.
  let key: String
  let property: String
  let storage: String
  /// The name behind `addTo`.
  let capitalizedName: String
  let kind: Kind
  let isOptional: Bool
  /// The destination's class, where a type stands and in an expression.
  let destination: String
  let destinationExpression: String
  /// The destination's entity, as a string literal.
  let destinationEntity: String
  let slot: String
  /// The number of its column, if it has one.
  let column: String?
  let doc: String?

  var isToMany: Bool {
    switch kind {
    case .toMany, .orderedToMany: true
    case .reference, .inverseReference: false
    }
  }
}

/// A fetched property of a class.
struct FetchedDeclaration {
  /// The name in the model, as a string literal.
  let key: String
  let property: String
  let destination: String
  let doc: String?
}
