import CDModel

/// Checks named fetches and fetched properties: what they fetch, and in which order.
struct FetchValidator {
  private let report: VersionReport
  private let graph: EntityGraph
  private let expressions: ExpressionValidator

  init(_ report: VersionReport, expressions: ExpressionValidator) {
    self.report = report
    graph = report.graph
    self.expressions = expressions
  }

  func validate(_ template: FetchTemplate, of entity: EntityDescription) {
    validateSort(template.sort, report.templateElement(template.name, entity), of: entity)
    expressions.validatePredicate(of: template, entity)
  }

  func validate(_ fetched: FetchedPropertyDescription, of entity: EntityDescription) {
    let element = report.fetchedElement(fetched.name, entity)
    guard let destination = graph.entity(fetched.entity) else {
      report.unknownEntity(fetched.entity, element, "entity")
      return
    }
    validateSort(fetched.sort, element, of: destination)
    expressions.validatePredicate(of: fetched, entity, destination: destination)
  }

  /// Checks the key paths of a `sort`: any number of to-one relationships, followed by an attribute.
  private func validateSort(_ keys: [SortKey], _ element: SchemaElement, of entity: EntityDescription) {
    var seen: Set<String> = []
    for (place, sortKey) in keys.enumerated() {
      let key = "sort[\(place)]"
      if !seen.insert(sortKey.keyPath).inserted {
        report.error(element, key, step: 0, "'\(sortKey.keyPath)' is repeated here")
      } else {
        validateSortPath(sortKey.keyPath, element, key, of: entity)
      }
    }
  }

  private func validateSortPath(
    _ keyPath: String, _ element: SchemaElement, _ key: String, of start: EntityDescription
  ) {
    var entity = start
    let steps = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    for (place, step) in steps.enumerated() {
      switch graph.property(step, of: entity.name) {
      case .relationship(let relationship):
        if report.isBroken(step, of: entity) { return }
        if relationship.isToMany {
          report.error(
            element, key, step: place,
            "'\(step)' is a to-many relationship, along which nothing can be sorted")
          return
        }
        guard let next = graph.entity(relationship.destination) else { return }
        entity = next
      case .attribute(let attribute):
        if report.isBroken(step, of: entity) { return }
        validateSortAttribute(attribute, rest: steps[(place + 1)...], element, key)
        return
      case .fetched:
        report.error(
          element, key, step: place, "'\(step)' is a fetched property, along which nothing can be sorted")
        return
      case nil:
        report.unknownProperty(step, of: entity, element, key, step: place)
        return
      }
    }
    report.error(
      element, key, step: steps.count - 1,
      "'\(keyPath)' leads to objects; name an attribute of theirs to sort by")
  }

  private func validateSortAttribute(
    _ attribute: AttributeDescription, rest: ArraySlice<String>, _ element: SchemaElement, _ key: String
  ) {
    let place = rest.startIndex
    switch attribute.type {
    case .composite(let name):
      let fields = graph.composite(name)?.fields.map(\.name) ?? []
      guard let field = rest.first else {
        report.error(
          element, key, step: place - 1, "'\(attribute.name)' is a composite; sort by one of its fields")
        return
      }
      if rest.count > 1 || !fields.contains(field) {
        report.error(
          element, key, step: place, "composite '\(name)' has no field '\(rest.joined(separator: "."))'",
          suggestion: closestName(to: field, in: fields))
      }
    case .codable:
      report.error(
        element, key, step: place - 1, "'\(attribute.name)' is a codable value, which has no order")
    default:
      if let step = rest.first {
        report.error(
          element, key, step: place,
          "'\(attribute.name)' is of type \(attribute.type.schemaName) and has no '\(step)'")
      }
    }
  }
}
