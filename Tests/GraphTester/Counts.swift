/// What a run has done.
public struct Counts: Sendable {
  public var programs = 0
  /// Those of them whose objects are in two stores.
  public var programsOnTwoStores = 0
  public var steps = 0
  public var comparisons = 0
  public var saves = 0
  public var failedSaves = 0
  public var childSaves = 0
  public var conflicts = 0
  public var resolvedConflicts = 0
  /// Saves beside others' whose result the reference model has foretold.
  public var predictedConflicts = 0
  public var fetches = 0
  public var undos = 0
  public var batches = 0
  public var files = 0
  /// Programs that came to where the documentation leaves too much open.
  public var abandoned = 0

  public init() {}

  public static func += (left: inout Counts, right: Counts) {
    left.programs += right.programs
    left.programsOnTwoStores += right.programsOnTwoStores
    left.steps += right.steps
    left.comparisons += right.comparisons
    left.saves += right.saves
    left.failedSaves += right.failedSaves
    left.childSaves += right.childSaves
    left.conflicts += right.conflicts
    left.resolvedConflicts += right.resolvedConflicts
    left.predictedConflicts += right.predictedConflicts
    left.fetches += right.fetches
    left.undos += right.undos
    left.batches += right.batches
    left.files += right.files
    left.abandoned += right.abandoned
  }

  /// A line for people.
  public var summary: String {
    "\(programs) programs, \(programsOnTwoStores) of them on two stores, \(steps) steps, \(comparisons) values compared, \(saves) saves, \(failedSaves) failed saves, "
      + "\(childSaves) child saves, \(conflicts) conflicts, \(resolvedConflicts) resolved, \(predictedConflicts) foretold, \(fetches) fetches, "
      + "\(undos) undos and redos, \(batches) batches, \(files) files read anew, \(abandoned) programs abandoned"
  }
}

/// The kind of store that programs run on.
public enum StoreKind: String, Sendable, CaseIterable {
  case sqlite, xml, binary, memory
}
