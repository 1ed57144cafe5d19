import CDModel

/// Checks the expressions of a version: the values of derived attributes, and the predicates of fetches and fetched
/// properties.
struct ExpressionValidator {
  private let report: VersionReport
  private let graph: EntityGraph
  /// Names of properties and types with wrong declarations. Expressions that use them cannot be checked.
  private let suspectNames: Set<String>

  init(_ report: VersionReport, _ decoded: DecodedVersion) {
    self.report = report
    graph = report.graph
    suspectNames = Self.suspectNames(decoded, report.graph)
  }

  private static func suspectNames(_ decoded: DecodedVersion, _ graph: EntityGraph) -> Set<String> {
    var names = Set(decoded.broken.compactMap(\.propertyName))
    for entity in decoded.version.entities {
      for relationship in entity.relationships where graph.entity(relationship.destination) == nil {
        names.insert(relationship.name)
      }
      for attribute in entity.attributes {
        switch attribute.type {
        case .enumeration(let name)
        where decoded.broken.contains(.part(.enumeration(name), version: decoded.version.number)):
          names.insert(attribute.name)
        case .composite(let name)
        where decoded.broken.contains(.part(.composite(name), version: decoded.version.number)):
          names.insert(attribute.name)
        default: break
        }
      }
    }
    return names
  }

  // MARK: Derived attributes

  /// Checks the expression of a derived attribute. It must have a value of the attribute's type for every object.
  func validateDerivation(of attribute: AttributeDescription, _ entity: EntityDescription) {
    let element = report.attributeElement(attribute.name, entity)
    guard let derivation = attribute.derivation, !report.broken.contains(element) else { return }
    switch attribute.type {
    case .composite, .codable: return  // reported
    default: break
    }
    let checked = ExpressionChecker(graph: graph).check(
      derivation, on: entity.name, expecting: .attribute(attribute.type), allowsNil: attribute.isOptional)
    reportDiagnostics(checked.diagnostics, element, "derived", of: entity)
    reportVariables(checked.variables.map(\.name), element, "derived", Self.hasNoValue)
    if checked.hasErrors || isSuspect(element, "derived", of: entity) { return }
    if !checked.isStorable {
      report.error(
        element, "derived",
        "a derived attribute is stored, so it cannot depend on values that are not stored: "
          + "a transient attribute or a FUNCTION")
    } else if !checked.isTotal {
      report.error(
        element, "derived",
        "the conversion may fail; write the value for that case as the third argument: CAST(x, 'Int64', else)"
      )
    }
  }

  func validateDerivationCycles() {
    for circle in DerivationCycles(graph: graph).find() {
      let first = circle[0]
      let path = VersionReport.path((circle + [first]).map { "\($0.entity).\($0.attribute)" })
      report.error(
        .part(.attribute(entity: first.entity, name: first.attribute), version: report.version.number),
        "derived",
        "derived attributes cannot depend on themselves: \(path)")
    }
  }

  // MARK: Fetches

  func validatePredicate(of template: FetchTemplate, _ entity: EntityDescription) {
    guard let predicate = template.predicate else { return }
    let element = report.templateElement(template.name, entity)
    let checked = ExpressionChecker(graph: graph).check(predicate, on: entity.name, isTemplate: true)
    reportDiagnostics(checked.diagnostics, element, "where", of: entity)
    if report.isLocked { return }
    reportVariables(
      checked.variables.map(\.name).filter { $0.hasPrefix("_") }, element, "where",
      "starts with an underscore; generated code needs such names for itself")
  }

  /// Checks the predicate of an entity's fetched property, which is about the objects that the property fetches.
  func validatePredicate(
    of fetched: FetchedPropertyDescription, _ entity: EntityDescription, destination: EntityDescription
  ) {
    guard let predicate = fetched.predicate else { return }
    let element = report.fetchedElement(fetched.name, entity)
    let checked = ExpressionChecker(graph: graph).check(
      predicate, on: destination.name, fetchSource: entity.name)
    reportDiagnostics(checked.diagnostics, element, "where", of: destination)
    reportVariables(
      checked.variables.map(\.name).filter { $0 != "FETCH_SOURCE" }, element, "where", Self.hasNoValue)
  }

  // MARK: Reporting

  /// Only fetch templates may have variables, where they become parameters.
  private static let hasNoValue = "has no value here; only 'fetches' have variables"

  /// Reports variables, each where the text first names it.
  private func reportVariables(
    _ names: [String], _ element: SchemaElement, _ key: String, _ mistake: String
  ) {
    for name in names {
      let text = report.positions.node(of: element, key: key)?.text ?? ""
      let offset = text.firstRange(of: "$" + name).map {
        text.utf8.distance(from: text.startIndex, to: $0.lowerBound)
      }
      let place = report.positions.location(of: element, key: key, utf8Offset: offset ?? 0)
      guard let place = place ?? report.positions.nearest(to: element, key: key) else { continue }
      report.diagnostics.error(place, "the variable '$\(name)' \(mistake)")
    }
  }

  /// Reports the checker's diagnostics, each at its position in the file.
  private func reportDiagnostics(
    _ found: [ExpressionDiagnostic], _ element: SchemaElement, _ key: String, of entity: EntityDescription
  ) {
    if isSuspect(element, key, of: entity) { return }
    for diagnostic in found {
      let place =
        diagnostic.span.flatMap {
          report.positions.location(of: element, key: key, utf8Offset: $0.lowerBound)
        }
        ?? report.positions.nearest(to: element, key: key)
      guard let place else { continue }
      switch diagnostic.severity {
      case .error, .mistake:
        report.diagnostics.error(place, diagnostic.message, suggestion: diagnostic.suggestion)
      case .warning:
        report.diagnostics.warning(place, diagnostic.message, suggestion: diagnostic.suggestion)
      }
    }
  }

  /// Whether an expression uses a name whose declaration is wrong. Its own mistakes may then only follow from that.
  private func isSuspect(_ element: SchemaElement, _ key: String, of entity: EntityDescription) -> Bool {
    if report.hasUnknownAncestor(entity) { return true }
    guard !suspectNames.isEmpty, let text = report.positions.node(of: element, key: key)?.text else {
      return false
    }
    let words = text.split { !($0.isLetter || $0.isNumber || $0 == "_") }
    return words.contains { suspectNames.contains(String($0)) }
  }
}
