import CDModel

/// Adds the information stored under `info` to a draft, both for single elements and for all elements of a sort.
///
/// A value that all elements of a sort share is stored once, in the version: `xcode.attribute.syncable`, or
/// `xcode.Boolean.usesScalarValueType` for the attributes of a type.
struct StyleSheet {
  let version: ModelVersion
  /// The names under `info` that no longer fit the declarations of their elements, and are left out.
  var outdated: [ElementIndex: Set<String>] = [:]

  /// Attributes whose values depend on Xcode's version and settings. Only these become styles, because a style also
  /// applies to elements that are added later.
  private static let styled: [String: Set<String>] = [
    "entity": ["syncable", "codeGenerationType", "representedClassName"],
    "attribute": ["syncable"],
    "relationship": ["syncable"],
  ]

  /// Attributes whose values depend on the attribute's type.
  private static let styledByType: Set<String> = ["usesScalarValueType", "valueTransformerName"]

  /// The key of a style; nil for an attribute without a style.
  static func styleKey(_ name: String, of element: MarkupElement) -> String? {
    if styled[element.name]?.contains(name) ?? false { return "\(XcodeInfo.prefix)\(element.name).\(name)" }
    if element.name == "attribute", styledByType.contains(name), let type = element["attributeType"] {
      return "\(XcodeInfo.prefix)\(type).\(name)"
    }
    return nil
  }

  /// The names of the attributes of an element that a style can set, whether or not the element has them.
  static func names(of element: MarkupElement) -> [String] {
    (styled[element.name] ?? []).union(element.name == "attribute" ? styledByType : []).sorted()
  }

  func finished(_ draft: DraftElement) -> MarkupElement {
    var element = draft.element
    element.children += draft.children.map(finished)
    guard let key = draft.key else { return element }
    let (info, prefix) = version.info(of: key)
    let outdated = outdated[key] ?? []
    var original = element
    if !outdated.contains("attributeType"), let type = info[prefix + "attributeType"] {
      original["attributeType"] = type == XcodeInfo.absent ? nil : type
    }
    for name in Self.names(of: element) {
      guard let style = Self.styleKey(name, of: original).flatMap({ version.info[$0] }) else { continue }
      element[name] = Self.value(style, className: className(of: key))
    }
    for (name, value) in info.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
    where name.hasPrefix(prefix) && name != XcodeInfo.indexes {
      let name = String(name.dropFirst(prefix.count))
      if outdated.contains(name) { continue }
      if name.hasPrefix("element."), !name.dropFirst(8).contains(".") {
        // Text that is not XML does not come from Xcode. It stays under `info`.
        if let child = try? MarkupReader.read(Array(value.utf8)) { Self.put(child, into: &element) }
      } else if !name.contains("."), !name.isEmpty {
        element[name] = value == XcodeInfo.absent ? nil : value
      }
    }
    // Sorts the attributes in the order that Xcode uses.
    element.attributes = element.attributes.enumerated()
      .sorted { (Self.rank($0.element.name), $0.offset) < (Self.rank($1.element.name), $1.offset) }.map(
        \.element)
    return element
  }

  /// List elements of which Xcode reads only one per name. An additional list is merged into the existing one.
  private static let lists: Set<String> = ["uniquenessConstraints", "compoundIndexes", "userInfo"]

  private static func put(_ child: MarkupElement, into element: inout MarkupElement) {
    if lists.contains(child.name), child.attributes.isEmpty,
      let place = element.children.firstIndex(where: { $0.name == child.name })
    {
      element.children[place].children += child.children
    } else {
      element.children.append(child)
    }
  }

  private static let order = [
    "name", "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
    "sourceLanguage", "usedWithCloudKit", "usedWithSwiftData", "userDefinedModelVersionIdentifier",
    "representedClassName", "isAbstract", "parentEntity", "optional", "transient", "toMany", "minCount",
    "maxCount",
    "deletionRule", "ordered", "destinationEntity", "inverseName", "inverseEntity", "attributeType",
    "minValueString",
    "maxValueString", "minDateTimeInterval", "maxDateTimeInterval", "defaultDateTimeInterval",
    "defaultValueString",
    "usesScalarValueType", "valueTransformerName", "customClassName", "composite",
    "allowsExternalBinaryDataStorage",
    "spotlightIndexingEnabled", "derived", "derivationExpression", "regularExpressionString", "indexed",
    "elementID",
    "versionHashModifier", "syncable", "codeGenerationType",
  ]
  private static let ranks = Dictionary(
    order.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })

  private static func rank(_ name: String) -> Int { ranks[name] ?? order.count }

  private func className(of key: ElementIndex) -> String {
    if case .entity(let place) = key { return version.entities[place].swiftName }
    return ""
  }

  /// The value that a style sets; nil if it removes the attribute.
  static func value(_ style: String, className: String) -> String? {
    if style == XcodeInfo.absent { return nil }
    guard style.hasSuffix(XcodeInfo.classMark) else { return style }
    return style.dropLast() + className
  }
}
