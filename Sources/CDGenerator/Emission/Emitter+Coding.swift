extension Emitter {
  /// `now()` and `uuid()`, which only an insertion calls.
  mutating func insertionDefaults(_ declaration: ClassDeclaration) {
    guard declaration.attributes.contains(where: { $0.insertionDefault != nil }) else { return }
    out.open(spi, "override func _setInsertionDefaults()")
    out.line("super._setInsertionDefaults()")
    for attribute in declaration.attributes {
      if let value = attribute.insertionDefault { out.line(attribute.storage, " = ", value) }
    }
    out.close()
  }

  /// The way of a row's values into the storage.
  mutating func decoding(_ declaration: ClassDeclaration) {
    let hasTransients = declaration.attributes.contains { $0.column == nil }
    let hasColumns =
      declaration.attributes.contains { $0.column != nil }
      || declaration.relationships.contains { $0.column != nil }
    guard hasTransients || hasColumns else { return }
    out.open(spi, "override func _decode(_ row: CDRuntime.RowReader)")
    out.line("super._decode(row)")
    for attribute in declaration.attributes {
      if let column = attribute.column { decode(attribute, column) }
    }
    for relationship in declaration.relationships {
      if let column = relationship.column { out.line(relationship.storage, " = row.key(", column, ")") }
    }
    if hasTransients {
      out.open("if let row = row.transients")
      for attribute in declaration.attributes where attribute.column == nil {
        decode(attribute, attribute.slot)
      }
      out.close()
    }
    out.close()
  }

  private mutating func decode(_ attribute: AttributeDeclaration, _ column: String) {
    let isOptional = attribute.isOptional && attribute.type.kind != .codable
    out.line(attribute.storage, " = row.", attribute.type.accessor(isOptional: isOptional), "(", column, ")")
  }

  /// The way of one slot's value to whoever asks for it.
  mutating func encoding(_ declaration: ClassDeclaration) {
    let references = declaration.relationships.filter { $0.column != nil }
    guard !declaration.attributes.isEmpty || !references.isEmpty else { return }
    out.open(spi, "override func _encode(_ slot: Swift.Int, _ writer: CDRuntime.RowWriter)")
    out.line("switch slot {")
    for attribute in declaration.attributes {
      let isOptional = attribute.isOptional && attribute.type.kind != .codable
      out.line(
        "case ", attribute.slot, ": writer.", attribute.type.accessor(isOptional: isOptional), "(",
        attribute.storage, ")")
    }
    for relationship in references {
      out.line("case ", relationship.slot, ": writer.key(", relationship.storage, ")")
    }
    out.line("default: super._encode(slot, writer)")
    out.line("}")
    out.close()
  }

  /// The way of a related object's key into the storage.
  mutating func references(_ declaration: ClassDeclaration) {
    let references = declaration.relationships.filter { $0.column != nil }
    guard !references.isEmpty else { return }
    out.open(spi, "override func _setReference(_ slot: Swift.Int, _ key: CDRuntime.ObjectKey)")
    out.line("switch slot {")
    for relationship in references {
      out.line("case ", relationship.slot, ": ", relationship.storage, " = key")
    }
    out.line("default: super._setReference(slot, key)")
    out.line("}")
    out.close()
  }
}
