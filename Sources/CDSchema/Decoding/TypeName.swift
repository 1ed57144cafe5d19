import CDModel

/// The type of an attribute as written in the schema.
struct TypeReference {
  var type: AttributeType
  var isOptional: Bool
}

extension DecodingContext {
  /// Reads a type's name, optionally with a `?`, and reports unknown types.
  func typeReference(_ node: MarkedNode) -> TypeReference? {
    if case .sequence = node.content {
      error(
        node,
        "an attribute has one value; a list is written codable: \"[String]\", "
          + "and objects of an entity are a relationship")
      return nil
    }
    guard let text = text(of: node, as: "the type") else { return nil }
    let isOptional = text.hasSuffix("?")
    let name = isOptional ? String(text.dropLast()) : text
    if let named = AttributeType.named.first(where: { $0.name == name }) {
      return TypeReference(type: named.type, isOptional: isOptional)
    }
    if enums[name] != nil { return TypeReference(type: .enumeration(name), isOptional: isOptional) }
    if compositeNames.contains(name) {
      return TypeReference(type: .composite(name), isOptional: isOptional)
    }
    reportUnknownType(name, at: node)
    return nil
  }

  /// Whether a text is the name of a type, optionally with a `?`.
  func isTypeName(_ text: String) -> Bool {
    let name = text.hasSuffix("?") ? String(text.dropLast()) : text
    return AttributeType.named.contains { $0.name == name } || enums[name] != nil
      || compositeNames.contains(name)
  }

  private func reportUnknownType(_ name: String, at node: MarkedNode) {
    if entityNames.contains(name) {
      error(node, "'\(name)' is an entity; write it under 'relationships' as { to: \(name)?, inverse: … }")
      return
    }
    if let remedy = ForeignTypes.remedies[ForeignTypes.key(name)] {
      error(node, "unknown type '\(name)'; \(remedy)")
      return
    }
    let names = AttributeType.named.map(\.name) + enums.keys.sorted() + compositeNames.sorted()
    let close = ForeignTypes.names[ForeignTypes.key(name)] ?? closestName(to: name, in: names)
    if let close {
      error(node, "unknown type '\(name)'", suggestion: close)
    } else {
      error(
        node,
        "unknown type '\(name)'; the types are "
          + "\(AttributeType.named.map(\.name).joined(separator: ", ")), and the version's enums and composites"
      )
    }
  }
}

/// The names that other tools and languages use for the types.
enum ForeignTypes {
  /// The name in lower case, without spaces and underscores.
  static func key(_ name: String) -> String {
    name.lowercased().filter { $0 != " " && $0 != "_" }
  }

  static let names: [String: String] = [
    "boolean": "Bool", "bool": "Bool", "integer": "Int64", "int": "Int64", "integer64": "Int64",
    "integer32": "Int32", "integer16": "Int16", "int8": "Int16", "uint8": "Int16", "uint16": "Int32",
    "uint32": "Int64", "uint": "Int64", "uint64": "Int64", "long": "Int64", "bigint": "Int64",
    "short": "Int16", "smallint": "Int16", "text": "String", "varchar": "String", "char": "String",
    "character": "String", "nsstring": "String", "float32": "Float", "float64": "Double", "real": "Double",
    "cgfloat": "Double", "number": "Double", "timeinterval": "Double", "nsnumber": "Double",
    "nsdecimalnumber": "Decimal", "decimalnumber": "Decimal", "money": "Decimal", "datetime": "Date",
    "timestamp": "Date", "time": "Date", "nsdate": "Date", "binary": "Data", "binarydata": "Data",
    "blob": "Data", "bytes": "Data", "nsdata": "Data", "uri": "URL", "nsurl": "URL", "guid": "UUID",
    "nsuuid": "UUID",
  ]

  static let remedies: [String: String] = [
    "transformable": "a value of your own type is written codable: TypeName",
    "codable": "a value of your own type is written codable: TypeName",
    "array": "a list is written codable: \"[String]\"",
    "dictionary": "a dictionary is written codable: \"[String: Int]\"",
    "set": "a set is written codable: \"Set<String>\"",
    "any": "a value of your own type is written codable: TypeName",
    "objectid": "objects are related by a relationship",
  ]
}
