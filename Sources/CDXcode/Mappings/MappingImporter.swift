import CDMapping
import CDModel
import CDSchema

/// Translates Xcode's mapping models to the rules of mapping files.
struct MappingImporter {
  let model: ManagedObjectModel
  /// The bundle's name. Mapping models contain it too.
  let bundleName: String

  struct Result {
    var rules: [MappingRules] = []
    /// The comments at the top of the files, by the files' names.
    var notes: [String: String] = [:]
    var diagnostics: [Diagnostic] = []
  }

  func rules(of files: [XcodeMappingFile]) -> Result {
    var result = Result()
    for file in files {
      let place = SourceLocation(path: file.path, line: 1, column: 1)
      do {
        guard let archive = MappingArchive(try MarkupReader.read(file.contents)) else {
          result.diagnostics.append(Diagnostic(.warning, at: place, "there is no mapping model in this file"))
          continue
        }
        add(archive, file, to: &result)
      } catch {
        result.diagnostics.append(
          Diagnostic(
            .warning, at: SourceLocation(path: file.path, line: error.line, column: error.column),
            "the mapping model cannot be read: \(error.message)"))
      }
    }
    return result
  }

  private func add(_ archive: MappingArchive, _ file: XcodeMappingFile, to result: inout Result) {
    let place = SourceLocation(path: file.path, line: 1, column: 1)
    func number(_ name: String) -> Int? { model.versions.first { $0.label == name }?.number }
    guard let source = number(archive.sourceVersion), let destination = number(archive.destinationVersion)
    else {
      // A folder may contain mapping models of several models.
      if archive.bundleName == nil || archive.bundleName == bundleName {
        let missing = [archive.sourceVersion, archive.destinationVersion].filter { number($0) == nil }
        result.diagnostics.append(
          Diagnostic(
            .warning, at: place,
            "the mapping model is for '\(archive.sourceVersion)' to '\(archive.destinationVersion)', and "
              + missing.map { "'\($0)'" }.joined(separator: " and ")
              + " is not a version that is imported; it is left out",
            suggestion: missing.first.flatMap { closestName(to: $0, in: model.versions.compactMap(\.label)) })
        )
      }
      return
    }
    guard source != destination,
      !result.rules.contains(where: { $0.source == source && $0.destination == destination })
    else {
      result.diagnostics.append(
        Diagnostic(
          .warning, at: place, "there is another mapping model for the same versions; this one is left out"))
      return
    }
    guard let old = model.version(source), let new = model.version(destination) else { return }
    var translation = MappingTranslation(
      archive: archive, path: file.path, from: EntityGraph(old), to: EntityGraph(new),
      rules: MappingRules(source: source, destination: destination))
    translation.translate()
    translation.leaveOutWhatIsWrong(from: old, to: new)
    let name = MappingFile.name(from: source, to: destination)
    result.rules.append(translation.rules)
    let head =
      "Imported from Xcode's mapping model for '\(archive.sourceVersion)' to '\(archive.destinationVersion)'."
    result.notes[name] = ([head] + translation.notes).joined(separator: "\n")
    result.diagnostics += translation.diagnostics
  }
}

/// Translates one mapping model to rules.
struct MappingTranslation {
  private let archive: MappingArchive
  private let path: String
  let from: EntityGraph
  private let to: EntityGraph
  /// The elements of both versions by their names in Xcode, which the mapping model uses.
  private let oldNames: XcodeNames
  private let newNames: XcodeNames
  var rules: MappingRules
  var notes: [String] = []
  var diagnostics: [Diagnostic] = []

  init(archive: MappingArchive, path: String, from: EntityGraph, to: EntityGraph, rules: MappingRules) {
    self.archive = archive
    self.path = path
    self.from = from
    self.to = to
    oldNames = XcodeNames(from)
    newNames = XcodeNames(to)
    self.rules = rules
  }

  mutating func translate() {
    for mapping in archive.entities { translate(mapping) }
    removeSuperfluous()
  }

  /// Removes rules that only state what is inferred anyway. If an entity has several rules, nothing is inferred for it.
  /// Its plain rule is then kept, because it maps the objects of the entity with the same name.
  mutating func removeSuperfluous() {
    let counts = Dictionary(rules.entities.map { ($0.destination, 1) }, uniquingKeysWith: +)
    rules.entities.removeAll { $0 == EntityRule(destination: $0.destination) && counts[$0.destination] == 1 }
    for place in rules.entities.indices where counts[rules.entities[place].destination] ?? 0 > 1 {
      let rule = rules.entities[place]
      // If there are several rules for an entity, each names its source.
      if rule.source == nil, !rule.isCustom || from.entity(rule.destination) != nil {
        rules.entities[place].source = inferredSource(of: rule.destination)
      }
    }
  }

  private mutating func translate(_ mapping: MappingArchive.EntityMapping) {
    guard let newName = mapping.destination else {
      if let source = mapping.source.flatMap(oldNames.entity) { rules.drops.append(source) }
      return
    }
    guard let destination = newNames.entity(newName) else {
      return report(mapping, "there is no entity '\(newName)' in version \(rules.destination)")
    }
    // A mapping without a source creates no objects, unless it has code.
    guard let oldName = mapping.source else {
      if let policy = mapping.policy { custom(EntityRule(destination: destination), policy) }
      return
    }
    guard let source = oldNames.entity(oldName) else {
      return report(mapping, "there is no entity '\(oldName)' in version \(rules.source)")
    }
    add(mapping, source, destination)
  }

  private mutating func add(_ mapping: MappingArchive.EntityMapping, _ source: String, _ destination: String)
  {
    var rule = EntityRule(destination: destination)
    if source != inferredSource(of: destination) { rule.source = source }
    let isNamed = mapping.name != "\(mapping.source ?? "")To\(mapping.destination ?? "")"
    if isNamed, NameRules.problem(with: mapping.name) == nil {
      rule.name = mapping.name
    }
    if let text = mapping.filter {
      let checked = (try? FetchPredicate(format: text)).map { oldNames.checker.check($0, on: source) }
      if let checked, !checked.hasErrors {
        rule.filter = checked.predicate
        // Core Data maps each entity separately: objects whose owner is excluded are migrated without it. If the app's
        // own code creates the owners, it decides.
        if mapping.policy == nil,
          from.relationships(of: source).contains(where: { $0.deleteRule.owns })
        {
          rule.owned = .keep
        }
      } else {
        leaveOpen(UndecidedPart.filter, mapping, &rule, "the filter '\(text)' cannot be imported")
      }
    }
    for attribute in mapping.attributes { add(attribute, mapping, source, destination, &rule) }
    for relationship in mapping.relationships {
      addRelationship(relationship, mapping, source, destination, &rule)
    }
    if let policy = mapping.policy { return custom(rule, policy) }
    rules.entities.append(rule)
  }

  private mutating func custom(_ rule: EntityRule, _ policy: String) {
    var rule = rule
    rule.isCustom = true
    rules.entities.append(rule)
    notes.append("\(rule.destination): Core Data's policy class was \(policy).")
  }

  func inferredSource(of destination: String) -> String? {
    to.entity(destination)?.renamedFrom ?? destination
  }

  // MARK: Properties

  private mutating func add(
    _ property: MappingArchive.PropertyMapping, _ mapping: MappingArchive.EntityMapping, _ source: String,
    _ destination: String, _ rule: inout EntityRule
  ) {
    guard case .attribute(let attribute)? = newNames.property(property.name, of: destination) else {
      return reportMissing("attribute", property, mapping, of: destination)
    }
    guard attribute.isStored, attribute.derivation == nil else {
      if property.isUnreadable || property.value != nil {
        report(
          mapping,
          "attribute '\(attribute.name)' is \(attribute.isStored ? "derived" : "transient"), and so its expression is left out"
        )
      }
      return
    }
    if property.isUnreadable {
      return leaveOpen(
        attribute.name, mapping, &rule, "the expression for attribute '\(attribute.name)' cannot be read")
    }
    guard let text = property.value else { return }
    // By default, a property gets the value of the source property with its name.
    let written = text.hasPrefix("$source.") ? String(text.dropFirst("$source.".count)) : text
    let path = oldNames.path(written, of: source) ?? (written == property.name ? attribute.name : written)
    if path == attribute.name || path == attribute.renamedFrom { return }
    func refuse() {
      leaveOpen(
        attribute.name, mapping, &rule,
        "the expression '\(text)' for attribute '\(attribute.name)' cannot be imported")
    }
    guard let expression = Self.value(path, as: attribute.type) else { return refuse() }
    let checked = oldNames.checker.check(expression, on: source)
    guard !checked.hasErrors, checked.variables.isEmpty, checked.isStorable else { return refuse() }
    rule.attributes.append(PropertyMapping(name: attribute.name, value: checked.expression))
  }

  /// Reads the expression of a text. Xcode writes Boolean constants as numbers.
  private static func value(_ text: String, as type: AttributeType) -> ValueExpression? {
    let constants = type == .bool ? ["0": "NO", "1": "YES"] : [:]
    return try? ValueExpression(format: constants[text] ?? text)
  }

  private mutating func addRelationship(
    _ property: MappingArchive.PropertyMapping, _ mapping: MappingArchive.EntityMapping, _ source: String,
    _ destination: String, _ rule: inout EntityRule
  ) {
    guard case .relationship(let relationship)? = newNames.property(property.name, of: destination) else {
      return reportMissing("relationship", property, mapping, of: destination)
    }
    var path = property.keyPath
    if path == nil, property.isUnreadable {
      return leaveOpen(
        relationship.name, mapping, &rule,
        "the expression for relationship '\(relationship.name)' cannot be read")
    }
    if path == nil, let text = property.value {
      // FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "AToB", $source.path)
      guard text.hasPrefix("FUNCTION($manager, \"destinationInstancesFor"),
        let comma = text.ranges(of: ", $source").last
      else {
        return leaveOpen(
          relationship.name, mapping, &rule,
          "the expression '\(text)' for relationship '\(relationship.name)' cannot be imported")
      }
      path = String(text[comma.lowerBound...].dropFirst(2).dropLast())
    }
    guard let text = path else { return }
    var keys =
      text == "$source"
      ? "SELF" : text.hasPrefix("$source.") ? String(text.dropFirst("$source.".count)) : text
    // Here a path through several objects gives each object once anyway.
    for union in ["@distinctUnionOfSets.", "@distinctUnionOfObjects.", "@distinctUnionOfArrays."] {
      keys = keys.replacing(union, with: "")
    }
    keys = oldNames.path(keys, of: source) ?? (keys == property.name ? relationship.name : keys)
    if keys == relationship.name || keys == relationship.renamedFrom { return }
    let value = (try? ValueExpression(format: keys)).map { oldNames.checker.check($0, on: source) }
    guard let checked = value, !checked.hasErrors, !keys.contains("@") else {
      return leaveOpen(
        relationship.name, mapping, &rule,
        "the path '\(text)' for relationship '\(relationship.name)' cannot be imported")
    }
    rule.relationships.append(PropertyMapping(name: relationship.name, value: checked.expression))
  }

  /// Reports a property that the destination does not have, if the mapping model gives it a value. It cannot be
  /// undecided, because there is no property to decide about.
  private mutating func reportMissing(
    _ noun: String, _ property: MappingArchive.PropertyMapping, _ mapping: MappingArchive.EntityMapping,
    of destination: String
  ) {
    guard property.isUnreadable || property.value != nil || property.keyPath != nil else { return }
    report(
      mapping,
      "there is no \(noun) '\(property.name)' of '\(destination)' in version \(rules.destination), "
        + "and so its expression is left out")
  }

  /// Reports a part that cannot be translated, and marks it as undecided. The step stays open until a person has
  /// decided, because inference would use another value.
  private mutating func leaveOpen(
    _ name: String, _ mapping: MappingArchive.EntityMapping, _ rule: inout EntityRule, _ message: String
  ) {
    rule.undecided.append(UndecidedPart(name, in: mapping.name, message))
    report(mapping, message)
  }

  /// Reports a problem with a rule at the mapping that it comes from.
  ///
  /// - Returns: The mapping's name.
  mutating func report(_ rule: EntityRule, _ message: String) -> String {
    let candidates = archive.entities.filter { mapping in
      mapping.destination.flatMap(newNames.entity) == rule.destination
    }
    let source = rule.source ?? inferredSource(of: rule.destination)
    let origin = candidates.first { $0.source.flatMap(oldNames.entity) == source }
    guard let mapping = origin ?? candidates.first else { return "" }
    report(mapping, message)
    return mapping.name
  }

  private mutating func report(_ mapping: MappingArchive.EntityMapping, _ message: String) {
    diagnostics.append(
      Diagnostic(
        .warning, at: SourceLocation(path: path, line: mapping.line, column: mapping.column),
        "mapping '\(mapping.name)': \(message)"))
    notes.append("Not imported: of '\(mapping.name)', \(message).")
  }
}

extension UndecidedPart {
  /// Creates an undecided part for a part of an Xcode entity mapping that cannot be translated.
  init(_ name: String, in mapping: String, _ message: String) {
    self.init(name, note: "in Xcode's mapping '\(mapping)', \(message)")
  }
}
