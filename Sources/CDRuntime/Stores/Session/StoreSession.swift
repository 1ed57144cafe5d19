#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a context reads a coordinator's stores by.
///
/// All questions of a context are operations here, and no statements: an engine answers them as it can. One isolation at a
/// time uses a session.
protocol StoreSession: AnyObject {
  /// The stores that the session has open.
  var stores: StoreSet { get }

  // MARK: Snapshots

  /// Begins a state of the stores that all reads see until ``endSnapshot()``.
  func beginSnapshot() throws
  func endSnapshot()
  /// Refuses to read from a store that has been migrated since it was opened.
  func checkVersions() throws

  // MARK: Rows by their keys

  /// The row of an object of just this entity.
  func row(_ key: ObjectKey, of entity: EntityPlan) throws -> RowCursor
  /// The row of an object of the entity or of one below it.
  func row(_ key: ObjectKey, ofKind entity: EntityPlan) throws -> RowCursor
  /// The rows of objects of the entity or of those below it, in the order of the store.
  func rows(_ keys: [ObjectKey], ofKind entity: EntityPlan) throws -> RowCursor
  /// Rows of an entity in the order of their keys: the first ones after a key.
  ///
  /// - Parameters:
  ///   - isOwn: Whether objects of entities below do not count.
  ///   - count: How many rows there are at the most.
  /// - Returns: Nil if there are none; and the last key, for the rows may be none that an object can be made of.
  func rows(
    ofKind entity: EntityPlan, isOwn: Bool, after key: ObjectKey, count: Int
  ) throws -> (rows: RowCursor, last: ObjectKey)?
  /// Whether there is a row of a key in an entity's table.
  func hasRow(_ key: ObjectKey, of entity: EntityPlan) throws -> Bool
  /// Whether a reference of an object's row is nil; false if there is no row.
  func isNil(_ column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> Bool

  // MARK: Relationships

  /// Whether two objects are a pair of a relationship with rows of its own.
  func hasPair(ofJoin place: Int, source: ObjectKey, target: ObjectKey) throws -> Bool
  /// The rows of the objects of a to-many relationship, in its order.
  ///
  /// - Parameter entity: That of the object that has the relationship.
  func rows(of relationship: RelationshipPlan, of key: ObjectKey, _ entity: EntityPlan) throws -> RowCursor
  /// The same of many objects: each row says whose it is (``RowCursor/owner``), and where it stands.
  func rows(of relationship: RelationshipPlan, ofAny keys: [ObjectKey]) throws -> RowCursor
  /// The positions that an ordered relationship's objects have, by their keys; nil for a relationship without positions.
  func positions(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey: Int64]?
  /// The rows whose reference in a column leads to an object: those of the other side of a one-to-one relationship.
  func rows(ofKind entity: EntityPlan, referringBy column: ColumnPlan, to key: ObjectKey) throws -> RowCursor
  /// The same of any of some objects.
  func rows(
    ofKind entity: EntityPlan, referringBy column: ColumnPlan, toAny keys: [ObjectKey]
  ) throws -> RowCursor
  /// The rows of an entity whose relationship without an inverse leads to any of some objects.
  func rows(
    of owner: EntityPlan, whose relationship: RelationshipPlan, leadsToAny keys: [ObjectKey]
  ) throws -> RowCursor
  /// The keys of the objects whose relationship leads to an object, as its rows have it.
  func referrers(
    by relationship: RelationshipPlan, of owner: EntityPlan, to key: ObjectKey
  ) throws -> [ObjectKey]
  /// The keys of the objects that a relationship of an object leads to, as the rows have it.
  func relatedKeys(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey]

  // MARK: Queries

  /// Finds out what of a query the store decides.
  ///
  /// - Throws: What the evaluator would throw whatever the row.
  func prepare(_ query: StoreQuery) throws(EvaluationError) -> any StoreAnswer
  /// A search for objects by a value of an attribute, to be kept by whoever asks again; nil where a fetch has to decide.
  func lookup(_ entity: EntityPlan, _ slot: PropertyPlan) -> (any ValueLookup)?

  // MARK: History

  /// The number of the newest save in a store's history; 0 if there is none.
  func newestSave(of store: any AttachedStore) throws -> Int64
  /// Calls a body with the number and the text of each save after one, the oldest first.
  func forEachSave(
    of store: any AttachedStore, after save: Int64, _ body: (Int64, String) throws -> Void
  ) throws
  /// Calls a body with each entry of a store's history after a save, the oldest first, as long as the body says true.
  func forEachEntry(
    of store: any AttachedStore, after save: Int64, _ body: (HistoryEntry) throws -> Bool
  ) throws
  /// What a store notes of its objects' global identifiers.
  ///
  /// - Throws: ``StoreError/damagedMetadata(_:key:)`` if the note cannot be read.
  func births(of store: any AttachedStore) throws -> StoreBirths
  /// What is another text whenever somebody else has written to a store since this session last said it.
  func changeMark() throws -> String
}

/// A save or batch in a store's history.
struct HistoryEntry {
  let number: Int64
  let date: Date
  /// Tells the saves of one engine from those of others.
  let origin: String
  let author: String?
  /// See ``HistoryText``.
  let changes: String
}

/// What a store knows of the answer to a ``StoreQuery``.
protocol StoreAnswer {
  var query: StoreQuery { get }
  /// Whether the rows are those that meet the predicate. If not, they are those and others.
  var isExact: Bool { get }
  /// Whether the rows are had in the query's order, and a part of them by a window.
  var isSorted: Bool { get }
  /// What is left to the evaluator, in words that tell no data.
  var inexactParts: [String] { get }

  /// The rows of objects.
  ///
  /// - Parameter isSorted: Whether the query's order is wanted. If not, the order is that of insertion.
  func rows(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor
  /// The same rows with nothing but their keys and versions, for objects that are in memory.
  func versions(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor
  /// How many objects there are.
  ///
  /// - Parameter keys: The rows that do not count.
  func count(without keys: [ObjectKey]) throws -> Int
  /// The keys of the objects, in the query's order.
  ///
  /// - Parameter unusable: Called with keys that no object can have.
  func keys(
    _ window: StoreWindow, without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey]
  /// The keys of rows and of objects that the store does not have so, sorted together; nil where the store cannot sort
  /// those.
  ///
  /// - Parameters:
  ///   - others: Each with its values by the sort keys.
  ///   - keys: The rows that do not count.
  func keys(
    _ window: StoreWindow, beside others: [(key: FetchedKey, values: [EvaluationValue])],
    without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey]?
  /// The values of key paths; nil where the store cannot give them so.
  ///
  /// - Parameters:
  ///   - types: Those of the key paths.
  ///   - isDistinct: Whether a row that equals an earlier one is left out.
  func values(
    of names: [String], _ types: [ExpressionType], isDistinct: Bool, _ window: StoreWindow,
    _ report: RowReport
  ) throws -> [[FetchedValue]]?
  /// The values of each group, and behind them its aggregates; nil where the store has no exact form of something.
  ///
  /// - Parameters:
  ///   - aggregated: The types of the aggregates' key paths.
  ///   - types: Those of the groups' key paths.
  func aggregates(
    _ aggregates: [Aggregate], _ aggregated: [ExpressionType?], by keyPaths: [String],
    _ types: [ExpressionType], _ report: RowReport
  ) throws -> [[FetchedValue]]?
}

extension StoreAnswer {
  /// All rows of objects.
  func rows(isSorted: Bool = true) throws -> RowCursor { try rows(StoreWindow(), isSorted: isSorted) }
}

/// A search for objects by a value of one attribute.
protocol ValueLookup: AnyObject {
  /// Calls a body with the rows of the objects that have a value.
  ///
  /// - Parameter isSingle: Whether two rows are enough.
  /// - Returns: Nil where the store leaves the value to a fetch.
  func withRows<R>(of value: AttributeValue, isSingle: Bool, _ body: (RowCursor) throws -> R) throws -> R?
}
