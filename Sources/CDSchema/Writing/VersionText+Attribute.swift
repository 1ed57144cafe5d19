import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension VersionText {
  /// An attribute or a field. It is only the type if it has no other properties.
  func attribute(_ attribute: AttributeDescription) -> YAMLValue {
    let mark = attribute.isOptional ? "?" : ""
    var pairs = PairList()
    if case .codable(let type, let codec) = attribute.type {
      pairs.add("codable", type + mark)
      if codec != 1 { pairs.add("codec", codec) }
    } else {
      pairs.add("type", attribute.type.schemaName + mark)
    }
    switch attribute.defaultValue {
    case nil: break
    case .now: pairs.add("default", "now()")
    case .uuid: pairs.add("default", "uuid()")
    case .value(let value): pairs.add("default", self.value(value, of: attribute.type))
    }
    pairs.add("min", attribute.minimum.map { value($0, of: attribute.type) })
    pairs.add("max", attribute.maximum.map { value($0, of: attribute.type) })
    pairs.add("minLength", attribute.minimumLength)
    pairs.add("maxLength", attribute.maximumLength)
    pairs.add("pattern", attribute.pattern)
    pairs.add("transient", flag: attribute.isTransient)
    pairs.add("derived", attribute.derivation?.canonicalText)
    pairs.add("external", flag: attribute.storesExternally)
    pairs.add("swiftName", attribute.propertyName)
    pairs.add("renamedFrom", attribute.renamedFrom)
    pairs.add("hashModifier", attribute.hashModifier)
    pairs.add("info", attribute.info)
    pairs.add("doc", attribute.doc)
    if pairs.list.count == 1, pairs.list[0].key == "type" { return pairs.list[0].value }
    return .mapping(pairs.list, .short)
  }

  /// A default, a bound or the value of a case.
  func value(_ value: AttributeValue, of type: AttributeType) -> YAMLValue {
    switch (value, type) {
    case (_, .enumeration(let name)):
      let owner = version.enums.first { $0.name == name }
      return .text(owner?.cases.first { $0.rawValue == value }?.name ?? "")
    case (.composite(let fields), .composite(let name)):
      let composite = version.composites.first { $0.name == name }
      let pairs = (composite?.fields ?? []).compactMap { field -> YAMLPair? in
        guard let value = fields[field.name], value != .null else { return nil }
        return YAMLPair(field.name, self.value(value, of: field.type))
      }
      return .mapping(pairs, .short)
    case (.double(let number), .float): return .text(Self.number(Float(number).description))
    case (.double(let number), _): return .text(Self.number(number.description))
    case (.date(let date), _): return .text(DateLiteral.text(of: date) ?? "")
    default: return .text(value.plainText ?? "")
    }
  }

  /// A number without the fraction `.0`.
  private static func number(_ text: String) -> String {
    text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}
