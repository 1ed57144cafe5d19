import CDModel
import Foundation

@_spi(Generated) @testable import CDRuntime

/// The unique lists that the rows of a model are under, by the index of their entity: those of the schema, and one-to-one
/// references.
struct PlainUniqueLists: Sendable {
  struct List: Sendable {
    /// The entity whose objects, with those of all below it, have each value once.
    let owner: Int
    let columns: [Int]
    let names: [String]
    let properties: [String]
  }

  private let ofEntity: [[List]]

  init(_ model: ModelPlan) {
    ofEntity = model.entities.map { entity in
      var result: [List] = []
      for case let relationship? in entity.relationships where relationship.isOneToOne {
        guard case .reference(let column) = relationship.storage else { continue }
        result.append(
          List(
            owner: entity.root, columns: [column], names: [entity.columns[column].name],
            properties: [relationship.description.name]))
      }
      for owner in entity.lineage.map({ model.entities[$0] }) {
        for properties in owner.description.uniquenessConstraints {
          let columns = entity.uniqueColumnNumbers(properties)
          guard !columns.isEmpty else { continue }
          result.append(
            List(
              owner: owner.index, columns: columns, names: columns.map { entity.columns[$0].name },
              properties: properties))
        }
      }
      return result
    }
  }

  /// What a row has of each list; nothing of one where a value is nil, which equals nothing.
  func values(of row: PlainState.Row) -> [(list: List, values: UniqueValues)] {
    ofEntity[row.entity].compactMap { list in
      UniqueValues(owner: list.owner, list.names, list.columns.map { row.values[$0] }).map { (list, $0) }
    }
  }
}

/// The values of a unique list.
struct UniqueValues: Hashable, Sendable {
  private enum Value: Hashable, Sendable {
    case int(Int64)
    case double(Double)
    /// By code units: to Swift an accent of its own and one that is part of a letter are the same.
    case text([UInt8])
    case data(Data)
  }

  private let owner: Int
  private let names: [String]
  private let values: [Value]

  /// Nil if one of the values is nil.
  init?(owner: Int, _ names: [String], _ values: [AttributeValue]) {
    var result: [Value] = []
    for value in values {
      switch value.stored {
      case .int(let number): result.append(.int(number))
      case .double(let number): result.append(.double(number == 0 ? 0 : number))
      case .string(let text): result.append(.text(Array(text.utf8)))
      case .data(let data): result.append(.data(data))
      default: return nil
      }
    }
    guard !result.isEmpty else { return nil }
    self.owner = owner
    self.names = names
    self.values = result
  }

  /// The values as texts that are equal where the values are.
  var texts: [String] {
    values.map { value in
      switch value {
      case .int(let number): "\(number)"
      case .double(let number): "\(number)"
      case .text(let bytes): bytes.map { String($0, radix: 16) }.joined(separator: " ")
      case .data(let data): data.map { String($0, radix: 16) }.joined(separator: " ")
      }
    }
  }
}

extension PlainState {
  /// Puts a row, or nothing, in the place of what there is.
  mutating func put(_ row: Row?, _ key: ObjectKey, _ root: Int, _ lists: PlainUniqueLists) {
    if let old = tables[root]?[key] {
      for (_, values) in lists.values(of: old) where unique[values] == key { unique[values] = nil }
    }
    tables[root, default: [:]][key] = row
    if let row { for (_, values) in lists.values(of: row) { unique[values] = key } }
  }

  /// The properties of the first unique list that another row has the values of.
  func refusal(of row: Row, _ key: ObjectKey, _ lists: PlainUniqueLists) -> [String]? {
    lists.values(of: row).first { unique[$0.values].map { $0 != key } ?? false }?.list.properties
  }
}
