import CDModel

/// Puts inference and rules together: what differs between two versions, and what becomes of objects.
///
/// It looks at the entities that have objects one by one, each with all that it inherits, so that an attribute
/// that moved within a hierarchy is right for each of them. What is found of several is one change where they
/// are declared.
///
/// A class because its parts fill the same tables; it never leaves the call that made it.
final class StepBuilder {
  let match: ModelMatch
  let rules: MappingRules
  /// The source with the destination's enumerations beside its own, for expressions to be checked against.
  let checking: CheckingGraph
  var mappings: [WorkMapping] = []
  /// The mappings that take the objects of a source entity.
  private(set) var takers: [String: [Int]] = [:]
  var changes = ChangeCollector()
  var problems = ProblemCollector()
  /// Relationships whose objects are told by both sides in different ways, by mapping.
  var conflicts: [(place: Int, name: String)] = []
  /// The drops that something needed, to tell which were of no use.
  var usedDrops: Set<MappingProblem.Place> = []
  /// What rules leave open, with the places of the rules.
  var undecided: [(rule: Int, part: UndecidedPart, element: VersionElement)] = []
  /// The entities of the destination that each of the source is now.
  private(set) lazy var heirs: [String: [String]] = {
    var heirs: [String: [String]] = [:]
    for entity in destination.version.entities {
      if let old = match.entities[entity.name] { heirs[old, default: []].append(entity.name) }
    }
    return heirs
  }()
  /// Which objects of the source stay behind because their owners do.
  private(set) lazy var ownership = Ownership(
    in: source, mappings.lazy.filter(\.hasObjects).map(\.mapping))
  /// How many pairs of removed and added elements may still be compared to find renames. Nobody reads thousands of
  /// suggestions.
  private var comparisonsLeft = 1_000_000

  var source: EntityGraph { match.source }
  var destination: EntityGraph { match.destination }

  init(match: ModelMatch, rules: MappingRules?) {
    self.match = match
    self.rules =
      rules
      ?? MappingRules(source: match.source.version.number, destination: match.destination.version.number)
    checking = CheckingGraph(source: match.source, destination: match.destination)
  }

  func build() {
    checkRules()
    makeMappings()
    for place in mappings.indices where mappings[place].hasObjects {
      takers[mappings[place].sourceName, default: []].append(place)
    }
    compareEntities()
    compareOwned()
    for place in mappings.indices where mappings[place].hasObjects { resolveRules(of: place) }
    for place in mappings.indices where mappings[place].hasObjects { mapAttributes(of: place) }
    for place in mappings.indices where mappings[place].hasObjects { mapOwnRelationships(of: place) }
    for place in mappings.indices where mappings[place].hasObjects { mapOtherRelationships(of: place) }
    removeConflicts()
    findLostProperties()
    compareUniqueness()
    compareRest()
    for place in mappings.indices { finishKind(of: place) }
    reportUselessDrops()
  }

  /// True if another pair of a removed and an added element may be compared to find a rename.
  func mayCompare() -> Bool {
    comparisonsLeft -= 1
    return comparisonsLeft >= 0
  }

  /// The mappings of the objects of a source entity and of those of its subentities.
  func takers(ofKind entity: String) -> [Int] {
    ([entity] + source.descendants(of: entity).map(\.name)).flatMap { takers[$0] ?? [] }
  }

  /// The source entities, the given one or below, that have objects.
  func concrete(_ entity: String) -> [String] { source.concrete(entity) }

  var mappingModel: MappingModel {
    var result = MappingModel(
      source: source.version.number, destination: destination.version.number,
      entityMappings: mappings.map(\.mapping), duplicates: rules.duplicates)
    for entity in source.version.entities where !entity.isAbstract && takers[entity.name] == nil {
      result.entityMappings.append(
        EntityMapping(kind: .remove, name: "Remove\(entity.name)", source: entity.name))
    }
    return result
  }

  /// Rows stay as they are where both versions store the same and no rule says otherwise.
  private func finishKind(of place: Int) {
    let work = mappings[place]
    guard work.mapping.kind == .transform, work.keepsEverything, ownership.reached[work.sourceName] == nil,
      let name = work.mapping.source,
      name == work.mapping.destination
    else { return }
    if storesSame(name) { mappings[place].mapping.kind = .copy }
  }
}

/// An entity mapping in the making.
struct WorkMapping {
  var mapping: EntityMapping
  /// The place of the rule that it is of; nil where it is inferred.
  var rule: Int?
  /// The places of rules for the entity and its ancestors, the nearest first, that hold for it.
  var ruleChain: [Int] = []
  /// The properties of the source that those of the destination were.
  var properties: [String: String] = [:]
  /// The rules for stored values, by path.
  var attributeRules: [String: RuleReference] = [:]
  var relationshipRules: [String: RuleReference] = [:]
  /// Stored values of the source, by path, of which the mapping makes something.
  var keptLeaves: Set<String> = []
  var keptRelationships: Set<String> = []
  /// Stored values of the destination that are new.
  var newLeaves: [StoredLeaf] = []
  var newRelationships: [RelationshipDescription] = []

  var hasObjects: Bool { mapping.source != nil && mapping.destination != nil }
  var isCustom: Bool { mapping.kind == .custom }
  var sourceName: String { mapping.source ?? "" }
  var destinationName: String { mapping.destination ?? "" }

  /// Whether all objects are taken, with the values that they have.
  var keepsEverything: Bool {
    mapping.filter == nil && mapping.attributes.allSatisfy { $0.value == .keyPath($0.name) }
      && mapping.relationships.allSatisfy { $0.value == .objects(.keyPath($0.name)) }
  }
}

/// A rule of a property and where it stands.
struct RuleReference {
  /// The place of the entity's rule.
  let entity: Int
  /// The place of the property's in it.
  let property: Int
  let value: ValueExpression
  /// Whether the rule is for a composite as a whole.
  var isWhole = false
}

/// Problems, each once, in the order of their finding.
struct ProblemCollector {
  private(set) var list: [MappingProblem] = []
  private var seen: Set<MappingProblem> = []

  mutating func add(_ problem: MappingProblem) {
    if seen.insert(problem).inserted { list.append(problem) }
  }
}
