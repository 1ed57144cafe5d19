import CDModel

/// A stored value of an entity: an attribute, or a field of a composite attribute.
struct StoredValue {
  /// The entity that declares the attribute.
  let owner: String
  let attribute: AttributeDescription
  let field: AttributeDescription?

  /// `attribute`, or `attribute.field`.
  var path: String { field.map { "\(attribute.name).\($0.name)" } ?? attribute.name }
  var name: PropertyName { PropertyName(owner, path) }
  var type: AttributeType { field?.type ?? attribute.type }
  var isDerived: Bool { attribute.derivation != nil }
  /// Whether the value may be nil. Every field of an optional composite may be nil.
  var isOptional: Bool { attribute.isOptional || field?.isOptional == true }
  var storesExternally: Bool { field?.storesExternally ?? attribute.storesExternally }
  var hashModifier: String? { field?.hashModifier ?? attribute.hashModifier }

  /// Whether a value is needed where the old version allowed nil. In an optional composite, a mandatory field may be nil
  /// only if the composite is.
  func becomesMandatory(after old: StoredValue) -> Bool {
    old.isOptional && !isOptional || old.field?.isOptional == true && field?.isOptional == false
  }

  /// The expression that reads the value from its object.
  var expression: ValueExpression {
    .keyPath(field.map { [attribute.name, $0.name] } ?? [attribute.name])
  }

  /// The value that a new object gets.
  var defaultValue: DefaultValue? {
    guard let field else { return attribute.defaultValue }
    if case .value(.composite(let values))? = attribute.defaultValue, let value = values[field.name] {
      return .value(value)
    }
    return field.defaultValue
  }
}

extension EntityGraph {
  /// The stored values of an entity, inherited ones first.
  func storedValues(of name: String) -> [StoredValue] {
    var result: [StoredValue] = []
    for entity in lineage(of: name) {
      for attribute in entity.attributes where attribute.isStored {
        if case .composite(let type) = attribute.type, let composite = composite(type) {
          for field in composite.fields where field.isStored {
            result.append(StoredValue(owner: entity.name, attribute: attribute, field: field))
          }
        } else {
          result.append(StoredValue(owner: entity.name, attribute: attribute, field: nil))
        }
      }
    }
    return result
  }
}

extension DefaultValue {
  /// The default as an expression. `now()` is the same time for a whole step, and `uuid()` is a new UUID for each
  /// object.
  var expression: ValueExpression {
    switch self {
    case .value(let value): .constant(value)
    case .now: .function(.now, [])
    case .uuid: .function(.uuid, [])
    }
  }
}
