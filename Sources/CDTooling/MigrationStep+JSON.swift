package import CDMapping
package import CDModel

extension MigrationStep {
  /// The step as JSON for other tools: `from`, `to`, `proven`, `entityMappings`, `onDuplicate`, `changes` and
  /// `problems`. Empty members are left out.
  ///
  /// - Parameter name: The name of the mapping, such as `3-4.mapping.yaml` for a file.
  package func planJSON(mapping name: String) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("from", source)
    writer.add("to", destination)
    writer.add("mapping", rules == nil ? nil : name)
    writer.add("proven", .bool(isProven))
    writer.add("entityMappings", .array(mapping.entityMappings.map(Self.json)))
    writer.add("onDuplicate", list: mapping.duplicates.map(Self.json))
    writer.add("changes", .array(changes.map { Self.json($0, mapping: name) }))
    writer.add(
      "problems",
      list: problems.map { problem in
        var writer = JSONObjectWriter()
        writer.add("severity", problem.severity == .error ? "error" : "warning")
        writer.add("message", problem.description)
        return writer.value
      })
    return writer.value
  }

  private static func json(_ mapping: EntityMapping) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", mapping.name)
    writer.add("kind", mapping.kind.rawValue)
    writer.add("from", mapping.source)
    writer.add("to", mapping.destination)
    writer.add("where", mapping.filter?.canonicalText)
    for (key, word) in mapping.words { writer.add(key, word) }
    writer.add(
      "attributes",
      list: mapping.attributes.map { each in
        .object([
          JSONValue.Member("name", .string(each.name)),
          JSONValue.Member("value", .string(each.value.canonicalText)),
        ])
      })
    writer.add("relationships", list: mapping.relationships.map(json))
    writer.add("drop", list: mapping.drops.map(JSONValue.string))
    return writer.value
  }

  private static func json(_ relationship: RelationshipMapping) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", relationship.name)
    switch relationship.value {
    case .objects(let value): writer.add("value", value.canonicalText)
    case .inverse: writer.add("inverse", flag: true)
    case .none: writer.add("none", flag: true)
    }
    return writer.value
  }

  private static func json(_ rule: DuplicateRule) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("entity", rule.entity)
    writer.add("unique", list: rule.properties.map(JSONValue.string))
    writer.add("survivor", rule.survivor.rawValue)
    return writer.value
  }

  private static func json(_ change: ModelChange, mapping name: String) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("kind", change.kind.name)
    writer.add("version", change.element.side == .source ? change.source : change.destination)
    writer.add("element", change.element.element.description)
    writer.add("verdict", "\(change.verdict)")
    writer.add("resolution", "\(change.resolution)")
    writer.add("message", change.description)
    writer.add("mappings", list: change.mappings.map(JSONValue.string))
    writer.add("candidates", list: change.candidates.map(JSONValue.string))
    writer.add("remedies", list: change.remedies.map { .string($0.text(mapping: name)) })
    return writer.value
  }
}

extension ModelChange.Kind {
  /// The name of the case: `attributeRemoved`.
  fileprivate var name: String {
    // Every case has associated values, so a mirror has one child whose label is the case's name.
    Mirror(reflecting: self).children.first?.label ?? "\(self)"
  }
}
