extension Emitter {
  /// Writes the struct with the values of an object, and the functions of the class that make and use it.
  ///
  /// The functions are in an extension of the protocol. There, those of a subclass are preferred to inherited ones,
  /// although their types differ.
  mutating func snapshot(_ snapshot: SnapshotDeclaration, of declaration: ClassDeclaration) {
    let type = declaration.typeName
    out.blank()
    out.open("nonisolated extension ", type)
    out.documentation(
      "The values of an object of \(declaration.plainName), with the identifiers of its related objects.")
    out.open("nonisolated ", access, "struct Snapshot: CDRuntime.ObjectSnapshot")
    out.documentation("The identifier of the object that had the values.")
    out.line(access, "var objectID: CDRuntime.ManagedObjectID")
    for each in snapshot.attributes {
      out.documentation(each.doc)
      out.line(access, "var ", each.property, ": ", each.propertyType)
    }
    for each in snapshot.relationships {
      out.documentation(each.doc)
      out.line(access, "var ", each.property, ": ", Self.propertyType(of: each, snapshot))
    }
    memberwiseInitializer(snapshot)
    out.close()
    out.close()
    out.blank()
    // In an extension, so that the struct keeps the initialiser that takes all of its properties.
    out.open("nonisolated extension ", type, ".Snapshot")
    out.open("fileprivate init(_of _object: ", type, snapshot.isNested ? ", _depth: Swift.Int)" : ")")
    // A large value that is read outside of a block brings the other ones up to date.
    if snapshot.attributes.contains(where: \.isReadLater) { out.line("_object._readLarge()") }
    out.line("self.objectID = _object.objectID")
    for each in snapshot.attributes { out.line("self.", each.property, " = _object.", each.property) }
    for each in snapshot.relationships {
      if snapshot.isNested {
        out.line(
          "self.", each.property, " = _object._nested(", each.slot, ", _depth) { (_object: ",
          each.destination,
          ", _depth: Swift.Int) in _object.snapshot(depth: _depth) }", each.isToMany ? "" : ".first")
      } else {
        out.line(
          "self.", each.property, " = _object.", each.isToMany ? "_relatedIDs(" : "_relatedID(", each.slot,
          ")")
      }
    }
    out.close()
    out.open("fileprivate func _assign(to _object: ", type, ")")
    for each in snapshot.attributes where !each.isReadOnly && each.column != nil {
      let (old, new) = ("_object." + each.property, "self." + each.property)
      let condition =
        each.type.mayContainText ? "_object._differs(" + old + ", " + new + ")" : old + " != " + new
      out.line("if ", condition, " { ", old, " = ", new, " }")
    }
    out.close()
    let relations = snapshot.relationships.map {
      ".init(" + $0.slot + ($0.isToMany ? ", many: self." : ", one: self.") + $0.property
        + (snapshot.isNested ? $0.isToMany ? ".map(\\.objectID))" : "?.objectID)" : ")")
    }
    out.line(
      "fileprivate var _relations: [CDRuntime.SnapshotRelation] { [", relations.joined(separator: ", "), "] }"
    )
    out.close()
    out.blank()
    out.open("nonisolated extension CDRuntime.EntityClass where Self: ", type)
    out.documentation("The object's values, with all unsaved changes.")
    if snapshot.isNested {
      out.line(access, "var snapshot: ", type, ".Snapshot { .init(_of: self, _depth: 0) }")
      out.documentation(
        """
        The object's values, with the snapshots of related objects to a depth. At depth 0, related objects are present \
        as identifiers.
        """)
      out.line(
        access, "func snapshot(depth: Swift.Int) -> ", type, ".Snapshot { .init(_of: self, _depth: depth) }")
    } else {
      out.line(access, "var snapshot: ", type, ".Snapshot { .init(_of: self) }")
    }
    out.documentation(
      """
      Sets the attributes and relationships that differ from a snapshot. Transient and derived attributes stay as they \
      are. If a related object does not exist, a `SnapshotError` is thrown and nothing changes.
      """)
    out.open(access, "func apply(_ snapshot: ", type, ".Snapshot) throws")
    out.line("let _related = try _snapshotObjects(of: snapshot._relations)")
    out.line("snapshot._assign(to: self)")
    out.line("_relate(_related)")
    out.close()
    out.close()
  }

  private static func propertyType(
    of relationship: RelationshipDeclaration, _ snapshot: SnapshotDeclaration
  ) -> String {
    let type =
      snapshot.isNested
      ? "CDRuntime.NestedSnapshot<" + relationship.destination + ".Snapshot>" : "CDRuntime.ManagedObjectID"
    return relationship.isToMany ? "[" + type + "]" : type + "?"
  }

  /// Writes the initialiser that takes all properties, for other modules. The compiler's own initialiser is internal.
  private mutating func memberwiseInitializer(_ snapshot: SnapshotDeclaration) {
    guard level != .internal else { return }
    var parameters = ["objectID: CDRuntime.ManagedObjectID"]
    var names = ["objectID"]
    for each in snapshot.attributes {
      let isOptional = each.propertyType.hasSuffix("?")
      parameters.append(each.property + ": " + each.propertyType + (isOptional ? " = nil" : ""))
      names.append(each.property)
    }
    for each in snapshot.relationships {
      parameters.append(
        each.property + ": " + Self.propertyType(of: each, snapshot) + (each.isToMany ? " = []" : " = nil"))
      names.append(each.property)
    }
    out.documentation("Creates a snapshot of single values.")
    out.open(access, "init(", parameters.joined(separator: ", "), ")")
    for name in names { out.line("self.", name, " = ", name) }
    out.close()
  }

  /// Writes the initialiser of a class that takes a snapshot.
  mutating func snapshotInitializer(_ declaration: ClassDeclaration) {
    out.blank()
    out.documentation(
      """
      Inserts an object with the values of a snapshot. It gets an identifier of its own. If a related object does not \
      exist, a `SnapshotError` is thrown and nothing is inserted.
      """)
    out.open(access, "init(_ snapshot: Snapshot, in context: CDRuntime.ManagedObjectContext) throws")
    out.line(
      "let _related = try CDRuntime.SnapshotObjects(snapshot._relations, of: ", declaration.entity,
      ", in: context)")
    out.line(
      "super.init(_seed: CDRuntime.ObjectSeed(inserting: ", declaration.entity,
      ", in: context, isComplete: true))")
    out.line("snapshot._assign(to: self)")
    out.line("_relate(_related)")
    out.close()
  }
}
