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
  /// `object IN relationship` compares keys alone, and so finds an object of another entity.
  var confusesEntitiesInMembership = true
  /// An attribute that is derived along a one-sided relationship is not computed anew.
  var forgetsDerivedAttributesOfOneSided = true
  /// A relationship that the context has changed lacks what others have added to it, after the context's save too.
  var keepsListsThatOthersHaveChanged = true
  /// Of several unique lists that objects break, a save tells of some.
  var tellsNotOfAllUniqueLists = true
  /// A rollback gives life to objects that others have deleted.
  var revivesVanishedAtRollback = true
  /// After a rollback objects keep what they had been read as, whatever others have saved since.
  var keepsSnapshotsAtRollback = true
  /// A mandatory to-many relationship that a deletion empties is not checked where its object is not in memory.
  var checksNoMandatoryToMany = true
  /// A deletion is denied although the one-to-one partner has another one by then.
  var deniesForFormerPartners = true
  /// Rows that a policy writes anew keep old values in contexts that knew them.
  var keepsValuesOfRevivedRows = true
  /// A batch update's condition sees what the batch has written already.
  var batchConditionsSeeChanges = true
  /// A policy that settles equal unique values leaves others in memory than in the file.
  var settlesUniqueValuesInMemoryOnly = true
  /// A deletion that a policy takes back is done in the file.
  var takesDeletionsBackInMemoryOnly = true
  /// What is taken from an object that a rule of `noAction` has left without its partner makes that one, which is
  /// gone, an updated object; derived attributes and undo are wrong beside such rules too.
  var updatesWhatIsGone = true
  /// A derived attribute is not computed anew where a member is deleted whose owner is not in memory.
  var forgetsDerivedAttributesOfOwnersOnDisk = true

  /// After a save that failed for a denied deletion, nothing resolves it.
  var deniesForGoodAfterAFailedSave = true

  private init(trying names: String) {
    let tried = Set(names.split(separator: ",").map(String.init))
    let isTried = { (name: String) in tried.contains(name) || tried.contains("all") }
    if isTried("losesOneToOneAtLearning") { losesOneToOneAtLearning = false }
    if isTried("confusesEntitiesInMembership") { confusesEntitiesInMembership = false }
    if isTried("forgetsDerivedAttributesOfOneSided") { forgetsDerivedAttributesOfOneSided = false }
    if isTried("keepsListsThatOthersHaveChanged") { keepsListsThatOthersHaveChanged = false }
    if isTried("tellsNotOfAllUniqueLists") { tellsNotOfAllUniqueLists = false }
    if isTried("revivesVanishedAtRollback") { revivesVanishedAtRollback = false }
    if isTried("keepsSnapshotsAtRollback") { keepsSnapshotsAtRollback = false }
    if isTried("checksNoMandatoryToMany") { checksNoMandatoryToMany = false }
    if isTried("deniesForFormerPartners") { deniesForFormerPartners = false }
    if isTried("keepsValuesOfRevivedRows") { keepsValuesOfRevivedRows = false }
    if isTried("batchConditionsSeeChanges") { batchConditionsSeeChanges = false }
    if isTried("settlesUniqueValuesInMemoryOnly") { settlesUniqueValuesInMemoryOnly = false }
    if isTried("takesDeletionsBackInMemoryOnly") { takesDeletionsBackInMemoryOnly = false }
    if isTried("updatesWhatIsGone") { updatesWhatIsGone = false }
    if isTried("forgetsDerivedAttributesOfOwnersOnDisk") { forgetsDerivedAttributesOfOwnersOnDisk = false }
    if isTried("deniesForGoodAfterAFailedSave") { deniesForGoodAfterAFailedSave = false }
  }

  /// Leaves out of a plan what meets a known defect.
  func restrict(_ plan: inout Plan) {
    if losesOneToOneAtLearning, plan.hasSeveralRoots || plan.hasBatches { plan.features.oneToOne = false }
    if takesDeletionsBackInMemoryOnly, plan.hasPolicies { plan.features.cascade = false }
    if updatesWhatIsGone { plan.features.noAction = false }
    if forgetsDerivedAttributesOfOwnersOnDisk { plan.features.derivedFromMany = false }
    if checksNoMandatoryToMany { plan.features.mandatoryToMany = false }
    if deniesForFormerPartners { plan.features.denyOneToOne = false }
    if settlesUniqueValuesInMemoryOnly, plan.hasPolicies { plan.features.unique = false }
    if forgetsDerivedAttributesOfOneSided { plan.features.derivedAlongOneSided = false }
  }
}
