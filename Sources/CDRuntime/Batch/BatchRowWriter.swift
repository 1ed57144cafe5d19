import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Gives the values of a batch's rows to a statement.
struct BatchRowWriter {
  let properties: [BatchProperty]
  private let entity: EntityPlan
  private let model: ModelPlan
  private let statement: OpaquePointer
  private let writer: RowWriter
  /// The UUIDs of the stores, by their places.
  private let storeIDs: [Int: UUID]
  /// The number of the row, from 0.
  private(set) var number = -1
  private var place = 0
  private(set) var mistakes: [BatchMistake] = []

  /// How many mistakes are collected before a batch gives up.
  static let mostMistakes = 100

  init(
    _ properties: [BatchProperty], of entity: EntityPlan, in model: ModelPlan, storeIDs: [Int: UUID],
    _ statement: OpaquePointer, _ writer: RowWriter
  ) {
    self.properties = properties
    self.entity = entity
    self.model = model
    self.statement = statement
    self.writer = writer
    self.storeIDs = storeIDs
  }

  /// Begins a row. The first parameter is the key's.
  mutating func start() {
    number += 1
    place = 0
    writer.start(statement, at: 2)
  }

  mutating func write(_ value: FetchedValue) throws {
    let property = properties[place]
    place += 1
    if case .object(let id?) = value, case .reference(let relationship) = property.kind {
      let home = model.entities[relationship.destination].home
      guard home.flatMap({ storeIDs[$0] }) == id.storeID else {
        note(.foreignObject, property.name)
        return writer.value(.null)
      }
    }
    let writer = writer
    var found: [(ValidationError.Reason, String?)] = []
    try property.store(value, of: entity, in: model, { writer.value($0) }, { found.append(($0, $1)) })
    for (reason, field) in found { note(reason, field.map { "\(property.name).\($0)" } ?? property.name) }
  }

  mutating func writeDefault() throws { try write(properties[place].defaultValue) }

  private mutating func note(_ reason: ValidationError.Reason, _ property: String) {
    mistakes.append(BatchMistake(row: number, entity: entity.name, property: property, reason: reason))
  }

  /// Notes that SQLite does not take a value.
  mutating func noteTooLarge() {
    mistakes.append(BatchMistake(row: number, entity: entity.name, property: nil, reason: .tooLarge))
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
