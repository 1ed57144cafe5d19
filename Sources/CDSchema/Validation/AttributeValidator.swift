import CDModel

/// Checks the attributes of entities and the fields of composites: keys that do not fit together, and defaults.
struct AttributeValidator {
  private let report: VersionReport
  private let graph: EntityGraph

  init(_ report: VersionReport) {
    self.report = report
    graph = report.graph
  }

  /// Checks an attribute of an entity or a field of a composite.
  func validate(_ attribute: AttributeDescription, _ element: SchemaElement) {
    if report.broken.contains(element) { return }
    validateKind(attribute, element)
    validateBounds(attribute, element)
    validateLength(attribute, element)
    validatePattern(attribute, element)
    guard case .value(let value)? = attribute.defaultValue else { return }
    validateDefault(value, of: attribute, element)
    // Programs may have set other values in all objects of a locked version.
    guard !report.isLocked, case .composite(let name) = attribute.type,
      case .composite(let values) = value
    else { return }
    for field in graph.composite(name)?.fields ?? [] {
      // A field's own default is checked with the field.
      guard let value = values[field.name], field.defaultValue != .value(value),
        !report.broken.contains(report.fieldElement(field.name, name))
      else { continue }
      validateDefault(value, of: field, element, owner: " of '\(field.name)'")
    }
  }

  private func validateKind(_ attribute: AttributeDescription, _ element: SchemaElement) {
    if attribute.storesExternally {
      switch attribute.type {
      case .data, .codable: break
      default:
        report.error(
          element, "external",
          "'external' is allowed for Data and codable values, not for \(attribute.type.schemaName)")
      }
      if attribute.isTransient {
        report.error(element, "external", "a transient attribute is not stored, so it cannot be external")
      }
    }
    guard attribute.derivation != nil else { return }
    if attribute.isTransient {
      report.error(element, "transient", "a derived attribute is stored, and so cannot be transient")
    }
    if attribute.defaultValue != nil {
      report.error(element, "default", "a derived attribute is always computed, so it cannot have a default")
    }
    switch attribute.type {
    case .composite, .codable:
      report.error(element, "type", "an expression cannot have a value of type \(attribute.type.schemaName)")
    default: break
    }
  }

  private func validateBounds(_ attribute: AttributeDescription, _ element: SchemaElement) {
    if let minimum = attribute.minimum, let maximum = attribute.maximum,
      AttributeOrder.isLess(maximum, minimum)
    {
      report.error(
        element, "max",
        "the maximum \(maximum.excerpt) is below the minimum \(minimum.excerpt); raise the maximum or lower the minimum"
      )
    }
  }

  private func validateLength(_ attribute: AttributeDescription, _ element: SchemaElement) {
    guard attribute.minimumLength != nil || attribute.maximumLength != nil else { return }
    guard attribute.type.hasLength else {
      for (key, value) in [("minLength", attribute.minimumLength), ("maxLength", attribute.maximumLength)]
      where value != nil {
        let remedy = attribute.type.isOrdered ? "; the bounds of a value are 'min' and 'max'" : ""
        report.error(
          element, key,
          "'\(key)' is allowed for a String or a Data, but this attribute has the type "
            + "\(attribute.type.schemaName)\(remedy)")
      }
      return
    }
    if let minimum = attribute.minimumLength, let maximum = attribute.maximumLength, minimum > maximum {
      report.error(element, "maxLength", "the maximum length is below the minimum length")
    }
  }

  private func validatePattern(_ attribute: AttributeDescription, _ element: SchemaElement) {
    guard let pattern = attribute.pattern else { return }
    guard attribute.type == .string else {
      report.error(
        element, "pattern",
        "'pattern' is allowed for a String, but this attribute has the type \(attribute.type.schemaName)")
      return
    }
    if PatternMatch.expression(pattern) == nil {
      report.error(element, "pattern", "'\(pattern)' is not a regular expression")
    }
  }

  /// Checks a default by the rules of its attribute, or of its field in a composite. Mistakes in the rules are reported
  /// elsewhere.
  ///
  /// - Parameters:
  ///   - element: The attribute or the field that declares the default.
  ///   - owner: The words for the field, if the default is that of a composite attribute.
  private func validateDefault(
    _ value: AttributeValue, of attribute: AttributeDescription, _ element: SchemaElement, owner: String = ""
  ) {
    validateBounds(ofDefault: value, of: attribute, element, owner: owner)
    validateLength(ofDefault: value, of: attribute, element, owner: owner)
    validatePattern(ofDefault: value, of: attribute, element, owner: owner)
  }

  private func validateBounds(
    ofDefault value: AttributeValue, of attribute: AttributeDescription, _ element: SchemaElement,
    owner: String
  ) {
    let (minimum, maximum) = (attribute.minimum, attribute.maximum)
    if let minimum, let maximum, AttributeOrder.isLess(maximum, minimum) { return }
    if let minimum, AttributeOrder.isLess(value, minimum) {
      report.error(
        element, "default", "the default \(value.excerpt)\(owner) is below the minimum \(minimum.excerpt)")
    }
    if let maximum, AttributeOrder.isLess(maximum, value) {
      report.error(
        element, "default", "the default \(value.excerpt)\(owner) is above the maximum \(maximum.excerpt)")
    }
  }

  private func validateLength(
    ofDefault value: AttributeValue, of attribute: AttributeDescription, _ element: SchemaElement,
    owner: String
  ) {
    guard attribute.type.hasLength else { return }
    let minimum = attribute.minimumLength ?? 0
    let maximum = attribute.maximumLength ?? Int.max
    if minimum > maximum { return }
    let length: Int
    switch value {
    case .string(let text): length = text.count
    case .data(let data): length = data.count
    default: return
    }
    if length < minimum {
      report.error(element, "default", "the default\(owner) is shorter than the minimum length")
    }
    if length > maximum {
      report.error(element, "default", "the default\(owner) is longer than the maximum length")
    }
  }

  private func validatePattern(
    ofDefault value: AttributeValue, of attribute: AttributeDescription, _ element: SchemaElement,
    owner: String
  ) {
    guard let pattern = attribute.pattern, attribute.type == .string, case .string(let text) = value,
      PatternMatch.expression(pattern) != nil
    else { return }
    switch PatternMatch(text, pattern) {
    case .matches: break
    case .differs, .malformed:
      report.error(element, "default", "the default\(owner) does not match the pattern")
    case .tooCostly:
      report.error(
        element, "pattern",
        "matching the default\(owner) with '\(pattern)' takes too many steps, so objects with such a value could not be "
          + "saved; rewrite the pattern without repetitions within repetitions")
    }
  }
}
