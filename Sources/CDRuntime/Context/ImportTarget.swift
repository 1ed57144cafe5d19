/// A store to which a context saves its objects in a transaction of other code: the new store of a migration, or the store
/// of an import. No other context reads or writes in the transaction. Mandatory references hold placeholders until they
/// are set.
protocol ImportTarget: AnyObject {
  /// The session that the context reads and writes with.
  var session: any StoreSession { get }
  /// Returns a key for a new object; 0 if another store holds its entity.
  func nextKey(for plan: EntityPlan) -> ObjectKey
  /// Puts placeholders into the mandatory references of a new object.
  func prepare(_ object: ManagedObject)
  /// The files for large values whose names are already listed; nil if each save lists the names of its files.
  var listedFiles: ListedFiles? { get }
  /// Records the files of large values that a save is about to write.
  func willWriteFiles(_ names: [String]) throws
  /// Saves the objects of a context.
  func write(_ plan: SavePlan, of context: ManagedObjectContext) throws
  /// Indexes a relationship before the first statement that looks for its objects.
  func index(_ relationship: RelationshipPlan) throws
}
