/// Defects of the runtime that are known and wait for their fix. Programs and schemas leave out what meets them, so
/// that a run can find others. Each is a switch, which goes when the fix has landed.
struct KnownDefects: Sendable {
  static let current = KnownDefects()

  /// The side of a one-to-one relationship that does not keep the fact reads nil where its partner has been set and
  /// not been saved, after others' saves have been learnt of.
  var losesOneToOneAtLearning = true
  /// That side reads nil in a child whose parent has set it.
  var losesOneToOneInChildren = true
  /// A grandchild's objects keep their values when the root context changes its own.
  var hidesChangesFromGrandchildren = true
  /// `object IN relationship` compares keys alone, and so finds an object of another entity.
  var confusesEntitiesInMembership = true
  /// An attribute that is derived along a one-sided relationship is not computed anew.
  var forgetsDerivedAttributesOfOneSided = true
  /// A relationship that the context has changed lacks what others have added to it, after the context's save too.
  var keepsListsThatOthersHaveChanged = true
  /// A child's fetch does not compute derived attributes of its parent's unsaved objects.
  var forgetsDerivedAttributesInChildren = true
  /// Of several unique lists that objects break, a save tells of some.
  var tellsNotOfAllUniqueLists = true
  /// What a child adds to an ordered one-sided relationship does not come into the file.
  var losesOrderedOneSidedOfChildren = true

  /// Leaves out of a plan what meets a known defect.
  func restrict(_ plan: inout Plan) {
    if losesOneToOneAtLearning, plan.hasSeveralRoots || plan.hasBatches { plan.features.oneToOne = false }
    if losesOneToOneInChildren, plan.hasChildren { plan.features.oneToOne = false }
    if hidesChangesFromGrandchildren { plan.hasGrandchildren = false }
    if forgetsDerivedAttributesInChildren, plan.hasChildren { plan.features.derived = false }
    if losesOrderedOneSidedOfChildren, plan.hasChildren { plan.features.orderedOneSided = false }
    if forgetsDerivedAttributesOfOneSided { plan.features.derivedAlongOneSided = false }
  }
}
