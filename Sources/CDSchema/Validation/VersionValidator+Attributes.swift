import CDModel

extension VersionValidator {
  /// An attribute of an entity or a field of a composite.
  func validate(_ attribute: AttributeDescription, _ element: ModelElement) {
    if broken.contains(element) { return }
    validateKind(attribute, element)
    validateBounds(attribute, element)
    validateLength(attribute, element)
    validatePattern(attribute, element)
  }

  private func validateKind(_ attribute: AttributeDescription, _ element: ModelElement) {
    if attribute.storesExternally {
      switch attribute.type {
      case .data, .codable: break
      default:
        error(
          element, "external",
          "'external' is for Data and codable values, not for \(attribute.type.schemaName)")
      }
      if attribute.isTransient {
        error(element, "external", "a transient attribute is not stored, and so not externally")
      }
    }
    guard attribute.derivation != nil else { return }
    if attribute.isTransient {
      error(element, "transient", "a derived attribute is stored, and so cannot be transient")
    }
    if attribute.defaultValue != nil {
      error(element, "default", "a derived attribute is always computed, and so has no default")
    }
    switch attribute.type {
    case .composite, .codable:
      error(element, "type", "an expression gives no value of type \(attribute.type.schemaName)")
    default: break
    }
  }

  private func validateBounds(_ attribute: AttributeDescription, _ element: ModelElement) {
    if let minimum = attribute.minimum, let maximum = attribute.maximum,
      AttributeOrder.isLess(maximum, minimum)
    {
      error(element, "max", "the maximum is below the minimum")
      return
    }
    guard case .value(let value)? = attribute.defaultValue else { return }
    if let minimum = attribute.minimum, AttributeOrder.isLess(value, minimum) {
      error(element, "default", "the default is below the minimum")
    }
    if let maximum = attribute.maximum, AttributeOrder.isLess(maximum, value) {
      error(element, "default", "the default is above the maximum")
    }
  }

  private func validateLength(_ attribute: AttributeDescription, _ element: ModelElement) {
    guard attribute.minimumLength != nil || attribute.maximumLength != nil else { return }
    guard attribute.type.hasLength else {
      for (key, value) in [("minLength", attribute.minimumLength), ("maxLength", attribute.maximumLength)]
      where value != nil {
        let remedy = attribute.type.isOrdered ? "; the bounds of a value are 'min' and 'max'" : ""
        error(
          element, key,
          "'\(key)' bounds a String or a Data, and this is of type "
            + "\(attribute.type.schemaName)\(remedy)")
      }
      return
    }
    let minimum = attribute.minimumLength ?? 0
    let maximum = attribute.maximumLength ?? Int.max
    if minimum > maximum {
      error(element, "maxLength", "the maximum length is below the minimum length")
      return
    }
    let length: Int
    switch attribute.defaultValue {
    case .value(.string(let text)): length = text.count
    case .value(.data(let data)): length = data.count
    default: return
    }
    if length < minimum { error(element, "default", "the default is shorter than the minimum length") }
    if length > maximum { error(element, "default", "the default is longer than the maximum length") }
  }

  private func validatePattern(_ attribute: AttributeDescription, _ element: ModelElement) {
    guard let pattern = attribute.pattern else { return }
    guard attribute.type == .string else {
      error(
        element, "pattern", "'pattern' is for a String, and this is of type \(attribute.type.schemaName)")
      return
    }
    guard PatternMatch.expression(pattern) != nil else {
      error(element, "pattern", "'\(pattern)' is no regular expression")
      return
    }
    guard case .value(.string(let text))? = attribute.defaultValue else { return }
    switch PatternMatch(text, pattern) {
    case .matches: break
    case .differs, .malformed: error(element, "default", "the default does not match the pattern")
    case .tooCostly:
      error(
        element, "pattern",
        "to match the default with '\(pattern)' takes too many steps, and no object with such a value could be "
          + "saved; rewrite the pattern without repetitions within repetitions")
    }
  }
}

/// The order of constants of one type.
enum AttributeOrder {
  static func isLess(_ left: AttributeValue, _ right: AttributeValue) -> Bool {
    switch (left, right) {
    case (.int(let left), .int(let right)): left < right
    case (.double(let left), .double(let right)): left < right
    case (.decimal(let left), .decimal(let right)): left < right
    case (.date(let left), .date(let right)): left < right
    default: false
    }
  }
}
