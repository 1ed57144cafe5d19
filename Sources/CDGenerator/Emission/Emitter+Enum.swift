extension Emitter {
  mutating func enumeration(_ declaration: EnumDeclaration) {
    out.blank()
    out.documentation(declaration.doc)
    out.open(
      "nonisolated ", access, "enum ", declaration.typeName, ": ", declaration.rawType.name,
      ", CDRuntime.EnumAttribute")
    for each in declaration.cases { out.line("case ", each.name, " = ", each.rawValue) }
    out.close()
  }
}
