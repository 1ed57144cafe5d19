public import CDModel

// What is asked of relationships.

/// The object of a to-one relationship is this one, or there is none where it is nil.
public func == <Destination>(path: ToOne<Destination>, object: Destination?) -> FetchPredicate {
  FetchPredicate(path.expression, .equalTo, .constant(object.map { .object($0.reference) } ?? .null))
}

/// The object of a to-one relationship is another, or there is one where the value is nil.
public func != <Destination>(path: ToOne<Destination>, object: Destination?) -> FetchPredicate {
  FetchPredicate(path.expression, .notEqualTo, .constant(object.map { .object($0.reference) } ?? .null))
}

extension ToOne {
  /// The object is one of these.
  public func isIn(_ objects: [Destination]) -> FetchPredicate {
    FetchPredicate(expression, .in, .constant(.array(objects.map { .object($0.reference) })))
  }
}

extension ToMany {
  /// There are no objects.
  public var isEmpty: FetchPredicate { count == 0 }

  /// The object is among them.
  public func contains(_ object: Destination) -> FetchPredicate {
    FetchPredicate(expression, .contains, .constant(.object(object.reference)))
  }

  /// One object at least meets a condition, all of it: `$0.books.contains { $0.title == "Walden" && $0.pages > 9 }`.
  /// It is `SUBQUERY(books, $element, …).@count > 0`.
  public func contains(where condition: (Fields<Destination>) -> FetchPredicate) -> FetchPredicate {
    count(where: condition) > 0
  }

  /// The count of the objects that meet a condition.
  public func count(where condition: (Fields<Destination>) -> FetchPredicate) -> Calculated<Int> {
    let predicate = condition(Fields())
    // A condition within a condition is of fewer levels, so the names of their variables differ.
    let variable = "element\(predicate.depth)"
    let subquery = ValueExpression.subquery(
      expression, variable: variable, predicate.replacingObject(withVariable: variable))
    return Calculated(expression: .path(subquery, [.collectionOperator("count")]))
  }
}

extension KeyPath {
  /// The to-many relationship has an object.
  public func contains<Object: ManagedObject, Destination: ManagedObject>(
    _ object: Destination
  ) -> TypedPredicate<Object> where Root == Fields<Object>, Value == ToMany<Destination> {
    TypedPredicate(Fields()[keyPath: self].contains(object))
  }
}
