/// A composite to be declared.
struct CompositeDeclaration {
  struct Field {
    /// The name in the model, as a string literal.
    let key: String
    let property: String
    /// The label of the initialiser's parameter.
    let label: String
    /// The stored property: the property itself, or beside it for an enumeration.
    let storage: String
    let type: ValueType
    let isOptional: Bool
    /// The default of the initialiser's parameter.
    let defaultArgument: String?
    /// The argument that makes an empty value; nil where the default serves.
    let emptyArgument: String?
    /// The case that stands for unknown raw values.
    let fallback: String?
    let doc: String?

    var propertyType: String { isOptional ? type.name + "?" : type.name }
    var storageType: String { isOptional ? type.storage + "?" : type.storage }
  }

  let plainName: String
  let typeName: String
  let fields: [Field]
  let doc: String?

  /// Whether a field's type is one of Foundation's.
  var needsFoundation: Bool { fields.contains(where: \.type.needsFoundation) }
}
