import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The steps that bring a store to the current version of a model.
struct MigrationRoute {
  /// A step with its source and destination versions.
  struct RouteStep {
    let step: MigrationStep
    let source: ModelVersion
    let destination: ModelVersion
    /// The merged model that the step migrates, in a store of several; nil if it migrates the store's whole model.
    var part: ManagedObjectModel?
    /// The versions whose steps were the last ones that changed rows, after this step.
    fileprivate(set) var rowsVersions: [UUID: Int] = [:]

    var name: MigrationError.Step {
      MigrationError.Step(source: step.source, destination: step.destination, model: part?.name)
    }

    /// The key of the app's own code for an entity mapping.
    func policy(of mapping: String) -> MigrationPolicies.Key {
      var key = MigrationPolicies.Key(mapping, from: step.source, to: step.destination)
      key.model = part?.id
      return key
    }
  }

  /// The steps that can be made, in order.
  private(set) var routeSteps: [RouteStep] = []
  /// The first step that is refused, after those that can be made, with the error; nil if the store can be migrated to
  /// the end.
  private(set) var refusal: (routeStep: RouteStep, error: MigrationError)?

  private let found: StoreMetadata
  let url: URL
  /// The model whose versions the steps follow. In a store of several merged models, it is the line of the model that
  /// is migrated.
  private(set) var model: ManagedObjectModel
  /// The merged model that is migrated.
  private var part: ManagedObjectModel?

  /// Finds the steps.
  ///
  /// - Parameters:
  ///   - storedVersion: The version that the store was written with, from its metadata.
  ///   - hash: Returns the data hash that a version gives for the store.
  ///   - holds: Returns the entities of a version whose objects the store holds.
  /// - Throws: ``MigrationError`` if no steps lead to the current version.
  @_optimize(none)
  init(
    _ found: StoreMetadata, storedVersion: ModelVersion, model: ManagedObjectModel, infers: Bool, url: URL,
    hash: (ModelVersion) -> String?, holds: (ModelVersion) -> Set<String>
  ) throws(MigrationError) {
    self.found = found
    self.model = model
    self.url = url
    // Another version may have the same data hash.
    if let outdated = found.outdated(model) {
      throw MigrationError(url, .newerStore(current: outdated.currentVersionNumber))
    }
    if !model.parts.isEmpty {
      try addParts(of: model, storedVersion: storedVersion, infers: infers, hash: hash, holds: holds)
      return
    }
    let line = VersionPaths(model)
    let current = model.currentVersionNumber
    // A draft is first brought to its own version, so that no mapping is skipped.
    let own = model.version(found.versionNumber).flatMap { version in
      line.path(from: version.number, to: current) == nil ? nil : version
    }
    // Two versions may have the same data hash, so the version with the store's number comes first. From a version before
    // that of the rows, the draft would follow its rules again.
    let rowsVersion = own == nil ? 0 : found.rowsVersions[model.id] ?? 0
    let known =
      ([model.version(found.versionNumber)].compactMap(\.self)
      + model.versions.reversed().filter { $0.number >= rowsVersion })
      .first { hash($0) == found.dataHash }
    if let known {
      try addPath(from: known, infers: infers)
      return
    }
    guard let target = own ?? model.currentVersion else { return }
    if own == nil, found.versionNumber > (model.versions.map(\.number).max() ?? 0) {
      throw MigrationError(url, .newerStore(current: current))
    }
    addDraft(storedVersion, to: target)
    if refusal != nil { return }
    try add(line.steps(from: target.number, to: current) ?? [], infers: infers)
  }

  /// Adds the steps of one model of a merged model, along that model's line.
  private mutating func addPath(
    of part: ManagedObjectModel, along line: ManagedObjectModel, from number: Int, infers: Bool
  ) throws(MigrationError) {
    guard let start = line.version(number) else { throw MigrationError(url, .noPath) }
    (self.part, model) = (part, line)
    try addPath(from: start, infers: infers)
  }

  private mutating func addPath(from known: ModelVersion, infers: Bool) throws(MigrationError) {
    let line = VersionPaths(model)
    guard let steps = line.steps(from: known.number, to: model.currentVersionNumber) else {
      return try addReturn(from: known, to: model.currentVersionNumber, line)
    }
    try add(steps, infers: infers)
  }

  /// Adds a step that can be made.
  private mutating func append(_ step: RouteStep) {
    var step = step
    step.rowsVersions = routeSteps.last?.rowsVersions ?? found.rowsVersions
    // A draft of a merged model is no version of one of its parts.
    let id = step.part?.id ?? (model.parts.isEmpty ? model.id : nil)
    let number = step.destination.number
    // Who has the version of the store can read its rows.
    if let id, !step.step.changesNoData || step.rowsVersions[id] ?? 0 > number {
      step.rowsVersions[id] = number
    }
    routeSteps.append(step)
  }

  /// Adds the step from a draft of a version to that version.
  @_optimize(none)
  private mutating func addDraft(_ storedVersion: ModelVersion, to target: ModelVersion) {
    let draft = MigrationStep(fromDraft: storedVersion, to: target)
    let routeStep = RouteStep(step: draft, source: storedVersion, destination: target)
    guard draft.isLossless else {
      let lost = draft.changes.filter { $0.isOpen || draft.losses.contains($0) }.map { "\($0)" }
      refusal = (
        routeStep,
        MigrationError(
          url, .losesData(lost, isLocked: found.isLocked(target.number, in: model)), step: routeStep.name)
      )
      return
    }
    append(routeStep)
  }

  private mutating func add(_ steps: [MigrationStep], infers: Bool) throws(MigrationError) {
    for step in steps {
      try add(step, infers: infers)
      if refusal != nil { return }
    }
  }

  @_optimize(none)
  private mutating func add(_ step: MigrationStep, infers: Bool) throws(MigrationError) {
    guard let source = model.version(step.source), let destination = model.version(step.destination) else {
      throw MigrationError(url, .noPath)
    }
    let routeStep = RouteStep(step: step, source: source, destination: destination, part: part)
    guard step.isProven else {
      let open =
        step.openChanges.map { "\($0)" }
        + step.problems.filter { $0.severity == .error }.map(\.description)
      refusal = (routeStep, MigrationError(url, .notProven(open), step: routeStep.name))
      return
    }
    guard infers || step.rules != nil || step.changesNoData else {
      refusal = (routeStep, MigrationError(url, .noMappingModel, step: routeStep.name))
      return
    }
    append(routeStep)
  }

  /// Adds the step back to an older version that the store's version is based on. The step is refused if it would lose
  /// data.
  @_optimize(none)
  private mutating func addReturn(
    from known: ModelVersion, to current: Int, _ line: VersionPaths
  ) throws(MigrationError) {
    guard line.path(from: current, to: known.number) != nil else { throw MigrationError(url, .noPath) }
    guard let destination = model.version(current), let step = line.step(from: known.number, to: current)
    else { throw MigrationError(url, .newerStore(current: current)) }
    let routeStep = RouteStep(step: step, source: known, destination: destination, part: part)
    // The step back does not undo the calculations of rules. They would be made again on the next way there.
    let isUndone = line.steps(from: current, to: known.number)?.allSatisfy { forward in
      forward.changesNoData
        || !step.changesNoData && forward.rules?.entities.allSatisfy(\.mayBeRepeated) != false
    }
    if step.isLossless, isUndone == true {
      append(routeStep)
    } else {
      refusal = (routeStep, MigrationError(url, .newerStore(current: current), step: routeStep.name))
    }
  }
}

extension EntityRule {
  /// Whether the rule gives an object the same values if it is followed twice.
  fileprivate var mayBeRepeated: Bool {
    !isCustom
      && (attributes + relationships).allSatisfy { property in
        let own = ValueExpression.keyPath(property.name)
        if case .coalesced(let values) = property.value.kind { return values.first == own }
        return property.value == own || property.value == .null
      }
  }
}

// A store of several merged models. The models are migrated one after the other, each along its own line, while the
// others stay as they are.
extension MigrationRoute {
  /// Finds the steps of a store that holds several models of a merged model.
  @_optimize(none)
  private mutating func addParts(
    of merged: ManagedObjectModel, storedVersion: ModelVersion, infers: Bool,
    hash: (ModelVersion) -> String?, holds: (ModelVersion) -> Set<String>
  ) throws(MigrationError) {
    let held = merged.currentVersion.map(holds) ?? []
    let before = holds(storedVersion)
    var numbers: [UUID: Int] = [:]
    for part in merged.parts {
      let number = try number(of: part, in: storedVersion)
      // If the objects of a model are in another store, they are migrated there.
      let isHeld =
        !(part.currentVersion.map { held.isDisjoint(with: $0.entities.map(\.name)) } ?? true)
        || !(part.version(number).map { before.isDisjoint(with: $0.entities.map(\.name)) } ?? true)
      numbers[part.id] = isHeld ? number : part.currentVersionNumber
    }
    try addDraft(of: merged, at: numbers, storedVersion: storedVersion, hash: hash)
    var waiting = merged.parts.filter { numbers[$0.id] != $0.currentVersionNumber }
    while refusal == nil, !waiting.isEmpty {
      // One model may have to remove an entity before another one can have it.
      var movable: (index: Int, line: ManagedObjectModel)?
      for (index, part) in waiting.enumerated() where movable == nil {
        movable = line(of: part, in: merged, beside: numbers).map { (index, $0) }
      }
      guard let (index, line) = movable else {
        throw MigrationError(url, .collidingModels(waiting.map(\.name)))
      }
      let part = waiting.remove(at: index)
      guard let number = numbers[part.id] else { continue }
      try addPath(of: part, along: line, from: number, infers: infers)
      numbers[part.id] = part.currentVersionNumber
    }
  }

  /// The version of a merged model in a store: the version that the store's metadata name, if it fits; otherwise
  /// another version that fits; otherwise the version that the store has a draft of.
  @_optimize(none)
  private func number(of part: ManagedObjectModel, in storedVersion: ModelVersion) throws(MigrationError)
    -> Int
  {
    let stored = storedVersion.hashes.entities
    @_optimize(none)
    func fits(_ version: ModelVersion) -> Bool {
      version.hashes.entities.allSatisfy { stored[$0.key]?.data == $0.value.data }
    }
    let noted = found.partVersions[part.id]
    if let noted, let version = part.version(noted), fits(version) { return noted }
    let isOnTheWay =
      noted.map { VersionPaths(part).path(from: $0, to: part.currentVersionNumber) != nil } ?? false
    // From a version before that of the rows, a draft would follow its rules again.
    let rowsVersion = isOnTheWay ? found.rowsVersions[part.id] ?? 0 : 0
    // A version with fewer entities also fits a store with more, so the version with most entities is chosen. The
    // newest one is chosen among versions that store the same.
    let fitting = part.versions.reversed().filter { $0.number >= rowsVersion && fits($0) }
      .max { $0.entities.count < $1.entities.count }
    if let fitting { return fitting.number }
    guard let noted else { return part.currentVersionNumber }
    if isOnTheWay { return noted }
    guard noted <= part.versions.map(\.number).max() ?? 0 else {
      throw MigrationError(url, .newerStore(current: part.currentVersionNumber))
    }
    return part.currentVersionNumber
  }

  /// Adds the step from a draft of a version to that version.
  @_optimize(none)
  private mutating func addDraft(
    of merged: ManagedObjectModel, at numbers: [UUID: Int], storedVersion: ModelVersion,
    hash: (ModelVersion) -> String?
  ) throws(MigrationError) {
    guard let first = merged.parts.first, let number = numbers[first.id],
      var start = merged.line(ofPart: first.id, beside: numbers)?.version(number)
    else { throw MigrationError(url, .collidingModels(merged.parts.map(\.name))) }
    if hash(start) == found.dataHash { return }
    start.number = storedVersion.number
    addDraft(storedVersion, to: start)
  }

  /// The line of a merged model, if it has all versions that the model passes; otherwise nil. If no path exists, the
  /// caller refuses the step later.
  @_optimize(none)
  private func line(
    of part: ManagedObjectModel, in merged: ManagedObjectModel, beside numbers: [UUID: Int]
  ) -> ManagedObjectModel? {
    guard let line = merged.line(ofPart: part.id, beside: numbers), let number = numbers[part.id] else {
      return nil
    }
    let current = part.currentVersionNumber
    let path =
      VersionPaths(part).path(from: number, to: current) ?? VersionPaths(part).path(from: current, to: number)
      ?? [number, current]
    return path.allSatisfy { line.version($0) != nil } ? line : nil
  }
}
