#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A selection of rows of an entity's table.
package enum RowSelection {
  case keys([ObjectKey])
  /// The rows with keys in a range, and some other rows.
  case range(Range<ObjectKey>, and: [ObjectKey])
  /// The rows that match a query that the store decides without the evaluator.
  case query(any StoreAnswer)
}

/// A `unique:` list that applies to the rows of a batch insert.
package struct UniqueList {
  /// The entity that declares it.
  package let owner: EntityPlan
  package let properties: [String]
  package let columns: [String]
}

/// The error when a unique index refuses a row of a batch.
package struct UniquenessViolation: Error {
  /// The properties of the index, if the store's message names them.
  package let properties: [String]
  /// The number of rows that were begun after the refused one, if an insertion sends many rows together.
  package let rowsSince: Int

  /// - Parameters:
  ///   - properties: The properties of the index; empty if they are not known.
  ///   - rowsSince: The number of rows that were begun after the refused one.
  package init(properties: [String], rowsSince: Int = 0) {
    self.properties = properties
    self.rowsSince = rowsSince
  }
}

/// The source of a column's new value.
package enum ColumnSource {
  case value(AttributeValue)
  case calculation(any StoreCalculation)
}

/// A calculation that a store does for each row, in the store's own form.
package protocol StoreCalculation {}

/// The part of the program that calculates the value of an expression.
package enum Calculation {
  /// Nothing to calculate: the value is the same for each row.
  case constant(EvaluationValue)
  case store(any StoreCalculation)
  case evaluator
}

/// The plan for the insertion of a batch's rows.
package struct InsertionPlan {
  /// The action when a `unique:` list refuses a row. A conflict of a one-to-one reference is always refused.
  package enum Conflict {
    case refuse
    /// Keeps the existing row and skips the new one.
    case keep
    /// Updates some columns of the existing row with the values of the new row.
    case update([String])
  }

  package let entity: EntityPlan
  /// The columns that have a value in each row.
  package let columns: [String]
  /// Further columns with a default for all rows. If the value is nil, each row gets a new UUID.
  package let defaults: [(column: String, value: AttributeValue?)]
  /// The `unique:` lists that apply to the rows.
  package let lists: [UniqueList]
  /// What happens to a row that a `unique:` list refuses.
  package let conflict: Conflict
}

/// Whether rows of a batch have been written, have been skipped, or wait to be sent.
package enum RowInsertionOutcome {
  /// The row will be sent later, with others.
  case waiting
  /// The row with this key has the values now: a new row, or an existing one.
  case written(ObjectKey)
  case skipped
  /// The outcomes of waiting rows, in their order: the key of the row that has the values now, or nil for a skipped one.
  case sent([ObjectKey?])
}

/// Inserts the rows of a batch, one after another.
package protocol RowInsertion: AnyObject {
  /// Begins a row. The caller then writes the values of the columns in order.
  func start(_ writer: RowWriter)
  /// Ends the row. It may be sent later, with others.
  ///
  /// - Parameter key: The key of the next new row. Each new row gets the key after the last one's.
  /// - Throws: ``UniquenessViolation`` or ``StoreError``.
  func write(_ key: ObjectKey) throws -> RowInsertionOutcome
  /// Sends the rows that have not been sent yet.
  ///
  /// - Parameter key: The key of the next new row.
  /// - Throws: ``UniquenessViolation`` or ``StoreError``.
  func finish(_ key: ObjectKey) throws -> RowInsertionOutcome
}

extension RowInsertion {
  package func finish(_ key: ObjectKey) throws -> RowInsertionOutcome { .waiting }
}

/// Finds the row that has the values of a `unique:` list.
package protocol RowSearch: AnyObject {
  /// - Parameter values: A value for each column of the list.
  func find(_ values: [AttributeValue]) throws -> FetchedKey?
  /// Finds the rows for several lists of values.
  func find(_ list: [[AttributeValue]]) throws -> [FetchedKey?]
}

extension RowSearch {
  package func find(_ list: [[AttributeValue]]) throws -> [FetchedKey?] { try list.map(find) }
}

/// The batch operations of a store, within the transaction of a ``StoreWriteSession``.
///
/// Each changed row gets its next version, unless an operation says otherwise. The operations that change rows throw
/// ``UniquenessViolation`` if a unique index refuses a row.
package protocol StoreBatchSession: AnyObject {
  // MARK: Finding rows

  /// Selects the rows of a query, if the store can change them in the same statement. This requires that the store
  /// decides the query alone and that no row can make it fail.
  ///
  /// - Returns: The rows, and the root entities of all other rows that the query reads; a batch that changes rows of
  ///   these entities must fetch the keys first. Nil if the keys must be fetched first in any case.
  func selection(of query: StoreQuery) throws -> (rows: RowSelection, readRoots: Set<Int>)?
  /// Returns the rows with the given keys, each with its own entity.
  func keys(_ keys: [ObjectKey], of entity: EntityPlan) throws -> [FetchedKey]
  /// Returns the objects in a relationship of the given objects.
  func related(_ relationship: RelationshipPlan, of keys: [ObjectKey]) throws -> [FetchedKey]
  /// Returns the objects whose relationship contains any of the given objects.
  func owners(of relationship: RelationshipPlan, to keys: [ObjectKey]) throws -> [FetchedKey]
  /// Returns the keys that a reference column of the rows contains, each key once.
  func targets(of column: ColumnPlan, of entity: EntityPlan, _ rows: RowSelection) throws -> [ObjectKey]
  /// Returns the key that the reference of each row contains; 0 for nil.
  func references(
    _ column: String, of entity: EntityPlan, _ keys: [ObjectKey]
  ) throws -> [ObjectKey: ObjectKey]
  /// Returns the objects whose relationship has too few or too many objects, with the number of objects.
  ///
  /// - Parameter most: The maximum number of objects to return.
  func ownersWithWrongCount(
    _ relationship: RelationshipPlan, of keys: [ObjectKey], _ range: ClosedRange<Int>, most: Int
  ) throws -> [(key: ObjectKey, count: Int)]
  /// Prepares a search for the row that has the values of a `unique:` list.
  func search(_ list: UniqueList, of entity: EntityPlan) throws -> any RowSearch

  // MARK: Changing rows

  /// Decides whether the store or the evaluator calculates the value of an expression. The expression has been checked
  /// before.
  ///
  /// - Parameters:
  /// - type: The type of the column that gets the value.
  /// - isMandatory: Whether the column must not be nil.
  /// - now: The time that `now()` in the expression returns.
  func calculation(
    _ expression: ValueExpression, on entity: EntityPlan, as type: StorageType, isMandatory: Bool, now: Date
  ) throws -> Calculation
  /// Sets columns of rows.
  ///
  /// - Returns: The keys of the rows, by the index of their entity.
  func update(
    _ entity: EntityPlan, _ assignments: [(column: String, source: ColumnSource)], _ rows: RowSelection
  ) throws -> [Int: KeyRanges]
  /// Sets columns of rows. Each row has its own values.
  ///
  /// - Parameters:
  /// - calculated: Columns that the store calculates for each row.
  /// - columns: The columns of the values in `rows`.
  func update(
    _ entity: EntityPlan, calculated: [(column: String, source: ColumnSource)], _ columns: [String],
    _ rows: [(key: ObjectKey, values: [AttributeValue])]
  ) throws
  /// Sets columns of one row.
  func setValues(
    _ values: [(column: String, value: AttributeValue)], of entity: EntityPlan, _ key: ObjectKey,
    raisingVersion: Bool
  ) throws
  /// Deletes rows. References and pairs in the same store that lead to them are removed too.
  ///
  /// - Returns: The keys of the rows, by the index of their entity.
  func delete(_ entity: EntityPlan, _ rows: RowSelection) throws -> [Int: KeyRanges]
  /// Removes the pairs of some objects from a join table.
  ///
  /// - Parameter isSource: Whether the objects are the source of the pairs; otherwise, they are the target.
  func deletePairs(ofJoin index: Int, isSource: Bool, _ keys: [ObjectKey]) throws
  /// Gives positions to rows of an ordered relationship that is stored as references. Rows without a position follow
  /// the rows that have one, in the order of their keys.
  ///
  /// - Parameters:
  /// - moved: Rows whose position is cleared first.
  /// - gap: The distance between two positions.
  func appendPositions(
    _ relationship: RelationshipPlan, _ entity: EntityPlan, _ rows: RowSelection, moved: [ObjectKey],
    gap: Int64
  ) throws

  // MARK: Inserting rows

  /// Returns the first key that has never been used or reserved.
  func firstKey(of entity: EntityPlan) throws -> ObjectKey
  /// Records that all keys below the given one are used.
  func reserve(upTo key: ObjectKey, of entity: EntityPlan) throws
  func insertion(_ plan: InsertionPlan) throws -> any RowInsertion

  // MARK: Files of large values

  /// Adds the files that rows refer to to the list of unused files. The caller then removes these references.
  func listFiles(_ columns: [String], of entity: EntityPlan, _ rows: RowSelection, at time: Date) throws
  /// Returns the names of the files that rows refer to.
  func files(_ column: String, of entity: EntityPlan, _ keys: [ObjectKey]) throws -> [ObjectKey: String]
  /// Adds a file to the list of unused files, unless the given row still refers to it.
  func listFile(
    _ name: String, unlessIn column: String, of entity: EntityPlan, _ key: ObjectKey, at time: Date
  ) throws
}

extension KeyRanges {
  /// Groups keys by the index of their entity.
  package static func byEntity(_ keys: [FetchedKey]) -> [Int: KeyRanges] {
    var result: [Int: KeyRanges] = [:]
    for key in keys { result[key.entity, default: KeyRanges()].append(key.key) }
    return result
  }
}
