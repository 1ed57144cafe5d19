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
  /// That side reads nil in a child whose parent has set it.
  var losesOneToOneInChildren = true
  /// A grandchild's objects keep their values when the root context changes its own.
  var hidesChangesFromGrandchildren = true
  /// A relationship that the context has changed lacks what others have added to it, after the context's save too.
  var keepsListsThatOthersHaveChanged = true
  /// A child's fetch does not compute derived attributes of its parent's unsaved objects.
  var forgetsDerivedAttributesInChildren = true
  /// What a child adds to an ordered one-sided relationship does not come into the file.
  var losesOrderedOneSidedOfChildren = true
  /// A rollback gives life to objects that others have deleted.
  var revivesVanishedAtRollback = true
  /// After a rollback objects keep what they had been read as, whatever others have saved since.
  var keepsSnapshotsAtRollback = true
  /// A child's one-sided relationship goes on leading to what its parent has deleted.
  var keepsOneSidedReferencesInChildren = true
  /// Rows that a policy writes anew keep old values in contexts that knew them.
  var keepsValuesOfRevivedRows = true
  /// In a child, adding to and removing from ordered many-to-many relationships is lost.
  var losesOrderedPairsInChildren = true
  /// What a child has deleted stays deleted there when its parent rolls back or undoes.
  var keepsObjectsOfChildrenDeleted = true
  /// A child keeps pairs with an object whose deletion, by a rule of `noAction`, its parent has saved.
  var keepsPairsOfNoActionInChildren = true
  /// A policy that settles equal unique values leaves others in memory than in the file.
  var settlesUniqueValuesInMemoryOnly = true
  /// An undo in a child brings back an object that its parent has deleted.
  var undoRevivesInChildren = true
  /// A child shows what its parent has deleted where a rule of `deny` keeps the relationship.
  var showsDeniedInChildren = true
  /// A child's save deletes, by a rule of `cascade`, what the child has moved away.
  var deletesWhatAChildHasMoved = true
  /// A deletion that a policy takes back is done in the file.
  var takesDeletionsBackInMemoryOnly = true
  /// What a child has inserted and deleted comes to its parent where it was related in between.
  var savesWhatAChildHasDeleted = true

  private init(trying names: String) {
    let tried = Set(names.split(separator: ",").map(String.init))
    let isTried = { (name: String) in tried.contains(name) || tried.contains("all") }
    if isTried("losesOneToOneAtLearning") { losesOneToOneAtLearning = false }
    if isTried("losesOneToOneInChildren") { losesOneToOneInChildren = false }
    if isTried("hidesChangesFromGrandchildren") { hidesChangesFromGrandchildren = false }
    if isTried("keepsListsThatOthersHaveChanged") { keepsListsThatOthersHaveChanged = false }
    if isTried("forgetsDerivedAttributesInChildren") { forgetsDerivedAttributesInChildren = false }
    if isTried("losesOrderedOneSidedOfChildren") { losesOrderedOneSidedOfChildren = false }
    if isTried("revivesVanishedAtRollback") { revivesVanishedAtRollback = false }
    if isTried("keepsSnapshotsAtRollback") { keepsSnapshotsAtRollback = false }
    if isTried("keepsOneSidedReferencesInChildren") { keepsOneSidedReferencesInChildren = false }
    if isTried("keepsValuesOfRevivedRows") { keepsValuesOfRevivedRows = false }
    if isTried("losesOrderedPairsInChildren") { losesOrderedPairsInChildren = false }
    if isTried("keepsObjectsOfChildrenDeleted") { keepsObjectsOfChildrenDeleted = false }
    if isTried("keepsPairsOfNoActionInChildren") { keepsPairsOfNoActionInChildren = false }
    if isTried("settlesUniqueValuesInMemoryOnly") { settlesUniqueValuesInMemoryOnly = false }
    if isTried("undoRevivesInChildren") { undoRevivesInChildren = false }
    if isTried("showsDeniedInChildren") { showsDeniedInChildren = false }
    if isTried("deletesWhatAChildHasMoved") { deletesWhatAChildHasMoved = false }
    if isTried("takesDeletionsBackInMemoryOnly") { takesDeletionsBackInMemoryOnly = false }
    if isTried("savesWhatAChildHasDeleted") { savesWhatAChildHasDeleted = false }
  }

  /// Leaves out of a plan what meets a known defect.
  func restrict(_ plan: inout Plan) {
    if losesOneToOneAtLearning, plan.hasSeveralRoots || plan.hasBatches { plan.features.oneToOne = false }
    if losesOneToOneInChildren, plan.hasChildren { plan.features.oneToOne = false }
    if hidesChangesFromGrandchildren { plan.hasGrandchildren = false }
    if forgetsDerivedAttributesInChildren, plan.hasChildren { plan.features.derived = false }
    if losesOrderedOneSidedOfChildren, plan.hasChildren { plan.features.orderedOneSided = false }
    if plan.hasChildren {
      if keepsOneSidedReferencesInChildren { plan.features.oneSided = false }
      if losesOrderedPairsInChildren { plan.features.orderedPairs = false }
      if showsDeniedInChildren { plan.features.deny = false }
      if deletesWhatAChildHasMoved { plan.features.cascade = false }
      if keepsPairsOfNoActionInChildren { plan.features.noAction = false }
    }
    if takesDeletionsBackInMemoryOnly, plan.hasPolicies { plan.features.cascade = false }
    if settlesUniqueValuesInMemoryOnly, plan.hasPolicies { plan.features.unique = false }
  }
}
