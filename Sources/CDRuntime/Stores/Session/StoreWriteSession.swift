#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What became of a row that was to be written.
enum RowOutcome {
  case done
  /// There is no row of the key, or none of the version.
  case missing
  /// A unique index refuses the values of these properties.
  case notUnique([String])
  /// A value cannot be encoded, or is too large: ``StoreWriteSession/failure(of:)`` tells which.
  case unwritable
}

/// What the end of a transaction throws where a reference leads to no row.
struct ReferenceViolation: Error {}

/// A part of a store's history.
enum HistoryRange {
  case before(Date)
  case upTo(Int64)
}

/// What a save writes a coordinator's stores by.
///
/// Rows are unique at each moment, so that the order of the changes matters.
protocol StoreWriteSession: AnyObject {
  /// What reads in the same transaction.
  var reader: any StoreSession { get }
  /// What changes many rows at a time in the same transaction.
  var batch: any StoreBatchSession { get }

  // MARK: Transactions

  func begin() throws
  /// - Parameter check: Called before anything is final, and after all code of the app's: formats write their files.
  /// - Throws: ``ReferenceViolation`` or ``StoreError``, before anything is written, or where nothing of it is.
  func commit(changed: [any AttachedStore], check: () throws -> Void) throws
  /// Takes everything back, where that has not been done.
  func rollback()
  /// Runs a body in a transaction of its own.
  func write<R>(_ body: () throws -> R) throws -> R

  // MARK: Rows

  /// Inserts a row, whose version is 1.
  ///
  /// - Parameter encode: Writes the entity's stored slots.
  func insert(_ entity: EntityPlan, _ key: ObjectKey, _ encode: (RowWriter) -> Void) throws -> RowOutcome
  /// Lets a row go on counting versions from another one.
  func setVersion(_ version: Int64, of entity: EntityPlan, _ key: ObjectKey) throws
  /// Updates a row of a version, which gets the next one.
  ///
  /// - Parameter encode: Writes the slots that it is given: those of the changed ones that have columns.
  func update(
    _ entity: EntityPlan, _ changed: SlotSet, _ key: ObjectKey, version: Int64,
    _ encode: (_ slots: [Int], RowWriter) throws -> Void
  ) throws -> RowOutcome
  /// Deletes a row of a version.
  func delete(_ entity: EntityPlan, _ key: ObjectKey, version: Int64) throws -> RowOutcome
  /// What is wrong with values of a row that was ``RowOutcome/unwritable``; nil for nothing.
  func failure(of encode: (RowWriter) -> Void) -> (any Error)?

  // MARK: Unique values

  /// The row beside an object's that has the object's values in some columns, and the name of its entity; nil if there is
  /// none, and if one of the values is nil.
  ///
  /// - Parameters:
  ///   - owner: The entity whose objects, with those of all below it, have each value once.
  ///   - encode: Writes slots of the object.
  func holder(
    of columns: [Int], _ entity: EntityPlan, _ owner: EntityPlan, beside key: ObjectKey,
    _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> (key: ObjectKey, entity: String)?
  /// The values of some columns as texts that are equal where the store takes the values to be; nil if one of them is nil.
  ///
  /// - Parameter encode: Writes slots of an object.
  func comparedValues(
    of columns: [Int], _ entity: EntityPlan, _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> [String]?
  /// Gives a column of a row a value that no row has.
  func writePlaceholder(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws

  // MARK: Relationships

  /// Removes pairs of an object that is their source.
  func deletePairs(ofJoin place: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws
  /// Adds pairs of an object that is their source. One that is there stays.
  func insertPairs(ofJoin place: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws
  /// Whether an object's related ones have positions.
  func hasPositions(_ relationship: RelationshipPlan) -> Bool
  /// The greatest position of an object's related ones; 0 if there is none.
  func lastPosition(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> Int64
  /// The related objects that have a position, in their order.
  func positionedKeys(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey]
  /// Gives a related object a position.
  ///
  /// - Parameter isNew: Whether the object was related just now, and nobody knows whether it was so before: if it has a
  ///   position, it keeps that.
  func setPosition(
    _ position: Int64, of member: ObjectKey, _ relationship: RelationshipPlan, of key: ObjectKey, isNew: Bool
  ) throws
  /// Rows whose references lead to none: a hundred of each store at the most.
  func danglingRows(in store: any AttachedStore) throws -> [(root: EntityPlan, key: ObjectKey)]

  // MARK: History

  /// Adds a save to a store's history.
  ///
  /// - Returns: Its number.
  func addSave(
    to store: any AttachedStore, at date: Date, origin: String, author: String?, _ changes: String
  ) throws -> Int64
  /// Removes entries of a store's history. The newest one stays.
  func deleteEntries(_ range: HistoryRange, of store: any AttachedStore) throws
  /// The text of a save in a store's history, if it is of an origin.
  func save(_ number: Int64, of origin: String, in store: any AttachedStore) throws -> String?

  // MARK: Metadata

  /// What a store says of itself.
  func metadata(of store: any AttachedStore) throws -> StoreMetadata
  /// Puts values of the app's own in the place of all that the store has of them.
  func setMetadata(_ values: [String: String], of store: any AttachedStore) throws

  // MARK: Files of large values

  /// The name of the file that has the value of a column; nil if the row has the value itself.
  func fileName(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> String?
  /// Notes a file to which no row refers.
  func listFile(_ name: String, in store: any AttachedStore) throws
  /// Takes a file off the list.
  ///
  /// - Returns: Whether it stood there.
  @discardableResult func unlistFile(_ name: String, in store: any AttachedStore) throws -> Bool
}

extension StoreWriteSession {
  /// Runs a body in a transaction that changes one store: all of it or, where it throws, nothing.
  func write(to store: any AttachedStore, _ body: () throws -> Void) throws {
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
