/// The struct of a composite.
struct CompositeDeclaration {
  struct Field {
    /// The name in the model, as a string literal.
    let key: String
    let property: String
    /// The label of the initialiser's parameter.
    let label: String
    /// The stored property. It is the property itself, except for an enumeration, which has a separate one.
    let storage: String
    let type: ValueType
    let isOptional: Bool
    /// The default of the initialiser's parameter.
    let defaultArgument: String?
    /// The argument for an empty value; nil if the default is used.
    let emptyArgument: String?
    /// The case for unknown raw values.
    let fallback: String?
    let doc: String?

    var propertyType: String { isOptional ? type.name + "?" : type.name }
    var storageType: String { isOptional ? type.storage + "?" : type.storage }
  }

  let plainName: String
  let typeName: String
  /// The type's name in expressions, where a field could hide it.
  let expression: String
  let fields: [Field]
  let doc: String?

  /// Whether a field's type is from Foundation.
  var needsFoundation: Bool { fields.contains(where: \.type.needsFoundation) }
}
