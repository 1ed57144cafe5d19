import CDModel
import CDXcodeNames

/// Creates Xcode's elements for a version.
///
/// First it creates a draft from the version's own declarations. Then it adds the information stored under `info`, for
/// single elements and, as styles, for all elements of a sort. The importer compares the same draft with Xcode's file
/// to decide what to store, so that an export restores the original file.
struct VersionExporter {
  let version: ModelVersion
  let graph: EntityGraph
  /// The renaming identifiers of elements, if they differ from the names.
  private let identifiers: RenamingIdentifiers
  /// Gives the key paths of expressions the names of Xcode's model.
  private let checker: ExpressionChecker

  init(_ version: ModelVersion, identifiers: RenamingIdentifiers) {
    self.version = version
    self.identifiers = identifiers
    let graph = EntityGraph(version)
    self.graph = graph
    checker = ExpressionChecker(graph: graph) { key, owner in
      (name: key, key: Self.xcodeKey(key, of: owner, in: graph))
    }
  }

  /// The root element with the information stored under `info`.
  ///
  /// - Parameter outdated: The names under `info` that are left out, by element.
  func root(without outdated: [ElementIndex: Set<String>]) -> MarkupElement {
    StyleSheet(version: version, outdated: outdated).finished(draft)
  }

  /// The elements from the version's own declarations, without the information stored under `info` for Xcode.
  var draft: DraftElement {
    let model = MarkupElement(
      "model",
      [
        ("type", "com.apple.IDECoreDataModeler.DataModel"), ("documentVersion", "1.0"),
        ("lastSavedToolsVersion", "23231"), ("systemVersion", "24A335"), ("minimumToolsVersion", "Automatic"),
        ("sourceLanguage", "Swift"), ("userDefinedModelVersionIdentifier", ""),
      ])
    var children = version.entities.indices.map(entity)
    for (place, configuration) in version.configurations.enumerated() {
      let members = configuration.entities.map {
        MarkupElement("memberEntity", [("name", graph.xcodeName(ofEntity: $0))])
      }
      children.append(
        DraftElement(
          .configuration(place), MarkupElement("configuration", [("name", configuration.name)]),
          members.map { DraftElement(nil, $0) }))
    }
    for (place, entity) in version.entities.enumerated() {
      for (number, template) in entity.fetchTemplates.enumerated() {
        children.append(
          DraftElement(
            .template(place, number),
            MarkupElement(
              "fetchRequest",
              [
                ("name", template.name), ("entity", XcodeName.of(entity)),
                ("predicateString", template.predicate.map { text(of: $0, on: entity.name) }),
                ("fetchLimit", template.limit.map(String.init)),
              ])))
      }
    }
    for (place, composite) in version.composites.enumerated() {
      children.append(
        DraftElement(
          .composite(place), MarkupElement("composite", [("name", composite.name)]),
          composite.fields.enumerated().map { number, field in
            DraftElement(.field(place, number), attribute(field, of: nil, identifier: nil))
          }))
    }
    return DraftElement(.model, model, children)
  }

  // MARK: Entities

  private func entity(_ place: Int) -> DraftElement {
    let entity = version.entities[place]
    let parent = entity.parent.map { graph.xcodeName(ofEntity: $0) }
    let element = MarkupElement(
      "entity",
      [
        ("name", entity.name), ("representedClassName", entity.swiftName),
        ("isAbstract", Self.yes(entity.isAbstract)),
        ("parentEntity", parent), ("elementID", identifiers.entity(entity)),
        ("versionHashModifier", entity.hashModifier), ("syncable", "YES"), ("codeGenerationType", "class"),
      ])
    var children: [DraftElement] = []
    let forms = IndexForms(entity, in: graph)
    for (number, attribute) in entity.attributes.enumerated() {
      var element = self.attribute(
        attribute, of: entity, identifier: identifiers.property(attribute.name, of: entity))
      if forms.isSingle(attribute.name) { element["indexed"] = "YES" }
      children.append(DraftElement(.attribute(place, number), element, userInfo(attribute.info)))
    }
    for (number, relationship) in entity.relationships.enumerated() {
      var element = self.relationship(relationship, of: entity)
      if forms.isSingle(relationship.name) { element["indexed"] = "YES" }
      children.append(DraftElement(.relationship(place, number), element, userInfo(relationship.info)))
    }
    for (number, property) in entity.fetchedProperties.enumerated() {
      let request = MarkupElement(
        "fetchRequest",
        [
          ("name", "fetchedPropertyFetchRequest"),
          ("entity", graph.xcodeName(ofEntity: property.entity)),
          (
            "predicateString",
            property.predicate.map { text(of: $0, on: property.entity, fetchSource: entity.name) }
          ),
          ("fetchLimit", property.limit.map(String.init)),
        ])
      children.append(
        DraftElement(
          .fetched(place, number),
          MarkupElement("fetchedProperty", [("name", property.name), ("optional", "YES")]),
          [DraftElement(.fetchedRequest(place, number), request)] + userInfo(property.info)))
    }
    children += forms.elements.map { DraftElement(nil, $0) }
    if !entity.uniquenessConstraints.isEmpty {
      let constraints = entity.uniquenessConstraints.map { names in
        MarkupElement(
          "uniquenessConstraint",
          children: names.map {
            MarkupElement("constraint", [("value", graph.xcodePath($0, of: entity.name))])
          })
      }
      children.append(DraftElement(nil, MarkupElement("uniquenessConstraints", children: constraints)))
    }
    return DraftElement(.entity(place), element, children + userInfo(entity.info))
  }

  private func userInfo(_ info: [String: String]) -> [DraftElement] {
    let own = info.filter { !$0.key.hasPrefix(XcodeInfo.prefix) }
      .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    guard !own.isEmpty else { return [] }
    let entries = own.map { MarkupElement("entry", [("key", $0.key), ("value", $0.value)]) }
    return [DraftElement(nil, MarkupElement("userInfo", children: entries))]
  }

  private func relationship(_ relationship: RelationshipDescription, of entity: EntityDescription)
    -> MarkupElement
  {
    let destination = graph.xcodeName(ofEntity: relationship.destination)
    let inverse = relationship.inverse.map { graph.xcodePath($0, of: relationship.destination) }
    return MarkupElement(
      "relationship",
      [
        ("name", relationship.name), ("optional", Self.yes(relationship.isOptional)),
        ("toMany", Self.yes(relationship.isToMany)), ("minCount", relationship.minimumCount.map(String.init)),
        ("maxCount", relationship.isToMany ? relationship.maximumCount.map(String.init) : "1"),
        ("deletionRule", relationship.deleteRule.xcodeName), ("ordered", Self.yes(relationship.isOrdered)),
        ("destinationEntity", destination), ("inverseName", inverse),
        ("inverseEntity", inverse == nil ? nil : destination),
        ("elementID", identifiers.property(relationship.name, of: entity)),
        ("versionHashModifier", relationship.hashModifier), ("syncable", "YES"),
      ])
  }

  // MARK: Expressions

  /// The text of a predicate with the names of Xcode's model. Core Data has no enumerations, so raw values replace the
  /// names of their cases. A predicate with errors stays as it is.
  private func text(of predicate: FetchPredicate, on entity: String, fetchSource: String? = nil) -> String {
    let checked = checker.check(predicate, on: entity, fetchSource: fetchSource)
    return (checked.hasErrors ? predicate : checked.predicate).canonicalText
  }

  /// The text of a derivation, with names and raw values as in a predicate.
  func text(of derivation: ValueExpression, type: AttributeType, on entity: String) -> String {
    let checked = checker.check(derivation, on: entity, expecting: .attribute(type))
    return (checked.hasErrors ? derivation : checked.expression).canonicalText
  }

  /// The name in Xcode's model of a key that is applied to an object or to a composite.
  private static func xcodeKey(_ key: String, of owner: ExpressionType, in graph: EntityGraph) -> String {
    switch owner {
    case .object(let entity): return graph.xcodePath(key, of: entity)
    case .attribute(.composite(let name)):
      let field = graph.composite(name)?.fields.first { $0.name == key }
      return field.map { XcodeName.of($0, of: name, in: graph.version) } ?? key
    default: return key
    }
  }

  static func yes(_ flag: Bool) -> String? { flag ? "YES" : nil }
}

extension DeleteRule {
  /// Xcode's name of the rule.
  var xcodeName: String {
    switch self {
    case .nullify: "Nullify"
    case .cascade: "Cascade"
    case .deny: "Deny"
    case .noAction: "No Action"
    }
  }
}

// The names in Xcode's model of the elements that other elements refer to.
extension EntityGraph {
  func xcodeName(ofEntity name: String) -> String {
    entity(name).map { XcodeName.of($0) } ?? name
  }

  func xcodeName(ofComposite name: String) -> String {
    composite(name).map { XcodeName.of($0, in: version) } ?? name
  }

  /// The key path of a property that an entity declares or inherits, or of a field of a composite attribute.
  func xcodePath(_ path: String, of entity: String) -> String {
    let parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let first = parts.first, let property = property(first, of: entity) else { return path }
    var names = [XcodeName.of(property)]
    for part in parts.dropFirst() {
      guard case .attribute(let attribute) = property, case .composite(let name) = attribute.type,
        let field = composite(name)?.fields.first(where: { $0.name == part })
      else {
        names.append(part)
        continue
      }
      names.append(XcodeName.of(field, of: name, in: version))
    }
    return names.joined(separator: ".")
  }
}
