import CDModel
import CDSchema

extension VersionImporter {
  // MARK: Derived attributes

  /// Turns a derived attribute into a plain one if its derivation cannot be computed here.
  mutating func checkDerivations() {
    let checker = XcodeNames(EntityGraph(version)).checker
    for place in version.entities.indices {
      for number in version.entities[place].attributes.indices {
        let attribute = version.entities[place].attributes[number]
        guard let derivation = attribute.derivation, let element = origins[.attribute(place, number)] else {
          continue
        }
        var problem: String?
        switch attribute.type {
        case .composite, .codable: problem = "it is of a type that no expression gives"
        default:
          let checked = checker.check(
            derivation, on: version.entities[place].name, expecting: .attribute(attribute.type),
            allowsNil: attribute.isOptional)
          problem = checked.diagnostics.first { $0.severity == .error }?.message
          if problem == nil, !checked.variables.isEmpty { problem = "it has variables" }
          if problem == nil, !checked.isStorable || !checked.isTotal {
            problem = "it has no value for every object"
          }
          version.entities[place].attributes[number].derivation = checked.expression
        }
        if attribute.isTransient { problem = "it is transient" }
        guard let problem else { continue }
        version.entities[place].attributes[number].derivation = nil
        remark(
          "attribute '\(attribute.name)' of '\(version.entities[place].name)'",
          "its derivation '\(derivation.canonicalText)' cannot be calculated by cdgen (\(problem)); "
            + "it becomes a plain attribute, and the text is kept under 'info'", at: element)
      }
    }
  }

  // MARK: Fetches

  mutating func readFetches() {
    let checker = XcodeNames(EntityGraph(version)).checker
    for place in version.entities.indices {
      var wrong: [String] = []
      for number in version.entities[place].fetchedProperties.indices {
        guard let request = origins[.fetchedRequest(place, number)], let text = request["predicateString"],
          !text.isEmpty
        else { continue }
        let property = version.entities[place].fetchedProperties[number]
        switch predicate(text, on: property.entity, fetchSource: version.entities[place].name, checker) {
        case .success(let predicate): version.entities[place].fetchedProperties[number].predicate = predicate
        case .failure(let problem):
          wrong.append(property.name)
          remark(
            "fetched property '\(property.name)' of '\(version.entities[place].name)'",
            "its predicate '\(text)' cannot be imported: \(problem.message); its element is kept under 'info' of the "
              + "entity", at: request)
        }
      }
      _ = drop(wrong, from: place)
    }
    var fetchNames = FetchNames()
    let places = Dictionary(
      version.entities.enumerated().map { ($0.element.name, $0.offset) },
      uniquingKeysWith: { first, _ in first })
    for element in root.children("fetchRequest") { readTemplate(element, places, checker, &fetchNames) }
  }

  private struct PredicateProblem: Error { var message: String }

  private func predicate(
    _ text: String, on entity: String, fetchSource: String?, _ checker: ExpressionChecker
  ) -> Result<FetchPredicate, PredicateProblem> {
    do {
      let predicate = try FetchPredicate(format: text)
      let checked =
        fetchSource.map { checker.check(predicate, on: entity, fetchSource: $0) }
        ?? checker.check(predicate, on: entity, isTemplate: true)
      if let problem = checked.diagnostics.first(where: { $0.severity != .warning }) {
        return .failure(PredicateProblem(message: problem.message))
      }
      if fetchSource != nil, let other = checked.variables.first(where: { $0.name != "FETCH_SOURCE" }) {
        return .failure(PredicateProblem(message: "nothing gives '$\(other.name)' a value"))
      }
      return .success(checked.predicate)
    } catch {
      return .failure(PredicateProblem(message: error.message))
    }
  }

  /// - Parameters:
  ///   - places: The indices of the entities by name.
  ///   - fetchNames: The names of the fetches already read.
  private mutating func readTemplate(
    _ element: MarkupElement, _ places: [String: Int], _ checker: ExpressionChecker,
    _ fetchNames: inout FetchNames
  ) {
    let original = element["name"] ?? ""
    let subject = "fetch request '\(original)'"
    guard let entity = element["entity"].flatMap({ names.entities[$0] }),
      let place = places[entity]
    else {
      remark(
        subject, "it fetches no entity of the model; it is kept under 'info' of the version", at: element)
      return keep(element, of: .model)
    }
    var name = NameTable.valid(original)
    if !NameRules.isFetchName(name) { name = "fetch" + name.prefix(1).uppercased() + name.dropFirst() }
    var template = FetchTemplate(name: name)
    template.limit = limit(element)
    if let text = element["predicateString"], !text.isEmpty {
      switch predicate(text, on: entity, fetchSource: nil, checker) {
      case .success(let predicate): template.predicate = predicate
      case .failure(let problem):
        remark(
          subject,
          "its predicate '\(text)' cannot be imported: \(problem.message); it is kept under 'info' of the version",
          at: element)
        return keep(element, of: .model)
      }
    }
    template.name = fetchNames.add(name, to: entity, checker.graph)
    if template.name != original {
      remark(
        subject, "'\(original)' cannot be a name in cdgen, so it is called '\(template.name)'", at: element)
    }
    origins[.template(place, version.entities[place].fetchTemplates.count)] = element
    version.entities[place].fetchTemplates.append(template)
  }

  // MARK: Configurations

  mutating func readConfigurations() {
    let known = Set(version.entities.map(\.name))
    for element in root.children("configuration") {
      guard let name = element["name"], !name.isEmpty,
        !version.configurations.contains(where: { $0.name == name })
      else {
        remark(
          "a configuration", "it has no name of its own; it is kept under 'info' of the version", at: element)
        keep(element, of: .model)
        continue
      }
      var configuration = ConfigurationDescription(name: name, entities: [])
      var others: [MarkupElement] = []
      var members: Set<String> = []
      for member in element.children("memberEntity") {
        guard let entity = member["name"].flatMap({ names.entities[$0] }),
          known.contains(entity), members.insert(entity).inserted
        else {
          remark("configuration '\(name)'", "there is no entity '\(member["name"] ?? "")' for it", at: member)
          others.append(member)
          continue
        }
        configuration.entities.append(entity)
      }
      let key = ElementIndex.configuration(version.configurations.count)
      version.configurations.append(configuration)
      origins[key] = element
      for member in others { keep(member, of: key) }
    }
  }
}

/// The names of a version's fetches. A class also has the fetches of its ancestors, so those of related entities have
/// different names.
private struct FetchNames {
  /// The entities for which each name was wanted, even if another one was given.
  private var entities: [String: Set<String>] = [:]
  /// How many names were made of each wanted name.
  private var counts: [String: Int] = [:]

  /// Gives a fetch a name. No name is tried twice for an entity, so that many fetches of one name take little time.
  mutating func add(_ name: String, to entity: String, _ graph: EntityGraph) -> String {
    var new = name
    while isTaken(new, entity, graph) {
      entities[new, default: []].insert(entity)
      counts[name, default: 0] += 1
      new = NameTable.numbered(name, counts[name] ?? 1)
    }
    entities[new, default: []].insert(entity)
    return new
  }

  private func isTaken(_ name: String, _ entity: String, _ graph: EntityGraph) -> Bool {
    guard let others = entities[name] else { return false }
    return others.contains(entity)
      || others.contains { graph.isKind($0, of: entity) || graph.isKind(entity, of: $0) }
  }
}
