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
  /// Whether the object may read the value when it is used. The storage is then a `LargeValue`.
  let isReadLater: Bool
  /// The number of its first column; nil for a transient attribute.
  let column: String?
  /// The initial value of a new object's storage.
  let initialValue: String
  /// The static property that holds a default whose creation is expensive.
  let sharedDefault: SharedDefault?
  /// `now()` or `uuid()`, evaluated at an insertion.
  let insertionDefault: String?
  /// The case for unknown raw values.
  let fallback: String?
  let isReadOnly: Bool
  /// Whether fetches can use the attribute.
  let isFetchable: Bool
  let doc: String?

  /// The type of the property. A codable is always optional, because its JSON may not be decodable.
  var propertyType: String {
    isOptional || type.kind == .codable ? type.name + "?" : type.name
  }

  /// The attribute's type in queries.
  var fieldType: String { isOptional ? type.name + "?" : type.name }

  /// The statement with which an initialiser stores its parameter. A parameter that is nil stores nothing: the value that
  /// `awakeFromInsert()` has set before stays.
  func assignment(_ parameter: String) -> String {
    let statement =
      switch type.kind {
      case .scalar where isReadLater: "\(storage) = CDRuntime.LargeValue(\(parameter))"
      case .scalar, .composite: "\(storage) = \(parameter)"
      case .enumeration: "\(storage) = \(parameter).rawValue"
      case .codable: "\(storage).set(\(parameter))"
      }
    return isOptional ? "if let \(parameter) { \(statement) }" : statement
  }
}

/// A private static property that holds a default.
struct SharedDefault {
  let name: String
  let value: String
  /// Whether the value names a type from Foundation.
  let needsFoundation: Bool
}

/// A relationship of a class.
struct RelationshipDeclaration {
  enum Kind {
    /// A to-one relationship whose key is a column of this table.
    case reference
    /// A to-one relationship whose key is a column of the other table.
    case inverseReference
    case toMany
    case orderedToMany
  }

  /// The name in the model, as a string literal.
  let key: String
  let property: String
  let storage: String
  /// The name after `addTo`.
  let capitalizedName: String
  let kind: Kind
  let isOptional: Bool
  /// The destination's class, in the form for type positions and in the form for expressions.
  let destination: String
  let destinationExpression: String
  /// The destination's entity, as a string literal.
  let destinationEntity: String
  let slot: String
  /// The number of its column; nil if it has none.
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
