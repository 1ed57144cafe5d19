extension Emitter {
  mutating func `class`(_ declaration: ClassDeclaration) {
    out.blank()
    out.documentation(declaration.doc)
    let root =
      isObservable
      ? "CDRuntime.ManagedObject, CDRuntime.ObservableEntityClass"
      : "CDRuntime.ManagedObject, CDRuntime.EntityClass"
    let inheritance = declaration.superclass ?? root
    out.open("nonisolated ", access, "class ", declaration.typeName, ": ", inheritance)
    storage(declaration)
    for attribute in declaration.attributes { accessors(attribute) }
    for relationship in declaration.relationships { accessors(relationship) }
    for property in declaration.fetched { accessor(property) }
    initializers(declaration)
    insertionDefaults(declaration)
    decoding(declaration)
    encoding(declaration)
    references(declaration)
    keyPaths(declaration)
    out.close()
    if declaration.isAbstract { abstractInitializer(declaration) }
    fields(declaration)
    keys(declaration)
    fetches(declaration)
  }

  private mutating func storage(_ declaration: ClassDeclaration) {
    for attribute in declaration.attributes {
      if let shared = attribute.sharedDefault {
        let type = attribute.type.storage
        out.line("private static let ", shared.name, ": ", type, " = ", shared.value)
      }
    }
    // The smallest first: they fill up what the base class leaves of a word, and objects stay small.
    let sizes = Dictionary(grouping: declaration.attributes) { $0.type.size }
    for attribute in sizes.sorted(by: { $0.key < $1.key }).flatMap(\.value) {
      let isOptional = attribute.isOptional && attribute.type.kind != .codable
      out.line(
        "private final var ", attribute.storage, ": ", attribute.type.storage, isOptional ? "?" : "", " = ",
        attribute.initialValue)
    }
    for relationship in declaration.relationships where relationship.column != nil {
      out.line("private final var ", relationship.storage, ": CDRuntime.ObjectKey = 0")
    }
  }
}
