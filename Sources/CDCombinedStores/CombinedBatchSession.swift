import CDModel
@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The operations of a batch on the stores of several engines. An operation on rows of two engines reads the keys from
/// one and looks for them in the other.
final class CombinedBatchSession: StoreBatchSession {
  private let write: CombinedWriteSession
  private let reader: CombinedSession
  private let model: ModelPlan

  init(_ write: CombinedWriteSession, _ reader: CombinedSession, _ model: ModelPlan) {
    self.write = write
    self.reader = reader
    self.model = model
  }

  private func session(of entity: EntityPlan) throws -> any StoreBatchSession {
    try write.session(of: entity).batch
  }

  /// Whether a relationship leads to another engine.
  private func isSeparate(_ relationship: RelationshipPlan, _ owner: EntityPlan) -> Bool {
    reader.areSeparate(owner, model.entities[relationship.destination])
  }

  // MARK: Finding rows

  func selection(of query: StoreQuery) throws -> (rows: RowSelection, readRoots: Set<Int>)? {
    try session(of: query.entity).selection(of: query)
  }

  func keys(_ keys: [ObjectKey], of entity: EntityPlan) throws -> [FetchedKey] {
    keys.isEmpty ? [] : try session(of: entity).keys(keys, of: entity)
  }

  func related(_ relationship: RelationshipPlan, of keys: [ObjectKey]) throws -> [FetchedKey] {
    let destination = model.entities[relationship.destination]
    guard let owner = model.entity(relationship.owner), isSeparate(relationship, owner) else {
      return try session(of: destination).related(relationship, of: keys)
    }
    switch relationship.storage {
    case .reference(let column):
      let targets = try session(of: owner).targets(of: owner.columns[column], of: owner, .keys(keys))
      return try self.keys(targets, of: destination)
    case .inverseReference, .referencesOfOthers:
      // Only the rows of the destination are read.
      return try session(of: destination).related(relationship, of: keys)
    case .join(let index, let isSource):
      let pairs = try reader.pairs(ofJoin: index, isSource: isSource, of: keys)
      return try self.keys(Array(Set(pairs.map(\.member))).sorted(), of: destination)
    }
  }

  func owners(of relationship: RelationshipPlan, to keys: [ObjectKey]) throws -> [FetchedKey] {
    guard let owner = model.entity(relationship.owner) else { return [] }
    guard isSeparate(relationship, owner) else {
      return try session(of: owner).owners(of: relationship, to: keys)
    }
    switch relationship.storage {
    case .reference: return try session(of: owner).owners(of: relationship, to: keys)
    case .inverseReference, .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return [] }
      let destination = model.entities[relationship.destination]
      let targets = try session(of: destination).targets(of: column, of: destination, .keys(keys))
      return try self.keys(targets, of: owner)
    case .join(let index, let isSource):
      let pairs = try reader.pairs(ofJoin: index, isSource: !isSource, of: keys)
      return try self.keys(Array(Set(pairs.map(\.member))).sorted(), of: owner)
    }
  }

  func targets(of column: ColumnPlan, of entity: EntityPlan, _ rows: RowSelection) throws -> [ObjectKey] {
    try session(of: entity).targets(of: column, of: entity, rows)
  }

  func references(
    _ column: String, of entity: EntityPlan, _ keys: [ObjectKey]
  ) throws -> [ObjectKey: ObjectKey] {
    try session(of: entity).references(column, of: entity, keys)
  }

  func ownersWithWrongCount(
    _ relationship: RelationshipPlan, of keys: [ObjectKey], _ range: ClosedRange<Int>, most: Int
  ) throws -> [(key: ObjectKey, count: Int)] {
    guard let owner = model.entity(relationship.owner) else { return [] }
    guard isSeparate(relationship, owner) else {
      return try session(of: owner).ownersWithWrongCount(relationship, of: keys, range, most: most)
    }
    var counts: [ObjectKey: Int] = [:]
    switch relationship.storage {
    case .reference: return []
    case .inverseReference, .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return [] }
      let destination = model.entities[relationship.destination]
      let rows = try reader.rows(ofSubtree: destination, referringBy: column, toAny: keys)
      var found: [ObjectKey] = []
      while try rows.next() { found.append(rows.key) }
      rows.close()
      let references = try session(of: destination).references(column.name, of: destination, found)
      for key in references.values { counts[key, default: 0] += 1 }
    case .join(let index, let isSource):
      for pair in try reader.pairs(ofJoin: index, isSource: isSource, of: keys) {
        counts[pair.owner, default: 0] += 1
      }
    }
    let wrong = try self.keys(keys, of: owner).map(\.key).sorted().map { (key: $0, count: counts[$0] ?? 0) }
      .filter { !range.contains($0.count) }
    return Array(wrong.prefix(most))
  }

  func search(_ list: UniqueList, of entity: EntityPlan) throws -> any RowSearch {
    try session(of: entity).search(list, of: entity)
  }

  // MARK: Changing rows

  func calculation(
    _ expression: ValueExpression, on entity: EntityPlan, as type: StorageType, isMandatory: Bool, now: Date
  ) throws -> Calculation {
    try session(of: entity).calculation(
      expression, on: entity, as: type, isMandatory: isMandatory, now: now)
  }

  func update(
    _ entity: EntityPlan, _ assignments: [(column: String, source: ColumnSource)], _ rows: RowSelection
  ) throws -> [Int: KeyRanges] {
    try session(of: entity).update(entity, assignments, rows)
  }

  func update(
    _ entity: EntityPlan, calculated: [(column: String, source: ColumnSource)], _ columns: [String],
    _ rows: [(key: ObjectKey, values: [AttributeValue])]
  ) throws {
    try session(of: entity).update(entity, calculated: calculated, columns, rows)
  }

  func setValues(
    _ values: [(column: String, value: AttributeValue)], of entity: EntityPlan, _ key: ObjectKey,
    raisingVersion: Bool
  ) throws {
    try session(of: entity).setValues(values, of: entity, key, raisingVersion: raisingVersion)
  }

  func delete(_ entity: EntityPlan, _ rows: RowSelection) throws -> [Int: KeyRanges] {
    try session(of: entity).delete(entity, rows)
  }

  func deletePairs(ofJoin index: Int, isSource: Bool, _ keys: [ObjectKey]) throws {
    try write.session(ofJoin: index).batch.deletePairs(ofJoin: index, isSource: isSource, keys)
  }

  func appendPositions(
    _ relationship: RelationshipPlan, _ entity: EntityPlan, _ rows: RowSelection, moved: [ObjectKey],
    gap: Int64
  ) throws {
    try session(of: entity).appendPositions(relationship, entity, rows, moved: moved, gap: gap)
  }

  // MARK: Inserting rows

  func firstKey(of entity: EntityPlan) throws -> ObjectKey { try session(of: entity).firstKey(of: entity) }

  func reserve(upTo key: ObjectKey, of entity: EntityPlan) throws {
    try session(of: entity).reserve(upTo: key, of: entity)
  }

  func insertion(_ plan: InsertionPlan) throws -> any RowInsertion {
    try session(of: plan.entity).insertion(plan)
  }

  // MARK: Files of large values

  func listFiles(_ columns: [String], of entity: EntityPlan, _ rows: RowSelection, at time: Date) throws {
    try session(of: entity).listFiles(columns, of: entity, rows, at: time)
  }

  func files(_ column: String, of entity: EntityPlan, _ keys: [ObjectKey]) throws -> [ObjectKey: String] {
    try session(of: entity).files(column, of: entity, keys)
  }

  func listFile(
    _ name: String, unlessIn column: String, of entity: EntityPlan, _ key: ObjectKey, at time: Date
  ) throws {
    try session(of: entity).listFile(name, unlessIn: column, of: entity, key, at: time)
  }
}
