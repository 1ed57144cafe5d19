#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Gives the values of a batch's rows to what inserts them, or to who collects them, one after another.
@usableFromInline final class BatchRowWriter {
  let properties: [BatchProperty]
  /// What can be written as it is, by the places of the properties.
  private let plain: [StorageType?]
  private let targets: [Target?]
  private let entity: EntityPlan
  private let model: ModelPlan
  /// Where rows go to; nil where they are collected.
  private let insertion: (any RowInsertion)?
  private let writer: RowWriter
  /// The UUIDs of the stores, by their places.
  private let storeIDs: [Int: UUID]
  /// The number of the row, from 0.
  private(set) var number = -1
  private var place = 0
  private(set) var mistakes: [BatchMistake] = []
  /// The places of the properties that a collected row does not name.
  private(set) var unnamed = SlotSet()

  /// How many mistakes are collected before a batch gives up.
  static let mostMistakes = 100

  /// What most identifiers of a to-one relationship have alike.
  private struct Target {
    let storeID: UUID
    let entityName: String
  }

  init(
    _ properties: [BatchProperty], of entity: EntityPlan, in model: ModelPlan, storeIDs: [Int: UUID],
    _ insertion: (any RowInsertion)?, _ writer: RowWriter
  ) {
    self.properties = properties
    plain = properties.map(\.plainCell)
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
    place = 0
    if let insertion { return insertion.start(writer) }
    writer.startCapture()
    unnamed = SlotSet()
  }

  @usableFromInline func write(_ value: FetchedValue) throws {
    let property = properties[place]
    place += 1
    if case .object(let id?) = value, case .reference(let relationship) = property.kind {
      let home = model.entities[relationship.destination].storeIndex
      guard home.flatMap({ storeIDs[$0] }) == id.storeID else {
        note(.foreignObject, property.name)
        return writer.value(.null)
      }
    }
    try property.store(
      value, of: entity, in: model, { writer.value($0) },
      { reason, field in note(reason, field.map { "\(property.name).\($0)" } ?? property.name) })
  }

  func writeDefault() throws {
    if insertion == nil { unnamed.insert(place) }
    try write(properties[place].defaultValue)
  }

  private func note(_ reason: ValidationError.Reason, _ property: String) {
    mistakes.append(BatchMistake(row: number, entity: entity.name, property: property, reason: reason))
  }

  /// Notes that the store does not take a value.
  ///
  /// - Parameter row: The number of the row; nil for the one that was written last.
  func noteTooLarge(row: Int? = nil) {
    mistakes.append(BatchMistake(row: row ?? number, entity: entity.name, property: nil, reason: .tooLarge))
  }

  /// The error of a key that no row may have.
  func unusableKey(_ key: String) -> any Error {
    do {
      _ = try BatchProperty(key.split(separator: ".").map(String.init), of: entity, in: model)
      return BatchError.notWritable(entity: entity.name, key: key)
    } catch {
      return error
    }
  }
}

// Values of the types that most columns have, which go to the store as they are; what is not the column's own type,
// or what there is more to check of, takes the long way.
extension BatchRowWriter {
  @usableFromInline func write(_ value: String) throws {
    guard case .string? = plain[place] else { return try write(.attribute(.string(value))) }
    place += 1
    writer.string(value)
  }

  @usableFromInline func write(_ value: Bool) throws {
    guard case .bool? = plain[place] else { return try write(.attribute(.bool(value))) }
    place += 1
    writer.bool(value)
  }

  @usableFromInline func write(_ value: Int64) throws {
    switch plain[place] {
    case .int64: break
    case .int32 where Int32(exactly: value) != nil: break
    case .int16 where Int16(exactly: value) != nil: break
    default: return try write(.attribute(.int(value)))
    }
    place += 1
    writer.int64(value)
  }

  @usableFromInline func write(_ value: Double) throws {
    guard case .double? = plain[place], !value.isNaN else { return try write(.attribute(.double(value))) }
    place += 1
    writer.double(value)
  }

  @usableFromInline func write(_ value: Date) throws {
    guard case .date? = plain[place], value.timeIntervalSinceReferenceDate.isFinite else {
      return try write(.attribute(.date(value)))
    }
    place += 1
    writer.date(value)
  }

  @usableFromInline func write(_ value: UUID) throws {
    guard case .uuid? = plain[place] else { return try write(.attribute(.uuid(value))) }
    place += 1
    writer.uuid(value)
  }

  @usableFromInline func write(_ value: Data) throws {
    guard case .data? = plain[place] else { return try write(.attribute(.data(value))) }
    place += 1
    writer.data(value)
  }

  /// Writes that there is no value.
  @usableFromInline func writeNull() throws {
    guard plain[place] != nil, !properties[place].isMandatory else { return try write(.attribute(.null)) }
    place += 1
    writer.value(.null)
  }

  @usableFromInline func write(_ id: ManagedObjectID?) throws {
    guard let id, let target = targets[place], id.storeID == target.storeID,
      id.entityName == target.entityName
    else { return try write(.object(id)) }
    place += 1
    writer.key(id.key)
  }
}
