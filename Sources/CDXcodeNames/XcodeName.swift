package import CDModel

/// The names of a version's elements in Xcode's model. If the import had to change a name, it has kept the original one under
/// `info`.
package enum XcodeName {
  package static func of(_ entity: EntityDescription) -> String { name(entity.name, entity.info) }
  package static func of(_ attribute: AttributeDescription) -> String { name(attribute.name, attribute.info) }
  package static func of(_ relationship: RelationshipDescription) -> String {
    name(relationship.name, relationship.info)
  }
  package static func of(_ property: PropertyDescription) -> String {
    switch property {
    case .attribute(let attribute): of(attribute)
    case .relationship(let relationship): of(relationship)
    case .fetched(let property): name(property.name, property.info)
    }
  }

  /// The name of a composite. The import keeps it in the version, because a composite has no `info` of its own.
  package static func of(_ composite: CompositeDescription, in version: ModelVersion) -> String {
    version.info["xcode.composite.\(composite.name).name"] ?? composite.name
  }

  /// The name of a composite's field. The import keeps it in the version, because a field has no `info` of its own.
  package static func of(
    _ field: AttributeDescription, of composite: String, in version: ModelVersion
  ) -> String {
    version.info["xcode.composite.\(composite).\(field.name).name"] ?? field.name
  }

  private static func name(_ name: String, _ info: [String: String]) -> String {
    info["xcode.name"] ?? name
  }

  /// Whether a relationship is transient in Core Data, which does not store it. A store of cdgen does.
  package static func isTransient(_ relationship: RelationshipDescription) -> Bool {
    relationship.info["xcode.transient"] == "YES"
  }

  /// Whether the import may change a name of Xcode's model to another name. It replaces characters that no name can
  /// have, begins the name with an `x`, or ends it with an underscore and a number.
  static func mayBecome(_ original: String, _ name: String) -> Bool {
    let wanted = lettersAndDigits(of: original)
    if wanted.isEmpty { return true }
    func isMade(_ name: String) -> Bool {
      let own = lettersAndDigits(of: name)
      return own == wanted || own == "x" + wanted
    }
    if isMade(name) { return true }
    guard let end = name.lastIndex(of: "_") else { return false }
    let isNumber = name[end...].dropFirst().allSatisfy { ("0"..."9").contains($0) }
    return isNumber && isMade(String(name[..<end]))
  }

  /// The part of a name that the import never changes.
  private static func lettersAndDigits(of name: String) -> String {
    var result = ""
    for scalar in name.unicodeScalars where scalar != "_" && scalar.properties.isXIDContinue {
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}
