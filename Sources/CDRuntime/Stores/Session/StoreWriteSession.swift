#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The result of writing a row.
package enum RowOutcome {
  case done
  /// There is no row with the key and version.
  case missing
  /// A unique index refused the values of these properties.
  case notUnique([String])
  /// A value cannot be encoded or is too large. ``StoreWriteSession/failure(of:)`` returns the reason.
  case unwritable
}

/// The error of a value that an engine cannot store.
package struct UnstorableValue: Error {
  /// What is wrong with the value, for the end of a sentence that begins with its name.
  package let reason: String

  /// Creates the error.
  package init(reason: String) { self.reason = reason }
}

/// The error at the end of a transaction when a reference leads to a missing row.
package struct ReferenceViolation: Error {
  /// Creates the error.
  package init() {}
}

/// The error when rows that a session wrote many at a time are not in the state that the save expects: a row has
/// another version or is missing, or a unique index refuses a value. The save then begins again with
/// ``StoreWriteSession/beginRowByRow()``, and finds each of these rows.
package struct UnexpectedRows: Error {
  /// Creates the error.
  package init() {}
}

/// A range of entries in a store's history.
package enum HistoryRange {
  case before(Date)
  case upTo(Int64)
}

/// A session in which a save writes to a coordinator's stores.
///
/// Unique values are checked after each statement, not only at the end. So the order of the changes matters.
package protocol StoreWriteSession: AnyObject {
  /// Reads in the same transaction.
  var reader: any StoreSession { get }
  /// Changes many rows at a time in the same transaction.
  var batch: any StoreBatchSession { get }

  // MARK: Transactions

  /// Begins a transaction. The session may keep rows and write many of them at a time. It then answers that each is
  /// done, and a later operation throws ``UnexpectedRows`` if one of them was not.
  func begin() throws
  /// Begins a transaction in which each row is written before the session answers.
  func beginRowByRow() throws
  /// Writes rows within a longer transaction. If the session writes many rows at a time and one of them is not in the
  /// expected state, it takes the rows of the body back, and runs the body again row by row.
  func writePart(_ body: () throws -> Void) throws
  /// - Parameter check: Called after all code of the app, such as formats that write their files, and before the
  ///   transaction becomes final.
  /// - Throws: ``ReferenceViolation`` or ``StoreError``. In both cases nothing has been written, with one exception: after a
  ///   ``StoreError``, some of several changed stores may have been written. See ``hasEntry(_:ofSave:from:in:)``.
  func commit(changed: [any AttachedStore], check: () throws -> Void) throws
  /// Rolls the transaction back, unless that has already happened.
  func rollback()
  /// Returns whether nobody else can save to a store while the transaction is open.
  func excludesOthers(from store: any AttachedStore) -> Bool
  /// Keeps everybody else from saving to a store until the transaction ends. Others who have changed rows already can make
  /// the transaction fail, so that it has to be repeated.
  func excludeOthers(from store: any AttachedStore) throws
  /// Keeps the transaction open while the caller's code computes what to write next, which may take any time. Must be called
  /// again and again, and usually does nothing.
  func keepAlive() throws
  /// Runs a body in its own transaction.
  func write<R>(_ body: () throws -> R) throws -> R

  // MARK: Rows

  /// Inserts a row with version 1.
  ///
  /// - Parameter encode: Writes the entity's stored slots.
  func insert(_ entity: EntityPlan, _ key: ObjectKey, _ encode: (RowWriter) -> Void) throws -> RowOutcome
  /// Inserts rows of one entity with version 1, one after the other. A session that can write several rows by one statement
  /// has its own implementation; the default one inserts each row on its own.
  ///
  /// - Parameters:
  ///   - key: Returns the key of the row with a number.
  ///   - encode: Writes the stored slots of the row with a number. It may be called more than once for a row.
  ///   - refused: Called for each row that could not be written, before any later row is written.
  func insert(
    _ entity: EntityPlan, count: Int, key: (Int) -> ObjectKey, _ encode: (Int, RowWriter) -> Void,
    refused: (Int, RowOutcome) throws -> Void
  ) throws
  /// Sets the version of a row, so that a row that is written again continues the versions of the earlier row.
  func setVersion(_ version: Int64, of entity: EntityPlan, _ key: ObjectKey) throws
  /// Updates a row that has the given version, and raises its version by one.
  ///
  /// - Parameter encode: Writes the slots that it gets: the changed slots that have columns.
  func update(
    _ entity: EntityPlan, _ changed: SlotSet, _ key: ObjectKey, version: Int64,
    _ encode: (_ slots: [Int], RowWriter) throws -> Void
  ) throws -> RowOutcome
  /// Deletes a row that has the given version.
  func delete(_ entity: EntityPlan, _ key: ObjectKey, version: Int64) throws -> RowOutcome
  /// Returns the reason why a row was ``RowOutcome/unwritable``; nil if the values have no error.
  func failure(of encode: (RowWriter) -> Void) -> (any Error)?

  // MARK: Unique values

  /// Returns another row that has the object's values in some columns, and the name of its entity. Returns nil if there
  /// is no such row or if one of the values is nil.
  ///
  /// - Parameters:
  ///   - owner: The entity that declares the values to be unique among its objects and those of its subentities.
  ///   - encode: Writes slots of the object.
  func conflictingRow(
    of columns: [Int], _ entity: EntityPlan, _ owner: EntityPlan, excluding key: ObjectKey,
    _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> (key: ObjectKey, entity: String)?
  /// Returns the values of some columns as texts. Two texts are equal if the store considers the values equal. Returns
  /// nil if one of the values is nil.
  ///
  /// - Parameter encode: Writes slots of an object.
  func comparedValues(
    of columns: [Int], _ entity: EntityPlan, _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> [String]?
  /// Sets a column of a row to a placeholder: a value that no other row has.
  func writePlaceholder(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws

  // MARK: Relationships

  /// Removes pairs that have an object as their source.
  func deletePairs(ofJoin index: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws
  /// Adds pairs that have an object as their source. Existing pairs stay.
  func insertPairs(ofJoin index: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws
  /// Returns whether the related objects have positions.
  func hasPositions(_ relationship: RelationshipPlan) -> Bool
  /// Returns the greatest position among the related objects, or 0 if there is none.
  func lastPosition(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> Int64
  /// Returns the related objects that have a position, in the order of the positions.
  func positionedKeys(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey]
  /// Sets the position of a related object.
  ///
  /// - Parameter isNew: Whether this save added the object to the relationship. If the relationship has a join table,
  ///   the pair may have existed before; it then keeps its position.
  func setPosition(
    _ position: Int64, of member: ObjectKey, _ relationship: RelationshipPlan, of key: ObjectKey, isNew: Bool
  ) throws
  /// Returns rows whose references lead to missing rows, at most 100 for each store.
  func danglingRows(in store: any AttachedStore) throws -> [(root: EntityPlan, key: ObjectKey)]

  // MARK: History

  /// Adds a save to a store's history.
  ///
  /// - Parameter id: Identifies the save, among all saves of a store. A save that is written again has the same.
  /// - Returns: The number of the save; nil if a reference leads to a missing row. Then nothing is added, and the commit will
  ///   throw ``ReferenceViolation``.
  func addSave(
    _ id: UUID, to store: any AttachedStore, at date: Date, origin: String, author: String?,
    _ changes: String
  ) throws -> Int64?
  /// Removes entries of a store's history, but never the newest entry.
  func deleteEntries(_ range: HistoryRange, of store: any AttachedStore) throws
  /// Returns whether a store's history has the entry of a save or a batch, after the commit to several stores has failed and
  /// the session has been rolled back.
  ///
  /// - Parameters:
  ///   - number: The number that ``addSave(_:to:at:origin:author:_:)`` of this session returned.
  ///   - id: The identifier that the entries of all stores share.
  func hasEntry(
    _ number: Int64, ofSave id: UUID, from origin: String, in store: any AttachedStore
  ) -> Bool

  // MARK: Metadata

  /// Replaces the app's own metadata of a store.
  func setMetadata(_ values: [String: String], of store: any AttachedStore) throws

  // MARK: Files of large values

  /// Returns the name of the file that contains a column's value. Returns nil if the row contains the value itself.
  func fileName(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> String?
  /// Adds a file to the list of unused files.
  func listFile(_ name: String, in store: any AttachedStore) throws
  /// Removes a file from the list of unused files.
  ///
  /// - Returns: Whether the file was on the list.
  @discardableResult func unlistFile(_ name: String, in store: any AttachedStore) throws -> Bool
}

extension StoreWriteSession {
  package func beginRowByRow() throws { try begin() }

  package func insert(
    _ entity: EntityPlan, count: Int, key: (Int) -> ObjectKey, _ encode: (Int, RowWriter) -> Void,
    refused: (Int, RowOutcome) throws -> Void
  ) throws {
    for number in 0..<count {
      let outcome = try insert(entity, key(number)) { encode(number, $0) }
      switch outcome {
      case .done, .missing: break
      case .notUnique, .unwritable: try refused(number, outcome)
      }
    }
  }

  package func write<R>(_ body: () throws -> R) throws -> R {
    try begin()
    do {
      let result = try body()
      try commit(changed: []) {}
      return result
    } catch {
      rollback()
      throw error
    }
  }

  /// Runs a body in a transaction that changes one store. If the body throws, nothing is changed.
  package func write(to store: any AttachedStore, _ body: () throws -> Void) throws {
    try store.checkIdentity()
    try begin()
    do {
      try body()
      try commit(changed: [store]) {}
    } catch {
      rollback()
      throw error
    }
  }
}

extension StoreWriteSession {
  // A session that answers for each row needs no second attempt.
  package func writePart(_ body: () throws -> Void) throws { try body() }

  // An engine in this process has one writer at a time, and the lock of a file excludes other processes.
  package func excludesOthers(from store: any AttachedStore) -> Bool { true }
  package func excludeOthers(from store: any AttachedStore) throws {}

  // Only a server ends a transaction that does nothing.
  package func keepAlive() throws {}
}
