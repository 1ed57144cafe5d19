#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A session in which a context reads a coordinator's stores.
///
/// The operations are independent of SQL, so that each engine can implement them in its own way. Only one isolation
/// uses a session at a time.
package protocol StoreSession: AnyObject {
  /// The stores that the session has open.
  var stores: StoreSet { get }

  // MARK: Snapshots

  /// Begins a snapshot: all reads see the same state of the stores until ``endSnapshot()``.
  func beginSnapshot() throws
  func endSnapshot()
  /// Throws an error if a store has been migrated since it was opened.
  func checkVersions() throws

  // MARK: Rows by their keys

  /// Returns the row of an object of exactly this entity, without subentities.
  func row(_ key: ObjectKey, of entity: EntityPlan) throws -> RowCursor
  /// Returns the row of an object of exactly this entity, with the value of a column that other rows may leave out: see
  /// ``LargeValue``.
  func row(_ key: ObjectKey, of entity: EntityPlan, reading column: Int) throws -> RowCursor
  /// Returns the values of a column that rows may leave out, and the versions of the rows: see ``LargeValue``.
  ///
  /// - Parameters:
  ///   - keys: The keys of objects of exactly this entity.
  ///   - size: The most bytes that the values may have together, except for the first one.
  /// - Returns: The values of the first keys, in the order of the keys. Those behind them do not fit. Nil if the session
  ///   reads such a value as quickly by itself.
  func laterValues(
    in column: Int, of entity: EntityPlan, _ keys: [ObjectKey], size: Int
  ) throws -> [(key: ObjectKey, version: Int64, value: AttributeValue)]?
  /// Returns the row of an object of the entity or a subentity.
  func row(_ key: ObjectKey, inSubtreeOf entity: EntityPlan) throws -> RowCursor
  /// Returns the rows of objects of the entity and its subentities, in the store's own order.
  func rows(_ keys: [ObjectKey], inSubtreeOf entity: EntityPlan) throws -> RowCursor
  /// Returns an entity's next rows after a key, in the order of their keys.
  ///
  /// - Parameters:
  ///   - isOwn: Whether to exclude objects of subentities.
  ///   - count: The maximum number of rows.
  /// - Returns: The rows and the greatest key among them. The key is returned separately because the rows may not be
  ///   usable for objects. Nil if there are no rows.
  func rows(
    ofSubtree entity: EntityPlan, isOwn: Bool, after key: ObjectKey, count: Int
  ) throws -> (rows: RowCursor, last: ObjectKey)?
  /// Returns whether an entity's table has a row with a key.
  func hasRow(_ key: ObjectKey, of entity: EntityPlan) throws -> Bool
  /// Returns whether a reference of an object's row is nil. Returns false if there is no such row.
  func isNil(_ column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> Bool

  // MARK: Relationships

  /// Returns whether a join table has a pair of two objects.
  func hasPair(ofJoin index: Int, source: ObjectKey, target: ObjectKey) throws -> Bool
  /// Returns the pairs of a join table that have any of the given objects on one side, in no particular order. Each pair
  /// is seen from that side. The objects on the other side may be of a store that is not open.
  ///
  /// - Parameter isSource: Whether the objects are the source of the pairs; otherwise, they are the target.
  func pairs(ofJoin index: Int, isSource: Bool, of keys: [ObjectKey]) throws -> [JoinedPair]
  /// Returns the rows of the objects of a to-many relationship, in the relationship's order.
  ///
  /// - Parameter entity: The entity of the object that has the relationship.
  func rows(of relationship: RelationshipPlan, of key: ObjectKey, _ entity: EntityPlan) throws -> RowCursor
  /// Returns the rows of the related objects of many objects. For each row, the cursor gives ``RowCursor/owner`` and
  /// ``RowCursor/position``.
  func rows(of relationship: RelationshipPlan, ofAny keys: [ObjectKey]) throws -> RowCursor
  /// Returns the positions of the objects in an ordered relationship, by key. Returns nil if the relationship has no
  /// positions.
  func positions(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey: Int64]?
  /// Returns the rows whose reference column contains an object's key. These are the other side of a one-to-one
  /// relationship.
  func rows(ofSubtree entity: EntityPlan, referringBy column: ColumnPlan, to key: ObjectKey) throws
    -> RowCursor
  /// Returns the rows whose reference column contains any of the keys.
  func rows(
    ofSubtree entity: EntityPlan, referringBy column: ColumnPlan, toAny keys: [ObjectKey]
  ) throws -> RowCursor
  /// Returns the rows of an entity whose relationship, which has no inverse, contains any of the given objects.
  func rows(
    of owner: EntityPlan, whose relationship: RelationshipPlan, leadsToAny keys: [ObjectKey]
  ) throws -> RowCursor
  /// Returns the keys of the stored objects whose relationship contains an object.
  func referrers(
    by relationship: RelationshipPlan, of owner: EntityPlan, to key: ObjectKey
  ) throws -> [ObjectKey]
  /// Returns the stored keys of the objects in a relationship.
  func relatedKeys(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey]

  // MARK: Queries

  /// Determines which parts of a query the store can decide.
  ///
  /// - Throws: An error that the evaluator would throw for every row.
  func prepare(_ query: StoreQuery) throws(EvaluationError) -> any StoreAnswer
  /// Prepares a search for objects by the value of an attribute, which the caller keeps for repeated use. Returns nil
  /// if a fetch must decide.
  func lookup(_ entity: EntityPlan, _ slot: PropertyPlan) -> (any ValueLookup)?

  // MARK: History

  /// Returns the number of the newest save in a store's history, or 0 if there is none.
  func newestSave(of store: any AttachedStore) throws -> Int64
  /// Whether reads wait for another machine, so that ``whenRowsAreRead(_:)`` is worth its call.
  var isRemote: Bool { get }
  /// Whether some of the stores are on a server, and others are not. They must be usable while the server is away.
  var isPartlyRemote: Bool { get }
  /// Reads the numbers of the newest saves together with the next rows, so that they need no round trip of their own.
  ///
  /// - Parameter body: Called with each store and the number of its newest save, before the operation that has read rows
  ///   returns. If it throws, the operation throws the error, and the next operation calls it again.
  /// - Returns: Whether the session does so. If not, the caller asks for ``newestSave(of:)``.
  func whenRowsAreRead(
    _ body: @escaping (_ newest: [(store: any AttachedStore, number: Int64)]) throws -> Void
  ) throws -> Bool
  /// Calls a body with the number and the text of each later save, the oldest first.
  func forEachSave(
    of store: any AttachedStore, after save: Int64, _ body: (Int64, String) throws -> Void
  ) throws
  /// Calls a body with each later entry of a store's history, the oldest first. Stops when the body returns false.
  func forEachEntry(
    of store: any AttachedStore, after save: Int64, _ body: (HistoryEntry) throws -> Bool
  ) throws
  /// Returns a store's notes on the global identifiers of its objects.
  ///
  /// - Throws: ``StoreError/damagedMetadata(_:key:)`` if the notes cannot be read.
  func insertionOrigins(of store: any AttachedStore) throws -> InsertionOrigins

  // MARK: Metadata

  /// Returns a store's metadata.
  func metadata(of store: any AttachedStore) throws -> StoreMetadata
  /// Returns the changes of keys that migrations of a store have made.
  func movedKeys(of store: any AttachedStore) throws -> [MovedKeys]
  /// Finds defects of the stored data that no object shows. Reads all data, and changes nothing.
  func defects() throws -> [StoreFinding]
  /// Returns a text that changes when another connection has written to a store since the last call.
  func changeMark() throws -> String
}

extension StoreSession {
  // The rows of most engines leave nothing out.
  package func row(_ key: ObjectKey, of entity: EntityPlan, reading column: Int) throws -> RowCursor {
    try row(key, of: entity)
  }

  package func laterValues(
    in column: Int, of entity: EntityPlan, _ keys: [ObjectKey], size: Int
  ) throws -> [(key: ObjectKey, version: Int64, value: AttributeValue)]? {
    nil
  }

  package var isRemote: Bool { false }

  package var isPartlyRemote: Bool { false }

  // A session that reads a file needs no round trips.
  package func whenRowsAreRead(
    _ body: @escaping (_ newest: [(store: any AttachedStore, number: Int64)]) throws -> Void
  ) throws -> Bool { false }
}

/// A pair of a join table, seen from one side.
package struct JoinedPair {
  package let owner: ObjectKey
  package let member: ObjectKey
  /// The position of the member among the owner's objects; nil if there is none.
  package let position: Int64?
  /// The position of the owner among the member's objects; nil if there is none.
  package let inversePosition: Int64?

  /// Creates a pair.
  package init(owner: ObjectKey, member: ObjectKey, position: Int64?, inversePosition: Int64?) {
    self.owner = owner
    self.member = member
    self.position = position
    self.inversePosition = inversePosition
  }

  /// Whether a pair is before another one in the order of the owners and of their relationships.
  package static func precedes(_ left: JoinedPair, _ right: JoinedPair) -> Bool {
    (left.owner, left.position ?? .min, left.member) < (right.owner, right.position ?? .min, right.member)
  }
}

/// A save or batch in a store's history.
package struct HistoryEntry {
  /// The number of the save, greater than that of each earlier save of the store.
  package let number: Int64
  package let date: Date
  /// Tells the saves of one engine from those of other engines.
  package let origin: String
  package let author: String?
  /// See ``HistoryText``.
  package let changes: String

  /// Creates an entry as a store has it.
  package init(number: Int64, date: Date, origin: String, author: String?, changes: String) {
    self.number = number
    self.date = date
    self.origin = origin
    self.author = author
    self.changes = changes
  }
}

/// The part of a ``StoreQuery`` that a store can answer.
package protocol StoreAnswer {
  var query: StoreQuery { get }
  /// Whether the rows are exactly those that meet the predicate. Otherwise, other rows may be among them.
  var isExact: Bool { get }
  /// Whether the store can sort the rows in the query's order and apply a window.
  var isSorted: Bool { get }
  /// The parts of the predicate that the evaluator must decide, as texts without values.
  var inexactParts: [String] { get }

  /// Returns the rows of objects.
  ///
  /// - Parameter isSorted: Whether the rows must be in the query's order. Otherwise, they are in the order of
  ///   insertion.
  func rows(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor
  /// Returns only the keys and versions of the rows, for objects that are already in memory.
  func versions(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor
  /// Counts the objects.
  ///
  /// - Parameter keys: The keys of rows to exclude.
  func count(without keys: [ObjectKey]) throws -> Int
  /// Returns the keys of the objects, in the query's order.
  ///
  /// - Parameter unusable: Called with each key that no object can have.
  func keys(
    _ window: StoreWindow, without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey]
  /// Returns the keys of stored rows together with other objects, sorted as one list. The other objects have values
  /// that the store does not have. Returns nil if the store cannot sort these values.
  ///
  /// - Parameters:
  ///   - others: The other objects, each with its values for the sort keys.
  ///   - keys: The keys of rows to exclude.
  func keys(
    _ window: StoreWindow, mergedWith others: [(key: FetchedKey, values: [EvaluationValue])],
    without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey]?
  /// Returns the values of key paths. Returns nil if the store cannot do so.
  ///
  /// - Parameters:
  ///   - types: The types of the key paths.
  ///   - isDistinct: Whether to leave out a row that equals an earlier one.
  func values(
    of names: [String], _ types: [ExpressionType], isDistinct: Bool, _ window: StoreWindow,
    _ report: RowReport
  ) throws -> [[FetchedValue]]?
  /// Returns a row for each group: the group's values, then its aggregates. Returns nil if the store cannot calculate
  /// one of them exactly.
  ///
  /// - Parameters:
  ///   - aggregated: The types of the aggregates' key paths.
  ///   - types: The types of the groups' key paths.
  func aggregates(
    _ aggregates: [Aggregate], _ aggregated: [ExpressionType?], by keyPaths: [String],
    _ types: [ExpressionType], _ report: RowReport
  ) throws -> [[FetchedValue]]?
}

/// A prepared search for objects by the value of one attribute.
package protocol ValueLookup: AnyObject {
  /// Calls a body with the rows of the objects that have a value.
  ///
  /// - Parameter isSingle: Whether two rows are enough.
  /// - Returns: Whether the body was called. If not, a fetch must search for the value.
  func withRows(of value: AttributeValue, isSingle: Bool, _ body: (RowCursor) throws -> Void) throws -> Bool
}
