/// New rows for an entity, written by SQL without an object for each: for imports of thousands or millions.
///
/// Rows are any sequence, which is asked for one row after another, so that a lazy one needs no memory. What of a row
/// goes to which attribute is said once, by a column each:
///
/// ```swift
/// typealias Record = (name: String, born: Date?)
/// let records = (1...100_000).lazy.map { Record("Author \($0)", $0 % 2 == 0 ? now : nil) }
/// let request = BatchInsertRequest<Author>(
///   records, columns: [.set(\.name) { $0.name }, .set(\.born) { $0.born }])
/// let result = try context.execute(request)
/// print(result.count, result.changes.inserted.first ?? author.objectID)
/// ```
///
/// Dictionaries, of the form that ``ManagedObjectContext/dictionaries(for:)`` gives, do where there is no class:
///
/// ```swift
/// let rows: [[String: FetchedValue]] = [["name": "Ticknor"], ["name": .value("Fields")]]
/// try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Publisher", rows: rows))
/// ```
///
/// Attributes that are not given have their defaults. Every rule of the schema is checked; derived attributes are
/// computed. What objects do for themselves is not done: no class is asked (``ManagedObjectLifecycle``). A large value
/// of an `external:` attribute stays in its row until it is next saved. To-many relationships are set from their other
/// side.
///
/// ## Topics
///
/// ### Rows
/// - ``init(_:columns:)``
/// - ``init(entityName:rows:)``
/// - ``BatchColumn``
///
/// ### Rows that are there already
/// - ``uniqueness``
/// - ``BatchUniqueness``
public struct BatchInsertRequest<Object: ManagedObject> {
  /// The name of the entity.
  public let entityName: String
  /// What becomes of a row whose values of a `unique:` list another one has.
  public var uniqueness = BatchUniqueness.refuse

  let rows: BatchRows

  /// Rows of dictionaries, a value by the name of each attribute or to-one relationship. What a new row does not name
  /// has its default; what a row does not name that updates another (``BatchUniqueness/update``) stays as it is there.
  public init<Rows: Sequence>(entityName: String, rows: Rows) where Rows.Element == [String: FetchedValue] {
    self.entityName = entityName
    self.rows = BatchRows(dictionaries: rows)
  }
}

extension BatchInsertRequest where Object: EntityClass {
  /// Rows of any kind, with the attributes and to-one relationships that they have values for.
  // Inlinable, so that the loop over a caller's rows is made for their type.
  @inlinable
  public init<Rows: Sequence>(_ rows: Rows, columns: [BatchColumn<Object, Rows.Element>]) {
    self.init(
      BatchRows(keyPaths: columns.map { $0.keys }) {
        var iterator = rows.makeIterator()
        return { row in
          guard let element = iterator.next() else { return false }
          row.start()
          for column in columns { try column.write(element, row) }
          return true
        }
      })
  }

  @usableFromInline init(_ rows: BatchRows) {
    entityName = Object.entityName
    self.rows = rows
  }
}

@available(*, unavailable)
extension BatchInsertRequest: Sendable {}

/// What a batch insert does with a row whose values of a `unique:` list another one has, in the store or in the batch.
///
/// ```swift
/// var request = BatchInsertRequest<Publisher>(["Ticknor", "Fields"], columns: [.set(\.name) { $0 }])
/// request.uniqueness = .update
/// try context.execute(request)
/// ```
public enum BatchUniqueness: Hashable, Sendable {
  /// Throws ``BatchError/notUnique(entity:properties:row:)``.
  case refuse
  /// Leaves the row that is there as it is, and the new one out.
  case keep
  /// Gives the row that is there the values that the new one names: those of the request's columns, or of its
  /// dictionary. All others stay.
  ///
  /// The new row has to be complete all the same, for it is not known beforehand whether there is another one. Who had
  /// the row in a relationship before follows, as in an update: derived attributes, orders and rules on how many there
  /// may be. A row that stays with its owner keeps its place there.
  ///
  /// The row that is there may be of the request's entity or of one below it. One of any other entity that a common
  /// `unique:` list covers cannot be what the new one is, and is refused as by ``refuse``.
  case update
}
