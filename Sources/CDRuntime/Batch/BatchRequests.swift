public import CDModel

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

/// New values for all objects that meet a condition, set by SQL without an object for each.
///
/// A value is given, or calculated from what each object has:
///
/// ```swift
/// let request = BatchUpdateRequest<Book>(
///   where: \.publisher.name == "BookCo",
///   set: [.set(\.language, to: .german), .set(\.salesRank, to: { ($0.salesRank ?? 0) * 2 })])
/// let count = try context.execute(request).count
/// ```
///
/// Where there is no class, keys and format strings say the same:
///
/// ```swift
/// let thick = try FetchPredicate(format: "pages > 300")
/// let twice = try ValueExpression(format: "salesRank * 2")
/// try context.execute(
///   BatchUpdateRequest<ManagedObject>(
///     FetchRequest(entityName: "Book", where: thick), set: [.set("salesRank", to: twice)]))
/// ```
///
/// All calculations read the values from before the batch. Those that SQL has no exact form of are done in memory, row
/// by row. The schema's rules are checked; derived attributes are computed; no class is asked
/// (``ManagedObjectLifecycle``). Values of a `unique:` list that pass from one row to another are refused, for SQLite
/// compares them row by row.
public struct BatchUpdateRequest<Object: ManagedObject> {
  /// Which objects. What it says of the form of an answer does not count; its order does where it has a limit.
  public var fetchRequest: FetchRequest<Object>
  /// What they are given. Of two for one property the later counts.
  public var assignments: [BatchAssignment<Object>]

  /// New values for what a request would fetch from the store.
  public init(_ fetchRequest: FetchRequest<Object>, set assignments: [BatchAssignment<Object>]) {
    self.fetchRequest = fetchRequest
    self.assignments = assignments
  }
}

extension BatchUpdateRequest where Object: EntityClass {
  /// New values for all objects, or for those that meet a condition.
  public init(where condition: TypedPredicate<Object>? = nil, set assignments: [BatchAssignment<Object>]) {
    self.init(FetchRequest<Object>(where: condition?.predicate), set: assignments)
  }
}

@available(*, unavailable)
extension BatchUpdateRequest: Sendable {}

/// What a batch update gives a property.
///
/// ```swift
/// let publisherID = publisher.objectID
/// let assignments: [BatchAssignment<Book>] = [
///   .set(\.title, to: "Walden"),
///   .set(\.publisher, to: publisherID),
///   .set(\.pages, to: { $0.pages + 1 }),
/// ]
/// ```
public struct BatchAssignment<Object: ManagedObject> {
  enum Source {
    case value(FetchedValue)
    case expression(ValueExpression)
  }

  let keys: [String]
  let source: Source

  /// A value for an attribute, or for a field of a composite.
  public static func set<Value: AttributeValueConvertible>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>, to value: Value
  ) -> Self {
    Self(keys: Fields()[keyPath: path].keys, source: .value(.attribute(value.attributeValue)))
  }

  /// A value for an attribute that is calculated from others of the object: `.set(\.pages, to: { $0.pages + 1 })`.
  public static func set<Value: AttributeValueConvertible, Operand: QueryOperand>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>, to value: (Fields<Object>) -> Operand
  ) -> Self where Operand.Value: AttributeValueConvertible, Operand.Value.Comparand == Value.Comparand {
    Self(keys: Fields()[keyPath: path].keys, source: .expression(value(Fields()).expression))
  }

  /// An object for a to-one relationship, by its identifier; nil for none.
  public static func set<Destination>(
    _ path: KeyPath<Fields<Object>, ToOne<Destination>>, to id: ManagedObjectID?
  ) -> Self {
    Self(keys: Fields()[keyPath: path].keys, source: .value(.object(id)))
  }

  /// A value for a property by its name.
  public static func set(_ key: String, to value: FetchedValue) -> Self {
    Self(keys: key.split(separator: ".").map(String.init), source: .value(value))
  }

  /// A calculated value for an attribute by its name.
  public static func set(_ key: String, to expression: ValueExpression) -> Self {
    Self(keys: key.split(separator: ".").map(String.init), source: .expression(expression))
  }
}

/// The deletion of all objects that meet a condition, by SQL without an object for each.
///
/// ```swift
/// let result = try context.execute(BatchDeleteRequest<Book>(where: \.price > 100))
/// print(result.count)
/// var oldest = FetchRequest<Review>()
/// oldest.sortKeys = [SortKey("weight")]
/// oldest.limit = 1000
/// try context.execute(BatchDeleteRequest(oldest))
/// ```
///
/// Every delete rule is followed, as ``ManagedObjectContext/delete(_:)`` does, so that no reference dangles and no rule
/// of the schema is broken. No class is asked (``ManagedObjectLifecycle``).
public struct BatchDeleteRequest<Object: ManagedObject> {
  /// Which objects. What it says of the form of an answer does not count; its order does where it has a limit.
  public var fetchRequest: FetchRequest<Object>

  /// The deletion of what a request would fetch from the store.
  public init(_ fetchRequest: FetchRequest<Object>) {
    self.fetchRequest = fetchRequest
  }
}

extension BatchDeleteRequest where Object: EntityClass {
  /// The deletion of all objects, or of those that meet a condition.
  public init(where condition: TypedPredicate<Object>? = nil) {
    self.init(FetchRequest<Object>(where: condition?.predicate))
  }
}

@available(*, unavailable)
extension BatchDeleteRequest: Sendable {}

/// What a batch has done.
///
/// ```swift
/// let result = try context.execute(BatchDeleteRequest<Book>(where: \.price > 100))
/// print(result.count, "books,", result.changes.deleted.count, "objects with all that belonged to them")
/// ```
public struct BatchResult: Hashable, Sendable {
  /// How many objects the request was for: rows that were inserted or, being there, updated, and objects that were
  /// updated or deleted.
  public let count: Int
  /// Every object that is another one now: those that a delete rule reached and those whose derived attributes were
  /// computed anew are among them.
  public let changes: ObjectChanges
}
