import CDModel

/// Checks indexes and unique constraints. Each of their elements must be a column of the entity's table.
struct IndexValidator {
  private let report: VersionReport
  private let version: ModelVersion
  private let graph: EntityGraph

  init(_ report: VersionReport) {
    self.report = report
    version = report.version
    graph = report.graph
  }

  func validateIndexes(of entity: EntityDescription) {
    var seen: [IndexDescription] = []
    for (place, index) in entity.indexes.enumerated() {
      let element = SchemaElement.index(version: version.number, entity: entity.name, index: place)
      if report.broken.contains(element) { continue }
      if seen.contains(index) {
        report.error(element, nil, "the same index is repeated here")
        continue
      }
      seen.append(index)
      validate(index.elements.map(\.keyPath), element, of: entity, noun: "an index", allowsFields: true)
    }
  }

  func validateUniqueness(of entity: EntityDescription) {
    var seen: Set<Set<String>> = []
    for (place, names) in entity.uniquenessConstraints.enumerated() {
      let element = SchemaElement.uniquenessConstraint(
        version: version.number, entity: entity.name, index: place)
      if report.broken.contains(element) { continue }
      if !seen.insert(Set(names)).inserted {
        report.error(element, nil, "the same properties are repeated here")
        continue
      }
      validate(names, element, of: entity, noun: "a unique constraint", allowsFields: false)
    }
  }

  /// Checks the elements of an index or a unique constraint. Each must be a column of the table.
  private func validate(
    _ keyPaths: [String], _ element: SchemaElement, of entity: EntityDescription, noun: String,
    allowsFields: Bool
  ) {
    var seen: Set<String> = []
    for (place, keyPath) in keyPaths.enumerated() {
      let key = "elements[\(place)]"
      if !seen.insert(keyPath).inserted {
        report.error(element, key, step: 0, "'\(keyPath)' is repeated here")
        continue
      }
      let steps = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      switch graph.property(steps[0], of: entity.name) {
      case .attribute(let attribute):
        validateColumn(attribute, steps, element, key, owner: entity, noun: noun, allowsFields: allowsFields)
      case .relationship(let relationship):
        if relationship.isToMany {
          report.error(
            element, key, step: 0,
            "'\(relationship.name)' is a to-many relationship, which has no column for \(noun)")
        } else if steps.count > 1 {
          report.error(
            element, key, step: 1, "\(noun) can only contain properties of '\(entity.name)', not '\(keyPath)'"
          )
        } else {
          validateReference(
            relationship, element, key, owner: entity, noun: noun, allowsFields: allowsFields)
        }
      case .fetched:
        report.error(
          element, key, step: 0, "'\(steps[0])' is a fetched property, which has no column for \(noun)")
      case nil:
        report.unknownProperty(steps[0], of: entity, element, key)
      }
    }
  }

  /// Warns of a one-to-one relationship whose other side stores the reference, so that it has no column in this table. This
  /// is no error, because a locked version cannot be changed.
  private func validateReference(
    _ relationship: RelationshipDescription, _ element: SchemaElement, _ key: String,
    owner: EntityDescription, noun: String, allowsFields: Bool
  ) {
    guard !graph.holdsReference(relationship, owner.name),
      let inverse = graph.inverse(of: relationship, in: owner.name)
    else { return }
    let holder = graph.declaringEntity(of: inverse.name, in: relationship.destination)?.name
    let effect =
      allowsFields
      ? "\(noun) has no column for it; remove it from the list"
      : "\(noun) with it has no effect; remove the constraint"
    report.warning(
      element, key,
      "'\(relationship.name)' is one-to-one and stored with '\(holder ?? relationship.destination)', so \(effect)"
    )
  }

  private func validateColumn(
    _ attribute: AttributeDescription, _ steps: [String], _ element: SchemaElement, _ key: String,
    owner: EntityDescription, noun: String, allowsFields: Bool
  ) {
    if report.isBroken(attribute.name, of: owner) { return }
    if attribute.isTransient {
      report.error(
        element, key, step: 0, "'\(attribute.name)' is transient and not stored, so \(noun) cannot contain it"
      )
      return
    }
    if attribute.storesExternally {
      report.error(
        element, key, step: 0, "'\(attribute.name)' is stored outside the table, so \(noun) cannot contain it"
      )
      return
    }
    switch attribute.type {
    case .composite(let name):
      guard let composite = graph.composite(name) else { return }
      let fields = composite.fields.map(\.name)
      if !allowsFields {
        report.error(
          element, key, step: 0, "'\(attribute.name)' is a composite, which \(noun) cannot contain")
      } else if steps.count == 1 {
        report.error(
          element, key, step: 0,
          "'\(attribute.name)' is a composite; \(noun) covers its fields, such as \(attribute.name).\(fields.first ?? "")"
        )
      } else if steps.count > 2 || !fields.contains(steps[1]) {
        report.error(
          element, key, step: 1, "composite '\(name)' has no field '\(steps[1...].joined(separator: "."))'",
          suggestion: closestName(to: steps[1], in: fields))
      }
    case .codable:
      report.error(
        element, key, step: 0,
        "'\(attribute.name)' is a codable value, which has no order, so \(noun) cannot contain it")
    default:
      if steps.count > 1 {
        report.error(
          element, key, step: 1,
          "'\(attribute.name)' is of type \(attribute.type.schemaName) and has no '\(steps[1])'"
        )
      }
    }
  }
}
