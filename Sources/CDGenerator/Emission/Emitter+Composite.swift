extension Emitter {
  mutating func composite(_ declaration: CompositeDeclaration) {
    compositeType(declaration)
    compositeFields(declaration)
  }

  /// The struct alone, without what queries know it by.
  mutating func compositeType(_ declaration: CompositeDeclaration) {
    out.blank()
    out.documentation(declaration.doc)
    out.open("nonisolated ", access, "struct ", declaration.typeName, ": CDRuntime.CompositeAttribute")
    for field in declaration.fields { self.field(field) }
    out.blank()
    memberwiseInitializer(declaration)
    rowInitializer(declaration)
    encodeFields(declaration)
    let arguments = declaration.fields.compactMap { field in
      field.emptyArgument.map { field.label + ": " + $0 }
    }
    out.line(spi, "static var _empty: Self { Self(", arguments.joined(separator: ", "), ") }")
    out.line(spi, "static var _columnCount: Swift.Int { ", String(declaration.fields.count), " }")
    keyPaths(
      "static", of: declaration.typeName, declaration.fields.map { ($0.key, $0.property) })
    out.close()
  }

  private mutating func field(_ field: CompositeDeclaration.Field) {
    out.documentation(field.doc)
    guard let fallback = field.fallback else {
      out.line(access, "var ", field.property, ": ", field.propertyType)
      return
    }
    out.open(access, "var ", field.property, ": ", field.propertyType)
    if field.isOptional {
      out.line(
        "get { ", field.storage, ".map { ", field.type.expression, "(rawValue: $0) ?? ", fallback, " } }")
      out.line("set { ", field.storage, " = newValue?.rawValue }")
    } else {
      out.line("get { ", field.type.expression, "(rawValue: ", field.storage, ") ?? ", fallback, " }")
      out.line("set { ", field.storage, " = newValue.rawValue }")
    }
    out.close()
    // The raw value is kept, so that one that no case has is not lost.
    out.line("private var ", field.storage, ": ", field.storageType)
  }

  private mutating func memberwiseInitializer(_ declaration: CompositeDeclaration) {
    let parameters = declaration.fields.map { field in
      let head = field.property + ": " + field.propertyType
      return field.defaultArgument.map { head + " = " + $0 } ?? head
    }
    out.open(access, "init(", parameters.joined(separator: ", "), ")")
    for field in declaration.fields {
      let value =
        field.type.kind == .enumeration
        ? field.property + (field.isOptional ? "?" : "") + ".rawValue" : field.property
      out.line("self.", field.storage, " = ", value)
    }
    out.close()
  }

  private mutating func rowInitializer(_ declaration: CompositeDeclaration) {
    out.open(spi, "init(_row: CDRuntime.RowReader, _ _column: Swift.Int)")
    for (place, field) in declaration.fields.enumerated() {
      let column = place == 0 ? "_column" : "_column + " + String(place)
      out.line(
        "self.", field.storage, " = _row.", field.type.accessor(isOptional: field.isOptional), "(", column,
        ")")
    }
    out.close()
  }

  private mutating func encodeFields(_ declaration: CompositeDeclaration) {
    out.open(spi, "func _encode(_ _writer: CDRuntime.RowWriter)")
    for field in declaration.fields {
      out.line("_writer.", field.type.accessor(isOptional: field.isOptional), "(self.", field.storage, ")")
    }
    out.close()
  }
}
