#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Rows of an entity's table.
enum RowSelection {
  case keys([ObjectKey])
  /// The rows from one key to below another, and some more.
  case range(Range<ObjectKey>, and: [ObjectKey])
  /// The rows that a query finds, which the store decides alone.
  case query(any StoreAnswer)
}

/// A `unique:` list that the rows of a batch insert are under.
struct UniqueList {
  /// The entity that declares it.
  let owner: EntityPlan
  let properties: [String]
  let columns: [String]
}

/// What a unique index throws that refuses a row of a batch.
struct UniquenessViolation: Error {
  /// The properties of the index, as far as the store names them.
  let properties: [String]
}

/// What a column of a row is to hold.
enum ColumnSource {
  case value(AttributeValue)
  case calculation(any StoreCalculation)
}

/// A value that a store calculates of each row, in the store's own form.
protocol StoreCalculation {}

/// Who calculates the value of an expression.
enum Calculation {
  /// Nobody: it is the same for each row.
  case constant(EvaluationValue)
  case store(any StoreCalculation)
  case evaluator
}

/// How rows of a batch are inserted.
struct InsertionPlan {
  /// What to do where a `unique:` list refuses a row. A one-to-one reference is refused whatever is said here.
  enum Conflict {
    case refuse
    /// Leaves the row out.
    case keep
    /// Gives the row that is there the new one's values of some columns.
    case update([String])
  }

  let entity: EntityPlan
  /// The columns that each row has values for.
  let columns: [String]
  /// Further columns, with what all rows have in them: nil for a new UUID in each row.
  let defaults: [(column: String, value: AttributeValue?)]
  let lists: [UniqueList]
  let conflict: Conflict
}

/// What inserts the rows of a batch, one after another.
protocol RowInsertion: AnyObject {
  /// Begins a row: the values of its columns follow, in their order.
  func start(_ writer: RowWriter)
  /// Ends the row.
  ///
  /// - Returns: The key of the row that has the values now: the given one, or that of a row that was there; nil if the row
  ///   was left out.
  /// - Throws: ``UniquenessViolation`` or ``StoreError``.
  func write(_ key: ObjectKey) throws -> ObjectKey?
}

/// What finds the row that has the values of a `unique:` list.
protocol RowSearch: AnyObject {
  /// - Parameter values: One for each column of the list.
  func find(_ values: [AttributeValue]) throws -> FetchedKey?
}

/// The work on many rows at a time that a batch gives to a store, within the transaction of a ``StoreWriteSession``.
///
/// Rows that are changed get the next version, unless an operation says otherwise. What changes rows throws
/// ``UniquenessViolation`` where a unique index refuses one.
protocol StoreBatchSession: AnyObject {
  // MARK: Finding rows

  /// The rows of a query where the store can change them as it finds them: it decides the query alone, and no row makes
  /// it fail.
  ///
  /// - Returns: Nil where the keys have to be fetched first; otherwise the rows as well as the roots of the entities of
  ///   other rows that the query reads. A batch that changes such rows must fetch the keys first, too.
  func selection(of query: StoreQuery) throws -> (rows: RowSelection, readRoots: Set<Int>)?
  /// The rows of some keys, each with its own entity.
  func keys(_ keys: [ObjectKey], of entity: EntityPlan) throws -> [FetchedKey]
  /// The objects that a relationship of some objects leads to.
  func related(_ relationship: RelationshipPlan, of keys: [ObjectKey]) throws -> [FetchedKey]
  /// The objects that have a relationship which leads to some objects.
  func owners(of relationship: RelationshipPlan, to keys: [ObjectKey]) throws -> [FetchedKey]
  /// What the references of rows lead to, each key once.
  func targets(of column: ColumnPlan, of entity: EntityPlan, _ rows: RowSelection) throws -> [ObjectKey]
  /// What the reference of each row leads to; 0 for nothing.
  func references(
    _ column: String, of entity: EntityPlan, _ keys: [ObjectKey]
  ) throws -> [ObjectKey: ObjectKey]
  /// The objects of which a relationship has fewer or more objects than it may, with their numbers.
  ///
  /// - Parameter most: How many are looked for.
  func miscounted(
    _ relationship: RelationshipPlan, of keys: [ObjectKey], _ range: ClosedRange<Int>, most: Int
  ) throws -> [(key: ObjectKey, count: Int)]
  /// What finds the rows that a `unique:` list knows.
  func search(_ list: UniqueList, of entity: EntityPlan) throws -> any RowSearch

  // MARK: Changing rows

  /// Finds out who calculates the value of an expression that has been checked.
  ///
  /// - Parameters:
  ///   - type: That of the column which is to hold the value.
  ///   - isMandatory: Whether the column may not be nil.
  ///   - now: The time that the expression's `now()` is.
  func calculation(
    _ expression: ValueExpression, on entity: EntityPlan, as type: StorageType, isMandatory: Bool, now: Date
  ) throws -> Calculation
  /// Sets columns of rows.
  ///
  /// - Returns: The keys of the rows, by the index of their entity.
  func update(
    _ entity: EntityPlan, _ assignments: [(column: String, source: ColumnSource)], _ rows: RowSelection
  ) throws -> [Int: KeyRanges]
  /// Sets columns of rows, each of which has its own values.
  ///
  /// - Parameters:
  ///   - calculated: What the store calculates of each row.
  ///   - columns: Those that the rows have values for.
  func update(
    _ entity: EntityPlan, calculated: [(column: String, source: ColumnSource)], _ columns: [String],
    _ rows: [(key: ObjectKey, values: [AttributeValue])]
  ) throws
  /// Sets columns of one row.
  func setValues(
    _ values: [(column: String, value: AttributeValue)], of entity: EntityPlan, _ key: ObjectKey,
    raisingVersion: Bool
  ) throws
  /// Deletes rows, with the references and pairs that lead to them from the same store.
  ///
  /// - Returns: The keys of the rows, by the index of their entity.
  func delete(_ entity: EntityPlan, _ rows: RowSelection) throws -> [Int: KeyRanges]
  /// Removes the pairs of objects.
  ///
  /// - Parameter isSource: Which side of the pairs they are.
  func deletePairs(ofJoin place: Int, isSource: Bool, _ keys: [ObjectKey]) throws
  /// Puts rows that have no position in an ordered relationship of references behind those that have one, in the order of
  /// their keys.
  ///
  /// - Parameters:
  ///   - moved: Rows that lose their position first.
  ///   - gap: How far apart positions are.
  func appendPositions(
    _ relationship: RelationshipPlan, _ entity: EntityPlan, _ rows: RowSelection, moved: [ObjectKey],
    gap: Int64
  ) throws

  // MARK: Inserting rows

  /// The first key that no object has had or will have.
  func firstKey(of entity: EntityPlan) throws -> ObjectKey
  /// Notes that all keys below one have been used.
  func reserve(upTo key: ObjectKey, of entity: EntityPlan) throws
  func insertion(_ plan: InsertionPlan) throws -> any RowInsertion

  // MARK: Files of large values

  /// Notes the files that rows refer to: none of them will.
  func listFiles(_ columns: [String], of entity: EntityPlan, _ rows: RowSelection, at time: Date) throws
  /// The names of the files that rows refer to.
  func files(_ column: String, of entity: EntityPlan, _ keys: [ObjectKey]) throws -> [ObjectKey: String]
  /// Notes a file, unless a row still refers to it.
  func listFile(
    _ name: String, unlessIn column: String, of entity: EntityPlan, _ key: ObjectKey, at time: Date
  ) throws
}

extension KeyRanges {
  /// Keys by the index of their entity.
  static func byEntity(_ keys: [FetchedKey]) -> [Int: KeyRanges] {
    var result: [Int: KeyRanges] = [:]
    for key in keys { result[key.entity, default: KeyRanges()].append(key.key) }
    return result
  }
}
