import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The steps that lead a store to the current version of a model.
struct MigrationRoute {
  /// A step with the versions that it is between.
  struct RouteStep {
    let step: MigrationStep
    let source: ModelVersion
    let destination: ModelVersion
    /// The merged model that moves, in a store of several; nil where the store's model does.
    var part: ManagedObjectModel?

    var name: MigrationError.Step {
      MigrationError.Step(source: step.source, destination: step.destination, model: part?.name)
    }

    /// By what the app's own code for an entity mapping is known.
    func policy(of mapping: String) -> MigrationPolicies.Key {
      var key = MigrationPolicies.Key(mapping, from: step.source, to: step.destination)
      key.model = part?.id
      return key
    }
  }

  /// The steps, as far as they are sure.
  private(set) var routeSteps: [RouteStep] = []
  /// The step that is not sure, behind those that are, and why; nil where the store may go all the way.
  private(set) var refusal: (routeStep: RouteStep, error: MigrationError)?

  /// Whether no row has to be touched: only what the store says of itself is not up to date.
  var changesNoData: Bool {
    routeSteps.allSatisfy { $0.step.changesNoData && $0.source.number != $0.destination.number }
  }

  private let found: StoreMetadata
  let url: URL
  /// The model whose versions are gone through; in a store of several merged ones, the line of the one that moves.
  private(set) var model: ManagedObjectModel
  /// That one.
  private var part: ManagedObjectModel?

  /// Finds the way.
  ///
  /// - Parameters:
  ///   - carried: The version that the store was written with, as it says itself.
  ///   - hash: The data hash that a version gives for the store.
  ///   - holds: The entities of a version whose objects the store holds.
  /// - Throws: ``MigrationError`` where there is no way.
  init(
    _ found: StoreMetadata, carrying carried: ModelVersion, model: ManagedObjectModel, infers: Bool, url: URL,
    hash: (ModelVersion) -> String?, holds: (ModelVersion) -> Set<String>
  ) throws(MigrationError) {
    self.found = found
    self.model = model
    self.url = url
    if !model.parts.isEmpty {
      try addParts(of: model, carrying: carried, infers: infers, hash: hash, holds: holds)
      return
    }
    let line = VersionLine(model)
    let current = model.currentVersionNumber
    // A version's number says most: two versions may store the same.
    let known =
      ([model.version(found.versionNumber)].compactMap(\.self) + model.versions.reversed())
      .first { hash($0) == found.dataHash }
    if let known {
      try addWay(from: known, infers: infers)
      return
    }
    // A draft of a version becomes that version first, so that no mapping is left out.
    let own = model.version(found.versionNumber).flatMap { version in
      line.path(from: version.number, to: current) == nil ? nil : version
    }
    guard let target = own ?? model.currentVersion else { return }
    if own == nil, found.versionNumber > (model.versions.map(\.number).max() ?? 0) {
      throw MigrationError(url, .newerStore(current: current))
    }
    addDraft(carried, to: target)
    if refusal != nil { return }
    try add(line.steps(from: target.number, to: current) ?? [], infers: infers)
  }

  /// Adds the steps of the line that a part of a merged model goes.
  private mutating func addWay(
    of part: ManagedObjectModel, along line: ManagedObjectModel, from number: Int, infers: Bool
  ) throws(MigrationError) {
    guard let start = line.version(number) else { throw MigrationError(url, .noPath) }
    (self.part, model) = (part, line)
    try addWay(from: start, infers: infers)
  }

  private mutating func addWay(from known: ModelVersion, infers: Bool) throws(MigrationError) {
    let line = VersionLine(model)
    guard let steps = line.steps(from: known.number, to: model.currentVersionNumber) else {
      return try addReturn(from: known, to: model.currentVersionNumber, line)
    }
    try add(steps, infers: infers)
  }

  /// Adds the step from a draft of a version to that version.
  private mutating func addDraft(_ carried: ModelVersion, to target: ModelVersion) {
    let draft = MigrationStep(fromDraft: carried, to: target)
    let routeStep = RouteStep(step: draft, source: carried, destination: target)
    guard draft.isLossless else {
      let lost = draft.changes.filter { $0.isOpen || draft.losses.contains($0) }.map { "\($0)" }
      refusal = (
        routeStep,
        MigrationError(
          url, .losesData(lost, isLocked: found.isLocked(target.number, in: model)), step: routeStep.name)
      )
      return
    }
    routeSteps.append(routeStep)
  }

  private mutating func add(_ steps: [MigrationStep], infers: Bool) throws(MigrationError) {
    for step in steps {
      try add(step, infers: infers)
      if refusal != nil { return }
    }
  }

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
    routeSteps.append(routeStep)
  }

  /// The way back to a version that the store's is based on, where nothing is lost on it.
  private mutating func addReturn(
    from known: ModelVersion, to current: Int, _ line: VersionLine
  ) throws(MigrationError) {
    guard line.path(from: current, to: known.number) != nil else { throw MigrationError(url, .noPath) }
    guard let destination = model.version(current), let step = line.step(from: known.number, to: current)
    else { throw MigrationError(url, .newerStore(current: current)) }
    let routeStep = RouteStep(step: step, source: known, destination: destination, part: part)
    if step.isLossless {
      routeSteps.append(routeStep)
    } else {
      refusal = (routeStep, MigrationError(url, .newerStore(current: current), step: routeStep.name))
    }
  }
}

// A store of several merged models: each of them moves along its own line, one after the other, beside the others as
// they are.
extension MigrationRoute {
  /// Finds the way of a store of several parts of a merged model.
  private mutating func addParts(
    of merged: ManagedObjectModel, carrying carried: ModelVersion, infers: Bool,
    hash: (ModelVersion) -> String?, holds: (ModelVersion) -> Set<String>
  ) throws(MigrationError) {
    let held = merged.currentVersion.map(holds) ?? []
    let before = holds(carried)
    var numbers: [UUID: Int] = [:]
    for part in merged.parts {
      let number = try number(of: part, in: carried)
      // One whose objects are in another store moves there.
      let isHeld =
        !(part.currentVersion.map { held.isDisjoint(with: $0.entities.map(\.name)) } ?? true)
        || !(part.version(number).map { before.isDisjoint(with: $0.entities.map(\.name)) } ?? true)
      numbers[part.id] = isHeld ? number : part.currentVersionNumber
    }
    try addDraft(of: merged, at: numbers, carrying: carried, hash: hash)
    var waiting = merged.parts.filter { numbers[$0.id] != $0.currentVersionNumber }
    while refusal == nil, !waiting.isEmpty {
      // One may have to give up an entity before another can have it.
      var movable: (place: Int, line: ManagedObjectModel)?
      for (place, part) in waiting.enumerated() where movable == nil {
        movable = line(of: part, in: merged, beside: numbers).map { (place, $0) }
      }
      guard let (place, line) = movable else {
        throw MigrationError(url, .collidingModels(waiting.map(\.name)))
      }
      let part = waiting.remove(at: place)
      guard let number = numbers[part.id] else { continue }
      try addWay(of: part, along: line, from: number, infers: infers)
      numbers[part.id] = part.currentVersionNumber
    }
  }

  /// The version that a part has in a store: the one that the store notes, where that fits; or else one that does; or
  /// else the one that the store has a draft of.
  private func number(of part: ManagedObjectModel, in carried: ModelVersion) throws(MigrationError) -> Int {
    let stored = carried.hashes.entities
    func fits(_ version: ModelVersion) -> Bool {
      version.hashes.entities.allSatisfy { stored[$0.key]?.data == $0.value.data }
    }
    let noted = found.partVersions[part.id]
    if let noted, let version = part.version(noted), fits(version) { return noted }
    // A version with fewer entities fits where more are; of two that store the same the newest has to do.
    let fitting = part.versions.reversed().filter(fits).max { $0.entities.count < $1.entities.count }
    if let fitting { return fitting.number }
    guard let noted else { return part.currentVersionNumber }
    if VersionLine(part).path(from: noted, to: part.currentVersionNumber) != nil { return noted }
    guard noted <= part.versions.map(\.number).max() ?? 0 else {
      throw MigrationError(url, .newerStore(current: part.currentVersionNumber))
    }
    return part.currentVersionNumber
  }

  /// A draft of some version becomes that one first.
  private mutating func addDraft(
    of merged: ManagedObjectModel, at numbers: [UUID: Int], carrying carried: ModelVersion,
    hash: (ModelVersion) -> String?
  ) throws(MigrationError) {
    guard let first = merged.parts.first, let number = numbers[first.id],
      var start = merged.line(ofPart: first.id, beside: numbers)?.version(number)
    else { throw MigrationError(url, .collidingModels(merged.parts.map(\.name))) }
    if hash(start) == found.dataHash { return }
    start.number = carried.number
    addDraft(carried, to: start)
  }

  /// The line of a part, where it is whole as far as the part goes; one without a way is for others to refuse.
  private func line(
    of part: ManagedObjectModel, in merged: ManagedObjectModel, beside numbers: [UUID: Int]
  ) -> ManagedObjectModel? {
    guard let line = merged.line(ofPart: part.id, beside: numbers), let number = numbers[part.id] else {
      return nil
    }
    let current = part.currentVersionNumber
    let path =
      VersionLine(part).path(from: number, to: current) ?? VersionLine(part).path(from: current, to: number)
      ?? [number, current]
    return path.allSatisfy { line.version($0) != nil } ? line : nil
  }
}
