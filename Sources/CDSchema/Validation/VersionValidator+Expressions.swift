import CDModel

extension VersionValidator {
  /// The expression of a derived attribute, which must have a value of the attribute's type for every object.
  func validateDerivation(of attribute: AttributeDescription, _ entity: EntityDescription) {
    let element = attributeElement(attribute.name, entity)
    guard let derivation = attribute.derivation, !broken.contains(element) else { return }
    switch attribute.type {
    case .composite, .codable: return  // reported
    default: break
    }
    let checked = ExpressionChecker(graph: graph).check(
      derivation, on: entity.name, expecting: .attribute(attribute.type), allowsNil: attribute.isOptional)
    report(checked.diagnostics, element, "derived", of: entity)
    reportVariables(checked.variables.map(\.name), element, "derived")
    if checked.hasErrors || isSuspect(element, "derived", of: entity) { return }
    if !checked.isStorable {
      error(
        element, "derived",
        "a derived attribute is stored, and so cannot depend on what is not: "
          + "a transient attribute or a FUNCTION")
    } else if !checked.isTotal {
      error(
        element, "derived", "the conversion may fail; say what the value then is: CAST(x, 'Int64', else)")
    }
  }

  func validateDerivationCycles() {
    for circle in DerivationCycles(graph: graph).find() {
      let first = circle[0]
      let path = Self.path((circle + [first]).map { "\($0.entity).\($0.attribute)" })
      error(
        .attribute(version: version.number, entity: first.entity, name: first.attribute), "derived",
        "derived attributes cannot depend on themselves: \(path)")
    }
  }

  /// Only fetch templates have variables, which become parameters.
  func reportVariables(_ names: [String], _ element: ModelElement, _ key: String) {
    for name in names {
      let text = positions.node(of: element, key: key)?.text ?? ""
      let offset = text.firstRange(of: "$" + name).map {
        text.utf8.distance(from: text.startIndex, to: $0.lowerBound)
      }
      let place = positions.location(of: element, key: key, utf8Offset: offset ?? 0)
      guard let place = place ?? positions.nearest(to: element, key: key) else { continue }
      diagnostics.error(
        place, "nothing gives the variable '$\(name)' a value here; only 'fetches' have variables")
    }
  }

  /// Passes on what the checker found, each at its own place in the file.
  func report(
    _ found: [ExpressionDiagnostic], _ element: ModelElement, _ key: String, of entity: EntityDescription
  ) {
    if isSuspect(element, key, of: entity) { return }
    for diagnostic in found {
      let place =
        diagnostic.span.flatMap { positions.location(of: element, key: key, utf8Offset: $0.lowerBound) }
        ?? positions.nearest(to: element, key: key)
      guard let place else { continue }
      switch diagnostic.severity {
      case .error, .mistake:
        diagnostics.error(place, diagnostic.message, suggestion: diagnostic.suggestion)
      case .warning:
        diagnostics.warning(place, diagnostic.message, suggestion: diagnostic.suggestion)
      }
    }
  }

  /// Whether an expression names something whose declaration is wrong, so that its own mistakes may only
  /// follow from that one.
  private func isSuspect(_ element: ModelElement, _ key: String, of entity: EntityDescription) -> Bool {
    if hasUnknownAncestor(entity) { return true }
    guard !suspectNames.isEmpty, let text = positions.node(of: element, key: key)?.text else { return false }
    let words = text.split { !($0.isLetter || $0.isNumber || $0 == "_") }
    return words.contains { suspectNames.contains(String($0)) }
  }
}
