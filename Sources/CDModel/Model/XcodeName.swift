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
}
