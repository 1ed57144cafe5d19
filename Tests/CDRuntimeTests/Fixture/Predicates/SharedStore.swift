import Foundation
import Testing

@testable import CDRuntime

/// A dataset of the collected cases in a store.
struct SharedStore {
  let dataset: SharedDataset
  let rows: StoredRows
  private var keys: [String: Int64] = [:]

  init(_ dataset: SharedDataset) throws {
    self.dataset = dataset
    rows = try StoredRows(dataset.version)
    for list in dataset.rows.values {
      for (place, row) in list.enumerated() { keys["\(row.entity.name)/\(row.id)"] = Int64(place + 1) }
    }
    var inserted: [(table: String, values: [String: AttributeValue])] = []
    for (name, list) in dataset.rows {
      let plan = try #require(rows.plan.entity(name))
      for row in list {
        var values = row.attributes
        values["_pk"] = key(row)
        values["_version"] = .int(1)
        for relationship in plan.relationships.compactMap(\.self) {
          switch relationship.storage {
          case .reference(let column):
            values[plan.columns[column].name] = row.toOne[relationship.name].map(key) ?? .null
          case .join(let place, let isSource) where isSource:
            for other in row.toMany[relationship.name] ?? [] {
              inserted.append((rows.plan.joins[place].table, ["_source": key(row), "_target": key(other)]))
            }
          case .join, .inverseReference, .referencesOfOthers: break
          }
        }
        inserted.append((plan.table, values))
      }
    }
    try rows.insert(inserted)
  }

  private func key(_ row: SharedRow) -> AttributeValue {
    keys["\(row.entity.name)/\(row.id)"].map(AttributeValue.int) ?? .null
  }

  func compile(
    _ predicate: FetchPredicate, _ entity: String, variables: [String: EvaluationValue] = [:]
  ) throws -> SQLPredicate {
    let keys = keys
    return try SQLPredicate.compile(
      predicate, entity: try #require(rows.plan.entity(entity)), plan: rows.plan, dialect: .sqlite,
      variables: variables,
      key: { object, _ in keys[object.uri] })
  }

  /// The rows that a condition selects.
  func matches(_ predicate: SQLPredicate, _ entity: String) throws -> [SharedRow] {
    let list = dataset.rows[entity] ?? []
    return try rows.keys(of: entity, where: predicate).map { list[Int($0) - 1] }
  }
}
