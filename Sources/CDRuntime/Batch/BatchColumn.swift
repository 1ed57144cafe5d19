#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The value of each row that a batch insert gives to an attribute or a to-one relationship.
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

  /// Sets an attribute, or a field of a composite.
  @inlinable
  public static func set<Value: AttributeValueConvertible>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>, to value: @escaping (Element) -> Value
  ) -> Self {
    Self(keys: keys(of: path)) { element, row in try row.write(typed: value(element)) }
  }

  /// Sets a to-one relationship to the object of an identifier.
  @inlinable
  public static func set<Destination>(
    _ path: KeyPath<Fields<Object>, ToOne<Destination>>, to id: @escaping (Element) -> ManagedObjectID?
  ) -> Self {
    Self(keys: keys(of: path)) { element, row in try row.write(id(element)) }
  }

  /// Sets an attribute or a to-one relationship, by its name.
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
  /// Writes a value whose type is known where the column is created: the compiler removes all branches but one there.
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

/// Passes the values of a batch's rows, one after another, to an insertion or to a collector.
@usableFromInline final class BatchRowWriter {
  let properties: [BatchProperty]
  /// The types of values that can be written without conversion, by property index.
  private let plain: [StorageType?]
  private let targets: [Target?]
  private let entity: EntityPlan
  private let model: ModelPlan
  /// Receives the rows; nil if they are collected.
  private let insertion: (any RowInsertion)?
  private let writer: RowWriter
  /// The UUIDs of the stores, by store index.
  private let storeIDs: [Int: UUID]
  /// The index of the row, from 0.
  private(set) var number = -1
  private var propertyIndex = 0
  private(set) var mistakes: [BatchMistake] = []
  /// The indices of the properties that a collected row does not name.
  private(set) var omitted = SlotSet()

  /// The number of mistakes after which a batch stops.
  static let maximumMistakes = 100

  /// The store and the entity name that most identifiers of a to-one relationship have.
  private struct Target {
    let storeID: UUID
    let entityName: String
  }

  init(
    _ properties: [BatchProperty], of entity: EntityPlan, in model: ModelPlan, storeIDs: [Int: UUID],
    _ insertion: (any RowInsertion)?, _ writer: RowWriter
  ) {
    self.properties = properties
    plain = properties.map(\.plainType)
    targets = properties.map { property in
      guard case .reference(let relationship) = property.kind else { return nil }
      let destination = model.entities[relationship.destination]
      guard let storeID = destination.storeIndex.flatMap({ storeIDs[$0] }) else { return nil }
      return Target(storeID: storeID, entityName: destination.name)
    }
    self.entity = entity
    self.model = model
    self.insertion = insertion
    self.writer = writer
    self.storeIDs = storeIDs
  }

  /// Begins a row.
  @usableFromInline func start() {
    number += 1
    propertyIndex = 0
    if let insertion { return insertion.start(writer) }
    writer.startCapture()
    omitted = SlotSet()
  }

  @_optimize(none)
  @usableFromInline func write(_ value: FetchedValue) throws {
    let property = properties[propertyIndex]
    propertyIndex += 1
    if case .object(let id?) = value, case .reference(let relationship) = property.kind {
      let storeIndex = model.entities[relationship.destination].storeIndex
      guard storeIndex.flatMap({ storeIDs[$0] }) == id.storeID else {
        note(.foreignObject, property.name)
        return writer.value(.null)
      }
    }
    try property.store(
      value, of: entity, in: model, { writer.value($0) },
      { reason, field in note(reason, field.map { "\(property.name).\($0)" } ?? property.name) })
  }

  func writeDefault() throws {
    if insertion == nil { omitted.insert(propertyIndex) }
    try write(properties[propertyIndex].defaultValue)
  }

  private func note(_ reason: ValidationError.Reason, _ property: String) {
    mistakes.append(BatchMistake(row: number, entity: entity.name, property: property, reason: reason))
  }

  /// Records the mandatory fields that a composite lacks, because another property has given it a field.
  func checkComposites(_ columns: BatchColumns, _ values: [AttributeValue]) {
    for property in properties {
      guard case .composite(_, let fields) = property.kind else { continue }
      var given: [AttributeValue] = []
      for name in property.columns {
        given.append(columns.names.firstIndex(of: name).map { values[$0] } ?? .null)
      }
      guard given.contains(where: { $0 != .null }) else { continue }
      for (field, value) in zip(fields, given) where value == .null && !field.description.isOptional {
        note(.missingValue, "\(property.name).\(field.description.name)")
      }
    }
  }

  /// Records that a row is too large for the store.
  ///
  /// - Parameter row: The index of the row; nil for the last one.
  func noteTooLarge(row: Int? = nil) {
    mistakes.append(BatchMistake(row: row ?? number, entity: entity.name, property: nil, reason: .tooLarge))
  }

  /// The error for a key that rows must not use.
  func unusableKey(_ key: String) -> any Error {
    do {
      _ = try BatchProperty(key.split(separator: ".").map(String.init), of: entity, in: model)
      return BatchError.notWritable(entity: entity.name, key: key)
    } catch {
      return error
    }
  }
}

// Values of the most frequent types, which are written without conversion. Values of a type other than the column's,
// or with more rules to check, are written by the general method.
extension BatchRowWriter {
  @usableFromInline func write(_ value: String) throws {
    guard case .string? = plain[propertyIndex] else { return try write(.attribute(.string(value))) }
    propertyIndex += 1
    writer.string(value)
  }

  @usableFromInline func write(_ value: Bool) throws {
    guard case .bool? = plain[propertyIndex] else { return try write(.attribute(.bool(value))) }
    propertyIndex += 1
    writer.bool(value)
  }

  @usableFromInline func write(_ value: Int64) throws {
    switch plain[propertyIndex] {
    case .int64: break
    case .int32 where Int32(exactly: value) != nil: break
    case .int16 where Int16(exactly: value) != nil: break
    default: return try write(.attribute(.int(value)))
    }
    propertyIndex += 1
    writer.int64(value)
  }

  @usableFromInline func write(_ value: Double) throws {
    guard case .double? = plain[propertyIndex], !value.isNaN else {
      return try write(.attribute(.double(value)))
    }
    propertyIndex += 1
    writer.double(value)
  }

  @usableFromInline func write(_ value: Date) throws {
    guard case .date? = plain[propertyIndex], value.timeIntervalSinceReferenceDate.isFinite else {
      return try write(.attribute(.date(value)))
    }
    propertyIndex += 1
    writer.date(value)
  }

  @usableFromInline func write(_ value: UUID) throws {
    guard case .uuid? = plain[propertyIndex] else { return try write(.attribute(.uuid(value))) }
    propertyIndex += 1
    writer.uuid(value)
  }

  @usableFromInline func write(_ value: Data) throws {
    guard case .data? = plain[propertyIndex] else { return try write(.attribute(.data(value))) }
    propertyIndex += 1
    writer.data(value)
  }

  /// Writes nil.
  @usableFromInline func writeNull() throws {
    guard plain[propertyIndex] != nil, !properties[propertyIndex].isMandatory else {
      return try write(.attribute(.null))
    }
    propertyIndex += 1
    writer.value(.null)
  }

  @usableFromInline func write(_ id: ManagedObjectID?) throws {
    guard let id, let target = targets[propertyIndex], id.storeID == target.storeID,
      id.entityName == target.entityName
    else { return try write(.object(id)) }
    propertyIndex += 1
    writer.key(id.key)
  }
}

/// The rows of a batch insert.
@usableFromInline struct BatchRows {
  /// The key paths for which all rows have values; nil if each row names its own.
  let keyPaths: [[String]]?
  /// Whether the rows can be read again. A sequence that is no collection may have its rows only once.
  let isRepeatable: Bool
  /// Starts again with the first row, and returns a function that writes the values of the next row. It returns false
  /// if there are no more rows.
  let start: () -> (BatchRowWriter) throws -> Bool

  @usableFromInline init(
    keyPaths: [[String]]?, isRepeatable: Bool, start: @escaping () -> (BatchRowWriter) throws -> Bool
  ) {
    self.keyPaths = keyPaths
    self.isRepeatable = isRepeatable
    self.start = start
  }

  /// Rows of dictionaries, each of which names its values.
  init<Rows: Sequence>(dictionaries rows: Rows) where Rows.Element == [String: FetchedValue] {
    self.init(keyPaths: nil, isRepeatable: rows is any Collection) {
      var iterator = rows.makeIterator()
      return { row in
        guard let values = iterator.next() else { return false }
        try Self.write(values, to: row)
        return true
      }
    }
  }

  private static func write(_ values: [String: FetchedValue], to row: BatchRowWriter) throws {
    row.start()
    var found = 0
    for property in row.properties {
      if let value = values[property.name] {
        found += 1
        try row.write(value)
      } else {
        try row.writeDefault()
      }
    }
    if found < values.count {
      let names = Set(row.properties.map(\.name))
      throw row.unusableKey(values.keys.filter { !names.contains($0) }.min() ?? "")
    }
  }
}
