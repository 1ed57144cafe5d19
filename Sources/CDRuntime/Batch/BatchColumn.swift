#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a batch insert takes from each of its rows for an attribute or a to-one relationship.
///
/// ```swift
/// let columns: [BatchColumn<Book, (title: String, rank: Int32?, publisher: ManagedObjectID)>] = [
///   .set(\.title) { $0.title },
///   .set(\.salesRank) { $0.rank },
///   .set(\.publisher) { $0.publisher },
/// ]
/// ```
public struct BatchColumn<Object: ManagedObject, Element> {
  @usableFromInline let keys: [String]
  @usableFromInline let write: (Element, BatchRowWriter) throws -> Void

  @usableFromInline init(keys: [String], write: @escaping (Element, BatchRowWriter) throws -> Void) {
    self.keys = keys
    self.write = write
  }

  /// An attribute, or a field of a composite.
  @inlinable
  public static func set<Value: AttributeValueConvertible>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>, to value: @escaping (Element) -> Value
  ) -> Self {
    Self(keys: keys(of: path)) { element, row in try row.write(typed: value(element)) }
  }

  /// A to-one relationship, by the identifier of its object.
  @inlinable
  public static func set<Destination>(
    _ path: KeyPath<Fields<Object>, ToOne<Destination>>, to id: @escaping (Element) -> ManagedObjectID?
  ) -> Self {
    Self(keys: keys(of: path)) { element, row in try row.write(id(element)) }
  }

  /// An attribute or a to-one relationship by its name.
  public static func set(_ key: String, to value: @escaping (Element) -> FetchedValue) -> Self {
    Self(keys: key.split(separator: ".").map(String.init)) { element, row in try row.write(value(element)) }
  }

  @usableFromInline static func keys<Value: AttributeValueConvertible>(
    of path: KeyPath<Fields<Object>, Attribute<Value>>
  ) -> [String] {
    Fields()[keyPath: path].keys
  }

  @usableFromInline static func keys<Destination>(
    of path: KeyPath<Fields<Object>, ToOne<Destination>>
  ) -> [String] {
    Fields()[keyPath: path].keys
  }
}

extension BatchRowWriter {
  /// Writes a value of a type that is known where the columns are made: all but one of the branches are gone there.
  @inlinable func write<Value: AttributeValueConvertible>(typed value: Value) throws {
    if Value.self == String.self, let value = value as? String {
      try write(value)
    } else if Value.self == String?.self, let value = value as? String? {
      if let value { try write(value) } else { try writeNull() }
    } else if Value.self == Int64.self, let value = value as? Int64 {
      try write(value)
    } else if Value.self == Int64?.self, let value = value as? Int64? {
      if let value { try write(value) } else { try writeNull() }
    } else if Value.self == Int32.self, let value = value as? Int32 {
      try write(Int64(value))
    } else if Value.self == Int16.self, let value = value as? Int16 {
      try write(Int64(value))
    } else if Value.self == Bool.self, let value = value as? Bool {
      try write(value)
    } else if Value.self == Double.self, let value = value as? Double {
      try write(value)
    } else if Value.self == Double?.self, let value = value as? Double? {
      if let value { try write(value) } else { try writeNull() }
    } else if Value.self == Date.self, let value = value as? Date {
      try write(value)
    } else if Value.self == Date?.self, let value = value as? Date? {
      if let value { try write(value) } else { try writeNull() }
    } else if Value.self == UUID.self, let value = value as? UUID {
      try write(value)
    } else if Value.self == Data.self, let value = value as? Data {
      try write(value)
    } else {
      try write(.attribute(value.attributeValue))
    }
  }
}
