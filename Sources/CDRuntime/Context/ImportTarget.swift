/// Where a context saves that makes the objects of a store which a migration is writing. Nobody else reads or writes it,
/// and rules give what the objects lack.
protocol ImportTarget: AnyObject {
  /// What the context reads and writes by.
  var session: any StoreSession { get }
  /// A key for a new object; 0 where another store holds its entity.
  func nextKey(for plan: EntityPlan) -> ObjectKey
  /// Marks what a new object has to be given.
  func prepare(_ object: ManagedObject)
  /// Notes files of large values that a save is about to write.
  func willWriteFiles(_ names: [String]) throws
  /// Saves the objects of a context.
  func write(_ plan: SavePlan, of context: ManagedObjectContext) throws
  /// Makes sure that a relationship's objects are found quickly, before the first statement that looks for them.
  func index(_ relationship: RelationshipPlan) throws
}
