public import CDModel

/// New rows of an entity, which SQL inserts without creating an object for each row: for imports of thousands or
/// millions of rows.
///
/// Rows come from any sequence. It is read one row after another, so a lazy sequence needs no memory for its rows.
/// Columns declare, once for all rows, which value of a row goes to which attribute:
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
/// Without a generated class, use dictionaries in the form that ``ManagedObjectContext/dictionaries(for:)`` returns:
///
/// ```swift
/// let rows: [[String: FetchedValue]] = [["name": "Ticknor"], ["name": .value("Fields")]]
/// try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Publisher", rows: rows))
/// ```
///
/// Attributes without a value get their defaults. Every rule of the schema is checked, and derived attributes are
/// computed. The methods of ``ManagedObjectLifecycle`` are not called; <doc:ManyObjectsAtOnce> has the exception.
/// A large value of an `external:` attribute stays in its row until it is next saved. Set a to-many relationship from its other
/// side.
///
/// ## Topics
///
/// ### Rows
/// - ``init(_:columns:)``
/// - ``init(entityName:rows:)``
/// - ``BatchColumn``
///
/// ### Existing rows
/// - ``uniqueness``
/// - ``BatchUniqueness``
public struct BatchInsertRequest<Object: ManagedObject> {
  /// The name of the entity.
  public let entityName: String
  /// The rule for a row that has the same values of a `unique:` list as another row.
  public var uniqueness = BatchUniqueness.refuse

  let rows: BatchRows

  /// Creates a request from dictionaries that have values by the names of attributes and to-one relationships. A
  /// property that a new row does not name gets its default. A property that a row with ``BatchUniqueness/update``
  /// does not name keeps its value in the existing row.
  public init<Rows: Sequence>(entityName: String, rows: Rows) where Rows.Element == [String: FetchedValue] {
    self.entityName = entityName
    self.rows = BatchRows(dictionaries: rows)
  }
}

extension BatchInsertRequest where Object: EntityClass {
  /// Creates a request from rows of any type, with columns for the attributes and to-one relationships that have
  /// values.
  ///
  /// If two columns set the same property, or a composite and its field, the later one applies.
  // Inlinable, so that the loop over the caller's rows is specialised for their type.
  @inlinable
  public init<Rows: Sequence>(_ rows: Rows, columns: [BatchColumn<Object, Rows.Element>]) {
    self.init(
      BatchRows(keyPaths: columns.map { $0.keys }, isRepeatable: rows is any Collection) {
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

/// The rule that a batch insert applies to a row with the same values of a `unique:` list as another row, in the
/// store or in the batch.
///
/// ```swift
/// var request = BatchInsertRequest<Publisher>(["Ticknor", "Fields"], columns: [.set(\.name) { $0 }])
/// request.uniqueness = .update
/// try context.execute(request)
/// ```
public enum BatchUniqueness: Hashable, Sendable {
  /// Throws ``BatchError/notUnique(entity:properties:row:)``.
  case refuse
  /// Leaves the existing row unchanged, and skips the new one.
  case keep
  /// Gives the existing row the values that the new row names: those of the request's columns, or of its dictionary.
  /// All other values stay.
  ///
  /// The new row must be complete all the same, because it is not known beforehand whether there is an existing row.
  /// As in a batch update, the former owners of the row's relationships are updated: their derived attributes,
  /// orders, and rules on the number of objects. A row that keeps its owner keeps its position there.
  ///
  /// The existing row must have the request's entity or a subentity of it. A row of any other entity that shares the
  /// `unique:` list cannot become the new row: the batch is refused as by ``refuse``.
  case update
}

/// New values for all objects that meet a condition, which SQL sets without creating an object for each.
///
/// A value is given, or calculated from the values of each object:
///
/// ```swift
/// let request = BatchUpdateRequest<Book>(
///   where: \.publisher.name == "BookCo",
///   set: [.set(\.language, to: .german), .set(\.salesRank, to: { ($0.salesRank ?? 0) * 2 })])
/// let count = try context.execute(request).count
/// ```
///
/// Without a generated class, use keys and format strings:
///
/// ```swift
/// let thick = try FetchPredicate(format: "pages > 300")
/// let twice = try ValueExpression(format: "salesRank * 2")
/// try context.execute(
///   BatchUpdateRequest<ManagedObject>(
///     FetchRequest(entityName: "Book", where: thick), set: [.set("salesRank", to: twice)]))
/// ```
///
/// All calculations read the values from before the batch. Calculations for which SQL has no exact form are done in
/// memory, row by row. The schema's rules are checked and derived attributes are computed. The methods of
/// ``ManagedObjectLifecycle`` are not called; <doc:ManyObjectsAtOnce> has the exception. SQLite compares
/// the values of a `unique:` list row by row, so a batch that passes such values from one row to another is refused.
public struct BatchUpdateRequest<Object: ManagedObject> {
  /// The request that selects the objects. Its settings for the form of the answer have no effect; its order has an
  /// effect only with a limit or an offset.
  public var fetchRequest: FetchRequest<Object>
  /// The new values. If two of them set the same property, or a composite and its field, the later one applies.
  public var assignments: [BatchAssignment<Object>]

  /// Creates an update of the objects that a request would fetch from the store.
  public init(_ fetchRequest: FetchRequest<Object>, set assignments: [BatchAssignment<Object>]) {
    self.fetchRequest = fetchRequest
    self.assignments = assignments
  }
}

extension BatchUpdateRequest where Object: EntityClass {
  /// Creates an update of all objects, or of those that meet a condition.
  public init(where condition: TypedPredicate<Object>? = nil, set assignments: [BatchAssignment<Object>]) {
    self.init(FetchRequest<Object>(where: condition?.predicate), set: assignments)
  }
}

@available(*, unavailable)
extension BatchUpdateRequest: Sendable {}

/// A new value that a batch update gives to a property.
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

  /// Sets an attribute, or a field of a composite, to a value.
  public static func set<Value: AttributeValueConvertible>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>, to value: Value
  ) -> Self {
    Self(keys: Fields()[keyPath: path].keys, source: .value(.attribute(value.attributeValue)))
  }

  /// Sets an attribute to a value that is calculated from other values of the object: `.set(\.pages, to: { $0.pages +
  /// 1 })`.
  public static func set<Value: AttributeValueConvertible, Operand: QueryOperand>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>, to value: (Fields<Object>) -> Operand
  ) -> Self where Operand.Value: AttributeValueConvertible, Operand.Value.Comparand == Value.Comparand {
    Self(keys: Fields()[keyPath: path].keys, source: .expression(value(Fields()).expression))
  }

  /// Sets a to-one relationship to the object of an identifier, or to nil.
  public static func set<Destination>(
    _ path: KeyPath<Fields<Object>, ToOne<Destination>>, to id: ManagedObjectID?
  ) -> Self {
    Self(keys: Fields()[keyPath: path].keys, source: .value(.object(id)))
  }

  /// Sets a property to a value, by its name.
  public static func set(_ key: String, to value: FetchedValue) -> Self {
    Self(keys: key.split(separator: ".").map(String.init), source: .value(value))
  }

  /// Sets an attribute to a calculated value, by its name.
  public static func set(_ key: String, to expression: ValueExpression) -> Self {
    Self(keys: key.split(separator: ".").map(String.init), source: .expression(expression))
  }
}

/// The deletion of all objects that meet a condition, which SQL deletes without creating an object for each.
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
/// All delete rules are applied as in ``ManagedObjectContext/delete(_:)``, so that no reference dangles and no rule
/// of the schema is broken. The methods of ``ManagedObjectLifecycle`` are not called; <doc:ManyObjectsAtOnce> has the
/// exception.
public struct BatchDeleteRequest<Object: ManagedObject> {
  /// The request that selects the objects. Its settings for the form of the answer have no effect; its order has an
  /// effect only with a limit or an offset.
  public var fetchRequest: FetchRequest<Object>

  /// Creates a deletion of the objects that a request would fetch from the store.
  public init(_ fetchRequest: FetchRequest<Object>) {
    self.fetchRequest = fetchRequest
  }
}

extension BatchDeleteRequest where Object: EntityClass {
  /// Creates a deletion of all objects, or of those that meet a condition.
  public init(where condition: TypedPredicate<Object>? = nil) {
    self.init(FetchRequest<Object>(where: condition?.predicate))
  }
}

@available(*, unavailable)
extension BatchDeleteRequest: Sendable {}

/// The result of a batch.
///
/// ```swift
/// let result = try context.execute(BatchDeleteRequest<Book>(where: \.price > 100))
/// print(result.count, "books,", result.changes.deleted.count, "objects with all that belonged to them")
/// ```
public struct BatchResult: Hashable, Sendable {
  /// The number of objects that the request concerned: inserted rows, existing rows that were updated, and objects
  /// that were updated or deleted.
  public let count: Int
  /// All objects that have changed, including objects that delete rules have reached and objects whose derived
  /// attributes have been computed again.
  public let changes: ObjectChanges
}
