extension Emitter {
  /// What the app's own code for custom steps is written against, and the way from the runtime to it.
  mutating func migrations(_ declaration: MigrationDeclaration) {
    for version in declaration.versions { self.version(version, declaration) }
    requirements(declaration)
    defaults(declaration)
    policies(declaration)
  }

  private mutating func version(_ version: VersionDeclaration, _ declaration: MigrationDeclaration) {
    out.blank()
    out.open("nonisolated extension ", declaration.modelTypeName)
    if !version.snapshots.isEmpty || !version.enums.isEmpty || !version.composites.isEmpty {
      out.documentation("Version \(version.number), as far as the app's own migrations read it.")
      out.open("nonisolated ", access, "enum ", VersionDeclaration.name(version.number))
      for each in version.enums { enumeration(each) }
      for each in version.composites { compositeType(each) }
      for each in version.snapshots { view(each, protocolName: "EntitySnapshot") }
      out.close()
    }
    if !version.made.isEmpty {
      out.documentation("Version \(version.number), as far as the app's own migrations make objects of it.")
      out.open("nonisolated ", access, "enum ", VersionDeclaration.nameOfNew(version.number))
      for each in version.made { view(each, protocolName: "MigratedEntity") }
      out.close()
    }
    out.close()
  }

  private mutating func view(_ view: ViewDeclaration, protocolName: String) {
    out.blank()
    out.documentation(view.doc)
    out.open("nonisolated ", access, "struct ", view.typeName, ": CDRuntime.", protocolName)
    out.line(spi, "let _object: CDRuntime.ManagedObject")
    out.line(spi, "init(_object: CDRuntime.ManagedObject) { self._object = _object }")
    out.line(access, "static var entityName: Swift.String { ", view.entity, " }")
    for each in view.initializers { initializer(each, of: view) }
    for each in view.properties {
      out.documentation(each.doc)
      let head = access + "var " + each.property + ": " + each.type
      if let setter = each.setter {
        out.line(head, " { get { ", each.getter, " } nonmutating set { ", setter, " } }")
      } else {
        out.line(head, " { ", each.getter, " }")
      }
      if let (name, type, statement) = each.adding {
        out.line(access, "func ", name, "(_ object: ", type, ") { ", statement, " }")
      }
    }
    out.close()
  }

  private mutating func initializer(_ initializer: ViewDeclaration.Initializer, of view: ViewDeclaration) {
    let (source, manager) = (initializer.sourceName, initializer.managerName)
    var parameters = initializer.parameters.map { $0.name + ": " + $0.type }
    if let origin = initializer.origin {
      parameters.insert("\(origin.label) \(source): \(origin.type)", at: 0)
    }
    parameters.append("in \(manager): CDRuntime.MigrationManager")
    out.documentation(initializer.doc)
    out.open(access, "init(", parameters.joined(separator: ", "), ") throws")
    if let origin = initializer.origin {
      out.line("_object = try ", manager, "._make(from: ", source, "._object, mapping: ", origin.mapping, ")")
    } else {
      out.line("_object = try ", manager, "._insert(", view.entity, ")")
    }
    for each in initializer.parameters {
      // One that is set to nil is one that is to stay nil, and a mandatory one may be found later.
      let test = each.isRelationship && !each.type.hasPrefix("[") ? "if let \(each.name) { " : ""
      out.line(test, "self.", each.property, " = ", each.name, test.isEmpty ? "" : " }")
    }
    out.close()
  }

  // MARK: The protocol

  private mutating func requirements(_ declaration: MigrationDeclaration) {
    out.blank()
    out.open("nonisolated extension ", declaration.modelTypeName)
    out.documentation(
      """
      What the app does itself in migrations: one requirement for each entity mapping whose policy is custom.

      `cdgen stub` writes a type to fill in. One value serves a whole migration, on one thread. What is thrown ends \
      the migration, and the store is as it was.
      """)
    out.open("nonisolated ", access, "protocol Migrations")
    for step in declaration.steps {
      out.line("// Version \(step.source) to version \(step.destination)")
      for mapping in step.mappings {
        out.documentation(mapping.doc)
        if let source = mapping.sourceType {
          out.line(
            "func ", mapping.make, "(from source: ", source,
            ", in manager: CDRuntime.MigrationManager) throws -> ",
            mapping.destinationType, "?")
        } else {
          out.line("func ", mapping.make, "(in manager: CDRuntime.MigrationManager) throws")
        }
        if let relate = mapping.relate, let source = mapping.sourceType {
          out.documentation(
            "Called for each object that was made so, when all objects and the relationships that rules and inference "
              + "give have been made. By default nothing is done.")
          out.line("func ", relate, Self.relateParameters(mapping, source))
        }
      }
      out.documentation("Called before any object is made. By default nothing is done.")
      out.line("func begin", step.suffix, "(in manager: CDRuntime.MigrationManager) throws")
      out.documentation(
        "Called when all objects and relationships have been made. By default nothing is done.")
      out.line("func end", step.suffix, "(in manager: CDRuntime.MigrationManager) throws")
      out.documentation(
        "Called to look at the result, which is refused by an error. By default nothing is done.")
      out.line("func validate", step.suffix, "(in manager: CDRuntime.MigrationManager) throws")
    }
    out.close()
    out.close()
  }

  private static func relateParameters(_ mapping: CustomMappingDeclaration, _ source: String) -> String {
    "(_ destination: \(mapping.destinationType), from source: \(source), "
      + "in manager: CDRuntime.MigrationManager) throws"
  }

  private mutating func defaults(_ declaration: MigrationDeclaration) {
    out.blank()
    out.open("nonisolated extension ", declaration.modelTypeName, ".Migrations")
    for step in declaration.steps {
      for mapping in step.mappings {
        guard let relate = mapping.relate, let source = mapping.sourceType else { continue }
        out.line(
          access, "func ", relate, Self.relateParameters(mapping, source),
          " { manager._leaveRelationships() }")
      }
      for hook in ["begin", "end", "validate"] {
        out.line(access, "func ", hook, step.suffix, "(in manager: CDRuntime.MigrationManager) throws {}")
      }
    }
    out.close()
  }

  // MARK: Policies

  private mutating func policies(_ declaration: MigrationDeclaration) {
    out.blank()
    out.open("nonisolated extension ", declaration.modelTypeName)
    out.line(access, "typealias CustomMigrations = any ", declaration.modelTypeName, ".Migrations")
    out.line(spi, "static func _migrationPolicies(")
    out.line("  _ make: @escaping @Sendable () -> any ", declaration.modelTypeName, ".Migrations")
    out.open(") -> CDRuntime.MigrationPolicies")
    out.open("CDRuntime.MigrationPolicies(_suite:")
    out.line("let migrations = make()")
    out.line("var policies: [CDRuntime.MigrationPolicies.Key: any CDRuntime.EntityMigrationPolicy] = [:]")
    for step in declaration.steps {
      for (place, mapping) in step.mappings.enumerated() {
        policy(mapping, of: step, isFirst: place == 0, isLast: place == step.mappings.count - 1)
      }
    }
    out.line("return policies")
    out.outdent()
    out.line("})")
    out.close()
    out.close()
  }

  private mutating func policy(
    _ mapping: CustomMappingDeclaration, of step: StepDeclaration, isFirst: Bool, isLast: Bool
  ) {
    out.line(
      "policies[.init(", mapping.name, ", from: \(step.source), to: \(step.destination))] = ",
      "CDRuntime.TypedMigrationPolicy(")
    out.indent()
    // The hooks of the step are those of its first and its last mapping.
    let hooks =
      (isFirst ? ["begin: { try migrations.begin\(step.suffix)(in: $0) }"] : [])
      + (isLast
        ? [
          "end: { try migrations.end\(step.suffix)(in: $0) }",
          "validate: { try migrations.validate\(step.suffix)(in: $0) }",
        ] : [])
    let ending = hooks.isEmpty ? ")" : ","
    if let source = mapping.sourceType {
      out.open("make:")
      out.outdent()
      out.indent()
      out.line(
        "let made: ", mapping.destinationType, "? = try migrations.", mapping.make,
        "(from: ", source, "(_object: $0), in: $1)")
      out.line("return made?._object")
      out.outdent()
      out.line("},")
      out.open("relate:")
      out.line(
        "guard let source = try $1.sourceInstances(for: [$0], in: ", mapping.name, ").first else { return }")
      out.line(
        "try migrations.", mapping.relate ?? "", "(", mapping.destinationType, "(_object: $0), from: ",
        source,
        "(_object: source), in: $1)")
      out.outdent()
      out.line("}", ending)
    } else {
      out.line("fill: { try migrations.", mapping.make, "(in: $0) }", ending)
    }
    for (place, hook) in hooks.enumerated() { out.line(hook, place == hooks.count - 1 ? ")" : ",") }
    out.outdent()
  }
}
