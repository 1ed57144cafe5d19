public import CDModel

/// The way from one version to another: what differs, what becomes of the objects, and whether that is sure.
///
/// The build proves with it that every released version has a rule for every change, and the runtime migrates
/// by its ``mapping``: both ask the same.
///
/// ```swift
/// if let old = model.version(1), let new = model.version(2) {
///   let step = MigrationStep(from: old, to: new)
///   for change in step.openChanges { print("without a rule: \(change)") }
/// }
/// ```
public struct MigrationStep: Hashable, Sendable {
  /// The number of the version that the step starts from.
  public let source: Int
  /// The number of the version that it leads to.
  public let destination: Int
  /// What was said beyond what can be inferred; nil where nothing was.
  public let rules: MappingRules?
  /// How objects become those of the destination. Where the step is not proven it is what is known of that.
  public let mapping: MappingModel
  /// Everything that differs: what entities there are, then by entity, each in the order of declaration.
  public let changes: [ModelChange]
  /// What is wrong with the rules.
  public let problems: [MappingProblem]

  /// The step from a version to one that is based on it.
  ///
  /// - Parameters:
  ///   - source: The version that objects are of. `renamedFrom` in the other speaks of its names.
  ///   - destination: The version that they are to be of.
  ///   - rules: What is said beyond what can be inferred. The numbers in it are not looked at.
  public init(from source: ModelVersion, to destination: ModelVersion, rules: MappingRules? = nil) {
    self.init(ModelMatch(from: source, to: destination, kind: .step), rules)
  }

  /// A step over several versions, each based on the one before, in one go.
  ///
  /// What was renamed on the way is followed. The rules of the steps that are jumped over have no part in it.
  ///
  /// - Parameter line: The versions from the one that objects are of to the one that they are to be of. Of
  ///   none the step is that from an empty version to itself.
  public init(line: [ModelVersion], rules: MappingRules? = nil) {
    self.init(ModelMatch(line: line.map(EntityGraph.init)), rules)
  }

  /// The step between two forms of what began as one version: a store of yesterday's draft, or of a branch that
  /// gave its version the same number. What has the same name in both is the same; what has not is looked for
  /// by `renamedFrom`.
  public init(fromDraft source: ModelVersion, to destination: ModelVersion) {
    self.init(ModelMatch(from: source, to: destination, kind: .draft), nil)
  }

  /// The way back from a version to one that it is based on: what was renamed gets its old name again.
  ///
  /// - Parameter line: The versions from the one that objects are of to the one that they are to be of, each
  ///   the base of the one before it.
  public init(backAlong line: [ModelVersion], rules: MappingRules? = nil) {
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
  }

  /// Whether there is a rule for every change, every loss is meant and the rules hold.
  public var isProven: Bool { openChanges.isEmpty && !problems.contains { $0.severity == .error } }

  /// Whether the step is proven and nothing at all is lost, not even what was confirmed.
  public var isLossless: Bool { isProven && losses.isEmpty }

  /// The changes for which there is nothing yet.
  public var openChanges: [ModelChange] { changes.filter(\.isOpen) }

  /// The changes that cost data, confirmed or not, and what a mapping's filter leaves behind.
  public var losses: [ModelChange] {
    changes.filter { change in
      switch change.kind {
      case .objectsFiltered, .ownedObjectsLeft: return change.resolution != .custom
      default: break
      }
      return change.verdict == .losesData && change.resolution >= .confirmed
    }
  }

  /// Whether no row of a store has to be touched: both versions store the same.
  public var changesNoData: Bool { mapping.entityMappings.allSatisfy { $0.kind == .copy || $0.kind == .add } }
}
