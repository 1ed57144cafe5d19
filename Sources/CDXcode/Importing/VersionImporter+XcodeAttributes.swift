import CDModel

extension VersionImporter {
  /// Stores under `info` the names that the import had to change. The identifiers of elements follow from them, and so do
  /// the names by which other elements and expressions refer to these.
  mutating func storeNames() {
    var keys: [(key: ElementIndex, name: String)] = []
    for (place, entity) in version.entities.enumerated() {
      keys.append((key: .entity(place), name: entity.name))
      for (number, attribute) in entity.attributes.enumerated() {
        keys.append((key: .attribute(place, number), name: attribute.name))
      }
      for (number, relationship) in entity.relationships.enumerated() {
        keys.append((key: .relationship(place, number), name: relationship.name))
      }
      for (number, property) in entity.fetchedProperties.enumerated() {
        keys.append((key: .fetched(place, number), name: property.name))
      }
    }
    for (place, composite) in version.composites.enumerated() {
      keys.append((key: .composite(place), name: composite.name))
      for (number, field) in composite.fields.enumerated() {
        keys.append((key: .field(place, number), name: field.name))
      }
    }
    for (key, name) in keys {
      if let original = origins[key]?["name"], original != name { version.setInfo(of: key, "name", original) }
    }
  }

  /// Stores under `info` each attribute that an export would otherwise write differently.
  ///
  /// - Parameter identifiers: The identifiers of the version's elements, which follow from their names and from the
  ///   versions before.
  mutating func storeXcodeOnlyAttributes(_ identifiers: RenamingIdentifiers) {
    let draft = VersionExporter(version, identifiers: identifiers).draft
    var pairs: [(key: ElementIndex, written: MarkupElement, original: MarkupElement)] = []
    func collect(_ draft: DraftElement) {
      if let key = draft.key, let original = origins[key] { pairs.append((key, draft.element, original)) }
      for child in draft.children { collect(child) }
    }
    collect(draft)
    let styles = styles(of: pairs)
    for (name, value) in styles { version.info[name] = value }
    for (key, written, original) in pairs {
      var names = original.attributes.map(\.name)
      names += written.attributes.map(\.name).filter { !names.contains($0) }
      // A style also applies to elements whose XML and export both lack the attribute.
      names += StyleSheet.names(of: original).filter { !names.contains($0) }
      for name in names {
        var expected = written[name]
        if let style = StyleSheet.styleKey(name, of: original).flatMap({ styles[$0] }) {
          expected = StyleSheet.value(style, className: className(of: key))
        }
        if AttributeMeaning.areEqual(expected, original[name], name, of: original) { continue }
        version.setInfo(of: key, name, original[name] ?? XcodeInfo.absent)
        if let value = original[name], AttributeMeaning.isForeign(name, value, of: original) {
          remark(
            subject(of: key), "'\(name)' has no meaning for cdgen; it is kept under 'info'", at: original)
        }
      }
    }
  }

  /// The values that most elements of a sort have, if the export would not write them by itself.
  private func styles(
    of pairs: [(key: ElementIndex, written: MarkupElement, original: MarkupElement)]
  ) -> [String: String] {
    struct Count {
      var values: [String: Int] = [:]
      var written: [String: Int] = [:]
    }
    var counts: [String: Count] = [:]
    for (key, written, original) in pairs {
      let name = className(of: key)
      for attribute in StyleSheet.names(of: original) {
        guard let style = StyleSheet.styleKey(attribute, of: original) else { continue }
        func pattern(_ value: String?) -> String {
          guard let value else { return XcodeInfo.absent }
          if attribute == "representedClassName", !name.isEmpty, value.hasSuffix(name) {
            return value.dropLast(name.count) + XcodeInfo.classMark
          }
          return value
        }
        counts[style, default: Count()].values[pattern(original[attribute]), default: 0] += 1
        if AttributeMeaning.areEqual(written[attribute], original[attribute], attribute, of: original) {
          counts[style, default: Count()].written[pattern(original[attribute]), default: 0] += 1
        }
      }
    }
    var result: [String: String] = [:]
    for (style, count) in counts {
      let best = count.values.max { ($0.value, $1.key) < ($1.value, $0.key) }
      let right = count.written.values.reduce(0, +)
      if let best, best.value > right { result[style] = best.key }
    }
    return result
  }

  private func className(of key: ElementIndex) -> String {
    if case .entity(let place) = key { return version.entities[place].swiftName }
    return ""
  }

  func subject(of key: ElementIndex) -> String {
    version.element(at: key).map(\.description) ?? "the model"
  }
}

/// The meaning of the attributes of Xcode's elements.
enum AttributeMeaning {
  private static let flags: Set<String> = [
    "optional", "transient", "isAbstract", "toMany", "ordered", "derived", "allowsExternalBinaryDataStorage",
    "indexed",
  ]

  /// Whether two values of an attribute have the same meaning. Nil means that the attribute is missing.
  static func areEqual(_ left: String?, _ right: String?, _ name: String, of element: MarkupElement) -> Bool {
    if left == right { return true }
    if flags.contains(name) { return (left ?? "NO") == (right ?? "NO") }
    guard let left, let right else {
      // A missing value and an empty value have the same meaning.
      return ["versionHashModifier", "predicateString", "regularExpressionString"].contains(name)
        && (left ?? "").isEmpty && (right ?? "").isEmpty
    }
    switch name {
    case "defaultValueString", "minValueString", "maxValueString":
      return ValueText.areEqual(left, right, typeName: element["attributeType"] ?? "")
    case "defaultDateTimeInterval", "minDateTimeInterval", "maxDateTimeInterval":
      return ValueText.areEqual(left, right, typeName: "Date")
    case "predicateString":
      guard let one = try? FetchPredicate(format: left) else { return false }
      return one == (try? FetchPredicate(format: right))
    case "derivationExpression":
      guard let one = try? ValueExpression(format: left) else { return false }
      return one == (try? ValueExpression(format: right))
    default: return false
    }
  }

  /// Attributes that only Xcode uses, or for which a remark was made when they were read.
  private static let quiet: [String: Set<String>] = [
    "model": [
      "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
      "sourceLanguage",
      "userDefinedModelVersionIdentifier", "name", "macOSVersion", "iOSVersion",
    ],
    "entity": [
      "name", "representedClassName", "syncable", "codeGenerationType", "parentEntity", "elementID",
    ],
    "attribute": [
      "name", "attributeType", "usesScalarValueType", "syncable", "optional", "defaultValueString",
      "defaultDateTimeInterval", "minValueString", "maxValueString", "minDateTimeInterval",
      "maxDateTimeInterval",
      "elementID", "derived", "derivationExpression", "regularExpressionString", "indexed",
      "allowsExternalBinaryDataStorage", "composite",
    ],
    "relationship": [
      "name", "syncable", "minCount", "maxCount", "inverseName", "inverseEntity", "elementID", "transient",
      "indexed",
    ],
    "fetchedProperty": ["optional", "name"],
    "fetchRequest": ["name", "fetchLimit"],
    "configuration": [],
    "composite": ["name"],
  ]

  /// Whether an attribute has an effect in Core Data, but none here.
  static func isForeign(_ name: String, _ value: String, of element: MarkupElement) -> Bool {
    if quiet[element.name]?.contains(name) ?? false { return false }
    if element.name == "attribute", ["valueTransformerName", "customClassName"].contains(name) {
      return element["attributeType"] != "Transformable"
    }
    return !value.isEmpty
  }
}
