public import CDModel

// A Bool attribute is a condition of its own: `\.completed` is `\.completed == true`.

extension Attribute<Bool> {
  /// The condition that the attribute is true.
  public var isTrue: FetchPredicate { compared(.equalTo, .constant(.bool(true))) }
}

extension TypedPredicate {
  /// Creates the condition that an attribute is true.
  public init(_ path: KeyPath<Keys<Root>, Attribute<Bool>>) {
    self.init(Keys()[keyPath: path].isTrue)
  }
}

// MARK: Key paths

/// Returns the condition that an attribute is false.
public prefix func ! <Root>(path: KeyPath<Keys<Root>, Attribute<Bool>>) -> TypedPredicate<Root> {
  !TypedPredicate(path)
}

/// Returns a condition that is met if the attribute is true and the other condition is met.
public func && <Root>(
  path: KeyPath<Keys<Root>, Attribute<Bool>>, condition: TypedPredicate<Root>
) -> TypedPredicate<Root> { TypedPredicate(path) && condition }

/// Returns a condition that is met if the other condition is met and the attribute is true.
public func && <Root>(
  condition: TypedPredicate<Root>, path: KeyPath<Keys<Root>, Attribute<Bool>>
) -> TypedPredicate<Root> { condition && TypedPredicate(path) }

/// Returns a condition that is met if both attributes are true.
public func && <Root>(
  path: KeyPath<Keys<Root>, Attribute<Bool>>, other: KeyPath<Keys<Root>, Attribute<Bool>>
) -> TypedPredicate<Root> { TypedPredicate(path) && TypedPredicate(other) }

/// Returns a condition that is met if the attribute is true or the other condition is met.
public func || <Root>(
  path: KeyPath<Keys<Root>, Attribute<Bool>>, condition: TypedPredicate<Root>
) -> TypedPredicate<Root> { TypedPredicate(path) || condition }

/// Returns a condition that is met if the other condition is met or the attribute is true.
public func || <Root>(
  condition: TypedPredicate<Root>, path: KeyPath<Keys<Root>, Attribute<Bool>>
) -> TypedPredicate<Root> { condition || TypedPredicate(path) }

/// Returns a condition that is met if at least one of the attributes is true.
public func || <Root>(
  path: KeyPath<Keys<Root>, Attribute<Bool>>, other: KeyPath<Keys<Root>, Attribute<Bool>>
) -> TypedPredicate<Root> { TypedPredicate(path) || TypedPredicate(other) }

// MARK: Closures

/// Returns the condition that an attribute is false.
public prefix func ! (attribute: Attribute<Bool>) -> FetchPredicate { !attribute.isTrue }

/// Returns a condition that is met if the attribute is true and the other condition is met.
public func && (attribute: Attribute<Bool>, condition: FetchPredicate) -> FetchPredicate {
  attribute.isTrue && condition
}

/// Returns a condition that is met if the other condition is met and the attribute is true.
public func && (condition: FetchPredicate, attribute: Attribute<Bool>) -> FetchPredicate {
  condition && attribute.isTrue
}

/// Returns a condition that is met if both attributes are true.
public func && (attribute: Attribute<Bool>, other: Attribute<Bool>) -> FetchPredicate {
  attribute.isTrue && other.isTrue
}

/// Returns a condition that is met if the attribute is true or the other condition is met.
public func || (attribute: Attribute<Bool>, condition: FetchPredicate) -> FetchPredicate {
  attribute.isTrue || condition
}

/// Returns a condition that is met if the other condition is met or the attribute is true.
public func || (condition: FetchPredicate, attribute: Attribute<Bool>) -> FetchPredicate {
  condition || attribute.isTrue
}

/// Returns a condition that is met if at least one of the attributes is true.
public func || (attribute: Attribute<Bool>, other: Attribute<Bool>) -> FetchPredicate {
  attribute.isTrue || other.isTrue
}
