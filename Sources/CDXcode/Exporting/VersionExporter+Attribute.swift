import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension VersionExporter {
  /// The element of an attribute.
  ///
  /// - Parameter entity: The attribute's entity; nil for a field of a composite.
  func attribute(
    _ attribute: AttributeDescription, of entity: EntityDescription?, identifier: String?
  ) -> MarkupElement {
    let type = storedType(attribute.type)
    var element = MarkupElement(
      "attribute",
      [
        ("name", attribute.name), ("optional", Self.yes(attribute.isOptional)),
        ("transient", Self.yes(attribute.isTransient)), ("attributeType", AttributeTypeNames.name(of: type)),
      ])
    switch type {
    case .string, .data:
      element["minValueString"] = attribute.minimumLength.map(String.init)
      element["maxValueString"] = attribute.maximumLength.map(String.init)
    case .date:
      element["minDateTimeInterval"] = attribute.minimum.flatMap { ValueText.text(of: $0, type) }
      element["maxDateTimeInterval"] = attribute.maximum.flatMap { ValueText.text(of: $0, type) }
    default:
      element["minValueString"] = attribute.minimum.flatMap { ValueText.text(of: $0, type) }
      element["maxValueString"] = attribute.maximum.flatMap { ValueText.text(of: $0, type) }
    }
    if case .value(let value)? = attribute.defaultValue {
      element[type == .date ? "defaultDateTimeInterval" : "defaultValueString"] = ValueText.text(
        of: value, type)
    }
    element["usesScalarValueType"] = type.traits?.xcodeUsesScalar.map { $0 ? "YES" : "NO" }
    switch type {
    case .codable(let name, _):
      element["valueTransformerName"] = "NSSecureUnarchiveFromData"
      element["customClassName"] = name
    case .composite(let name): element["composite"] = graph.xcodeName(ofComposite: name)
    default: break
    }
    element["allowsExternalBinaryDataStorage"] = Self.yes(attribute.storesExternally)
    if let derivation = attribute.derivation {
      element["derived"] = "YES"
      element["derivationExpression"] =
        entity.map { text(of: derivation, type: attribute.type, on: $0.name) } ?? derivation.canonicalText
    }
    element["regularExpressionString"] = attribute.pattern
    element["elementID"] = identifier
    element["versionHashModifier"] = attribute.hashModifier
    element["syncable"] = "YES"
    return element
  }

  /// The type that Xcode stores. An enumeration is stored as its raw type.
  private func storedType(_ type: AttributeType) -> AttributeType {
    if case .enumeration(let name) = type { return graph.enumeration(name)?.rawType ?? .string }
    return type
  }
}

/// Xcode's names for the types.
enum AttributeTypeNames {
  static func name(of type: AttributeType) -> String {
    switch type {
    case .codable: "Transformable"
    case .composite: "Composite"
    default: type.traits?.xcodeName ?? "String"
    }
  }

  /// The type with a name. Nil for unknown types and for types that need more than a name.
  static func type(_ name: String) -> AttributeType? {
    AttributeTraits.all.first { $0.xcodeName == name }?.type
  }
}

/// Writes defaults and bounds as Xcode does.
enum ValueText {
  static func text(of value: AttributeValue, _ type: AttributeType) -> String? {
    switch value {
    case .bool(let flag): flag ? "YES" : "NO"
    case .double(let number): type == .float ? Float(number).description : number.description
    case .decimal(let number):
      number.description.contains(".") ? number.description : number.description + ".0"
    case .date(let date):
      date.timeIntervalSinceReferenceDate.description.hasSuffix(".0")
        ? String(date.timeIntervalSinceReferenceDate.description.dropLast(2))
        : date.timeIntervalSinceReferenceDate.description
    case .data: nil
    default: value.plainText
    }
  }

  /// Whether two texts give the same value of a type: `0` and `0.0` for a Double, `NO` and `0` for a Boolean.
  static func areEqual(_ left: String, _ right: String, typeName: String) -> Bool {
    if left == right { return true }
    switch typeName {
    case "Double", "Float": return Double(left) != nil && Double(left) == Double(right)
    case "Decimal":
      guard let left = Decimal(wholeText: left), let right = Decimal(wholeText: right) else { return false }
      return left == right
    case "Boolean":
      guard let left = bool(left), let right = bool(right) else { return false }
      return left == right
    case "Date": return Double(left) != nil && Double(left) == Double(right)
    case "UUID": return UUID(uuidString: left) != nil && UUID(uuidString: left) == UUID(uuidString: right)
    default: return false
    }
  }

  static func bool(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true", "1": true
    case "no", "false", "0": false
    default: nil
    }
  }
}
