public import CDModel

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
