import Foundation

/// Defects of the runtime that are known and wait for their fix. Programs and schemas leave out what meets them, so
/// that a run can find others. Each is a switch, which goes when the fix has landed.
struct KnownDefects: Sendable {
  /// Those of today, less those that the environment's `GRAPH_TESTER_TRY` names, parted by commas ("all" is every one).
  /// So whoever mends one sees what the tester says of it.
  static let current = KnownDefects(trying: ProcessInfo.processInfo.environment["GRAPH_TESTER_TRY"] ?? "")

  /// The side of a one-to-one relationship that does not keep the fact reads nil where its partner has been set and
  /// not been saved, after others' saves have been learnt of.
  var losesOneToOneAtLearning = true
  /// A relationship that the context has changed lacks what others have added to it, after the context's save too.
  var keepsListsThatOthersHaveChanged = true
  /// A rollback gives life to objects that others have deleted.
  var revivesVanishedAtRollback = true
  /// After a rollback objects keep what they had been read as, whatever others have saved since.
  var keepsSnapshotsAtRollback = true
  /// Rows that a policy writes anew keep old values in contexts that knew them.
  var keepsValuesOfRevivedRows = true
  /// A policy that settles equal unique values leaves others in memory than in the file.
  var settlesUniqueValuesInMemoryOnly = true
  /// A deletion that a policy takes back is done in the file.
  var takesDeletionsBackInMemoryOnly = true

  private init(trying names: String) {
    let tried = Set(names.split(separator: ",").map(String.init))
    let isTried = { (name: String) in tried.contains(name) || tried.contains("all") }
    if isTried("losesOneToOneAtLearning") { losesOneToOneAtLearning = false }
    if isTried("keepsListsThatOthersHaveChanged") { keepsListsThatOthersHaveChanged = false }
    if isTried("revivesVanishedAtRollback") { revivesVanishedAtRollback = false }
    if isTried("keepsSnapshotsAtRollback") { keepsSnapshotsAtRollback = false }
    if isTried("keepsValuesOfRevivedRows") { keepsValuesOfRevivedRows = false }
    if isTried("settlesUniqueValuesInMemoryOnly") { settlesUniqueValuesInMemoryOnly = false }
    if isTried("takesDeletionsBackInMemoryOnly") { takesDeletionsBackInMemoryOnly = false }
  }

  /// Leaves out of a plan what meets a known defect.
  func restrict(_ plan: inout Plan) {
    if losesOneToOneAtLearning, plan.hasSeveralRoots || plan.hasBatches { plan.features.oneToOne = false }
    if takesDeletionsBackInMemoryOnly, plan.hasPolicies { plan.features.cascade = false }
    if settlesUniqueValuesInMemoryOnly, plan.hasPolicies { plan.features.unique = false }
  }
}
