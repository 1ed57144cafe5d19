import CDModel

extension LoadedModel {
  /// What the current version of the model needs, and a server for its stores lacks.
  ///
  /// An error means that the server, or the store engine, refuses a store of the version, or refuses each object of an
  /// entity. A warning means that it refuses some values. A note says what no test has shown.
  ///
  /// - Parameter target: The server.
  /// - Returns: The diagnostics in order of path, line and column. They do not contain ``diagnostics``. Empty if the model
  ///   has errors.
  public func problems(for target: StoreTarget) -> [Diagnostic] {
    guard let model, let version = model.version(model.currentVersionNumber) else { return [] }
    var validator = TargetValidator(version, target, positions)
    validator.validate()
    return validator.diagnostics.sorted()
  }
}

/// Finds what a version needs and a server lacks.
private struct TargetValidator {
  private let version: ModelVersion
  private let graph: EntityGraph
  private let target: StoreTarget
  private let positions: ElementPositions
  private(set) var diagnostics: Set<Diagnostic> = []

  init(_ version: ModelVersion, _ target: StoreTarget, _ positions: ElementPositions) {
    self.version = version
    graph = EntityGraph(version)
    self.target = target
    self.positions = positions
  }

  mutating func validate() {
    if let reservation = target.reservation { report(.note, .version(version.number), nil, reservation) }
    let tables = ServerTable.all(of: graph)
    for table in tables { checkNames(of: table) }
    checkIndexNames(tables)
    if let limits = target.tableLimits {
      for table in tables { checkSize(of: table, limits) }
      for entity in version.entities { checkIndexes(of: entity, limits) }
    }
    checkTexts()
    if !target.defersForeignKeys { checkCircles() }
  }

  // MARK: Reporting

  private mutating func report(
    _ severity: Diagnostic.Severity, _ element: SchemaElement, _ key: String?, _ message: String
  ) {
    guard let location = positions.nearest(to: element, key: key) else { return }
    diagnostics.insert(Diagnostic(severity, at: location, message))
  }

  private func part(_ element: ModelElement) -> SchemaElement { .part(element, version: version.number) }

  // MARK: Tables

  private mutating func checkNames(of table: ServerTable) {
    checkLength(of: table.name, "table", table.element)
    for column in table.columns {
      guard let element = column.element else { continue }
      checkLength(of: column.name, "column", element)
      if target.systemColumns.contains(column.name) {
        report(
          .error, part(element), nil,
          "each table of \(target.name) has a system column '\(column.name)', so that the store cannot be created; "
            + "choose another name, and keep that of the property with 'swiftName'")
      }
    }
  }

  private mutating func checkLength(of name: String, _ noun: String, _ element: ModelElement) {
    let count = name.utf8.count
    guard count > StoreTarget.longestName else { return }
    report(
      .error, part(element), nil,
      "the name of the \(noun) '\(name)' has \(count) bytes, and the store engine allows "
        + "\(StoreTarget.longestName), so that the store cannot be created; choose a shorter name")
  }

  /// PostgreSQL gives the index of a primary key a name, which no later table can have.
  private mutating func checkIndexNames(_ tables: [ServerTable]) {
    guard target.tableLimits != nil else { return }
    var taken: [String: String] = [:]
    for table in tables {
      if let other = taken[table.name] {
        report(
          .error, part(table.element), nil,
          "\(target.name) gives the index of the table '\(other)' the name '\(table.name)', so that the store cannot be "
            + "created; choose another name")
      }
      taken[table.name + "_pkey"] = table.name
    }
  }

  private mutating func checkSize(of table: ServerTable, _ limits: StoreTarget.TableLimits) {
    if table.columns.count > limits.columns {
      report(
        .error, part(table.element), nil,
        "the table '\(table.name)' has \(table.columns.count) columns with those of the runtime and of subentities, and "
          + "\(target.name) allows \(limits.columns), so that the store cannot be created; move attributes to entities "
          + "of their own")
      return
    }
    guard case .entity(let root) = table.element else { return }
    for entity in [root] + graph.descendants(of: root).map(\.name)
    where graph.entity(entity)?.isAbstract == false {
      let least = table.rowBytes(of: entity, isFull: false)
      let most = table.rowBytes(of: entity, isFull: true)
      if least > limits.rowBytes {
        report(
          .error, part(.entity(entity)), nil,
          "a row of '\(entity)' takes at least \(least) bytes, and \(target.name) allows \(limits.rowBytes), so that no "
            + "object can be saved; move attributes to entities of their own")
      } else if most > limits.rowBytes {
        report(
          .warning, part(.entity(entity)), nil,
          "a row of '\(entity)' takes up to \(most) bytes, and \(target.name) allows \(limits.rowBytes), so that an "
            + "object with values in all attributes may not be saved; move attributes to entities of their own"
        )
      }
    }
  }

  // MARK: Indexes

  private mutating func checkIndexes(of entity: EntityDescription, _ limits: StoreTarget.TableLimits) {
    for (index, description) in entity.indexes.enumerated() {
      checkIndex(
        .index(version: version.number, entity: entity.name, index: index), "index",
        description.elements.map(\.keyPath), of: entity, limits)
    }
    for (index, list) in entity.uniquenessConstraints.enumerated() {
      checkIndex(
        .uniquenessConstraint(version: version.number, entity: entity.name, index: index),
        "unique constraint", list, of: entity, limits)
    }
  }

  private mutating func checkIndex(
    _ element: SchemaElement, _ noun: String, _ paths: [String], of entity: EntityDescription,
    _ limits: StoreTarget.TableLimits
  ) {
    if paths.count > limits.indexColumns {
      report(
        .error, element, nil,
        "the \(noun) has \(paths.count) columns, and \(target.name) allows \(limits.indexColumns), so that the store "
          + "cannot be created; remove some")
    }
    for (index, path) in paths.enumerated() {
      guard let attribute = attribute(at: path, of: entity),
        let length = unboundedLength(of: attribute, limits)
      else { continue }
      report(
        .warning, element, "elements[\(index)]",
        "\(length), and \(target.name) allows about \(limits.indexRowBytes) bytes in a row of an index, so that a save with a "
          + "greater value fails; " + advice(for: attribute, limits))
    }
  }

  private func attribute(at path: String, of entity: EntityDescription) -> AttributeDescription? {
    let names = path.split(separator: ".", maxSplits: 1).map(String.init)
    guard let first = names.first,
      case .attribute(let attribute)? = graph.property(first, of: entity.name)
    else { return nil }
    guard names.count > 1 else { return attribute }
    guard case .composite(let composite) = attribute.type else { return nil }
    return graph.composite(composite)?.fields.first { $0.name == names[1] }
  }

  /// Describes the length of an attribute whose values may have more bytes than a row of an index; nil for another one.
  private func unboundedLength(
    of attribute: AttributeDescription, _ limits: StoreTarget.TableLimits
  ) -> String? {
    switch attribute.type {
    case .string, .data:
      guard let most = attribute.maximumLength else { fallthrough }
      // A character has at least one byte.
      let unit = attribute.type == .string ? "characters" : "bytes"
      return most > limits.indexRowBytes ? "'\(attribute.name)' may have \(most) \(unit)" : nil
    case .url: return "'\(attribute.name)' may have any length"
    default: return nil
    }
  }

  private func advice(for attribute: AttributeDescription, _ limits: StoreTarget.TableLimits) -> String {
    attribute.type == .url
      ? "keep the URLs short, or index another attribute"
      : "set its 'maxLength' to \(limits.indexRowBytes) or less"
  }

  // MARK: Texts

  private mutating func checkTexts() {
    for entity in version.entities {
      for attribute in entity.attributes {
        checkDefault(of: attribute, part(.attribute(entity: entity.name, name: attribute.name)))
      }
    }
    for composite in version.composites {
      for field in composite.fields {
        checkDefault(of: field, part(.field(composite: composite.name, name: field.name)))
      }
    }
    for enumeration in version.enums {
      for each in enumeration.cases {
        check(
          each.rawValue, "the value of the case",
          .enumCase(version: version.number, enumeration: enumeration.name, name: each.name), "value")
      }
    }
  }

  private mutating func checkDefault(of attribute: AttributeDescription, _ element: SchemaElement) {
    guard case .value(let value)? = attribute.defaultValue else { return }
    check(value, "the default", element, "default")
  }

  private mutating func check(
    _ value: AttributeValue, _ noun: String, _ element: SchemaElement, _ key: String
  ) {
    guard case .string(let text) = value, text.utf8.contains(0) else { return }
    report(
      .error, element, key,
      "\(noun) contains the character U+0000, which no text of \(target.name) can contain, so that an object with it "
        + "cannot be saved; remove the character")
  }

  // MARK: Relationships

  private mutating func checkCircles() {
    for (edge, circle) in MandatoryCircles(graph).relationships() {
      var names: [String] = []
      for each in circle where !names.contains("'\(each.name)'") { names.append("'\(each.name)'") }
      let subject =
        names.count == 1
        ? "\(names[0]) is mandatory and leads back to its own entity"
        : "\(names.list(lastAfter: "and")) are mandatory and lead to each other"
      report(
        .warning, part(.relationship(entity: edge.owner, name: edge.relationship.name)), nil,
        "\(subject), so that their rows can be inserted only if the server checks references at the end of the save, "
          + "which \(target.name) does not do; open its stores with 'features=common', which needs no such checks, or make "
          + "one of them optional")
    }
  }
}
