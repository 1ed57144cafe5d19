#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A query of a store: an entity's objects that meet a condition, in an order.
package struct StoreQuery {
  /// The entity of the objects.
  package let entity: EntityPlan
  /// Whether the result includes objects of subentities.
  package let includesSubentities: Bool
  /// The condition, checked against the model; nil for all objects.
  package let predicate: FetchPredicate?
  /// The values of the predicate's variables, such as `$name`.
  package let variables: [String: EvaluationValue]
  /// The result of `now()`, the same as in the evaluator.
  package let now: Date
  /// The sort keys; empty for the order of insertion.
  package let sortKeys: [SortKey]
  /// Whether the store may evaluate the predicate and the sort keys. Otherwise, the store returns all rows, and the
  /// evaluator decides.
  package let storeDecides: Bool

  /// Whether the rows may be of several entities.
  package var isMixed: Bool { includesSubentities && entity.isPolymorphic }
}

/// A range of a result: the number of rows to skip, and the maximum number of rows to return.
package struct StoreWindow {
  /// The number of rows to skip.
  package var offset = 0
  /// The maximum number of rows; nil for no limit.
  package var limit: Int?

  /// Creates a window; by default of all rows.
  package init(offset: Int = 0, limit: Int? = nil) {
    self.offset = offset
    self.limit = limit
  }
}

/// A found object: its key and the index of its entity.
package struct FetchedKey {
  package let key: ObjectKey
  /// The index of the object's entity in the model plan.
  package let entity: Int

  /// Creates the key of a found object.
  package init(key: ObjectKey, entity: Int) {
    self.key = key
    self.entity = entity
  }
}

/// Collects the keys of found objects from the rows of a statement.
package struct FetchedKeyList {
  /// The keys so far.
  package private(set) var keys: [FetchedKey] = []
  private let entity: EntityPlan
  private let model: ModelPlan
  private let isMixed: Bool
  /// The entity of the last row. Rows of the same entity often follow each other.
  private var last: (name: String, index: Int)?

  /// - Parameters:
  ///   - entity: The entity of the rows, if they are not mixed.
  ///   - isMixed: Whether each row has the name of its entity.
  package init(of entity: EntityPlan, in model: ModelPlan, isMixed: Bool) {
    self.entity = entity
    self.model = model
    self.isMixed = isMixed
  }

  /// Adds the key of a row, unless the model does not have the row's entity, or the entity is abstract, so that the row
  /// cannot become an object.
  ///
  /// - Parameter name: The name of the row's entity, which is read only if the rows are mixed.
  /// - Returns: False if no object can have the key.
  @inline(__always)
  package mutating func add(_ key: ObjectKey, entityName name: @autoclosure () -> String?) -> Bool {
    guard key > 0 else { return false }
    guard isMixed else {
      keys.append(FetchedKey(key: key, entity: entity.index))
      return true
    }
    let name = name() ?? ""
    if last?.name != name {
      guard let index = model.entityIndices[name], !model.entities[index].description.isAbstract else {
        return true
      }
      last = (name, index)
    }
    if let last { keys.append(FetchedKey(key: key, entity: last.index)) }
    return true
  }
}

/// Removes duplicate rows. Each row stays at its first position.
package struct DistinctRows {
  private let window: StoreWindow
  /// The rows of the window.
  package private(set) var rows: [[FetchedValue]] = []
  private var seen: Set<[FetchedValue]> = []

  /// - Parameter window: The part of the distinct rows that is wanted.
  package init(_ window: StoreWindow) { self.window = window }

  /// Whether no further row is wanted.
  package var isFull: Bool { window.limit.map { rows.count >= $0 } ?? false }

  /// Adds a row, unless it equals an earlier one.
  package mutating func add(_ row: [FetchedValue]) {
    if seen.insert(row.map(\.identity)).inserted, seen.count > window.offset { rows.append(row) }
  }
}
