extension Emitter {
  /// A warning of the builds that are shipped: what a locked version was is known for good.
  mutating func unlockedVersionWarning(model: String, version: Int) {
    out.blank()
    out.line("#if !DEBUG")
    out.line(
      "  #warning(\"version \(version) of \(model) is not locked: run 'cdgen lock' before stores of it are released\")"
    )
    out.line("#endif")
  }

  /// The model: every version as canonical JSON, and the classes.
  mutating func model(_ declaration: ModelDeclaration) {
    out.blank()
    out.open(
      "nonisolated ", access, "enum ", declaration.typeName,
      declaration.migrations == nil ? ": CDRuntime.GeneratedModel" : ": CDRuntime.CustomMigratingModel")
    out.line(spi, "static let _definition = CDRuntime.ModelDefinition(")
    out.indent()
    // The compiler shows this line when the runtime does not know the format.
    out.line(
      "format: CDRuntime.GeneratedCodeFormat1.self,  // Unknown? Update cdgen and CDRuntime to one version.")
    if declaration.classes.isEmpty {
      out.line("classes: [:],")
    } else {
      out.line("classes: [")
      out.indent()
      for each in declaration.classes {
        out.line(each.entity, ": { ", each.expression, "(_seed: $0) },")
      }
      out.outdent()
      out.line("],")
    }
    // Last, for the compiler shows the lines around a mistake, and this one is as long as the model.
    let delimiter = SwiftLiteral.rawStringDelimiter(declaration.canonicalJSON)
    out.line("canonicalJSON: ", delimiter, "\"", declaration.canonicalJSON, "\"", delimiter, ")")
    out.outdent()
    out.close()
  }
}
