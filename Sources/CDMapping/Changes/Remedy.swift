import CDModel

/// A possible remedy for an unresolved change.
package enum Remedy: Hashable, Sendable {
  /// The app's own code creates the objects of an entity.
  case custom(entity: String)
  /// A rule supplies the values of an attribute. The example is an expression; nil if none can be suggested.
  case attributeRule(entity: String, attribute: String, example: String?)
  /// A rule supplies the objects of a relationship.
  case relationshipRule(entity: String, relationship: String, example: String?)
  /// Another entity uses the objects as its source.
  case from(String)
  /// A filter leaves out the objects of an entity for which the condition is not true.
  case filter(entity: String, condition: String)
  /// Objects are left out together with their owners.
  case dropOwned(owner: String)
  /// A rule decides which of several duplicates is kept.
  case duplicateRule(entity: String, properties: [String])
  /// A drop confirms the loss of a property's values.
  case drop(entity: String, property: String)
  /// A drop confirms the loss of an entity's objects.
  case dropEntity(String)
  /// A person decides: they write a rule, or confirm that the inferred one is right.
  case decided(entity: String, name: String)
  /// The attribute gets a default.
  case giveDefault
  /// The property becomes optional.
  case makeOptional
  /// The element was renamed. Its new declaration must then say so with `renamedFrom`.
  case renamed(from: String, to: [String])

  /// The remedy in words.
  ///
  /// - Parameter mapping: The name of the mapping, such as `3-4.mapping.yaml` for a file.
  package func text(mapping: String) -> String {
    switch self {
    case .custom(let entity): "write 'policy: custom' for '\(entity)' in \(mapping)"
    case .attributeRule(let entity, let attribute, let example):
      "write a rule '\(attribute): \(example ?? "…")' under the attributes of '\(entity)' in \(mapping)"
    case .relationshipRule(let entity, let relationship, let example):
      "write a rule '\(relationship): \(example ?? "…")' under the relationships of '\(entity)' in \(mapping)"
    case .from(let entity): "write 'from: \(entity)' for the entity that its objects become in \(mapping)"
    case .filter(let entity, let condition): "write 'where: \(condition)' for '\(entity)' in \(mapping)"
    case .dropOwned(let owner): "write 'owned: drop' for '\(owner)' in \(mapping)"
    case .duplicateRule(let entity, let properties):
      "write 'onDuplicate: { \(entity): { \(Self.key(properties)): keepFirst } }' in \(mapping)"
    case .drop(let entity, let property):
      "confirm the loss with 'drop: [\(property)]' for '\(entity)' in \(mapping)"
    case .dropEntity(let entity): "confirm the loss with 'drop: [\(entity)]' in \(mapping)"
    case .decided(let entity, let name):
      (name == UndecidedPart.filter
        ? "write 'where: …' to exclude some objects" : "write a rule if the inferred one is wrong")
        + ", and then delete '\(name)' under 'undecided' of '\(entity)' in \(mapping)"
    case .giveDefault: "give it a default"
    case .makeOptional: "make it optional"
    case .renamed(let old, let new):
      "if it was renamed, write 'renamedFrom: \(old)' for "
        + new.map { "'\($0)'" }.joined(separator: " or ")
    }
  }

  private static func key(_ properties: [String]) -> String {
    properties.count == 1 ? properties[0] : "\"" + properties.joined(separator: ", ") + "\""
  }
}

extension [Remedy] {
  /// The remedies as one sentence, without a full stop.
  package func text(mapping: String) -> String {
    // The file is named only once.
    var hasNamedFile = false
    let parts = map { remedy -> String in
      let text = remedy.text(mapping: mapping)
      guard text.hasSuffix(" in " + mapping) else { return text }
      defer { hasNamedFile = true }
      return hasNamedFile ? String(text.dropLast(" in ".count + mapping.count)) + " there" : text
    }
    guard parts.count > 1, let last = parts.last else { return parts.first ?? "" }
    return parts.dropLast().joined(separator: ", ") + ", or " + last
  }
}
