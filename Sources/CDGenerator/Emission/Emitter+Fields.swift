extension Emitter {
  /// What the typed query language knows a class by.
  mutating func fields(_ declaration: ClassDeclaration) {
    let attributes = declaration.attributes.filter(\.isFetchable)
    guard !attributes.isEmpty || !declaration.relationships.isEmpty else { return }
    out.blank()
    out.open("nonisolated extension CDRuntime.Fields where Root: ", declaration.typeName)
    for attribute in attributes {
      let kind = attribute.type.kind == .composite ? "CDRuntime.CompositeField<" : "CDRuntime.Attribute<"
      field(attribute.property, kind, attribute.fieldType, attribute.key)
    }
    for relationship in declaration.relationships {
      let kind = relationship.isToMany ? "CDRuntime.ToMany<" : "CDRuntime.ToOne<"
      field(relationship.property, kind, relationship.destination, relationship.key)
    }
    out.close()
  }

  private mutating func field(_ name: String, _ kind: String, _ type: String, _ key: String) {
    out.line(access, "var ", name, ": ", kind, type, "> { .init(", key, ") }")
  }

  /// The ways from an attribute that is a composite to its fields; those of an optional one may be nil.
  mutating func compositeFields(_ declaration: CompositeDeclaration) {
    let fields = declaration.fields.filter { $0.type.kind != .codable }
    guard !fields.isEmpty else { return }
    for mark in ["", "?"] {
      out.blank()
      out.open("nonisolated extension CDRuntime.CompositeField where Value == ", declaration.typeName, mark)
      for each in fields {
        let type = each.isOptional || mark == "?" ? each.type.name + "?" : each.type.name
        out.line(
          access, "var ", each.property, ": CDRuntime.Attribute<", type, "> { field(", each.key, ") }")
      }
      out.close()
    }
  }

  /// The keys by which the dictionary helpers know the attributes.
  mutating func keys(_ declaration: ClassDeclaration) {
    let attributes = declaration.attributes.filter { $0.isFetchable && $0.type.kind != .composite }
    guard !attributes.isEmpty else { return }
    out.blank()
    out.open("nonisolated extension CDRuntime.AttributeKey where Root: ", declaration.typeName)
    for attribute in attributes {
      out.line(access, "static var ", attribute.property, ": Self { .init(", attribute.key, ") }")
    }
    out.close()
  }
}
