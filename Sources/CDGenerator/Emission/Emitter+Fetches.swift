extension Emitter {
  /// The functions that find objects of a class by `unique:` and by the fetches that the schema names.
  mutating func fetches(_ declaration: ClassDeclaration) {
    guard !declaration.uniqueKeys.isEmpty || !declaration.templates.isEmpty else { return }
    out.blank()
    out.open("nonisolated extension CDRuntime.EntityClass where Self: ", declaration.typeName)
    for key in declaration.uniqueKeys { uniqueKey(key) }
    for template in declaration.templates { self.template(template, of: declaration) }
    out.close()
  }

  private mutating func uniqueKey(_ key: UniqueKeyDeclaration) {
    let parameters = key.parts.map { $0.name + ": " + $0.type + ", " }.joined()
    let keys = key.parts.map(\.key).joined(separator: ", ")
    let values = key.parts.map(\.value).joined(separator: ", ")
    out.open(
      access, "static func object(", parameters, "in ", key.contextName,
      ": CDRuntime.ManagedObjectContext) throws -> Self?")
    out.line("try _object(unique: [", keys, "], [", values, "], in: ", key.contextName, ")")
    out.close()
  }

  private mutating func template(_ template: TemplateDeclaration, of declaration: ClassDeclaration) {
    out.documentation(template.doc)
    let parameters = template.variables.map { $0.name + ": " + $0.type + ", " }.joined()
    let values = template.variables.map { $0.key + ": " + $0.value }.joined(separator: ", ")
    out.open(
      access, "static func ", template.function, "(", parameters, "in ", template.contextName,
      ": CDRuntime.ManagedObjectContext) throws -> [Self]")
    out.line(
      "try _fetch(template: ", template.key, ", of: ", declaration.entity, ", [",
      values.isEmpty ? ":" : values,
      "], in: ", template.contextName, ")")
    out.close()
  }
}
