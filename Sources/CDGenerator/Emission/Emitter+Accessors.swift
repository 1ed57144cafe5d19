extension Emitter {
  mutating func accessors(_ attribute: AttributeDeclaration) {
    out.blank()
    out.documentation(attribute.doc)
    out.open(access, "final var ", attribute.property, ": ", attribute.propertyType)
    getter(attribute)
    if !attribute.isReadOnly {
      let slot = attribute.slot
      let storage = attribute.storage
      let tail = isObservable ? "; _didWrite(" + slot + ") }" : " }"
      switch attribute.type.kind {
      case .scalar, .composite:
        out.line("set { _willWrite(", slot, "); ", storage, " = newValue", tail)
      case .enumeration:
        let value = attribute.isOptional ? "newValue?.rawValue" : "newValue.rawValue"
        out.line("set { _willWrite(", slot, "); ", storage, " = ", value, tail)
      case .codable:
        out.line("set { _willWrite(", slot, "); ", storage, ".set(newValue)", tail)
      }
    }
    out.close()
  }

  private mutating func getter(_ attribute: AttributeDeclaration) {
    let storage = attribute.storage
    let willRead = willRead(attribute.slot)
    switch attribute.type.kind {
    case .scalar, .composite:
      out.line("get { ", willRead, "; return ", storage, " }")
    case .codable:
      out.line("get { ", willRead, "; return ", storage, ".value(of: self, ", attribute.slot, ") }")
    case .enumeration:
      let type = attribute.type.expression
      let unknown = "_unknown(" + (attribute.fallback ?? "") + ", " + attribute.slot + ")"
      if attribute.isOptional {
        out.open("get")
        out.line(willRead)
        out.line("guard let _raw = ", storage, " else { return nil }")
        out.line("return ", type, "(rawValue: _raw) ?? ", unknown)
        out.close()
      } else {
        out.line("get { ", willRead, "; return ", type, "(rawValue: ", storage, ") ?? ", unknown, " }")
      }
    }
  }

  private func willRead(_ slot: String) -> String {
    isObservable ? "_willRead(" + slot + ")" : "_willRead()"
  }

  mutating func accessors(_ relationship: RelationshipDeclaration) {
    out.blank()
    out.documentation(relationship.doc)
    let head = relationship.isToMany ? "[" : ""
    let tail = relationship.isToMany ? "]" : relationship.isOptional ? "?" : ""
    let slot = relationship.slot
    out.open(access, "final var ", relationship.property, ": ", head, relationship.destination, tail)
    // What is elsewhere needs no row of the object's own.
    let willRead = relationship.kind == .reference ? willRead(slot) : "_willRead(related: " + slot + ")"
    let elsewhere = isObservable ? willRead + "; return " : ""
    if relationship.isToMany {
      out.line("get { ", elsewhere, "_toMany(", slot, ") }")
      out.line("set { _setToMany(newValue, ", slot, ") }")
    } else {
      let missing =
        relationship.isOptional
        ? ""
        : " ?? " + relationship.destinationExpression + "(_seed: _missing(" + relationship.destinationEntity
          + "))"
      if relationship.kind == .reference {
        out.line("get { ", willRead, "; return _toOne(", relationship.storage, ", ", slot, ")", missing, " }")
      } else {
        out.line("get { ", elsewhere, "_toOneOfInverse(", slot, ")", missing, " }")
      }
      out.line("set { _setToOne(newValue, ", slot, ") }")
    }
    out.close()
    if relationship.isToMany { mutators(relationship) }
  }

  private mutating func mutators(_ relationship: RelationshipDeclaration) {
    let name = relationship.capitalizedName
    let type = relationship.destination
    let slot = relationship.slot
    out.line(access, "final func addTo", name, "(_ object: ", type, ") { _add(object, ", slot, ") }")
    out.line(access, "final func addTo", name, "(_ objects: [", type, "]) { _add(objects, ", slot, ") }")
    out.line(access, "final func removeFrom", name, "(_ object: ", type, ") { _remove(object, ", slot, ") }")
    out.line(
      access, "final func removeFrom", name, "(_ objects: [", type, "]) { _remove(objects, ", slot, ") }")
    if relationship.kind == .orderedToMany {
      out.line(
        access, "final func insertInto", name, "(_ object: ", type, ", at index: Swift.Int) { ",
        "_insert(object, at: index, ", slot, ") }")
    }
  }

  mutating func accessor(_ property: FetchedDeclaration) {
    out.blank()
    out.documentation(property.doc)
    out.line(
      access, "final var ", property.property, ": [", property.destination, "] { _fetched(", property.key,
      ") }")
  }
}
