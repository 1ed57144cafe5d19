public import CDModel

/// A migration step from one version to another: what differs, how objects are mapped, and whether the step is proven.
///
/// Generation uses it to prove that every released version has a rule for every change, and the runtime migrates by its
/// ``mapping``. Both therefore use the same rules.
///
/// ```swift
/// if let old = model.version(1), let new = model.version(2) {
///   let step = MigrationStep(from: old, to: new)
///   for change in step.openChanges { print("without a rule: \(change)") }
/// }
/// ```
public struct MigrationStep: Hashable, Sendable {
  /// The number of the source version.
  public let source: Int
  /// The number of the destination version.
  public let destination: Int
  /// The rules in addition to what can be inferred; nil if there are none.
  package let rules: MappingRules?
  /// How objects are mapped to the destination. If the step is not proven, the mapping is incomplete.
  public let mapping: MappingModel
  /// All differences: first added and removed entities, then the changes of each entity, in order of declaration.
  public let changes: [ModelChange]
  /// The problems in the rules.
  public let problems: [MappingProblem]
  /// The source entity that each destination entity was, by the destination's name. It follows all renames, also if the
  /// step spans several versions.
  package let origins: [String: String]
  /// For each entity mapping, by its name: the source path of each stored value and relationship, by its destination path.
  /// All renames are followed, as in `origins`. Values and relationships that the source does not have are left out.
  package let propertyOrigins: [String: [String: String]]

  /// Creates the step from a version to one that is based on it.
  ///
  /// - Parameters:
  ///   - source: The source version. `renamedFrom` in the destination refers to its names.
  ///   - destination: The destination version.
  ///   - rules: Rules in addition to what can be inferred. The version numbers in them are ignored.
  public init(from source: ModelVersion, to destination: ModelVersion, rules: MappingRules? = nil) {
    self.init(ModelMatch(from: source, to: destination, kind: .step), rules)
  }

  /// Creates one step over several versions, each based on the one before.
  ///
  /// Renames in the versions in between are followed. Rules for the single steps are not used.
  ///
  /// - Parameters:
  ///   - line: The versions from the source to the destination. For an empty list, the step is from an empty version to
  ///     itself.
  ///   - rules: Rules in addition to what can be inferred. The version numbers in them are ignored.
  package init(line: [ModelVersion], rules: MappingRules? = nil) {
    self.init(ModelMatch(line: line.map(EntityGraph.init)), rules)
  }

  /// Creates the step between two forms of the same version: a store may have an earlier draft, or a version of another
  /// branch with the same number. Elements with the same name are the same; other elements are paired by `renamedFrom`.
  package init(fromDraft source: ModelVersion, to destination: ModelVersion) {
    self.init(ModelMatch(from: source, to: destination, kind: .draft), nil)
  }

  /// Creates the step back from a version to one that it is based on. Renamed elements get their old names again.
  ///
  /// - Parameters:
  ///   - line: The versions from the source to the destination, each based on the next one.
  ///   - rules: Rules in addition to what can be inferred. The version numbers in them are ignored.
  package init(backAlong line: [ModelVersion], rules: MappingRules? = nil) {
    self.init(ModelMatch(line: line.map(EntityGraph.init), kind: .back), rules)
  }

  init(_ match: ModelMatch, _ rules: MappingRules?) {
    let builder = StepBuilder(match: match, rules: rules)
    builder.build()
    source = match.source.version.number
    destination = match.destination.version.number
    self.rules = rules
    mapping = builder.mappingModel
    changes = builder.changes.finished(builder)
    problems = builder.problems.list
    origins = match.entities
    propertyOrigins = builder.propertyOrigins
  }

  /// Whether every change is resolved, every loss is confirmed, and the rules contain no error.
  public var isProven: Bool { openChanges.isEmpty && !problems.contains { $0.severity == .error } }

  /// Whether the step is proven and loses no data at all, not even with confirmation.
  public var isLossless: Bool { isProven && losses.isEmpty }

  /// The changes that are not resolved.
  public var openChanges: [ModelChange] { changes.filter(\.isOpen) }

  /// The changes that lose data, confirmed or not, including objects that a mapping's filter excludes.
  public var losses: [ModelChange] {
    changes.filter { change in
      switch change.kind {
      case .objectsFiltered, .ownedObjectsLeft: return change.resolution != .custom
      default: break
      }
      return change.verdict == .losesData && change.resolution >= .confirmed
    }
  }

  /// Whether no row of a store has to change, because both versions store the same.
  package var changesNoData: Bool {
    mapping.entityMappings.allSatisfy { $0.kind == .copy || $0.kind == .add }
  }
}
