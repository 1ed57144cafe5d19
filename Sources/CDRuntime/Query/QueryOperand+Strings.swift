public import CDModel

// Strings, and membership of any value.
extension QueryOperand where Value: StringAttributeValue {
  /// The strings are the same under the options: `==[c]`.
  public func equals(_ text: String, options: ComparisonOptions) -> FetchPredicate {
    compared(.equalTo, .constant(.string(text)), options)
  }

  /// The string begins with a text. The empty text is at the beginning of none.
  public func hasPrefix(_ text: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.beginsWith, .constant(.string(text)), options)
  }

  /// The string ends with a text.
  public func hasSuffix(_ text: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.endsWith, .constant(.string(text)), options)
  }

  /// The string has a text in it.
  public func contains(_ text: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.contains, .constant(.string(text)), options)
  }

  /// The whole string is the pattern's, in which `*` is any text and `?` one character.
  public func like(_ pattern: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.like, .constant(.string(pattern)), options)
  }

  /// The whole string matches a regular expression. A fetch throws where that is malformed, or takes too many
  /// steps.
  public func matches(_ pattern: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.matches, .constant(.string(pattern)), options)
  }

  /// The string is one of these under the options.
  public func isIn(_ texts: [Value], options: ComparisonOptions) -> FetchPredicate {
    compared(.in, .constant(.array(texts.map { .value($0.attributeValue) })), options)
  }
}

extension QueryOperand where Value: AttributeValueConvertible {
  /// The value is one of these; nil is where nil is among them.
  public func isIn(_ values: [Value]) -> FetchPredicate {
    compared(.in, .constant(.array(values.map { .value($0.attributeValue) })))
  }

  /// The value lies between two others or is one of them. Reversed bounds have nothing between them.
  public func isBetween(_ lower: Value, _ upper: Value) -> FetchPredicate {
    compared(
      .between, .constant(.array([.value(lower.attributeValue), .value(upper.attributeValue)])))
  }

  /// The value lies in a range.
  public func isIn<Bound: AttributeValueConvertible>(_ range: ClosedRange<Bound>) -> FetchPredicate
  where Bound.Comparand == Value.Comparand {
    compared(
      .between,
      .constant(.array([.value(range.lowerBound.attributeValue), .value(range.upperBound.attributeValue)])))
  }
}

// The same on key paths. A literal needs its root to be called on: `(\Fields<Book>.title).hasPrefix("W")`; the
// closure's form has no such need.
extension KeyPath where Value: QueryOperand {
  private func operand<Object>() -> Value where Root == Fields<Object> { Fields()[keyPath: self] }

  /// The value is one of these.
  public func isIn<Object>(_ values: [Value.Value]) -> TypedPredicate<Object>
  where Root == Fields<Object>, Value.Value: AttributeValueConvertible {
    TypedPredicate(operand().isIn(values))
  }

  /// The string begins with a text.
  public func hasPrefix<Object>(_ text: String, options: ComparisonOptions = []) -> TypedPredicate<Object>
  where Root == Fields<Object>, Value.Value: StringAttributeValue {
    TypedPredicate(operand().hasPrefix(text, options: options))
  }

  /// The string ends with a text.
  public func hasSuffix<Object>(_ text: String, options: ComparisonOptions = []) -> TypedPredicate<Object>
  where Root == Fields<Object>, Value.Value: StringAttributeValue {
    TypedPredicate(operand().hasSuffix(text, options: options))
  }

  /// The string has a text in it.
  public func contains<Object>(_ text: String, options: ComparisonOptions = []) -> TypedPredicate<Object>
  where Root == Fields<Object>, Value.Value: StringAttributeValue {
    TypedPredicate(operand().contains(text, options: options))
  }
}
